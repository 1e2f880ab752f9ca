"""The page in a real browser: drawn, quiet, sortable, movable, readable wide and narrow."""

from __future__ import annotations

import os
import shutil
import time
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from testbed.report import write_report

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
]  # fmt: skip
BROWSER = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium here (apt install chromium)")


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        try:
            opened = playwright.chromium.launch(executable_path=BROWSER, args=FLAGS)
        except api.Error as error:
            pytest.skip(f"chromium does not start: {error}")
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def files(grasp, rich, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        one = write_report([rich], folder / "one.html")
        patch.setattr("testbed.report.page._start_picture", lambda robot, stack: None)
        plain = write_report([grasp], folder / "plain.html")
        two = write_report([rich, grasp], folder / "two.html")
    return {"one": one, "plain": plain, "two": two}


def coloured(pixels):
    """How many pixels are of a colour."""
    return int(np.count_nonzero(np.ptp(pixels, axis=2) > 60))


def grey(pixels):
    """How many are of the truth's grey."""
    dim = (pixels.mean(axis=2) > 100) & (pixels.mean(axis=2) < 215)
    return int(np.count_nonzero(dim & (np.ptp(pixels, axis=2) < 40)))


class Page:
    """A page opened from disk, and everything it asked for or complained about."""

    def __init__(self, browser, file, width=1280):
        self.tab = browser.new_page(viewport={"width": width, "height": 900})
        self.width, self.complaints, self.requests = width, [], []
        self.tab.on("console", self._note)
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.goto(file.as_uri())

    def _note(self, message):
        if message.type == "error" or "Content Security" in message.text:
            self.complaints.append(message.text)

    def do(self, script, *arguments):
        return self.tab.evaluate(script, *arguments)

    def until(self, condition):
        # Not wait_for_function: it calls eval(), which the page's own policy forbids.
        end = time.monotonic() + 60
        while not self.do(condition):
            assert time.monotonic() < end, condition
            self.tab.wait_for_timeout(20)

    def go_to(self, section):
        self.do(f"document.getElementById({section!r}).scrollIntoView({{behavior: 'instant'}})")

    def scene(self):
        """The ellipsoids as they stand on the screen, (height, width, 3)."""
        shot = self.tab.locator("#scene-plot").screenshot()
        return np.asarray(Image.open(BytesIO(shot)).convert("RGB"), dtype=int)

    def check_quiet(self):
        assert self.complaints == []
        fetched = [url for url in self.requests if not url.startswith(("data:", "blob:"))]
        assert len(fetched) == 1  # the file itself

    def check_fits(self):
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert self.do(overflow) <= 0
        small = self.do("""() => [...document.querySelectorAll("p, li, td, th, label")].filter(
            (n) => n.offsetParent && parseFloat(getComputedStyle(n).fontSize) < 12).length""")
        assert small == 0

    def check_drawn(self):
        """Every plot has lines or, in 3D, a canvas with something on it."""
        before = self.do("document.querySelectorAll('[data-drawn]').length")
        self.do("testbedReport.drawAll()")
        drawn = self.do("""() => testbedReport.plots().map((node) => [
            node.getAttribute("aria-label"), node.dataset.drawn === "yes",
            node.querySelectorAll(".scatterlayer .trace path.js-line").length,
            node.querySelectorAll("canvas").length, node.getBoundingClientRect().width])""")
        for label, done, lines, canvases, wide in drawn:
            assert done, label
            assert lines >= 1 or canvases >= 1, label
            assert 250 < wide <= self.width, label
        assert before < len(drawn)  # those far below wait until somebody comes
        return len(drawn)


@pytest.fixture(scope="module")
def wide(browser, files):
    page = Page(browser, files["one"])
    yield page
    page.tab.close()


def test_a_desktop_shows_all_of_it(wide):
    # errors, ten parameters, ellipsoids, margin, innovation, NEES, times, excitation
    assert wide.check_drawn() == 4 + 10 + 1 + 3 + 1 + 4
    wide.check_fits()
    wide.check_quiet()


def test_a_phone_shows_all_of_it(browser, files):
    page = Page(browser, files["one"], 400)
    assert page.check_drawn() == 23
    page.check_fits()
    page.check_quiet()
    page.tab.close()


def test_the_table_sorts_by_mouse_and_keyboard(wide):
    column = """(k) => [...document.querySelectorAll("#scores-table tbody tr")]
        .map((row) => row.cells[k].dataset.value ?? null).map((v) => v === null ? null : +v)"""
    heading = wide.tab.locator("#scores-table thead th").nth(1)
    heading.locator("button").click()
    *up, missing = wide.do(column, 1)
    assert missing is None  # it failed: last, whichever way
    assert up == sorted(up)
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.locator("button").press("Enter")
    assert wide.do(column, 1) == [*up[::-1], None]
    assert heading.get_attribute("aria-sort") == "descending"
    assert len(set(up)) == len(up) == 3
    wide.tab.locator("#scores-table thead button").first.click()
    names = wide.tab.locator("#scores-table tbody th").all_inner_texts()
    assert names == sorted(names, key=str.lower)
    hidden = wide.tab.locator("#scores-table th.further").first
    assert not hidden.is_visible()
    wide.tab.locator("#all-scores").check()
    assert hidden.is_visible()
    wide.check_fits()
    wide.check_quiet()


def test_the_slider_moves_the_ellipsoids(wide):
    wide.go_to("ellipsoids")
    truth = "[...document.getElementById('scene-plot').data[0].x].slice(0, 20)"
    wide.tab.locator("#time").focus()
    wide.tab.keyboard.press("Home")
    wide.until("document.getElementById('now').textContent === '0.00 s'")
    start, before = wide.do(truth), wide.scene()
    assert coloured(before) > 300  # lines of the estimates
    assert grey(before) > 1000  # the body itself
    wide.do("""() => { const s = document.getElementById("time"); s.value = 70;
        s.dispatchEvent(new Event("input", {bubbles: true})); }""")
    wide.until("!['0.00 s', '2.00 s'].includes(document.getElementById('now').textContent)")
    assert wide.do(truth) != start  # the part is in the gripper by then
    assert np.mean(np.any(wide.scene() != before, axis=2)) > 0.01
    wide.tab.keyboard.press("End")
    wide.until("document.getElementById('now').textContent === '2.00 s'")
    said = wide.tab.locator("#impossible").inner_text()
    assert "Quitter had failed by then." in said
    assert "cannot exist as estimated" in said
    assert 0 in wide.do("document.getElementById('scene-plot').data.map((t) => t.x.length)")
    wide.tab.locator("#view").select_option("-1")  # on the robot
    wide.until("document.getElementById('scene-plot').data.length > 5")
    eye = "document.getElementById('scene-plot')._fullLayout.scene.camera.eye.x"
    before = wide.do(eye)
    wide.tab.locator("#right").click()
    wide.until(f"{eye} !== {before}")
    wide.check_quiet()


def test_play_runs_to_the_end_and_stops(wide):
    wide.go_to("ellipsoids")
    wide.do("""() => { const s = document.getElementById("time"); s.value = +s.max - 3;
        s.dispatchEvent(new Event("input", {bubbles: true})); }""")
    wide.until("document.getElementById('now').textContent !== '2.00 s'")
    wide.tab.locator("#play").click()
    wide.until("document.getElementById('now').textContent === '2.00 s'")
    wide.until("document.getElementById('play').textContent === 'Play'")
    wide.check_quiet()


def test_estimators_can_be_hidden(wide):
    count = "document.querySelector('#error-plots .plot').data.length"
    assert wide.do(count) == 5  # four and the bound
    wide.tab.locator("#bar input").first.focus()
    wide.tab.keyboard.press("Space")
    wide.go_to("errors")
    wide.until(f"{count} === 4")
    wide.tab.keyboard.press("Space")
    wide.until(f"{count} === 5")
    wide.check_quiet()


def test_bands_and_ranges_can_be_chosen(wide):
    wide.go_to("parameters")
    first = "document.querySelector('#parameter-plots .plot')"
    wide.until(f"{first}.data.length === 4 + 1 + 2")  # estimates, truth, one band
    wide.tab.locator("#bands").select_option("all")
    wide.until(f"{first}.data.length === 4 + 1 + 3 * 2")
    wide.tab.locator("#bands").select_option("none")
    wide.until(f"{first}.data.length === 5")
    wide.tab.locator("#full-range").check()
    wide.until("document.getElementById('cut').hidden")
    low, high = wide.do(f"{first}._fullLayout.yaxis.range")
    every = wide.do(f"{first}.data.flatMap((trace) => [...trace.y])")
    assert low <= min(every)
    assert high >= max(every)
    wide.check_quiet()


def test_names_of_a_run_do_not_become_tags(wide):
    assert wide.do("document.querySelectorAll('img').length") == 1
    assert wide.tab.locator("#bar").inner_text().count("<img src=x onerror=alert(1)>") == 1
    names = wide.do("document.querySelector('#error-plots .plot').data.map((t) => t.name)")
    assert "&lt;img src=x onerror=alert(1)&gt;" in names
    wide.check_quiet()


@pytest.mark.slow
def test_a_plain_run_says_what_it_lacks(browser, files):
    page = Page(browser, files["plain"], 400)
    page.check_drawn()
    text = page.tab.locator("main").inner_text()
    scored = page.do("JSON.parse(document.getElementById('data').textContent).runs[0].curves")
    assert ("recorded no bound" in text) == ("bound" not in scored)
    assert ("recorded no information matrix" in text) == ("excitation" not in scored)
    page.check_quiet()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 400])
def test_two_runs_in_one_page(browser, files, width):
    page = Page(browser, files["two"], width)
    page.check_drawn()
    assert page.tab.locator("#scores-table tbody tr").count() == 8
    traces = page.do("document.querySelector('#error-plots .plot').data.map((t) => t.name)")
    assert "rls · rich" in traces
    assert "rls · grasp" in traces
    assert page.tab.locator("#scene-run option").count() == 2
    page.check_fits()
    page.check_quiet()

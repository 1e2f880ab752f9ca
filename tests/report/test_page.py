"""One file, complete and harmless: what it says is what the run says."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from testbed.report import read_folder, write_report
from testbed.report.columns import COLUMNS, best_value, columns_of
from testbed.report.curves import condition, group_bounds, group_errors, run_curves
from tests.report.run_folders import GRASP, make_run


@pytest.fixture(scope="module")
def page(rich, tmp_path_factory):
    return write_report([rich], tmp_path_factory.mktemp("page") / "r.html").read_text("utf-8")


@pytest.fixture(scope="module")
def data(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))


def numbers(packed):
    return np.frombuffer(base64.b64decode(packed["f4"]), "<f4").reshape(packed["shape"])


class Tags(HTMLParser):
    """Tags with their attributes, and the text between them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


def test_nothing_is_fetched_from_anywhere(page):
    for tag, attributes in Tags(page).tags:
        for key in ("src", "href", "srcset", "data", "action", "poster"):
            value = attributes.get(key, "")
            assert value.startswith(("data:", "#")) or not value, (tag, key, value[:80])
        assert not [key for key in attributes if key.startswith("on")], (tag, attributes)
    assert "@import" not in page.split("<script>")[0]


def test_only_its_own_scripts_may_run(page):
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]+)', page).group(1))
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 2
    for script in scripts:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in allowed
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]


def test_text_of_the_run_is_only_text(page):
    parsed = Tags(page)
    assert ("b", {}) in parsed.tags  # ours
    assert "Arm <b>picks up</b> a part & lets go" in parsed.texts
    assert any("<img src=x onerror=alert(1)>" in text for text in parsed.texts)
    pictures = [a for tag, a in parsed.tags if tag == "img"]
    assert all(a["src"].startswith("data:image/jpeg;base64,") for a in pictures)
    assert page.count("</script>") == 3  # the data holds none, though an estimator's reason does


def test_failed_estimators_stand_with_their_reason(page):
    row = re.search(r'<tr data-series="3" class=failed>.*?</tr>', page).group(0)
    assert "gave up" in row
    assert "(at t = 0.796 s)" in row
    assert "<b>" not in row  # nobody who failed is best


def test_best_is_bold_and_values_have_units(page, rich):
    card = json.loads((rich / "result.json").read_text())
    alive = {k: v for k, v in card["estimators"].items() if not v["failed"]}
    values = {k: v["metrics"]["mass_rel_error_final"] for k, v in alive.items()}
    best = min(values, key=values.get)
    row = re.search(rf"{re.escape(html.escape(best))}</th>(.*?)</tr>", page).group(1)
    assert re.search(r"<td data-value=\"[^\"]+\"><b>[\d.]+ %</b></td>", row)


def test_definitions_are_those_of_the_registry(page):
    assert html.escape("|m̂ − m| / m at the end") in page


def test_the_story_is_told(page):
    text = " ".join(Tags(page).texts)
    assert "The plant staubli_arm moves for 2 s, sampled 250 times a second" in text
    assert "part (1.2 kg) is attached to payload" in text
    assert "part is released" in text
    assert "must be at most 0.5" in text
    assert "The data tell more than the prior from before the changes in" in text
    assert "κ = " in text
    assert "the estimator is the limit" in text


def test_curves_hold_the_extremes_of_the_run(data, rich):
    with np.load(rich / "history.npz") as h:
        theta, truth, innovation = h["rls/theta"], h["truth"], h["rls/innovation"]
    curves = data["series"][0]["curves"]
    for i in range(10):
        y = numbers(curves["parameters"][i]["y"])
        np.testing.assert_allclose(
            [y.min(), y.max()], [theta[:, i].min(), theta[:, i].max()], rtol=1e-6
        )
        t = numbers(curves["parameters"][i]["t"])
        np.testing.assert_allclose(
            np.interp(t, np.arange(501) / 250, theta[:, i]), y, rtol=1e-4, atol=1e-7
        )
    np.testing.assert_allclose(
        numbers(curves["errors"]["mass"]["y"]).max(), np.abs(theta - truth)[:, 0].max(), rtol=1e-6
    )
    np.testing.assert_allclose(
        numbers(curves["innovation"]["high"]).max(), np.nanmax(innovation), rtol=1e-6
    )


def test_bands_are_two_sigma(data, rich):
    with np.load(rich / "history.npz") as h:
        t, theta, at, std = h["t"], h["rls/theta"], h["score/t"], h["rls/score_std"]
    band = data["series"][0]["curves"]["band"]
    index = np.searchsorted(t, at - 1e-6)
    np.testing.assert_allclose(numbers(band["low"]).T, theta[index] - 2 * std, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(
        numbers(band["high"]).T, theta[index] + 2 * std, rtol=1e-5, atol=1e-7
    )
    assert "band" not in data["series"][3]["curves"]  # it gives no covariance


def test_shares_of_updates_add_up(data):
    for series in data["series"]:
        times = series["curves"]["times"]
        np.testing.assert_allclose(numbers(times["share"]).sum(), 1.0, rtol=1e-5)
        edges = numbers(times["edges"])
        assert edges[0] <= times["p50"] <= times["p99"] <= times["max"] <= edges[-1]


def test_errors_and_bounds_are_of_one_measure():
    rng = np.random.default_rng(1)
    std = rng.uniform(0.1, 2.0, size=(1, 22))
    drawn = std * rng.normal(size=(400_000, 22))
    errors = group_errors(drawn, np.zeros_like(drawn), 2)
    bound = group_bounds(std, 2)
    for group in ("mass", "first_moment", "inertia", "extra"):
        np.testing.assert_allclose(np.sqrt(np.mean(errors[group] ** 2)), bound[group][0], rtol=5e-3)


def test_inertia_error_is_a_frobenius_norm():
    d = np.arange(10.0)[np.newaxis]
    I = np.array([[4, 7, 9], [7, 5, 8], [9, 8, 6.0]])
    np.testing.assert_allclose(group_errors(d, 0 * d, 1)["inertia"], np.linalg.norm(I))


@pytest.mark.usefixtures("no_picture")
def test_a_comparison_tells_runs_apart(grasp, rich, tmp_path):
    text = write_report([grasp, rich], tmp_path / "c.html").read_text("utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))
    assert [s["label"] for s in data["series"]][:2] == ["rls · grasp", "rls-never-forgets · grasp"]
    first, second = data["series"][0], data["series"][4]
    assert first["colour"] == second["colour"]
    assert first["dash"] != second["dash"]
    assert "dot" not in {s["dash"] for s in data["series"]}  # those are changes
    assert len(re.findall(r"<tr data-series", text)) == 8


def test_no_graphics_is_said_and_not_fatal(rich, tmp_path, monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "nonsense")
    text = write_report([rich], tmp_path / "r.html").read_text("utf-8")
    assert "No picture of the robot: no off-screen graphics works here" in text
    assert "<img" not in text


@pytest.mark.usefixtures("no_picture")
def test_the_same_run_gives_the_same_page(rich, tmp_path):
    pages = [write_report([rich], tmp_path / f"{i}.html").read_bytes() for i in range(2)]
    assert pages[0] == pages[1]


def estimator(value=None, jump=None, failed=None):
    """A result as far as settling goes."""
    changes = [{"at": 1.0, "settle_2_s": value, "overshoot": jump}]
    return {"failed": failed, "metrics": {"settle_2_s": value}, "changes": changes}


def test_never_is_said_where_it_never_happened_and_only_there():
    settle = next(c for c in COLUMNS if c.key == "settle_2_s")
    never, no_change = estimator(jump=0.1), {**estimator(), "changes": []}
    assert settle in columns_of([never])  # also where nobody ever settled
    assert settle not in columns_of([no_change, estimator()])
    assert [settle.text(row, "") for row in (never, no_change, estimator())] == [
        "never", "n/a", "n/a",
    ]  # fmt: skip


def test_a_failed_estimator_never_is_the_best():
    settle = next(c for c in COLUMNS if c.key == "settle_2_s")
    rows = [estimator(0.1, 0.1, "gave up"), estimator(0.5, 0.1), estimator(0.7, 0.1)]
    assert best_value(settle, rows) == 0.5


@pytest.mark.usefixtures("no_picture")
def test_values_of_different_robots_are_not_held_against_each_other(rich, copy_of, tmp_path):
    other = copy_of(rich)
    card = json.loads((other / "result.json").read_text())
    card["scenario"]["plant"]["truth_error"] = 0.9
    (other / "result.json").write_text(json.dumps(card))
    pages = [
        write_report(runs, tmp_path / "c.html").read_text("utf-8")
        for runs in ([rich, rich], [rich, other])
    ]
    assert ["<b>" in re.search(r"<tbody>(.*?)</tbody>", p).group(1) for p in pages] == [True, False]


def test_kappa_over_time_ends_where_the_result_says(data, rich):
    card = json.loads((rich / "result.json").read_text())
    curve = numbers(data["runs"][0]["curves"]["excitation"]["total_kappa"]["y"])
    np.testing.assert_allclose(curve[-1], card["excitation"]["kappa"], rtol=1e-6)
    values = np.array([[9.0, 4.0, 0.5], [0.9, 0.1, 0.0]])
    np.testing.assert_allclose(condition(values), [1.5, np.nan])


@pytest.mark.usefixtures("no_picture")
def test_one_look_at_the_information_is_shown(tmp_path):
    scene = {**GRASP, "duration": 0.9, "estimator": GRASP["estimator"][:1], "accept": []}
    folder = make_run(tmp_path / "brief", scene | {"change": []})
    curves = run_curves(read_folder(folder))
    assert curves["excitation"]["total"][0]["t"]["shape"] == [1]

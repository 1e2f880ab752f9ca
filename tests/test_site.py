"""The documentation as a site, and the estimators' pages against the registry."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from testbed.core import registry
from tests.test_docs import ROOT

ESTIMATORS = ROOT / "docs" / "estimators"


def load_script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Fetched(HTMLParser):
    """Addresses that a browser fetches by itself: not those of links to click on."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        where = given.get("src") if tag != "link" else given.get("href")
        if where and given.get("rel") != "canonical":
            self.found.append(where)


def test_the_site_builds_and_fetches_nothing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        text = page.read_text(encoding="utf-8")
        fetched = Fetched()
        fetched.feed(text)
        assert not [a for a in fetched.found if re.match(r"(https?:)?//", a)], page.name
        assert " file=" not in re.sub(r"<code>.*?</code>", "", text), f"{page.name}: a raw fence"
    for style in tmp_path.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(https?:)?//", style.read_text(encoding="utf-8"))


def test_every_estimator_has_a_page_and_every_page_an_estimator():
    assert {p.stem for p in ESTIMATORS.glob("*.md")} - {"index"} == set(registry.estimator.all())


@pytest.mark.parametrize("name", sorted(registry.estimator.all()))
def test_an_estimators_page_says_what_the_registry_says(name):
    pages = load_script("estimator_pages")
    text = (ESTIMATORS / f"{name}.md").read_text(encoding="utf-8")
    again = "run scripts/estimator_pages.py"
    assert pages.filled(text, "facts", pages.facts(name)) == text, again
    claims = re.search(r"^\| claims \| (.*) \|$", text, re.MULTILINE)[1]
    assert set(re.findall(r"`(\w+)`", claims)) == set(registry.estimator.all()[name].claims)
    for heading in ("## What it ", "## Cost", "## When it fails", "## Figures from our runs"):
        assert heading in text
    for scenario, _ in pages.CASES:
        assert f"| `{scenario}`: " in text, f"{again} --figures"


def test_the_list_of_estimators_is_that_of_the_registry():
    pages = load_script("estimator_pages")
    text = (ESTIMATORS / "index.md").read_text(encoding="utf-8")
    assert pages.filled(text, "list", pages.listing()) == text, "run scripts/estimator_pages.py"

"""Figures for papers: vector files at column width, the same for the same run."""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml

import pytest

from testbed import BadInput
from testbed.report.figures import write_figures

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def figures(rich, tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    return {f.name: f for f in write_figures([rich], folder)}


def test_every_figure_comes_as_svg_and_pdf(figures):
    names = {"errors", "parameters_payload", "margin", "times", "excitation"}
    assert set(figures) == {f"{name}.{kind}" for name in names for kind in ("svg", "pdf")}
    assert all(f.read_bytes().startswith(b"%PDF") for n, f in figures.items() if n[-3:] == "pdf")


def test_they_are_as_wide_as_a_column(figures):
    for name, wide in (("errors", 3.46), ("times", 3.46), ("parameters_payload", 7.16)):
        width = xml.parse(figures[f"{name}.svg"]).getroot().get("width")
        assert float(width.removesuffix("pt")) / 72 == pytest.approx(wide, abs=0.01)


def test_words_stay_words_and_names_are_escaped(figures):
    text = figures["errors.svg"].read_text()
    assert "best possible" in text
    assert "t (s)" in text
    assert "&lt;img src=x onerror" in text
    assert not re.search(r"<img", text)


def test_what_the_estimators_claim_is_shaded(figures, rich):
    from testbed.report.curves import band
    from testbed.report.folder import read_folder

    run = read_folder(rich)
    claimed = [name for name in run.estimators if band(run, name) is not None]
    shaded = re.findall(
        r'<g id="FillBetweenPolyCollection_\d+"', figures["parameters_payload.svg"].read_text()
    )
    assert len(claimed) == 3  # one gives no covariance
    assert len(shaded) == 10 * len(claimed)


@pytest.mark.slow
def test_the_same_run_gives_the_same_files(rich, figures, tmp_path):
    for file in write_figures([rich], tmp_path):
        assert file.read_bytes() == figures[file.name].read_bytes()


def test_a_place_that_cannot_be_written(rich, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="cannot write figures"):
        write_figures([rich], tmp_path / "file" / "below")

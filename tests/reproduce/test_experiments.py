"""Every paper's experiment runs from beginning to end and measures every claim."""

from __future__ import annotations

import json

import numpy as np
import pytest

from testbed.reproduce.catalogue import reproduce
from testbed.reproduce.cho_leg import future_error
from testbed.reproduce.page import page_of
from testbed.reproduce.verdict import claims_of

CHARTS = {
    "cho2024": ["Fig. 1", "Fig. 2"],
    "rucker2022": ["Fig. 1", "Fig. 3"],
    "kubus2008": ["Fig. 6", "Fig. 7", "Fig. 9"],
    "ekal2020": ["Figs. 2 and 3", "Fig. 4", "Fig. 5", "Fig. 6"],
    "lee2018": ["Fig. 4", "Fig. 5"],
}
SLOW = ("kubus2008", "ekal2020", "lee2018")


@pytest.mark.parametrize(
    "paper",
    [pytest.param(p, marks=pytest.mark.slow) if p in SLOW else p for p in CHARTS],
)
def test_it_runs_and_measures_everything(paper):
    stages = []
    found = reproduce(paper, "tiny", say=stages.append)
    assert len(stages) >= 2
    document = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert [row["id"] for row in document["claims"]] == [c.id for c in claims_of(paper)]
    for row in document["claims"]:
        assert None not in row["judged"]["figures"]
        assert "{" not in row["why"]
    for table in document["tables"]:
        assert table["rows"]
        assert all(len(row) == len(table["head"]) for row in table["rows"])
    titles = [chart.title for chart in found.findings.charts]
    for title, start in zip(titles, CHARTS[paper], strict=True):
        assert title.startswith(start)
    assert found.title.split(",")[0].split()[0] in page_of(found, "")


def test_matplotlib_is_not_needed(monkeypatch):
    import sys

    for name in ("matplotlib", "matplotlib.figure", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    from testbed.reproduce.experiments import ekal2020, kubus2008, lee2018  # noqa: F401

    assert reproduce("cho2024", "tiny").claims


def test_future_error_is_that_of_the_samples_to_come():
    class Rows:
        A = np.random.default_rng(0).normal(size=(30, 3, 5))
        b = np.random.default_rng(1).normal(size=(30, 3))

    theta = np.random.default_rng(2).normal(size=(3, 5))
    at = np.array([0, 11, 29])
    found = future_error(Rows, theta, at)
    for i, k in enumerate(at):
        left = Rows.A[k:] @ theta[i] - Rows.b[k:]
        assert found[i] == pytest.approx(np.sqrt(np.mean(np.sum(left**2, axis=1))))

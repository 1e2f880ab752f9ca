"""Rucker & Wensing 2022 for `testbed reproduce`: the random bodies, Fig. 1 and Fig. 3."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from testbed.reproduce import rucker
from testbed.reproduce.charts import axis, bars, grid, line
from testbed.reproduce.findings import Chart, Findings, Say, Size, Table
from testbed.reproduce.verdict import claims_of

_NAMES = {
    "eigenvalue_nls": "eigenvalue",
    "exponential_nls": "exponential",
    "log_cholesky_nls": "log-Cholesky",
}


def experiment(size: Size, say: Say) -> Findings:
    """Random bodies in three parameterisations, and the leg from random starts.

    Args:
        size: `bodies`, `seconds` of the leg, `starts`, `seed`.
        say: Told what goes on.
    """
    found = rucker.figures(
        int(size["bodies"]), float(size["seconds"]), int(size["starts"]), int(size["seed"]), say
    )
    about = (
        f"{size['bodies']} random bodies (seed {size['seed']}), and {size['seconds']:g} s of the "
        f"simulated Cheetah 3 leg from {size['starts']} random starts"
    )
    tables = [_linear(found["least_squares"]), _maps(found)]
    charts = [_figure_1(found["maps"]), _figure_3(found["leg"]["descents"])]
    return Findings(about, rucker.measured(found), tables, charts)


def _linear(linear: Mapping[str, Any]) -> Table:
    n = linear["bodies"]
    low, high = linear["interval"]
    printed = {claim.id: claim.paper for claim in claims_of("rucker2022")}
    return Table(
        "Least squares (VI-B), share of the bodies",
        ["", "paper", "ours"],
        [
            [
                "non-physical",
                f"{printed['nonphysical']:.1%}",
                f"{linear['share']:.1%} [{low:.1%}, {high:.1%}]",
            ],
            [
                "Ī not positive definite",
                f"{printed['inertia']:.1%}",
                f"{linear['inertia_not_positive'] / n:.1%}",
            ],
            ["mass not positive", f"{printed['mass']:.1%}", f"{linear['negative_mass'] / n:.1%}"],
        ],
    )


def _maps(found: Mapping[str, Any]) -> Table:
    n = found["least_squares"]["bodies"]
    rows = [
        [_NAMES[name], f"{m['consistent']} of {n}", m["median"], m["p90"], m["range"], m["failed"]]
        for name, m in found["maps"].items()
    ]
    head = ["parameterisation", "possible", "evaluations, median", "90 %", "5 to 95 %", "failed"]
    return Table("Fig. 1 in numbers", head, rows)


def _figure_1(maps: Mapping[str, Mapping[str, Any]]) -> Chart:
    """A panel a map: how many bodies took how many evaluations; at the right end the failures."""
    data = []
    for panel, (name, m) in enumerate(maps.items(), 1):
        counts = Counter(min(int(n), rucker.MOST) for n in m["evaluations"])
        x = [str(k) for k in range(1, rucker.MOST)] + [f"≥ {rucker.MOST}", "none"]
        y = [counts.get(k, 0) for k in range(1, rucker.MOST + 1)] + [m["ended_convex"]]
        data.append(bars(x, np.array(y), _NAMES[name], panel - 1, panel))
    layout = grid(list(_NAMES.values()), 1, {"type": "category", "nticks": 18}, axis("bodies"))
    layout["showlegend"] = False
    return Chart(
        "Fig. 1: evaluations until convergence",
        "“none”: no minimum inside the cone, so the free coordinates run off to infinity, and "
        "convex optimisation ends the search.",
        data,
        layout,
        640,
        True,
    )


def _figure_3(descents: list[dict[str, Any]]) -> Chart:
    """Objective above the best, and RMS of the torques, by evaluation."""
    best = min(min(d["objective"]) for d in descents)
    data = []
    for i, d in enumerate(descents):
        x = np.arange(len(d["objective"]), dtype=float)
        above = np.maximum(np.array(d["objective"]) - best, 1e-12)
        style = {"line": {"width": 1.0}, "opacity": 0.8}
        data.append(line(x, above, f"start {i + 1}", i % 8, 1, **style))
        data.append(line(x, np.array(d["rms"]), f"start {i + 1}", i % 8, 2, **style))
    layout = grid(
        ["objective (eq. 14) above the best", "RMS torque residual (N·m)"],
        2,
        axis("evaluations"),
        axis("", log=True),
    )
    layout["showlegend"] = False
    return Chart(
        f"Fig. 3: {len(descents)} random starts on the leg",
        "Each line is one start, drawn at random; the best is the lowest that any reaches.",
        data,
        layout,
        380,
        True,
    )

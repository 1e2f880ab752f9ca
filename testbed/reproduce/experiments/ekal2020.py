"""Ekal & Ventura 2020 for `testbed reproduce`: Figs. 2 to 6, and Table I."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from testbed.core.signals import Array
from testbed.core.types import PARAMETERS
from testbed.reproduce.charts import axis, grid, line, thinned
from testbed.reproduce.ekal_comparison import CASES, METHODS, row_of
from testbed.reproduce.ekal_course import FD, VARIATIONAL, Course, course
from testbed.reproduce.ekal_figures import NAMES, curves
from testbed.reproduce.findings import Chart, Findings, Say, Size, Table
from testbed.reproduce.verdict import Measured, paper_file

_CASES = ("main, noisy", "table1_1, noisy", "table1_2, noisy", "table1_3, noisy")
_LABELS = {FD: "finite differences", VARIATIONAL: "variational"}
_COLOURS = {FD: 1, VARIATIONAL: 0}
_SETTLED_S = 2.0  # "a few samples"
_GROUPS = ("inertia", "centre of mass", "mass")

Rows = Mapping[str, Mapping[str, Array]]


def experiment(size: Size, say: Say) -> Findings:
    """Integrators of a free body, and identification by both kinds of rows.

    Args:
        size: `seeds`, `integration_s`, `flight_s`.
        say: Told what goes on.
    """
    seeds = int(size["seeds"])
    say("integrating a free body in three ways")
    kept = curves(float(size["integration_s"]))
    say("a flight without noise")
    clean = course(False, 1, float(size["flight_s"]))
    say(f"{seeds} flights with noise")
    noisy = course(True, seeds, float(size["flight_s"]))
    rows: dict[str, dict[str, Array]] = {}
    for case in _CASES:
        say(f"Table I: body {CASES[case][0]}, {seeds} flights")
        rows[case] = row_of(case, seeds, 0.5 * float(size["flight_s"]))
    about = (
        f"free flyer, h = 0.05 s, {seeds} seeds of noise; a free body integrated for "
        f"{size['integration_s']:g} s"
    )
    charts = [
        _figures_2_and_3(kept),
        _errors_chart("Fig. 4: relative errors without noise", clean, ""),
        _errors_chart("Fig. 5: relative errors with noise", noisy, f"Medians of {seeds} flights. "),
        _figure_6(noisy),
    ]
    return Findings(about, _measured(kept, clean, noisy, rows), [_table_i(rows)], charts)


def _measured(
    kept: Mapping[str, Mapping[str, Array]], clean: Course, noisy: Course, rows: Rows
) -> dict[str, Measured]:
    vi, fd = kept["variational"], kept["fd"]
    last = {name: errors[-1] for name, errors in clean.each.items()}
    settled = noisy.t > _SETTLED_S
    better = noisy.groups[VARIATIONAL][settled] < noisy.groups[FD][settled]
    ratio = noisy.residual[FD] / noisy.residual[VARIATIONAL]
    nine = [float(x) for case in _CASES[1:] for x in rows[case][VARIATIONAL]]
    return {
        "energy": Measured([float(vi["energy"].max())]),
        "energy_fd": Measured([float(fd["energy"].max())]),
        "states": Measured([float(vi[k][-1] / fd[k][-1]) for k in ("attitude", "position")]),
        "noiseless": Measured((last[FD] / last[VARIATIONAL]).tolist()),
        "noisy": Measured(rows["main, noisy"][VARIATIONAL].tolist()),
        "few_samples": Measured(better.mean(axis=0).tolist()),
        "regression": Measured(ratio.tolist()),
        "table_better": Measured(nine),
        "table_figures": Measured(nine),
    }


def _table_i(rows: Rows) -> Table:
    printed = paper_file("ekal2020")["table_i"]
    others = [name for name in METHODS if name != FD]
    table: list[list[Any]] = []
    for case in _CASES:
        body = CASES[case][0]
        ours = [[float(x) for x in rows[case][name]] for name in others]
        first = [f"{100.0 * x:.2g} %" for x in rows[case][FD]]
        table.append([body, first, printed.get(body, "≥ 10 each"), *ours])
    head = ["body", "error of forward differences", "paper", *others]
    title = (
        "Table I: error of forward differences over that of each method, inertia / centre / mass"
    )
    return Table(title, head, table)


def _figures_2_and_3(kept: Mapping[str, Mapping[str, Array]]) -> Chart:
    panels = {
        "energy": "Fig. 2: |ΔE| / E",
        "momentum": "|Δ momentum| / momentum",
        "attitude": "Fig. 3: attitude error (rad)",
        "position": "Fig. 3: position error (m)",
    }
    colours = {"variational": 0, "rk4": 2, "fd": 1}
    data = []
    for panel, key in enumerate(panels, 1):
        for name, curve in kept.items():
            at = thinned(len(curve["t"]) - 1) + 1
            y = np.maximum(curve[key][at], 1e-17)
            data.append(line(curve["t"][at], y, NAMES[name], colours[name], panel))
    layout = grid(list(panels.values()), 2, axis("t (s)"), axis("", log=True))
    return Chart(
        "Figs. 2 and 3: a free body under three integrators",
        "The reference of attitude and position is Runge–Kutta at a twentieth of the step.",
        data,
        layout,
        560,
        True,
    )


def _errors_chart(title: str, found: Course, how: str) -> Chart:
    data = []
    for i in range(len(PARAMETERS)):
        for name, errors in found.each.items():
            at = thinned(len(found.t), 160)
            y = np.maximum(100.0 * errors[at, i], 1e-8)
            data.append(line(found.t[at], y, _LABELS[name], _COLOURS[name], i + 1))
    layout = grid(list(PARAMETERS), 5, axis(""), axis("", log=True))
    return Chart(
        title,
        f"{how}Relative error in % of each parameter while data come in, over time in s; first "
        "moments h stand for the centre of mass.",
        data,
        layout,
        460,
        True,
    )


def _figure_6(found: Course) -> Chart:
    names = [f"{kind} {a} ({unit})" for kind, unit in (("f", "N"), ("n", "N·m")) for a in "xyz"]
    data = []
    for i in range(6):
        at = thinned(len(found.later))
        for name in (FD, VARIATIONAL):
            y = found.predicted[name][at, i] - found.measured[name][at, i]
            data.append(line(found.later[at], y, _LABELS[name], _COLOURS[name], i + 1))
    layout = grid([f"error of {name}" for name in names], 3, axis("t (s)"))
    return Chart(
        f"Fig. 6: regression errors of the next {found.later[-1] - found.later[0]:.0f} s",
        "T̂ − T with the estimate of half time, each method with rows of its own; first flight.",
        data,
        layout,
        460,
        True,
    )

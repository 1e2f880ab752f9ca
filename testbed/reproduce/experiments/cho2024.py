"""Cho 2024 for `testbed reproduce`: Table II, Fig. 1 and Fig. 2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.signals import Array
from testbed.inertia import is_consistent, logdet_divergence
from testbed.reproduce.charts import axis, grid, line, thinned
from testbed.reproduce.cho import ALPHA, make_table
from testbed.reproduce.cho import Table as Benchmark
from testbed.reproduce.cho_claims import L2, LOGDET, PAPER, RATES, ROWS, Run, measured, over_seeds
from testbed.reproduce.cho_data import read_swing
from testbed.reproduce.cho_leg import RATE, future_error
from testbed.reproduce.findings import Chart, Findings, Say, Size, Table

_NAMES = {L2: "RLS-l2", LOGDET: "RLS-ldetdiv"}
_COLOURS = {L2: 1, LOGDET: 0}
_JOINTS = ("ab/ad", "hip", "knee")
_SHOWN_S = 4.0  # of the torques
_FLOOR = 1e-3  # of Fig. 1: at the last sample the error is rounding


def experiment(size: Size, say: Say, data: Path | None = None) -> Findings:
    """Both recursions at four rates, on the simulated leg or on the recorded one.

    Args:
        size: `seconds` of the simulated leg, and how many `seeds`.
        say: Told what goes on.
        data: The MATLAB file of the recorded leg.
    """
    if data is not None:
        say(f"reading {data.name}, and working out its rows")
        first = make_table(say=say, swing=read_swing(data))
        runs, source = [first.run], f"recorded, {data.name}"
    else:
        seconds, seeds = float(size["seconds"]), int(size["seeds"])
        first = make_table(seconds, 1, _about_seed(say, 1, seeds))
        runs = [first.run]
        for seed in range(2, seeds + 1):
            runs.append(make_table(seconds, seed, _about_seed(say, seed, seeds)).run)
        source = f"simulated, {seeds} seeds of truth, motion and noise"
    alphas = sorted(run.alpha_l2 for run in runs)
    matched = f"{alphas[0]:.3g} to {alphas[-1]:.3g}" if len(runs) > 1 else f"{alphas[0]:.3g}"
    about = (
        f"Cheetah 3 leg ({source}), {len(first.swing.b) / RATE:g} s at 1 kHz; α = {ALPHA:g} "
        f"(log-det) and {matched} (l2, matched; the paper's data needed 50)"
    )
    say("drawing")
    charts = [_figure_1(first), _figure_2(first)]
    return Findings(about, measured(runs), [_table_ii(runs), _newton(runs)], charts)


def _about_seed(say: Say, seed: int, seeds: int) -> Say:
    return lambda text: say(f"seed {seed} of {seeds}: {text}")


def _table_ii(runs: Sequence[Run]) -> Table:
    """Ours above the paper's."""
    rows: list[Sequence[Any]] = []
    for key, label in ROWS.items():
        for name in (L2, LOGDET):
            rows.append([label, _NAMES[name], "ours", *over_seeds(runs, key, name)])
            if key in PAPER:
                rows.append([label, _NAMES[name], "paper", *PAPER[key][name]])
    title = "Table II" + (
        f" (medians over {len(runs)} seeds; of I the share of seeds)" if len(runs) > 1 else ""
    )
    return Table(title, ["", "", "", *(f"{rate} Hz" for rate in RATES)], rows)


def _newton(runs: Sequence[Run]) -> Table:
    counts = [
        sum((Counter(run.cells[LOGDET][rate].iterations) for run in runs), Counter[int]())
        for rate in RATES
    ]
    steps = sorted({k for one in counts for k in one})
    rows = [[k, *(one.get(k, 0) for one in counts)] for k in steps]
    head = ["iterations", *(f"{rate} Hz" for rate in RATES)]
    return Table("Newton iterations of RLS-ldetdiv: number of updates", head, rows)


def _figure_1(found: Benchmark) -> Chart:
    swing, reference, n = found.swing, found.reference, found.swing.inertial
    at = thinned(len(swing.b), 400)
    t = (at + 1) / RATE
    friction = reference[n:]
    data = []
    for name, course in found.courses.items():
        theta = course[at + 1]
        label, colour = _NAMES[name], _COLOURS[name]
        curves = {
            1: np.linalg.norm(theta - reference, axis=1),
            2: _divergence(theta[:, :n], reference[:n]),
            3: np.linalg.norm((theta[:, n:] - friction) / friction, axis=1),
            4: future_error(swing, theta, at),
        }
        for panel, y in curves.items():
            if np.any(np.isfinite(y)):
                data.append(line(t, np.maximum(y, _FLOOR), label, colour, panel))
    layout = grid(
        [
            "‖θ̃(t)‖₂",
            "D_Φ, log-det divergence of the bodies from θ*",
            "D_ψ, relative friction error",
            "‖τ̃(t′; t)‖ over the samples still to come (N·m)",
        ],
        2,
        axis("t (s)"),
        axis("", log=True),
    )
    layout["yaxis4"] = {}
    return Chart(
        "Fig. 1: parameter and torque prediction errors at 1 kHz",
        "First seed. θ* is the batch solution of all data with the log-det prior; D_Φ does not "
        "exist where a body is impossible.",
        data,
        layout,
        560,
        True,
    )


def _divergence(theta: Array, reference: Array) -> Array:
    """Σ d(φ ‖ φ*) over the bodies (n,), NaN where a body is impossible."""
    bodies, others = theta.reshape(len(theta), -1, 10), reference.reshape(-1, 10)
    out = np.full(len(theta), np.nan)
    good = np.all(is_consistent(bodies), axis=1)
    if np.any(good):
        out[good] = np.sum(logdet_divergence(bodies[good], others), axis=-1)
    return out


def _figure_2(found: Benchmark) -> Chart:
    swing = found.swing
    n = min(len(swing.b), round(_SHOWN_S * RATE))
    at = thinned(n)
    t = (at + 1) / RATE
    data = []
    for joint, _ in enumerate(_JOINTS):
        panel = joint + 1
        data.append(line(t, swing.b[at, joint], "measured", "#b9c0c8", panel, line={"width": 1.0}))
        batch = swing.A[at, joint] @ found.reference
        data.append(line(t, batch, "BLS-ldetdiv", "#111111", panel, line={"dash": "dot"}))
        for name, course in found.courses.items():
            y = np.einsum("np,np->n", swing.A[at, joint], course[at + 1])
            data.append(line(t, y, _NAMES[name], _COLOURS[name], panel))
    layout = grid([f"{joint} torque (N·m)" for joint in _JOINTS], 1, axis("t (s)"))
    return Chart(
        "Fig. 2: measured and predicted joint torques at 1 kHz",
        f"First seed, the first {n / RATE:g} s: τ̂(t; t) is of the estimate after each sample.",
        data,
        layout,
        640,
        True,
    )

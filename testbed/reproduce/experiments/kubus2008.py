"""Kubus, Kröger & Wahl 2008 for `testbed reproduce`: Figs. 6, 7 and 9, and Table I."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from testbed.core.signals import Array
from testbed.core.types import PARAMETERS
from testbed.reproduce import kubus2008 as kubus
from testbed.reproduce.charts import axis, bars, grid, rounded
from testbed.reproduce.findings import Chart, Findings, Say, Size, Table
from testbed.reproduce.kubus2008_kappa import Condition, table_i
from testbed.reproduce.verdict import Measured, paper_file

ARMS = {"arm_vibration": "vibrating joints", "arm_payload": "faithful setpoints"}
_LABELS = {"rls": "RLS", "riv": "RIV", "rtls": "RTLS"}
_SENSED = ("sensor", "mixed", "kalman")

Errors = Mapping[str, Mapping[str, Array]]  # arm → `method-source` → relative errors (seeds, 10)


def experiment(size: Size, say: Say) -> Findings:
    """The three methods on four signal sources and two arms, and two designed trajectories.

    Args:
        size: `seeds`; `motions` and `calibration_s` of the distal part; `candidates` and
            `budget_s` of a design.
        say: Told what goes on.
    """
    say("calibrating: the sensor's distal part")
    distal = kubus.distal_part(int(size["motions"]), float(size["calibration_s"]))
    errors = {arm: _study(arm, int(size["seeds"]), distal, say) for arm in ARMS}
    conditions = table_i(int(size["candidates"]), float(size["budget_s"]), say)
    about = (
        f"Stäubli arm with load o1, 1.5 s at 1 kHz, {size['seeds']} seeds of motion and noise; two "
        f"trajectories, each designed from {size['candidates']} random ones{unfinished(conditions)}"
    )
    tables = [_errors_table(errors), _table_i(conditions)]
    return Findings(about, _measured(errors, conditions), tables, _charts(errors))


def unfinished(conditions: Sequence[Condition]) -> str:
    """Which designs the clock ended, so that Table I depends on the machine; empty: none."""
    names = dict.fromkeys(c.trajectory for c in conditions if not c.finished)
    return f" (time ended the design of {' and '.join(names)})" if names else ""


def _study(arm: str, seeds: int, distal: Array, say: Say) -> dict[str, Array]:
    scene = kubus.scenario(arm, sources=kubus.SOURCES)
    rows: dict[str, list[Array]] = {}
    for seed in range(seeds):
        say(f"{ARMS[arm]}: seed {seed + 1} of {seeds}")
        for name, one in kubus.study(scene, [seed], distal)[0].items():
            rows.setdefault(name, []).append(one)
    return {name: np.concatenate(all_of_it) for name, all_of_it in rows.items()}


def _measured(errors: Errors, conditions: Sequence[Condition]) -> dict[str, Measured]:
    mean = {arm: kubus.means(rows) for arm, rows in errors.items()}
    shaking = mean["arm_vibration"]
    each = {name: rows.mean(axis=0) for name, rows in errors["arm_vibration"].items()}

    def percents(source: str) -> list[float]:
        return [100.0 * shaking[f"{m}-{source}"] for m in ("rtls", "riv", "rls")]

    def best_other(arm: str, source: str) -> float:
        m = mean[arm]
        return m[f"rtls-{source}"] / min(m[f"rls-{source}"], m[f"riv-{source}"])

    rtls, riv, rls = percents("sensor")
    mixed = percents("mixed")
    helped = [m[f"{k}-mixed"] / m[f"{k}-sensor"] for m in mean.values() for k in kubus.METHODS]
    by_source = [[100.0 * m[f"rtls-{s}"] for s in kubus.SOURCES] for m in mean.values()]
    best = [row[1] / min(row[0], *row[2:]) for row in by_source]
    inertia = each["rls-sensor"]
    first, second = conditions[:2], conditions[2:]
    low, high = sorted((first, second), key=lambda rows: rows[0].setpoints)
    return {
        "order": Measured([rtls, riv, rls], [rtls / riv, riv / rls]),
        "all_but_one": Measured([int(np.sum(each["rtls-sensor"] < each["riv-sensor"]))]),
        "inertia_suffers": Measured([float(inertia[4:].mean() / inertia[:4].mean())]),
        "encoders_help": Measured(helped),
        "order_mixed": Measured(mixed, [mixed[0] / mixed[1], mixed[0] / mixed[2]]),
        "regardless": Measured([best_other(arm, s) for arm in ARMS for s in _SENSED]),
        "mixed_best": Measured(by_source, best),
        "kappa_set": Measured([first[0].setpoints, second[0].setpoints]),
        "kappa_sens": Measured([c.sensors for c in conditions]),
        "kappa_higher": Measured([c.sensors / c.setpoints for c in conditions]),
        "kappa_misleads": Measured([a.sensors / b.sensors for a, b in zip(low, high, strict=True)]),
        "load_negligible": Measured([abs(b.sensors / a.sensors - 1.0) for a, b in (first, second)]),
    }


def _errors_table(errors: Errors) -> Table:
    rows = []
    for arm, found in errors.items():
        mean = kubus.means(found)
        for source in kubus.SOURCES:
            cells = [f"{100.0 * mean[f'{m}-{source}']:.2f} %" for m in kubus.METHODS]
            raw = f"{100.0 * mean['rtls_raw-sensor']:.2f} %" if source == "sensor" else ""
            rows.append([ARMS[arm], source, *cells, raw])
    head = ["arm", "accelerations", *_LABELS.values(), "RTLS without its fallback"]
    return Table("Figs. 6, 7 and 9 in numbers: mean relative error (eq. 37)", head, rows)


def _table_i(conditions: Sequence[Condition]) -> Table:
    printed = paper_file("kubus2008")["table_i"]
    rows = [
        [c.trajectory, c.load, p["set"], c.setpoints, p["sens"], c.sensors]
        for c, p in zip(conditions, printed, strict=True)
    ]
    head = ["trajectory", "load", "κ_set, paper", "ours", "κ_sens, paper", "ours"]
    return Table("Table I: condition numbers", head, rows)


def _charts(errors: Errors) -> list[Chart]:
    methods = list(_LABELS.items())
    figures = {
        "Fig. 6: linear and angular accelerations from the sensor": [
            *((f"{m}-sensor", label) for m, label in methods),
            ("rtls_raw-sensor", "RTLS without its fallback"),
        ],
        "Fig. 7: linear from the sensor, angular from the encoders": [
            (f"{m}-mixed", label) for m, label in methods
        ],
        "Fig. 9: RTLS with four sources of acceleration": [
            (f"rtls-{source}", source) for source in kubus.SOURCES
        ],
    }
    return [_bars(title, series, errors) for title, series in figures.items()]


def _bars(title: str, series: Sequence[tuple[str, str]], errors: Errors) -> Chart:
    data: list[dict[str, Any]] = []
    for panel, found in enumerate(errors.values(), 1):
        for colour, (key, label) in enumerate(series):
            percent = 100.0 * found[key]
            mean = percent.mean(axis=0)
            low, high = np.percentile(percent, [25.0, 75.0], axis=0)
            spread = {
                "type": "data", "symmetric": False, "thickness": 1, "width": 2, "color": "#555",
                "array": rounded(np.maximum(high - mean, 0.0)),
                "arrayminus": rounded(np.maximum(mean - low, 0.0)),
            }  # fmt: skip
            data.append(bars(PARAMETERS, mean, label, colour, panel, error_y=spread))
    layout = grid(list(ARMS.values()), 1, None, axis("relative error (%)", log=True))
    layout["barmode"] = "group"
    seeds = len(percent)
    return Chart(
        title,
        f"Load o1; mean and quartiles over {seeds} seeds, on a logarithmic scale.",
        data,
        layout,
        520,
        True,
    )

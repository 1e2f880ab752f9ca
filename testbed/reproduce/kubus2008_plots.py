"""Figures 6, 7 and 9 of Kubus 2008 from a study's errors; needs matplotlib (extra `plots`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.core.types import PARAMETERS

_COLOURS = ("#9c9c9c", "#5b8db8", "#c8553d", "#e0b354")
_LABELS = {"rls": "RLS", "riv": "RIV", "rtls": "RTLS"}
_WHERE = {"arm_vibration": "vibrating joints", "arm_payload": "faithful setpoints"}


def draw(found: Mapping[str, Mapping[str, Array]], folder: Path) -> list[Path]:
    """PNG files fig6, fig7 and fig9, one panel a scenario.

    Args:
        found: Scenario → `method-source` → relative errors (seeds, 10).
        folder: Where to; made if need be.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise BadInput(
            'figures need matplotlib: pip install "inertia-testbed[plots]", or leave out --out'
        ) from None
    folder.mkdir(parents=True, exist_ok=True)
    methods = [(m, _LABELS[m]) for m in _LABELS]
    figures = {
        "fig6": (
            "Fig. 6: linear and angular accelerations from the sensor",
            [
                *((f"{m}-sensor", label) for m, label in methods),
                ("rtls_raw-sensor", "RTLS without its fallback"),
            ],
        ),
        "fig7": (
            "Fig. 7: linear from the sensor, angular from encoders (Kalman filter)",
            [(f"{m}-mixed", label) for m, label in methods],
        ),
        "fig9": (
            "Fig. 9: RTLS with four sources of acceleration",
            [(f"rtls-{s}", s) for s in ("sensor", "mixed", "kalman", "setpoint")],
        ),
    }
    written = []
    for name, (title, series) in figures.items():
        figure = Figure(figsize=(9.0, 3.2 * len(found)), layout="constrained")
        panels: Any = figure.subplots(len(found), 1, squeeze=False)[:, 0]
        for axes, (scenario, errors) in zip(panels, found.items(), strict=True):
            _bars(axes, series, errors)
            axes.set_title(_WHERE.get(scenario, scenario), fontsize=10, loc="left")
        panels[0].legend(ncols=len(series), fontsize=9, loc="upper left")
        seeds = len(next(iter(next(iter(found.values())).values())))
        figure.suptitle(f"{title}\nload o1, mean and quartiles over {seeds} seeds", fontsize=11)
        path = folder / f"{name}.png"
        figure.savefig(path, dpi=120)
        written.append(path)
    return written


def _bars(axes: Any, series: Sequence[tuple[str, str]], errors: Mapping[str, Array]) -> None:
    """One bar a parameter and series, on a logarithmic scale: the methods differ by decades."""
    width = 0.8 / len(series)
    places = np.arange(len(PARAMETERS))
    for i, (key, label) in enumerate(series):
        percent = 100.0 * errors[key]
        mean = percent.mean(axis=0)
        low, high = np.percentile(percent, [25.0, 75.0], axis=0)
        spread = np.abs(np.clip([mean - low, high - mean], 0.0, None))
        x = places + (i - (len(series) - 1) / 2) * width
        axes.bar(x, mean, width, label=label, color=_COLOURS[i])
        axes.errorbar(x, mean, spread, fmt="none", ecolor="#333333", elinewidth=0.7)
    axes.set_yscale("log")
    axes.set_ylabel("relative error (%)")
    axes.set_xticks(places, PARAMETERS)
    axes.grid(axis="y", linewidth=0.4)
    axes.set_axisbelow(True)
    top = axes.get_ylim()[1]
    axes.set_ylim(None, 3.0 * top)  # room for the legend

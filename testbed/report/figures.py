"""Figures for a paper: the plots of the report as SVG and PDF, at the width of a column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.core.types import PARAMETERS
from testbed.inertia import consistency_margin
from testbed.report.curves import WIDE_BINS, band, group_bounds, group_errors
from testbed.report.decimate import keep_extremes
from testbed.report.folder import RunFolder, read_folders
from testbed.report.palette import COLOURS
from testbed.report.words import describe_changes

COLUMN, PAGE = 3.46, 7.16  # inches: 88 mm and 182 mm, one and two columns of most journals
_LINES = ("-", "--", "-.", (0, (8, 2)))  # dotted are the changes
_GROUPS = {
    "mass": "mass\nerror (kg)",
    "first_moment": "first moment\nerror (kg·m)",
    "inertia": "inertia\nerror (kg·m²)",
    "extra": "friction, offsets\nerror",
    "validation": "validation\nerror",
}
_STYLE: Any = {
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.linewidth": 0.6,
    "lines.linewidth": 0.9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",  # text stays text
    "pdf.fonttype": 42,
    "svg.hashsalt": "testbed",  # the same run gives the same file
    "figure.constrained_layout.use": True,
}


def write_figures(folders: Sequence[str | Path], out: str | Path) -> list[Path]:
    """Write every figure as SVG and as PDF; returns the files.

    Args:
        folders: One run, or several on top of each other.
        out: The folder for them.
    """
    try:
        import matplotlib
    except ImportError:
        raise BadInput("figures need matplotlib: pip install 'inertia-testbed[plots]'") from None
    out, runs, written = Path(out), read_folders(folders), []
    try:
        out.mkdir(parents=True, exist_ok=True)
        with matplotlib.rc_context(_STYLE):
            for name, figure in _figures(runs):
                figure.draw_without_rendering()  # lays it out, once for both files
                figure.set_layout_engine("none")
                for kind, stamp in (("svg", {"Date": None}), ("pdf", {"CreationDate": None})):
                    file = out / f"{name}.{kind}"
                    figure.savefig(file, metadata=stamp)
                    written.append(file)
    except OSError as error:
        raise BadInput(f"cannot write figures to {str(out)!r}: {error.strerror}") from None
    return written


def _figures(runs: Sequence[RunFolder]) -> Iterator[tuple[str, Any]]:
    yield from _errors(runs)
    for body in dict.fromkeys(b for run in runs for b in run.bodies):
        yield _parameters(runs, body)
    if runs[0].bodies:
        yield _margins(runs)
    yield from _times(runs)
    yield from _excitation(runs)


@contextmanager
def _axes(rows: int, columns: int, width: float, height: float) -> Iterator[tuple[Any, Any]]:
    """A figure that belongs to nobody's window, and its axes (rows, columns)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    yield figure, figure.subplots(rows, columns, squeeze=False, sharex=True)


def _names(runs: Sequence[RunFolder]) -> list[str]:
    return list(dict.fromkeys(name for run in runs for name in run.estimators))


def _lines(runs: Sequence[RunFolder]) -> Iterator[tuple[RunFolder, str, Array, dict[str, Any]]]:
    """Run, name, estimates (n, p) and how to draw them."""
    names = _names(runs)
    for r, run in enumerate(runs):
        for name in run.estimators:
            theta = run.of(name, "theta")
            if theta is not None and theta.size:
                label = f"{name} ({run.label})" if len(runs) > 1 else name
                colour = COLOURS[names.index(name) % len(COLOURS)]
                style = {"color": colour, "ls": _LINES[r % 4], "label": label}
                yield run, name, theta, style


def _draw(axis: Any, t: Array, y: Array, **style: Any) -> None:
    index = keep_extremes(y[:, np.newaxis], WIDE_BINS)[0]
    axis.plot(t[index], y[index], **style)


def _mark(axis: Any, runs: Sequence[RunFolder]) -> None:
    for at in sorted({c["at"] for run in runs for c in describe_changes(run.scenario)}):
        axis.axvline(at, color="0.6", lw=0.6, ls=":", zorder=0)


def _legend(figure: Any, axis: Any) -> None:
    handles, labels = axis.get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    figure.legend(
        list(named.values()), list(named), loc="outside upper center", ncols=2, frameon=False
    )


def _errors(runs: Sequence[RunFolder]) -> Iterator[tuple[str, Any]]:
    curves: dict[str, list[tuple[Array, Array, dict[str, Any]]]] = {}
    for run, name, theta, style in _lines(runs):
        n = len(theta)
        errors = group_errors(theta, run.truth[:n], len(run.bodies))
        for group, y in errors.items():
            if np.any(np.isfinite(y)):
                curves.setdefault(group, []).append((run.t[:n], y, style))
        t, scored = run.arrays.get("score/t"), run.of(name, "score_validation")
        if t is not None and scored is not None and np.any(np.isfinite(scored)):
            m = min(t.size, scored.size)
            curves.setdefault("validation", []).append((t[:m], scored[:m], style))
    if not curves:
        return
    with _axes(len(curves), 1, COLUMN, 0.6 + 1.15 * len(curves)) as (figure, axes):
        for axis, (group, lines) in zip(axes[:, 0], curves.items(), strict=True):
            for t, y, style in lines:
                _draw(axis, t, y, **style)
            for r, run in enumerate(runs):
                _draw_bound(axis, run, group, _LINES[r % 4])
            _mark(axis, runs)
            axis.set_yscale("log")
            axis.set_ylabel(_GROUPS[group])
        axes[-1, 0].set_xlabel("t (s)")
        _legend(figure, axes[0, 0])
        yield "errors", figure


def _draw_bound(axis: Any, run: RunFolder, group: str, ls: Any) -> None:
    t, std = run.arrays.get("score/t"), run.arrays.get("bound/std")
    best = run.arrays.get("bound/validation")
    if t is None or std is None or std.shape != (t.size, run.truth.shape[1]):
        return
    y = best if group == "validation" else group_bounds(std, len(run.bodies)).get(group)
    if y is not None and y.shape == t.shape and np.any(np.isfinite(y)):
        _draw(axis, t, y, color="black", ls=ls, lw=1.2, label="best possible")


def _parameters(runs: Sequence[RunFolder], body: str) -> tuple[str, Any]:
    with _axes(5, 2, PAGE, 6.2) as (figure, axes):
        for i, (axis, name) in enumerate(zip(axes.T.ravel(), PARAMETERS, strict=True)):
            for run, estimator, theta, style in _lines(runs):
                if body in run.bodies:
                    column = 10 * run.bodies.index(body) + i
                    _draw(axis, run.t[: len(theta)], theta[:, column], **style)
                    claimed = band(run, estimator)
                    if claimed is not None:
                        t, low, high = claimed
                        edges = low[:, column], high[:, column]
                        axis.fill_between(t, *edges, color=style["color"], alpha=0.15, lw=0)
            for r, run in enumerate(runs):
                if body in run.bodies:
                    y = run.truth[:, 10 * run.bodies.index(body) + i]
                    _draw(axis, run.t, y, color="black", ls=_LINES[r % 4], label="truth")
            _mark(axis, runs)
            unit = "kg" if i == 0 else "kg·m" if i < 4 else "kg·m²"
            axis.set_ylabel(f"{name} ({unit})")
            _fit(axis, runs)
        for axis in axes[-1]:
            axis.set_xlabel("t (s)")
        _legend(figure, axes[0, 0])
        safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in body)
        return f"parameters_{safe}", figure


def _fit(axis: Any, runs: Sequence[RunFolder]) -> None:
    """Limits that a wild start does not stretch: where the lines are after a sixth of the run."""
    start = min(run.t[0] for run in runs)
    settled = start + 0.15 * (max(run.t[-1] for run in runs) - start)
    values = [
        np.asarray(line.get_ydata())[np.asarray(line.get_xdata()) >= settled]
        for line in axis.get_lines()
        if line.get_linestyle() != ":" or line.get_linewidth() > 0.7
    ]
    finite = [v[np.isfinite(v)] for v in values]
    spans = [np.quantile(v, (0.03, 0.97)) for v in finite if v.size]
    if spans:
        low, high = np.min(spans), np.max(spans)
        pad = 0.15 * (high - low) or 0.1 * abs(high) or 1e-6
        axis.set_ylim(low - pad, high + pad)


def _margins(runs: Sequence[RunFolder]) -> tuple[str, Any]:
    with _axes(1, 1, COLUMN, 2.2) as (figure, axes):
        axis = axes[0, 0]
        for run, _, theta, style in _lines(runs):
            n, bodies = len(theta), len(run.bodies)
            phi = theta[:, : 10 * bodies].reshape(n, bodies, 10)
            _draw(axis, run.t[:n], consistency_margin(phi, scale_free=True).min(axis=1), **style)
        axis.axhline(0.0, color="0.3", lw=0.6)
        _mark(axis, runs)
        axis.set_xlabel("t (s)")
        axis.set_ylabel("consistency margin")
        _legend(figure, axis)
        return "margin", figure


def _times(runs: Sequence[RunFolder]) -> Iterator[tuple[str, Any]]:
    timed = [
        (run, wall[wall > 0], style)
        for run, name, _, style in _lines(runs)
        if (wall := run.of(name, "wall_us")) is not None and np.any(wall > 0)
    ]
    if not timed:
        return
    with _axes(1, 1, COLUMN, 2.2) as (figure, axes):
        axis = axes[0, 0]
        low = min(wall.min() for _, wall, _ in timed)
        high = max(wall.max() for _, wall, _ in timed)
        edges = np.logspace(np.log10(low), np.log10(high) + 1e-9, 80)
        for _, wall, style in timed:
            weights = np.full(wall.size, 100.0 / wall.size)
            axis.hist(wall, edges, weights=weights, histtype="step", **style)
        for dt in sorted({run.dt for run in runs}):
            axis.axvline(1e6 * dt, color="#b3261e", lw=1.0, label="deadline")
        axis.set_xscale("log")
        axis.set_xlabel("wall time of an update (µs)")
        axis.set_ylabel("updates (%)")
        _legend(figure, axis)
        yield "times", figure


def _excitation(runs: Sequence[RunFolder]) -> Iterator[tuple[str, Any]]:
    for run in runs:
        t, total = run.arrays.get("excitation/t"), run.arrays.get("excitation/total")
        if t is None or total is None or total.ndim != 2 or len(total) != t.size:
            continue
        with _axes(1, 1, COLUMN, 2.2) as (figure, axes):
            axis = axes[0, 0]
            for i in range(total.shape[1]):
                share = i / max(1, total.shape[1] - 1)
                y = np.where(total[:, i] > 0, total[:, i], np.nan)
                axis.plot(t, y, color=(0.1 + 0.75 * share, 0.35, 0.7 - 0.6 * share), lw=0.6)
            axis.axhline(1.0, color="black", lw=0.8)
            _mark(axis, [run])
            axis.set_yscale("log")
            top = max(10.0, float(np.nanmax(total)))
            axis.set_ylim(1e-4, 3 * top)
            axis.set_xlabel("t (s)")
            axis.set_ylabel("information over prior")
            safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in run.label)
            yield "excitation" if len(runs) == 1 else f"excitation_{safe}", figure

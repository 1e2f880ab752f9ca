"""From the columns of a file to signals of a robot on an even grid of times, in SI units.

    read → times in order → gears, signs, units → gaps split → even grid → filter → derivatives

Rows that cannot be used are dropped and counted; every other thing that is done is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.logs import Table, inspect, read_log
from testbed.logs.mend import ordered, usual_step
from testbed.logs.table import listed
from testbed.replay import look
from testbed.replay.columns import joint_columns, site_columns, time_column
from testbed.replay.drivers import MEANINGS, check_effort
from testbed.replay.grid import SHORTEST, derived, gridded
from testbed.replay.loaded import Import
from testbed.replay.recipe import Recipe
from testbed.replay.robot import LogRobot
from testbed.replay.scale import beyond, scaled
from testbed.replay.smooth import resample

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0}


@dataclass
class Prepared:
    """Signals of one log.

    Attributes:
        t: Times from the start (n,), s.
        dt: Between samples.
        channels: q, v, a (n, joints of the robot), tau (n, joints of the log), wrench …
        segment: Which piece without gaps a sample is in (n,).
        joints: Joints that the log has torques of.
        effort: What tau means.
    """

    t: Array
    dt: float
    channels: dict[str, Array]
    segment: NDArray[np.int64]
    joints: tuple[str, ...]
    effort: str
    log_names: tuple[str, ...] = ()  # columns of the channel `log`
    theta: Array | None = None  # the truth (n, p) as the log's header lays it out
    header: dict[str, object] = field(default_factory=dict)


def prepare(
    table: Table, path: str | Path, recipe: Recipe, robot: LogRobot, done: Import, folder: Path
) -> Prepared:
    """Signals of one log, as the recipe says; what was done is noted in `done`."""
    warn = lambda text: done.warnings.append(f"{table.name}: {text}")  # noqa: E731
    table = _joined(table, Path(path), recipe, folder)
    done.rows += len(table) + table.dropped
    done.notes += table.notes
    for text in table.warnings:
        warn(text)
    t = _times(table, recipe)
    signals, joints, guessed, names, sources = _signals(table, recipe, robot)
    for text in guessed:
        warn(text)
    effort = _effort(table, recipe, joints, sources) if "tau" in signals else None
    order = ordered(t, table.name)
    for note in order.notes:
        warn(note)
    t, keep = order.t, order.keep
    clock = np.searchsorted(order.starts, np.arange(len(t)), side="right")
    bad = ~np.all([np.all(np.isfinite(y[keep]), axis=1) for y in signals.values()], axis=0)
    if np.any(bad):
        holes = [c for c, y in signals.items() if not np.all(np.isfinite(y[keep]))]
        warn(f"{bad.sum()} rows with missing numbers (in {', '.join(holes)}) are dropped")
    if (~bad).sum() < SHORTEST:
        raise BadInput(
            f"{table.name}: only {(~bad).sum()} rows of it can be used: too few to replay"
        )
    t, keep, clock = t[~bad], keep[~bad], clock[~bad]
    raw = {c: y[keep] for c, y in signals.items()}
    signals = scaled(raw, recipe, joints, effort)
    wild, texts = beyond(signals, table.name)
    for text in texts:
        warn(text)
    t, keep, clock = t[~wild], keep[~wild], clock[~wild]
    raw, signals = ({c: y[~wild] for c, y in some.items()} for some in (raw, signals))
    done.dropped += table.dropped + len(table) - len(keep)
    t = t - t[0]
    step = usual_step(t)
    odd = inspect.slow_clock(step)
    if odd is not None:
        warn(odd)
    for text in look.as_they_stand(raw, joints):
        warn(text)
    for channel, late in recipe.delays.items():
        if channel in signals:
            # What is late says at t + late what happened at t.
            signals[channel] = resample(t, signals[channel], t + late, "linear")
    for text in look.in_units(t, signals, joints, robot, step):
        warn(text)
    at, signals, segment, step = gridded(t, signals, clock, recipe, step, warn, done, table.name)
    signals, segment, at = derived(at, signals, segment, recipe, robot, joints, step, done)
    theta = None
    if table.theta is not None:  # of each sample the truth that held then
        latest = np.searchsorted(t, at + 1e-6 * step, side="right") - 1
        theta = table.theta[keep][np.maximum(latest, 0)]
    return Prepared(
        at, step, signals, segment, joints, effort or "torque", names, theta, table.header
    )


def _effort(table: Table, recipe: Recipe, joints: Sequence[str], columns: Sequence[str]) -> str:
    """What effort means, as the configuration or the log's header says."""
    effort = recipe.effort or table.header.get("effort")
    if effort is not None and effort not in MEANINGS:
        raise BadInput(
            f"{table.name}: its header is damaged: effort is one of {', '.join(MEANINGS)}, "
            f"not {effort!r}"
        )
    driver = recipe.driver or table.header.get("driver")
    return check_effort(effort, driver, joints, columns, table.name)


def _joined(table: Table, path: Path, recipe: Recipe, folder: Path) -> Table:
    """The log with the columns of further files beside its own."""
    for more in recipe.file:
        places = [path.parent / more.path, folder / more.path]
        found = next((p for p in places if p.exists()), None)
        if found is None:
            raise BadInput(f"file: {more.path!r} is neither beside the log nor the configuration")
        other = read_log(found)
        rows = [len(x) + x.dropped for x in (other, table)]
        if rows[0] != rows[1]:
            raise BadInput(
                f"file: {more.path!r} has {rows[0]} rows, {table.name} {rows[1]}: they must "
                "stand beside each other row for row"
            )
        # A row that one of the files lacks is dropped from the other, too.
        read = [np.arange(len(x)) if x.places is None else x.places for x in (table, other)]
        both, own, theirs = np.intersect1d(read[0], read[1], return_indices=True)
        if len(both) < rows[0]:
            table, other = table.rows(own), other.rows(theirs)
        columns = {more.prefix + name: column for name, column in other.columns.items()}
        twice = sorted(set(columns) & set(table.columns))
        if twice:
            raise BadInput(f"file: {more.path!r} repeats the columns {listed(twice)}: say a prefix")
        table = replace(
            table,
            columns={**table.columns, **columns},
            notes=[*table.notes, *other.notes],
            warnings=[*table.warnings, *(f"{found.name}: {text}" for text in other.warnings)],
            dropped=rows[1] - len(both),
        )
    return table


def _times(table: Table, recipe: Recipe) -> Array:
    if recipe.time.rate is not None:
        return np.arange(len(table)) / recipe.time.rate
    name = time_column(table, recipe.time.column)
    if name is None:
        rate = table.header.get("rate")
        if isinstance(rate, int | float) and rate > 0:
            return np.arange(len(table)) / float(rate)
        raise BadInput(
            f"{table.name}: no column of times among {listed(list(table.columns))}: say "
            "time.column, or time.rate in samples a second"
        )
    return table.columns[name] * _SECONDS[recipe.time.unit]


def _signals(
    table: Table, recipe: Recipe, robot: LogRobot
) -> tuple[dict[str, Array], tuple[str, ...], list[str], tuple[str, ...], list[str]]:
    """Channel → numbers of the log's joints (n, k) as they stand in the file.

    Also the joints, what was guessed, the columns for formulas, and those of the torques.
    """
    guessed: list[str] = []
    found: dict[str, dict[str, str]] = {}
    moving = [j for j in robot.joints if j not in recipe.fixed]
    for channel in ("q", "v", "a", "tau"):
        declared = recipe.columns.get(channel, {})
        columns, notes = joint_columns(table, channel, moving, declared, robot.joints)
        guessed += notes
        if columns:
            found[channel] = columns
    lost = [j for j in moving if j not in found.get("q", {})]
    needs_joints = robot.measure == "joint_torque" or robot.site_from_joints(table, recipe)
    if needs_joints and lost:
        raise BadInput(
            f"{table.name}: no position of the joints {listed(lost)}; say columns.q, or [fixed] "
            f"for joints that stood still; the log has {listed(list(table.columns))}"
        )
    joints = tuple(moving)
    signals: dict[str, Array] = {
        c: np.column_stack([table.columns[found[c][j]] for j in joints])
        for c in ("q", "v", "a")
        if c in found and all(j in found[c] for j in joints)
    }
    for c in ("v", "a"):
        lost = [j for j in joints if j not in found.get(c, joints)]
        if lost:
            guessed.append(f"{c} of {listed(lost)} is missing: {c} of all joints comes from q")
    torques = found.get("tau", {})
    if robot.measure == "joint_torque":
        if not torques:
            raise BadInput(
                f"{table.name}: no torques of the joints {listed(joints)}; say columns.tau; the "
                f"log has {listed(list(table.columns))}"
            )
        lost = [j for j in joints if j not in torques]
        if lost:
            raise BadInput(
                f"{table.name}: no torque of the joints {listed(lost)}: say columns.tau, or "
                "[fixed] for joints that stood still"
            )
        signals["tau"] = np.column_stack([table.columns[torques[j]] for j in joints])
    else:
        for channel in ("wrench", "accel", "gyro", "angacc"):
            axes = site_columns(table, channel, recipe.columns.get(channel, {}))
            if axes is not None:
                signals[channel] = np.column_stack([table.columns[c] for c in axes])
        if "wrench" not in signals:
            raise BadInput(f"{table.name}: no columns of the wrench (wrench.fx … wrench.mz)")
    names = robot.log_columns(recipe)
    for name in names:
        if name not in table.columns:
            raise BadInput(f"{table.name}: column: the log has no column {name!r}")
    if names:
        signals["log"] = np.column_stack([table.columns[n] for n in names])
    return signals, joints, guessed, tuple(names), [torques[j] for j in joints if j in torques]

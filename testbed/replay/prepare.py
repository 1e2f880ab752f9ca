"""From the columns of a file to signals of a robot on an even grid of times, in SI units.

    read → times in order → gears, signs, units → gaps split → even grid → filter → derivatives

Rows that cannot be used are dropped and counted; every other thing that is done is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.logs import Table, inspect, read_log
from testbed.logs.mend import gaps, is_regular, ordered, usual_step
from testbed.logs.table import listed
from testbed.replay.columns import joint_columns, site_columns, time_column
from testbed.replay.drivers import check_effort
from testbed.replay.loaded import Import
from testbed.replay.recipe import UNITS, Recipe, by_joint, gear_matrix
from testbed.replay.robot import LogRobot
from testbed.replay.smooth import differentiate, low_pass, resample

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0}
_SHORTEST = 10  # samples of a segment that is worth keeping
_MOST = 20_000_000


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
    theta: Array | None = None  # the truth (p,) as the log's header lays it out
    header: dict[str, object] = field(default_factory=dict)


def prepare(
    table: Table, path: str | Path, recipe: Recipe, robot: LogRobot, done: Import, folder: Path
) -> Prepared:
    """Signals of one log, as the recipe says; what was done is noted in `done`."""
    rows = len(table) + table.dropped
    done.rows += rows
    done.dropped += table.dropped
    warn = lambda text: done.warnings.append(f"{table.name}: {text}")  # noqa: E731
    for note in table.notes:
        (warn if "dropped" in note or "missing" in note else done.notes.append)(note)
    table = _joined(table, Path(path), recipe, folder)
    t = _times(table, recipe)
    signals, joints, guessed, names = _signals(table, recipe, robot)
    for text in guessed:
        warn(text)
    keep, notes = ordered(t, table.name)
    for note in notes:
        warn(note)
    bad = ~np.all([np.all(np.isfinite(y[keep]), axis=1) for y in signals.values()], axis=0)
    if np.any(bad):
        holes = [c for c, y in signals.items() if not np.all(np.isfinite(y[keep]))]
        warn(f"{bad.sum()} rows with missing numbers (in {', '.join(holes)}) are dropped")
        keep = keep[~bad]
    if len(keep) < _SHORTEST:
        raise BadInput(f"{table.name}: only {len(keep)} rows of it can be used: too few to replay")
    done.dropped += len(table) - len(keep)
    t = t[keep] - t[keep[0]]
    signals = {c: y[keep] for c, y in signals.items()}
    step = usual_step(t)
    odd = inspect.slow_clock(step)
    if odd is not None:
        warn(odd)
    _inspect(signals, joints, warn)
    driver = recipe.driver or table.header.get("driver")  # type: ignore[assignment]
    effort = recipe.effort or table.header.get("effort")
    if "tau" in signals:
        effort = check_effort(effort, driver, joints, table.name)
    signals = _scaled(signals, recipe, joints, effort)
    for channel, late in recipe.delays.items():
        if channel in signals:
            # What is late says at t + late what happened at t.
            signals[channel] = resample(t, signals[channel], t + late, "linear")
    _inspect_scaled(signals, joints, robot, step, warn)
    t, signals, segment, step = _gridded(t, signals, recipe, step, warn, done, table.name)
    signals, segment, t = _derived(t, signals, segment, recipe, robot, joints, step, done)
    theta = None if table.theta is None else table.theta[-1]
    return Prepared(
        t, step, signals, segment, joints, str(effort or "torque"), names, theta, table.header
    )


def _joined(table: Table, path: Path, recipe: Recipe, folder: Path) -> Table:
    """The log with the columns of further files beside its own."""
    for more in recipe.file:
        places = [path.parent / more.path, folder / more.path]
        found = next((p for p in places if p.exists()), None)
        if found is None:
            raise BadInput(f"file: {more.path!r} is neither beside the log nor the configuration")
        other = read_log(found)
        if len(other) != len(table):
            raise BadInput(
                f"file: {more.path!r} has {len(other)} rows, {table.name} {len(table)}: they must "
                "stand beside each other row for row"
            )
        columns = {more.prefix + name: column for name, column in other.columns.items()}
        twice = sorted(set(columns) & set(table.columns))
        if twice:
            raise BadInput(f"file: {more.path!r} repeats the columns {listed(twice)}: say a prefix")
        table = Table(
            table.name, {**table.columns, **columns}, table.header, table.notes, theta=table.theta
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
) -> tuple[dict[str, Array], tuple[str, ...], list[str], tuple[str, ...]]:
    """Channel → numbers of the log's joints (n, k) as they stand in the file."""
    guessed: list[str] = []
    found: dict[str, dict[str, str]] = {}
    moving = [j for j in robot.joints if j not in recipe.fixed]
    for channel in ("q", "v", "a", "tau"):
        columns, notes = joint_columns(table, channel, moving, recipe.columns.get(channel, {}))
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
    if robot.measure == "joint_torque":
        torques = found.get("tau", {})
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
    return signals, joints, guessed, tuple(names)


def _inspect(signals: dict[str, Array], joints: Sequence[str], warn: object) -> None:
    """Checks on numbers as they stand in the file."""
    for channel in ("q", "v", "tau"):
        if channel in signals:
            for text in inspect.stuck(signals[channel], joints, channel):
                warn(text)  # type: ignore[operator]
            if channel != "q":
                for text in inspect.clipped(signals[channel], joints, channel):
                    warn(text)  # type: ignore[operator]
    if "wrench" in signals:
        axes = ("fx", "fy", "fz", "mx", "my", "mz")
        for look in (inspect.stuck, inspect.clipped):
            for text in look(signals["wrench"], axes, "wrench"):
                warn(text)  # type: ignore[operator]


def _scaled(
    signals: dict[str, Array], recipe: Recipe, joints: Sequence[str], effort: object
) -> dict[str, Array]:
    """SI units at the joints: units, signs, gears, torque constants, offsets."""
    out = dict(signals)
    for channel, unit in recipe.units.items():
        if channel in out:
            out[channel] = out[channel] * UNITS[channel][unit]
    for channel in ("q", "v", "a", "tau"):
        if channel in out and channel in recipe.signs:
            out[channel] = out[channel] * by_joint(
                recipe.signs[channel], joints, 1.0, f"signs.{channel}"
            )
    if effort == "current" and "tau" in out:
        if recipe.torque_constant is None:
            if recipe.gear is None:
                raise BadInput(
                    'effort = "current" needs torque_constant (N·m per A, one a joint), or '
                    "gear.matrix with currents that stand for motor torques"
                )
        else:
            constants = by_joint(recipe.torque_constant, joints, 1.0, "torque_constant")
            out["tau"] = out["tau"] * constants
    if recipe.gear is not None:
        R = gear_matrix(recipe.gear, joints)
        for channel in recipe.gear.signals:
            if channel in out:
                turn = R if channel == "tau" else np.linalg.inv(R).T
                out[channel] = out[channel] @ turn
    for channel, value in recipe.offsets.items():
        if channel in ("q", "v", "a", "tau") and channel in out:
            out[channel] = out[channel] + by_joint(value, joints, 0.0, f"offsets.{channel}")
    return out


def _inspect_scaled(
    signals: dict[str, Array], joints: Sequence[str], robot: LogRobot, step: float, warn: object
) -> None:
    lower, upper = robot.limits(joints)
    texts = inspect.wrong_units(signals.get("q"), signals.get("v"), joints, lower, upper)
    if "accel" in signals:
        odd = inspect.wrong_gravity(signals["accel"])
        texts += [odd] if odd else []
    if "q" in signals and "v" in signals:
        dq = np.gradient(signals["q"], step, axis=0)
        texts += inspect.derivative_mismatch(signals["v"], dq, joints)
        late = inspect.delay(signals["v"], dq, 50)
        if late is not None and abs(late) > 1.5:
            texts.append(f"v is {1e3 * late * step:.3g} ms later than the derivative of q")
    for text in texts:
        warn(text)  # type: ignore[operator]


def _gridded(
    t: Array,
    signals: dict[str, Array],
    recipe: Recipe,
    step: float,
    warn: object,
    done: Import,
    name: str,
) -> tuple[Array, dict[str, Array], NDArray[np.int64], float]:
    """Pieces without gaps, each on an even grid."""
    longest = recipe.time.max_gap or 5.5 * step
    holes = gaps(t, step)
    splits = [int(i) for i in holes if t[i] - t[i - 1] > longest]
    if len(holes):
        warn(  # type: ignore[operator]
            f"{len(holes)} gaps in time, the longest {np.max(np.diff(t)):.3g} s: "
            f"{len(splits)} split the log, the others are interpolated"
        )
    bounds = [0, *splits, len(t)]
    pieces = [np.arange(a, b) for a, b in pairwise(bounds)]
    if recipe.segment:
        pieces = [
            p[(t[p] >= s.start) & (t[p] <= (np.inf if s.end is None else s.end))]
            for s in recipe.segment
            for p in pieces
        ]
    grid_step = step if recipe.time.resample is None else 1.0 / recipe.time.resample
    if t[-1] / grid_step > _MOST:
        raise BadInput(f"{name}: {t[-1] / grid_step:.0f} samples are too many: resample at less")
    short = [p for p in pieces if len(p) < _SHORTEST]
    if short:
        lost = sum(len(p) for p in short)
        done.dropped += lost
        if lost:
            warn(f"{lost} rows in pieces shorter than {_SHORTEST} samples are dropped")  # type: ignore[operator]
    pieces = [p for p in pieces if len(p) >= _SHORTEST]
    if not pieces:
        raise BadInput(f"{name}: no piece without gaps is long enough to be used")
    if recipe.segment:
        done.dropped += len(t) - sum(len(p) for p in pieces) - sum(len(p) for p in short)
    uneven = [p for p in pieces if not is_regular(t[p], step)]
    if uneven and recipe.time.resample is None:
        warn(  # type: ignore[operator]
            f"times are uneven: interpolated ({recipe.time.interpolate}) at {1 / step:.6g} samples "
            "a second; say time.resample for another rate"
        )
    times, parts, segment = [], [], []
    for i, p in enumerate(pieces):
        if recipe.time.resample is None and not any(p is u for u in uneven):
            grid, rows = t[p], {c: y[p] for c, y in signals.items()}
        else:
            grid = np.arange(t[p[0]], t[p[-1]] + 1e-9 * grid_step, grid_step)
            rows = {
                c: resample(t[p], y[p], grid, recipe.time.interpolate) for c, y in signals.items()
            }
        times.append(grid)
        parts.append(rows)
        segment.append(np.full(len(grid), i))
    joined = {c: np.vstack([rows[c] for rows in parts]) for c in signals}
    return np.concatenate(times), joined, np.concatenate(segment), grid_step


def _derived(
    t: Array,
    signals: dict[str, Array],
    segment: NDArray[np.int64],
    recipe: Recipe,
    robot: LogRobot,
    joints: Sequence[str],
    step: float,
    done: Import,
) -> tuple[dict[str, Array], NDArray[np.int64], Array]:
    """Filter every piece, then v and a where the log has none; edges of filters are cut off."""
    how = recipe.derivative
    kept, parts = [], []
    trim = 0 if recipe.filter is None else int(np.ceil(0.5 / (recipe.filter.hz * step)))
    for i in range(int(segment.max()) + 1):
        where = np.flatnonzero(segment == i)
        rows = {c: y[where] for c, y in signals.items()}
        if recipe.filter is not None:
            f = recipe.filter
            for c in [c for c in rows if c != "log" and (f.signals is None or c in f.signals)]:
                rows[c] = low_pass(rows[c], step, f.hz, f.order, f.kind, "filter")
        if "q" in rows:
            if "v" not in rows or how.always:
                rows["v"] = differentiate(rows["q"], step, how.method, how.window, how.degree)
            if "a" not in rows or how.always:
                rows["a"] = differentiate(rows["v"], step, how.method, how.window, how.degree)
        inner = slice(trim, len(where) - trim)
        if len(where) - 2 * trim < _SHORTEST:
            done.dropped += len(where)
            continue
        done.dropped += 2 * trim
        kept.append(where[inner])
        parts.append({c: y[inner] for c, y in rows.items()})
    if not parts:
        raise BadInput(f"no piece of the log is long enough for filter.hz = {recipe.filter.hz:g}")  # type: ignore[union-attr]
    if trim:
        done.notes.append(f"{trim * step:.3g} s at each end of a piece are cut off after filtering")
    index = np.concatenate(kept)
    joined = {c: np.vstack([p[c] for p in parts]) for c in parts[0]}
    joined = robot.complete(joined, joints, recipe)
    return joined, segment[index], t[index]

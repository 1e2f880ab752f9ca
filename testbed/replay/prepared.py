"""Logs prepared as a configuration says, joined to one stream, as a source for the loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.core import registry
from testbed.core.errors import BadInput
from testbed.core.protocols import Rig
from testbed.core.signals import Array
from testbed.harness import Scenario
from testbed.harness.messages import located
from testbed.logs import LogSource, Table
from testbed.logs.mend import usual_step
from testbed.logs.recorder import other_robot
from testbed.logs.source import as_recorded
from testbed.plants.setup import Setup
from testbed.regressors.drive_torque import RowTable
from testbed.replay.diagnose import diagnose, finite_rows, residual_std, thinned
from testbed.replay.loaded import Import, Loaded
from testbed.replay.prepare import Prepared, prepare
from testbed.replay.recipe import Recipe, by_joint
from testbed.replay.robot import LogRobot
from testbed.replay.rows import make_rows
from testbed.replay.whole import in_order

_OFF = 30.0  # times the CAD model's torques: no friction and no load is as large


class Stream:
    """Several prepared logs of one robot, one after the other.

    Attributes:
        rig: What is known of the robot, with the noise that the logs show.
        t: Times (n,), s.
        flat: Signals (n, size).
        segment: Pieces without gaps, counted over all logs (n,).
        log: Which log a sample is from (n,).
        rows: All equations, filtered and decimated as declared.
        index: The sample of each of them.
    """

    rig: Rig
    rows: RowTable
    index: NDArray[np.int64]

    def __init__(self, robot: LogRobot, logs: Sequence[Prepared], done: Import) -> None:
        first = logs[0]
        self.robot, self.logs, recipe = robot, logs, robot.recipe
        for other in logs[1:]:
            if other.joints != first.joints or not np.isclose(other.dt, first.dt, rtol=1e-3):
                raise BadInput(
                    f"logs of one stream need the same joints and rate: {1 / first.dt:g} and "
                    f"{1 / other.dt:g} samples a second; say time.resample"
                )
        self.layout = robot.layout(first.joints, first.channels, first.log_names)
        times, segments, end, count = [], [], 0.0, 0
        for i, log in enumerate(logs):
            times.append(log.t if i == 0 else log.t - log.t[0] + end + first.dt)
            segments.append(log.segment + count)
            end, count = float(times[-1][-1]), int(segments[-1].max()) + 1
        self.t, self.segment = np.concatenate(times), np.concatenate(segments)
        self.log = np.repeat(np.arange(len(logs)), [len(log.t) for log in logs])
        self.flat = np.vstack([self._flat(log) for log in logs])
        rig = robot.rig(first.dt, self.layout, first.joints, self._sizes(first.joints))
        self.channel = "tau" if robot.measure == "joint_torque" else "wrench"
        names = self.layout.channels[self.channel].axes
        declared = recipe.noise.get(self.channel)
        ones = {self.channel: np.ones(len(names))}
        self.rows, self.index = make_rows(
            replace(rig, noise=ones), self.t, self.flat, self.segment, recipe.rows
        )
        self._refuse_nothing()
        if declared is None:
            std = residual_std(self.rows, self.log[self.index], rig)
            listed = ", ".join(f"{n} {s:.3g}" for n, s in zip(names, std, strict=True))
            done.notes.append(f"noise of {self.channel}, from what least squares leaves: {listed}")
        else:
            std = by_joint(declared, names, 0.0, f"noise.{self.channel}")
            if not np.all(std > 0):
                raise BadInput(f"noise.{self.channel} must be positive, a standard deviation")
        self.rig = replace(rig, noise={self.channel: std})
        if self.channel == "tau":
            self._compare_with_cad(done)

    def _compare_with_cad(self, done: Import) -> None:
        """Torques of quite another size than the CAD model's look like another unit."""
        some = np.unique(np.linspace(0, len(self.t) - 1, 1000).astype(int))
        at = [self.robot.joints.index(j) for j in self.logs[0].joints]
        q, v, a = (self.flat[some][:, self.layout[c]] for c in ("q", "v", "a"))
        cad = self.robot.model_torque(q, v, a)[:, at]
        tau = self.flat[some][:, self.layout["tau"]]
        ratio = float(np.linalg.norm(tau) / max(float(np.linalg.norm(cad)), 1e-300))
        if not 1 / _OFF < ratio < _OFF:
            done.warnings.append(
                f"tau is {ratio:.3g} times as large as the CAD model says: it looks like another "
                'unit (units.tau = "N·mm"), or like motor torques (gear.matrix)'
            )

    def _refuse_nothing(self) -> None:
        if not np.any(self.rows.keep):
            raise BadInput("deadband leaves no row: every joint is slower than it, all the time")
        some = thinned(self.rows)
        if not len(finite_rows(self.rows, some)[1]):
            raise BadInput("no equation of the log is finite: look at columns and offsets")

    def _flat(self, log: Prepared) -> Array:
        channels = dict(log.channels)
        if "tau" in channels and log.effort in ("gravity_compensated", "external"):
            q, v, a = (channels[c] for c in ("q", "v", "a"))
            if log.effort == "gravity_compensated":
                v, a = np.zeros_like(v), np.zeros_like(a)
            at = [self.robot.joints.index(j) for j in log.joints]
            channels["tau"] = channels["tau"] + self.robot.model_torque(q, v, a)[:, at]
        return np.hstack([channels[c] for c in self.layout])

    def _sizes(self, joints: Sequence[str]) -> dict[str, Array]:
        """Root mean square of v, a and tau a joint."""
        at = [self.robot.joints.index(j) for j in joints]
        sizes = {}
        for channel in ("v", "a", "tau"):
            if channel in self.layout:
                y = self.flat[:, self.layout[channel]]
                y = y if channel == "tau" else y[:, at]
                rms = np.sqrt(np.mean(y**2, axis=0))
                sizes[channel] = np.maximum(rms, 1e-3 * max(float(rms.max()), 1e-9))
        return sizes

    def source(self) -> LogSource:
        """The stream for the loop; only samples that have equations."""
        recipe, rig, i = self.robot.recipe, self.rig, self.index
        name = "wrench_rows" if self.channel == "wrench" else "drive_torque"
        if recipe.rows.hz is not None or self.channel == "tau":
            drive = replace(rig.options["drive"], table=self.rows)
            options = {**rig.options, "drive": drive}
            rig = replace(rig, options=options, default_regressor=name)
        rig = replace(rig, dt=rig.dt * recipe.rows.decimate)
        segment = self.segment[i]
        starts = [0, *(np.flatnonzero(np.diff(segment)) + 1)]
        theta = self._theta()
        flat = self.flat[i]
        return LogSource(
            rig,
            self.t[i],
            {"measured": flat},
            segment,
            theta=theta,
            clean=None if theta is None else flat.copy(),
            starts=starts,
            rigid_truth=False,
        )

    def _theta(self) -> Array | None:
        """The truth (n, p) of simulated logs, where it names all that is identified here."""
        parts = []
        for log in self.logs:
            bodies, extra = log.header.get("bodies"), log.header.get("extra")
            if log.theta is None or not isinstance(bodies, list) or not isinstance(extra, list):
                return None
            if self.channel == "wrench" or any(b not in bodies for b in self.rig.bodies):
                return None
            inertial = [log.theta[:, 10 * bodies.index(b) :][:, :10] for b in self.rig.bodies]
            after = log.theta[:, 10 * len(bodies) :]
            if any(name not in extra for name in self.rig.extra):
                return None
            extras = after[:, [extra.index(n) for n in self.rig.extra]]
            parts.append(np.hstack([*inertial, extras]))
        return np.vstack(parts)[self.index]

    def ends(self) -> list[int]:
        """Sample (of the source) at the end of every log but the last."""
        return [int(k) for k in np.flatnonzero(np.diff(self.log[self.index]))]


def open_stream(
    tables: Sequence[Table],
    files: Sequence[str | Path],
    plant: str | None,
    model: str | Path | None,
    config: str | Path | None,
    done: Import,
    robot: LogRobot | None = None,
) -> Stream:
    """Prepare logs and join them; what was done is noted in `done`."""
    if robot is None:
        robot = make_robot(tables, plant, model, config)
    folder = Path() if config is None else Path(config).parent
    with located(Path(config).name if config is not None else "replay"):
        logs = [
            prepare(table, path, robot.recipe, robot, done, folder)
            for table, path in zip(tables, files, strict=True)
        ]
        stream = Stream(robot, logs, done)
    for table in tables:
        other = other_robot(table.header, stream.rig)
        if other is not None:
            done.warnings.append(f"{table.name}: {other}")
    return stream


def make_robot(
    tables: Sequence[Table], plant: str | None, model: str | Path | None, config: str | Path | None
) -> LogRobot:
    """The robot that a configuration and the logs' headers describe."""
    recipe = Recipe.load(config)
    if recipe.measure is None and plant is None and recipe.site is not None:
        recipe = recipe.model_copy(update={"measure": "wrench"})
    measures = {t.header.get("measures") for t in tables}
    if recipe.measure is None and measures <= {"joint_torque", "wrench"} and len(measures) == 1:
        if recipe.site is not None or measures == {"joint_torque"} or plant is not None:
            recipe = recipe.model_copy(update={"measure": measures.pop()})
    with located(Path(config).name if config is not None else str(plant or model)):
        return LogRobot(plant, model, recipe)


def load_prepared(
    tables: Sequence[Table],
    files: Sequence[str | Path],
    plant: str | None,
    model: str | Path | None,
    config: str | Path | None,
    seed: int,
) -> Loaded:
    """A source from logs, prepared as a configuration says."""
    done = Import()
    if plant is not None and not _has_joints(plant):
        return _by_names(tables, plant, config, seed, done)
    stream = open_stream(tables, files, plant, model, config, done)
    done.take(diagnose(stream))
    recipe, source = stream.robot.recipe, stream.source()
    scene = _scene(tables, plant, model, recipe, source)
    loaded = Loaded(source, scene, seed, done, recipe.prior_error, 0.0)
    loaded.know_shifts((), stream.ends())
    return loaded


def _has_joints(plant: str) -> bool:
    from testbed.plants.joint_robot import JointRobot

    make = registry.plant.find(plant).make
    return isinstance(make, type) and issubclass(make, JointRobot)


def _by_names(
    tables: Sequence[Table], plant: str, config: str | Path | None, seed: int, done: Import
) -> Loaded:
    """Logs of a plant without joints to map: columns must be named as its channels are."""
    if config is not None:
        raise BadInput(f"--config is for robots with joints; {plant} takes columns by their names")
    robot = registry.construct("plant", registry.plant.find(plant), {"setup": Setup()})
    kept = [in_order(table, robot.rig.layout, None, done) for table in tables]
    step = usual_step(kept[0].columns["t"])
    rig = replace(robot.rig, dt=step)
    rig = replace(rig, groups={g: v for g, v in rig.groups.items() if g == "measured"})
    source = as_recorded(kept, rig, robot.rigid_truth)
    recipe = Recipe.read({}, "config")
    scene = _scene(tables, plant, None, recipe, source)
    return Loaded(source, scene, seed, done, recipe.prior_error, 0.0)


def _scene(
    tables: Sequence[Table],
    plant: str | None,
    model: str | Path | None,
    recipe: Recipe,
    source: LogSource,
) -> Scenario:
    """The replay as a scenario: what a result says it is of."""
    robot: dict[str, Any] = {"use": plant or "mjcf", "truth_error": recipe.prior_error}
    robot["target"] = list(source.rig.bodies)
    if model is not None:
        robot["model"] = str(model)
    if recipe.site is not None:
        robot["site"] = recipe.site
    dt = source.rig.dt
    return Scenario.from_dict(
        {
            "title": "Replay of " + ", ".join(t.name for t in tables),
            "duration": min(max(float(source.t[-1] - source.t[0]), dt), 1e5),
            "rate": min(1.0 / dt, 1e5),
            "plant": robot,
        }
    )

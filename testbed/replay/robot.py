"""The robot of a log: its geometry and CAD values, from a model file or a plant; never a truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core import registry
from testbed.core.errors import BadInput, UnknownName
from testbed.core.protocols import Rig
from testbed.core.signals import Array, Channel, Layout
from testbed.kinematics import body_motion
from testbed.logs import Table
from testbed.plants.joint_robot import SITE_CHANNELS, JointRobot
from testbed.plants.mjcf import Mjcf
from testbed.plants.setup import Setup
from testbed.regressors import TreeRegressor
from testbed.regressors.drive_torque import PARTS, Column, Drive
from testbed.regressors.expressions import parse_formula
from testbed.replay.columns import site_columns
from testbed.replay.recipe import Recipe, by_joint

_GAIN_STD = 0.2  # how far a drive's gain may be from its nominal value
OFFSETS = tuple(f"offset.{axis}" for axis in ("fx", "fy", "fz", "mx", "my", "mz"))


class LogRobot:
    """A robot whose joints were logged.

    Args:
        plant: Name of a plant with driven joints, or None.
        model: The robot's own file, or None.
        recipe: How the log is prepared.
    """

    def __init__(self, plant: str | None, model: str | Path | None, recipe: Recipe) -> None:
        setup = Setup(target=recipe.target)
        options: dict[str, Any] = {}
        if recipe.measure is not None:
            options["measure"] = recipe.measure
        if model is not None:
            if recipe.site is not None:
                options["site"] = recipe.site
            self.plant: Any = Mjcf(setup, model=str(model), mend=True, **options)
        else:
            entry = registry.plant.find(str(plant))
            if options:
                registry.check_parameters("plant", entry, options, given=("setup",))
            self.plant = registry.construct("plant", entry, {"setup": setup, **options})
        if not isinstance(self.plant, JointRobot) or self.plant.floating:
            raise BadInput(
                f"{plant or model}: only logs of robots whose base is fixed and whose joints are "
                "all hinges and slides can be prepared; logs that testbed recorded itself replay "
                "as they are, without --config"
            )
        self.recipe, self.measure = recipe, self.plant.measure
        self.joints: tuple[str, ...] = self.plant.driven
        for name in recipe.fixed:
            if name not in self.joints:
                raise UnknownName("joint", name, self.joints, "fixed: ")

    def limits(self, joints: Sequence[str]) -> tuple[Array, Array]:
        """Lower and upper positions of these joints."""
        at = [self.joints.index(j) for j in joints]
        return self.plant.lower[at], self.plant.upper[at]

    def site_from_joints(self, table: Table, recipe: Recipe) -> bool:
        """Whether the motion of the wrist sensor must come from the joints."""
        channels = ("accel", "gyro", "angacc")
        return any(site_columns(table, c, recipe.columns.get(c, {})) is None for c in channels)

    def log_columns(self, recipe: Recipe) -> list[str]:
        """Columns of the log that the user's formulas name."""
        formulas = [
            parse_formula(f, f"column.{c.name}") for c in recipe.column for f in c.rows.values()
        ]
        return sorted({name for f in formulas for channel, name in f.signals if channel == "log"})

    def complete(
        self, rows: dict[str, Array], joints: Sequence[str], recipe: Recipe
    ) -> dict[str, Array]:
        """q, v, a of all joints, fixed ones too; the sensor's motion where it is not logged."""
        out = dict(rows)
        at = [self.joints.index(j) for j in joints]
        if "q" in rows:
            n = len(rows["q"])
            for channel in ("q", "v", "a"):
                full = np.zeros((n, len(self.joints)))
                if channel == "q":
                    full[:] = [recipe.fixed.get(j, 0.0) for j in self.joints]
                full[:, at] = rows[channel]
                out[channel] = full
        if self.measure == "wrench" and not all(c in rows for c in ("accel", "gyro", "angacc")):
            motion = self._site_motion(out["q"], out["v"], out["a"])
            for i, channel in enumerate(("accel", "gyro", "angacc")):
                out.setdefault(channel, motion[:, 3 * i : 3 * i + 3])
        return out

    def _site_motion(self, q: Array, v: Array, a: Array) -> Array:
        """[a − g, ω, α] (n, 9) of the sensor's site, in its frame."""
        plant = self.plant
        body = plant.site_body if plant.site_body is not None else plant.site.body - 1
        rows = body_motion(plant.tree, body, *(np.ascontiguousarray(x) for x in (q, v, a)))
        if plant.site_body is not None:
            return rows
        R, p = plant.site.carried[plant.site.carrier]  # the body in the site's frame
        lever = -R.T @ p  # the site's origin in the body's frame
        acc, omega, alpha = rows[:, :3], rows[:, 3:6], rows[:, 6:]
        acc = acc + np.cross(alpha, lever) + np.cross(omega, np.cross(omega, lever))
        return np.hstack([x @ R.T for x in (acc, omega, alpha)])

    def model_torque(self, q: Array, v: Array, a: Array) -> Array:
        """What the CAD model says of the joints' torques (n, joints), without friction."""
        S = self.plant.coupling()
        q, v, a = (np.ascontiguousarray(x if S is None else x @ S.T) for x in (q, v, a))
        torque = TreeRegressor(self.plant.tree)(q, v, a) @ self.plant._cad_of_tree()
        return np.asarray(torque if S is None else torque @ S)

    def drive(self, joints: Sequence[str]) -> Drive:
        """What the rows of these joints' torques are made of."""
        recipe, m = self.recipe, self.recipe.model
        wanted = dict(
            zip(
                PARTS,
                (m.viscous, m.coulomb, m.offset, m.actuator_inertia, m.drive_gain),
                strict=True,
            )
        )
        band = None
        if recipe.deadband is not None:
            band = by_joint(recipe.deadband, joints, 0.0, "deadband")
        columns, names = [], set()
        for c in recipe.column:
            if c.name in names:
                raise BadInput(f"column: two columns share the name {c.name!r}")
            names.add(c.name)
            entries = []
            for joint, text in c.rows.items():
                if joint not in joints:
                    raise UnknownName("joint", joint, joints, f"column.{c.name}: ")
                formula = parse_formula(text, f"column.{c.name}.{joint}")
                for channel, name in formula.signals:
                    known = joints if channel == "tau" else self.joints
                    if channel != "log" and name not in known:
                        raise UnknownName("joint", name, known, f"column.{c.name}.{joint}: ")
                entries.append((list(joints).index(joint), formula))
            columns.append(Column(c.name, entries))
        dofs = np.array([self.joints.index(j) for j in joints], dtype=np.int64)
        parts = tuple(p for p in PARTS if wanted[p])
        return Drive(dofs, parts, m.coulomb_speed, band, tuple(columns))

    def layout(
        self, joints: Sequence[str], channels: dict[str, Array], log: Sequence[str]
    ) -> Layout:
        """The channels of a prepared log."""
        own = [
            Channel("q", self.joints, "rad, m", limit=1e4),
            Channel("v", self.joints, "rad/s, m/s", limit=1e4),
            Channel("a", self.joints, "rad/s², m/s²", limit=1e6),
        ]
        if "q" not in channels:
            own = []
        if self.measure == "joint_torque":
            own.append(Channel("tau", tuple(joints), "N·m, N", limit=1e6))
        else:
            own += SITE_CHANNELS
        if log:
            own.append(Channel("log", tuple(log), "1", limit=1e12))
        return Layout(own)

    def rig(self, dt: float, layout: Layout, joints: Sequence[str], size: dict[str, Array]) -> Rig:
        """What regressors and estimators may know.

        Args:
            dt: Time between samples (s).
            layout: The log's channels.
            joints: Joints with torques.
            size: Typical size of v, a, tau a joint, from which priors of friction take their width.
        """
        base: Rig = self.plant.rig
        options: dict[str, Any] = {
            "body_frames": base.options.get("body_frames", self.measure != "wrench")
        }
        groups = {"measured": layout}
        if self.measure == "wrench":
            extra = OFFSETS if self.recipe.model.wrench_offset else ()
            cad = np.concatenate([base.cad[: 10 * len(base.bodies)], np.zeros(len(extra))])
            options |= {"drive": Drive(np.arange(6))}
            return replace(
                base, dt=dt, groups=groups, extra=extra, cad=cad, options=options, noise={},
                group_noise={}, friction_held=False,
            )  # fmt: skip
        drive = self.drive(joints)
        prior, std, lower = self._extras(drive, joints, size)
        options |= {"drive": drive, "extra_std": std, "extra_lower": lower}
        armature = base.options.get("armature")
        if armature is not None and "inertia" not in drive.parts:
            options["armature"] = armature
        cad = np.concatenate([base.cad[: 10 * len(base.bodies)], prior])
        return replace(
            base, dt=dt, groups=groups, extra=drive.names(joints), cad=cad, options=options,
            noise={}, group_noise={}, friction_held=False, default_regressor="drive_torque",
        )  # fmt: skip

    def _extras(
        self, drive: Drive, joints: Sequence[str], size: dict[str, Array]
    ) -> tuple[Array, Array, Array]:
        """Prior, its width and lower bounds of the extra parameters."""
        plant, at = self.plant, drive.dofs
        torque = np.maximum(size["tau"], 1e-6)
        known = len(plant.viscous) == len(self.joints)
        nothing, open_ = np.zeros(len(joints)), np.full(len(joints), -np.inf)
        armature = plant.rig.options.get("armature")
        table = {
            "viscous": (plant.viscous[at] if known else nothing, torque / size["v"], nothing),
            "coulomb": (plant.coulomb[at] if known else nothing, torque, nothing),
            "offset": (nothing, torque, open_),
            "inertia": (nothing if armature is None else armature[at], torque / size["a"], nothing),
            "gain": (nothing, np.full(len(joints), _GAIN_STD), open_),
        }
        parts = [table[p] for p in PARTS if p in drive.parts]
        own = self.recipe.column
        width = [float(torque.max()) if c.std is None else c.std for c in own]
        return (
            np.concatenate([*(p[0] for p in parts), [c.prior for c in own]]),
            np.concatenate([*(p[1] for p in parts), width]),
            np.concatenate([*(p[2] for p in parts), np.full(len(own), -np.inf)]),
        )

"""Identify a robot from its logs, as people do it: first the robot, then what it carries.

Stage one takes the log without load: base parameters, friction and whatever else the configuration
declares, with intervals, and a full set of possible bodies near CAD for export. Stage two takes the
log with the load and asks for ten parameters alone, those of the load at a named body,

    b₂ − A₂ θ̂ = A₂[body] φ + e₂ + A₂ (θ − θ̂)

with the robot's own uncertainty carried along: both logs are solved together, in which every
direction of θ that matters has been seen by the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.protocols import Rig
from testbed.core.seeding import Streams
from testbed.core.signals import Array
from testbed.core.types import Equation
from testbed.estimators import BLSLogDet, SDPBatch
from testbed.harness.messages import located
from testbed.harness.problem import make_problem
from testbed.inertia import is_consistent
from testbed.logs import read_log
from testbed.replay.base import Base, find_base
from testbed.replay.diagnose import diagnose, parameter_names, prior_scale, thinned
from testbed.replay.least_squares import Fit, fit, usable
from testbed.replay.loaded import Import
from testbed.replay.payload import Payload, identify_payload
from testbed.replay.prepared import Stream, make_robot, open_stream
from testbed.replay.validate import errors, validate

METHODS = ("logdet", "sdp", "least_squares")
_UNEXPLAINED = 0.5  # of a joint's torque, held out: its part of the model is worth little
VAGUE = 10.0  # times its declared width: the prior decides only what the data leave open


@dataclass
class Identified:
    """Everything that identification has to say.

    Attributes:
        rig: The robot as it was asked for.
        fit: Least squares of the unloaded log.
        base: Base parameters.
        theta: A full set of possible bodies (p,), for export.
        theta_std: Standard deviation of each (p,), the prior's where the data say nothing.
        validation: Held-out errors.
        payload: The load, where a loaded log was given.
        done: What became of the logs.
        stream: The unloaded log.
    """

    rig: Rig
    fit: Fit
    base: Base
    theta: Array
    theta_std: Array
    validation: dict[str, Any]
    payload: Payload | None
    done: Import
    stream: Stream
    info: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The contract's JSON."""
        names = parameter_names(self.rig)
        beta, K = self.base.K @ self.fit.theta, self.base.K
        std = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", K, self.fit.cov, K), 0.0))
        return {
            "parameters": dict(zip(names, self.theta.tolist(), strict=True)),
            "std": dict(zip(names, self.theta_std.tolist(), strict=True)),
            "identifiable": {
                "rank": self.base.rank,
                "of": self.rig.size,
                "alone": [names[i] for i in self.base.alone],
                "base": [
                    {"name": n, "value": float(v), "std": float(s)}
                    for n, v, s in zip(self.base.names, beta, std, strict=True)
                ],
                "not_seen": [names[i] for i in self.base.unseen],
                "only_in_combination": [
                    names[i]
                    for i in range(self.rig.size)
                    if i not in self.base.alone and i not in self.base.unseen
                ],
            },
            "validation": self.validation,
            "payload": None if self.payload is None else self.payload.as_dict(),
            "method": self.info,
            "import": self.done.as_dict(),
            "warnings": self.done.warnings,
        }


def identify(
    *,
    model: str | Path | None = None,
    log: str | Path | None = None,
    unloaded: str | Path | None = None,
    loaded: str | Path | None = None,
    payload_at: str | None = None,
    config: str | Path | None = None,
    plant: str | None = None,
    method: str = "logdet",
    strict: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Identified:
    """Identify a robot, and what it carries.

    Args:
        model: The robot's MJCF or URDF file.
        log: A log of the robot alone.
        unloaded: The same by another name, where `loaded` is given.
        loaded: A log of the robot with its load.
        payload_at: The body that carries the load.
        config: TOML file that says what the columns are and how they are prepared.
        plant: A plant's name instead of a model.
        method: How the full set of possible bodies is found: "logdet", "sdp", or "least_squares",
            which does not care whether bodies are possible.
        strict: Refuse logs of which anything had to be mended.
        progress: Called with a line before every step of the work.
    """
    tell = progress or (lambda text: None)
    first = unloaded if unloaded is not None else log
    if first is None or (log is not None and unloaded is not None):
        raise BadInput("say which log is of the robot alone: --log, or --unloaded with --loaded")
    if (loaded is None) != (payload_at is None):
        raise BadInput("--loaded LOG and --payload-at BODY belong together")
    if (plant is None) == (model is None):
        raise BadInput("say which robot the logs are of: --model FILE (or a plant)")
    if method not in METHODS:
        raise UnknownName("method", method, METHODS)
    done = Import()
    tell(f"reading {first} …")
    table = read_log(first)
    robot = make_robot([table], plant, model, config)
    if loaded is not None and robot.measure != "joint_torque":
        raise BadInput("--loaded is for joint torques; a wrist sensor's log is --log by itself")
    stream = open_stream([table], [first], plant, model, config, done, robot)
    if payload_at is not None and payload_at not in stream.rig.tree.names:
        raise UnknownName("body", payload_at, stream.rig.tree.names, "--payload-at: ")
    done.take(diagnose(stream))
    where = Path(config).name if config is not None else "identify"
    with located(where):
        result = _first_stage(stream, method, done, tell)
        if loaded is not None and payload_at is not None:
            tell(f"reading {loaded} …")
            other = open_stream([read_log(loaded)], [loaded], plant, model, config, done, robot)
            done.take(diagnose(other), "loaded")
            tell(f"solving for the load at {payload_at} …")
            load = identify_payload(result.fit, stream, other, payload_at, VAGUE)
            _judge(load.validation["held_out"], done, " with the load")
            result = replace(result, payload=load)
    done.enforce(strict)
    return result


def _judge(held_out: Mapping[str, Any], done: Import, where: str = "") -> None:
    """Warn of joints whose torques the model does not predict."""
    for name, row in held_out.items():
        for joint, error in row["joints"].items():
            if error["relative"] > _UNEXPLAINED:
                done.warnings.append(
                    f"{joint}: {100 * error['relative']:.0f} % of its torque{where} is not "
                    f"predicted in what was held out ({name})"
                )


def _first_stage(
    stream: Stream, method: str, done: Import, tell: Callable[[str], None]
) -> Identified:
    rig, rows = stream.rig, stream.rows
    good, segment = usable(rows), stream.segment[stream.index]
    if good.sum() <= 2 * rig.size // 3:
        raise BadInput(
            f"the log has {good.sum()} equations for {rig.size} parameters: record a longer motion"
        )
    channel = stream.channel
    names = stream.layout.channels[channel].axes
    scale, std = prior_scale(rig), rig.noise[channel]
    wide = VAGUE * scale * np.where(np.arange(rig.size) < 10 * len(rig.bodies), 1.0, 10.0)
    tell(f"solving {good.sum()} equations for {rig.size} parameters …")
    solved = fit(rows.A, rows.b, good, segment, rig.cad, wide, std)
    index = thinned(rows)
    whitened = (rows.A[index] / solved.std[:, None])[good[index]]
    base = find_base(whitened, scale, parameter_names(rig))
    tell(f"looking for bodies that can exist ({method}) …")
    theta, info = _possible(stream, solved, method)
    if "fallback" in info:
        done.warnings.append(f"{method}: {info['fallback']}")
    validation = errors(rows.A, rows.b, good, theta, names)
    validation["least_squares"] = errors(rows.A, rows.b, good, solved.theta, names)["relative"]
    validation["prior"] = errors(rows.A, rows.b, good, rig.cad, names)["relative"]
    tell("predicting what was held out …")
    validation["held_out"] = validate(
        rows.A, rows.b, good, rows.t, segment, rig.cad, wide, std, names
    )
    _judge(validation["held_out"], done)
    spread = np.sqrt(np.maximum(np.diag(solved.cov), 0.0))
    n = 10 * len(rig.bodies)
    spread[:n] = np.minimum(spread[:n], stream.robot.recipe.prior_error * scale[:n])
    return Identified(
        rig, solved, base, theta, spread, validation, None, done, stream, {"name": method, **info}
    )


def _possible(stream: Stream, solved: Fit, method: str) -> tuple[Array, dict[str, Any]]:
    """A full set of parameters that fits as well as any, of bodies that can exist."""
    rig, rows = stream.rig, stream.rows
    n = 10 * len(rig.bodies)
    if method == "least_squares":
        fine = bool(np.all(is_consistent(solved.theta[:n].reshape(-1, 10))))
        return solved.theta, {"consistent": fine}
    estimator: Any = BLSLogDet() if method == "logdet" else SDPBatch(prior="pullback")
    problem = make_problem(rig, method, Streams(0), 0.0, stream.robot.recipe.prior_error)
    with located(method):
        estimator.reset(problem)
    # Samples that are alike count as one: else the prior would weigh less than it should.
    std = solved.std * np.sqrt(max(1, 2 * solved.memory - 1))
    good = usable(rows)
    for i in range(len(rows.t)):
        keep = good[i]
        if np.any(keep):
            cov = np.diag(std[keep] ** 2)
            estimator.update(eq=Equation(float(rows.t[i]), rows.A[i][keep], rows.b[i][keep], cov))
    estimate = estimator.solve()
    info = {k: v for k, v in estimate.info.items() if isinstance(v, str | int | float)}
    info["consistent"] = bool(np.all(is_consistent(estimate.theta[:n].reshape(-1, 10))))
    return np.asarray(estimate.theta), info

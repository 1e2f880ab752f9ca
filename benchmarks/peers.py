"""Neighbours on the same log, side by side: `python -m benchmarks.peers` (extra `peers`).

A four-joint arm has picked up a part. Its log is what a robot's controller writes: references,
positions, velocities and torques of the joints at 250 Hz, with noise. All ten parameters of the
hand with the part are unknown, all else is known. Everyone gets this log and nothing else:

- `mujoco.sysid` rolls the model out under the logged references and fits
  positions, velocities and torques with its Gauss-Newton and its consistent parameterisation,
  from the empty hand; with its own normalisation, and from there once more weighted by the
  declared noise (begun with these weights it does not leave the empty hand);
- "FIGAROH style" is what that library does in batch: Pinocchio's regressor, least squares, and
  once more with every joint weighted by its residuals; it needs no prior and gets none;
- `rls`, `rls_logdet` and `bls_logdet` with the declared torque noise; the prior is the empty hand.

Rows need accelerations: derivatives of the velocities by a Savitzky-Golay filter, the same for
all who need them, as are torques put in the middle of the controller's steps (`Log.torque`).
A roll-out needs neither. CPU time is of the fit, with filter and regressor, once
everything is compiled.
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peer_log import (
    DT,
    HAND,
    JOINTS,
    RATE,
    SECONDS,
    STD,
    TRUTH,
    Log,
    arm,
    known_parameters,
    simulate,
)  # fmt: skip
from testbed import Equation, Problem, make_estimator
from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.harness.marked_page import check_page, rewrite_page
from testbed.inertia import from_order, is_consistent, mass_com_inertia, to_order
from testbed.kinematics import Tree
from testbed.regressors import TreeRegressor

MARKERS = "<!-- peers -->", "<!-- /peers -->"
MOST = 20  # steps of Gauss-Newton
LENGTHS = (SECONDS, 0.4)
Fit = Callable[[Log], Array]


def by_sysid(weigh: bool) -> Fit:
    """The fit of `mujoco.sysid`, weighted by the declared noise or as it comes."""
    from absl import logging
    from mujoco import sysid

    if not hasattr(sysid, "optimize"):  # it swallows what it cannot import
        raise ModuleNotFoundError("mujoco.sysid is not complete: pip install 'mujoco[sysid]'")
    logging.set_verbosity(logging.ERROR)
    # As wide as the part asks for: with the default bounds the truth may lie outside.
    wide = {"stretch_bound_mult": np.array([0.05, 20.0]), "shear_bound_off": np.array([-2.0, 2.0])}

    def modify(spec: Any, parameter: Any) -> None:
        sysid.apply_body_inertia(spec, "hand", parameter)
        # MuJoCo 4.0.0 refuses the orientation of NaN that the line above leaves behind.
        spec.body("hand").iquat[:] = (1.0, 0.0, 0.0, 0.0)

    def fit(log: Log) -> Array:
        spec = arm(HAND)
        spec.compiler.balanceinertia = True  # MuJoCo refuses some flat bodies on the way, rounded
        model = spec.compile()
        parameters = sysid.ParameterDict()
        kind = sysid.InertiaType.Pseudo
        parameters.add(
            sysid.body_inertia_param(
                spec, model, "hand", inertia_type=kind, modifier=modify, **wide
            )
        )
        measured = np.hstack([log.q, log.v, log.tau])
        # What a roll-out stamps with the end of a step was sensed at its beginning.
        sensors = sysid.TimeSeries.from_names(log.t + DT, measured, model)
        start = sysid.create_initial_state(model, log.q[0], log.v[0])
        control = sysid.TimeSeries(log.t, log.reference)
        sequences = sysid.ModelSequences("arm", spec, "log", start, control, sensors)
        stages: list[dict[str, float] | None] = [None]
        if weigh:
            # Its residuals are divided by the signals' sizes: multiplied again, over the noise.
            size = np.linalg.norm(measured[1:-1], axis=0) / np.sqrt(2)
            std = np.concatenate([np.full(4, STD["q"]), np.full(4, STD["v"]), STD["tau"]])
            names = [f"{c}.{j}" for c in ("q", "v", "tau") for j in JOINTS]
            stages.append(dict(zip(names, size / std, strict=True)))
        for weights in stages:
            residual = sysid.build_residual_fn(
                models_sequences=[sequences], n_threads=1, sensor_weights=weights
            )
            with redirect_stdout(io.StringIO()):  # a line a step
                parameters, _ = sysid.optimize(parameters, residual, verbose=False, max_iters=MOST)
        fitted = sysid.apply_param_modifiers(parameters, spec)
        return known_parameters(fitted)[-10:]

    return fit


def by_pinocchio() -> Fit:
    """Pinocchio's regressor and weighted least squares, as FIGAROH does it in batch."""
    import pinocchio as pin

    compiled = arm(HAND).compile()
    known = known_parameters(compiled).reshape(-1, 10)
    model, parent = pin.Model(), 0
    for b, joint in enumerate(JOINTS, start=1):
        axis = int(np.argmax(compiled.jnt_axis[b - 1]))
        turn = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)[axis]()
        place = pin.SE3(np.eye(3), compiled.body_pos[b].copy())
        parent = model.addJoint(parent, turn, place, joint)
        inertia = pin.Inertia.FromDynamicParameters(to_order(known[b - 1], "pinocchio"))
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    others = np.concatenate([to_order(phi, "pinocchio") for phi in known[:-1]])

    def fit(log: Log) -> Array:
        a, data = log.acceleration(), model.createData()
        Y = np.array(
            [
                pin.computeJointTorqueRegressor(model, data, log.q[k], log.v[k], a[k])
                for k in range(len(a))
            ]
        )
        A, b = Y[:, :, -10:], log.torque() - Y[:, :, :-10] @ others
        weights = np.ones(len(JOINTS))
        for _ in range(2):
            rows = (weights[:, None] * A).reshape(-1, 10), (weights * b).ravel()
            x = np.linalg.lstsq(*rows, rcond=None)[0]
            weights = 1 / np.std(b - A @ x, axis=0)
        return from_order(x, "pinocchio")

    return fit


def by_ours(name: str) -> Fit:
    """One of our estimators, sample by sample as in a run."""
    model = arm(HAND).compile()
    regressor = TreeRegressor(Tree.from_mujoco(model))
    others = known_parameters(model)[:-10]
    cov, whitener = np.diag(STD["tau"] ** 2), np.diag(1 / STD["tau"])

    def fit(log: Log) -> Array:
        rows = regressor(log.q, log.v, log.acceleration())
        A, b = rows[:, :, -10:], log.torque() - rows[:, :, :-10] @ others
        est: Any = make_estimator(name)
        est.reset(Problem(HAND, dt=1 / RATE, bodies=("hand",)))
        for k in range(len(b)):
            estimate = est.update(eq=Equation(log.t[k], A[k], b[k], cov, whitener=whitener))
        last = est.solve() if hasattr(est, "solve") else estimate
        return np.asarray(last.theta)

    return fit


METHODS: dict[str, Callable[[], Fit]] = {
    "mujoco.sysid, its weights": lambda: by_sysid(False),
    "mujoco.sysid, then weights from the noise": lambda: by_sysid(True),
    "FIGAROH style (Pinocchio, weighted LS)": by_pinocchio,
    "rls": lambda: by_ours("rls"),
    "rls_logdet": lambda: by_ours("rls_logdet"),
    "bls_logdet": lambda: by_ours("bls_logdet"),
}


def errors(phi: Array) -> dict[str, float]:
    """Of mass (%), centre of mass (mm) and inertia about it (%, Frobenius); possible or not."""
    (mass, com, inertia), (m, c, I) = mass_com_inertia(phi), mass_com_inertia(TRUTH)
    return {
        "mass_percent": float(100 * abs(mass - m) / m),
        "com_mm": float(1e3 * np.linalg.norm(com - c)),
        "inertia_percent": float(100 * np.linalg.norm(inertia - I) / np.linalg.norm(I)),
        "consistent": float(is_consistent(phi)),
    }


def compare(seeds: int, lengths: tuple[float, ...] = LENGTHS) -> dict[str, Any]:
    """Seconds of log → method → medians over the seeds, share of possible bodies, CPU s."""
    logs = [simulate(seed) for seed in range(seeds)]
    found: dict[str, Any] = {f"{seconds:g}": {} for seconds in lengths}
    for name, make in METHODS.items():
        print(name, file=sys.stderr, flush=True)
        try:
            fit = make()
        except ModuleNotFoundError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        if not name.startswith("mujoco"):
            fit(logs[0].first(0.4))  # compiled and warm
        for seconds in lengths:
            rows = []
            for log in logs:
                start = time.process_time()
                phi = fit(log.first(seconds))
                rows.append({**errors(phi), "cpu_s": time.process_time() - start})
            row = {key: statistics.median(r[key] for r in rows) for key in rows[0]}
            row["consistent"] = statistics.mean(r["consistent"] for r in rows)
            found[f"{seconds:g}"][name] = row
    return found


def table(found: dict[str, Any], seeds: int) -> str:
    """As Markdown, which is also readable as text."""
    lines = [
        "| log | fit | mass | centre | inertia | possible | CPU |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for seconds, rows in found.items():
        for name, r in rows.items():
            lines.append(
                f"| {seconds} s | {name} | {r['mass_percent']:.2f} % | {r['com_mm']:.2f} mm "
                f"| {r['inertia_percent']:.1f} % | {r['consistent'] * seeds:.0f} of {seeds} "
                f"| {cpu(r['cpu_s'])} |"
            )
    return "\n".join(lines)


def cpu(seconds: float) -> str:
    """Two digits: 0.0073 s, 6.3 s, 12 s."""
    return f"{seconds:#.2g}".rstrip(".") + " s"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or put it into a page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2, help="logs with noise of their own")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", type=Path, help=f"a page with {' and '.join(MARKERS)}")
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error("--seeds must be at least 1")
    try:
        if options.markdown is not None:
            check_page(options.markdown, *MARKERS)
        found = compare(options.seeds)
        text = table(found, options.seeds)
        if options.markdown is not None:
            rewrite_page(options.markdown, *MARKERS, text)
    except BadInput as error:
        parser.error(str(error))
    print(json.dumps({"seeds": options.seeds, "logs": found}, indent=1) if options.json else text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

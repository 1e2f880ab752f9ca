"""Variational rows against finite differences: the honest table beside Ekal & Ventura's claim.

    python -m testbed.reproduce.ekal_comparison [--seeds 20] [--json]

30 s at 20 Hz (the paper's h = 0.05 s), sinusoids on all six axes (torques in proportion to the
body's inertia), batch least squares. A figure is
the error of forward differences over the error of the method, for inertia about the body origin,
centre of mass and mass: above 1 the method is better. With noise it is the ratio of medians over
seeds. The paper's excitation and its finite-difference formula are not published; midpoint
differences and Simpson's momentum balance are further baselines.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np

from testbed.core.signals import Array, Layout
from testbed.harness.ports import make_regressor
from testbed.kinematics import dual_quaternion as dq
from testbed.make import make_plant
from testbed.plants.free_flyer import BODIES
from testbed.reproduce.rigid_body import Body, State, at_rest, integrate
from testbed.reproduce.verdict import paper_file

H, SECONDS = 0.05, 30.0  # s
FORCE_DENSITY, PROCESS_DENSITY = 1e-3, 1e-5  # units/√Hz (section V)
AMPLITUDE = np.array([1.0, 0.8, 1.2, 0.3, 0.25, 0.35])  # N, N·m
CYCLES = np.array([0.21, 0.33, 0.27, 0.37, 0.23, 0.29])  # Hz
_MAIN_INERTIA = float(np.linalg.norm(BODIES["main"][2]))
SLOW = 0.2  # how much slower the slow input is
METHODS: dict[str, dict[str, Any]] = {
    "FD forward": {"use": "finite_difference", "scheme": "forward", "force": "node"},
    "DQVI, force at node": {"use": "variational", "force": "node"},
    "FD midpoint": {"use": "finite_difference", "scheme": "midpoint", "force": "node"},
    "DQVI, force (1,10,1)/12": {"use": "variational", "force": "weighted"},
    "Simpson momentum": {"use": "momentum", "force": "weighted"},
}
PAPER: dict[str, list[float] | str] = {
    "main, noisy": "at least 10 each",
    **{f"{body}, noisy": row for body, row in paper_file("ekal2020")["table_i"].items()},
}
CASES = {
    "main, noiseless": ("main", False, 1.0),
    "main, noisy": ("main", True, 1.0),
    "main, slow input, noisy": ("main", True, SLOW),
    "table1_1, noisy": ("table1_1", True, 1.0),
    "table1_2, noisy": ("table1_2", True, 1.0),
    "table1_3, noisy": ("table1_3", True, 1.0),
}


def flights(
    phi: Array, noisy: bool, speed: float, seeds: int, seconds: float = SECONDS
) -> tuple[State, Array]:
    """States (n, seeds, …) of the true motion, and what is measured of the wrench (n, seeds, 6)."""
    rng, n = np.random.default_rng(2020), round(seconds / H)
    phase, amplitude = np.arange(6.0), AMPLITUDE.copy()
    amplitude[3:] *= np.linalg.norm(phi[4:]) / _MAIN_INERTIA  # all bodies turn alike
    kicks = PROCESS_DENSITY * np.sqrt(H) * rng.normal(size=(n, seeds, 6)) * noisy

    def wrench(t: float) -> Array:
        return np.asarray(amplitude * np.sin(2 * np.pi * CYCLES * speed * t + phase))

    states = integrate(Body(phi), at_rest(seeds), wrench, H, n, substeps=4, kick=lambda k: kicks[k])
    clean = np.array([wrench(k * H) for k in range(n + 1)])[:, None]
    noise = FORCE_DENSITY / np.sqrt(H) * rng.normal(size=(n + 1, seeds, 6)) * noisy
    return states, clean + noise


def errors(
    phi: Array, noisy: bool, speed: float, seeds: int, seconds: float = SECONDS
) -> dict[str, Array]:
    """Method → relative errors (seeds, 3) of inertia, centre and mass."""
    rig = make_plant("free_flyer", rate=round(1 / H)).rig
    states, wrenches = flights(phi, noisy, speed, seeds if noisy else 1, seconds)
    regressors: dict[str, Any] = {
        name: make_regressor("mine@measured", rig, {"mine": table})
        for name, table in METHODS.items()
    }
    found: dict[str, list[Array]] = {name: [] for name in METHODS}
    for i in range(wrenches.shape[1]):
        flat = samples(rig.layout, states, wrenches, i)
        for name, reg in regressors.items():
            A, b = reg.batch(flat)
            answer = np.linalg.lstsq(A.reshape(-1, 10), b.ravel(), rcond=None)[0]
            found[name].append(relative_errors(answer, phi))
    return {name: np.array(rows) for name, rows in found.items()}


def samples(layout: Layout, states: State, wrenches: Array, seed: int) -> Array:
    """What the sensors say of one flight, as flat rows (n, size); no accelerations."""
    flat = np.full((len(wrenches), layout.size), np.nan)  # nobody may look at the rest
    q = states.quaternion[:, seed]
    flat[:, layout["position"]], flat[:, layout["quaternion"]] = states.position[:, seed], q
    R = dq.rotation_matrix(q)
    flat[:, layout["velocity"]] = np.einsum("nij,nj->ni", R, states.v[:, seed])
    flat[:, layout["gyro"]] = states.omega[:, seed]
    flat[:, layout["wrench"]] = wrenches[:, seed]
    return flat


def parameters(body: str) -> Array:
    """φ (10,) of a body of the paper."""
    m, r, J = BODIES[body]
    return np.array([m, *(m * x for x in r), *J])


def relative_errors(theta: Array, phi: Array) -> Array:
    """Of J_B, of the centre (over its length, or over 1 m where that is 0), of the mass (…, 3).

    Args:
        theta: Estimates (…, 10).
        phi: Truth (10,).
    """
    centre, true = theta[..., 1:4] / theta[..., :1], phi[1:4] / phi[0]
    return np.stack(
        [
            np.linalg.norm(theta[..., 4:] - phi[4:], axis=-1) / np.linalg.norm(phi[4:]),
            np.linalg.norm(centre - true, axis=-1) / (np.linalg.norm(true) or 1.0),
            np.abs(theta[..., 0] / phi[0] - 1.0),
        ],
        axis=-1,
    )


def table(seeds: int = 20, progress: bool = False) -> dict[str, dict[str, Array]]:
    """Case → method → forward FD's error over its own (3,); forward FD's as they are."""
    out = {}
    for i, case in enumerate(CASES):
        if progress:
            print(f"\r{i + 1} of {len(CASES)} cases ", end="", file=sys.stderr, flush=True)
        out[case] = row_of(case, seeds)
    if progress:
        print(file=sys.stderr)
    return out


def row_of(case: str, seeds: int, seconds: float = SECONDS) -> dict[str, Array]:
    """A row of `table`."""
    body, noisy, speed = CASES[case]
    found = errors(parameters(body), noisy, speed, seeds, seconds)
    medians = {name: np.median(rows, axis=0) for name, rows in found.items()}
    forward = medians["FD forward"]
    return {k: forward if k == "FD forward" else forward / v for k, v in medians.items()}


def _shown(values: Any) -> str:
    return values if isinstance(values, str) else "/".join(f"{x:.3g}" for x in values)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m testbed.reproduce.ekal_comparison", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--seeds", type=int, default=20, help="how many, from 0")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error("--seeds must be at least 1")
    found = table(options.seeds, progress=True)
    if options.json:
        rows = {c: {k: v.tolist() for k, v in row.items()} for c, row in found.items()}
        print(json.dumps({"ratios": rows, "paper": PAPER}, indent=1))
        return 0
    columns = [name for name in METHODS if name != "FD forward"]
    print("| case | FD forward: error of J/r/m | " + " | ".join(columns) + " | paper's claim |")
    print("|---" * (len(columns) + 3) + "|")
    for case, row in found.items():
        first = "/".join(f"{100 * x:.2g} %" for x in row["FD forward"])
        claim = _shown(PAPER.get(case, ""))
        print(
            f"| {case} | {first} | " + " | ".join(_shown(row[k]) for k in columns) + f" | {claim} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

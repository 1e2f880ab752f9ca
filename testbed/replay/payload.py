"""The load alone, from a log with it and one without, and in the words of robot controllers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.transform import Rotation

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.core.types import PARAMETERS, Equation, Problem
from testbed.estimators import SDPBatch
from testbed.inertia import body_parameters, is_consistent, mass_com_inertia, sphere
from testbed.replay.diagnose import prior_scale
from testbed.replay.least_squares import Fit, fit, usable
from testbed.replay.rows import make_rows
from testbed.replay.validate import errors, validate

if TYPE_CHECKING:
    from testbed.replay.prepared import Stream

Z95 = 1.959963984540054
_RADIUS = 0.1  # m, of the ball of 1 kg that a load is scaled by
_SIX = ("Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Ixz")


@dataclass
class Payload:
    """A load, rigidly held by a body.

    Attributes:
        body: Which body holds it; everything is in its frame.
        phi: Ten parameters about the frame's origin (10,), as least squares gives them.
        cov: Of them (10, 10).
        possible: The nearest body that can exist (10,); `phi` itself where it is one.
        validation: Errors on the loaded log, with and without the load, and held out: parts of
            the loaded log predicted from all the rest.
        weak: Parameters whose 95 % interval is wider than their own size, by name.
    """

    body: str
    phi: Array
    cov: Array
    possible: Array
    validation: dict[str, Any]
    weak: list[str]

    def values(self) -> tuple[Array, Array]:
        """[m, c (3), I about the centre (6)] (10,) and their standard deviations."""
        return _central(self.possible), _central_std(self.phi, self.cov)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the numbers, their intervals, and the forms of robot controllers."""
        values, std = self.values()
        names = ("mass", "cx", "cy", "cz", *_SIX)
        return {
            "body": self.body,
            "parameters": dict(zip(PARAMETERS, self.phi.tolist(), strict=True)),
            "std": dict(zip(PARAMETERS, np.sqrt(np.diag(self.cov)).tolist(), strict=True)),
            "consistent": bool(is_consistent(self.phi)),
            "controller": {
                n: {
                    "value": float(v),
                    "std": float(s),
                    "low": float(v - Z95 * s),
                    "high": float(v + Z95 * s),
                }
                for n, v, s in zip(names, values, std, strict=True)
            },
            "forms": controller_forms(self.possible),
            "weak": self.weak,
            "validation": self.validation,
        }


def identify_payload(
    robot: Fit, unloaded: Stream, loaded: Stream, body: str, vague: float
) -> Payload:
    """Ten parameters of the load from both logs together.

    Args:
        robot: Least squares of the unloaded log.
        unloaded: That log.
        loaded: The log with the load.
        body: The body that holds it.
        vague: How much wider than declared the prior of the robot is.
    """
    rig = unloaded.rig
    extra = _load_columns(loaded, body)
    first, second = unloaded.rows, loaded.rows
    p = rig.size
    A = np.zeros((len(first.t) + len(second.t), first.b.shape[1], p + 10))
    A[: len(first.t), :, :p] = first.A
    A[len(first.t) :, :, :p], A[len(first.t) :, :, p:] = second.A, extra
    b = np.vstack([first.b, second.b])
    good = np.vstack([usable(first), usable(second)])
    own = unloaded.segment[unloaded.index]
    segment = np.concatenate([own, loaded.segment[loaded.index] + own.max() + 1])
    unit = np.abs(sphere(1.0, _RADIUS))
    load_std = 100.0 * np.array([1.0, *[0.3] * 3, *[max(0.1, float(unit[4]))] * 6])
    wide = vague * prior_scale(rig) * np.where(np.arange(p) < 10 * len(rig.bodies), 1.0, 10.0)
    prior = np.concatenate([rig.cad, np.zeros(10)])
    width = np.concatenate([wide, load_std])
    solved = fit(A, b, good, segment, prior, width, robot.std)
    phi, cov = solved.theta[p:], solved.cov[p:, p:]
    band = Z95 * float(np.sqrt(max(cov[0, 0], 0.0)))
    if not np.all(np.isfinite(phi)) or phi[0] <= band:
        raise BadInput(
            f"the load at {body!r} comes out with a mass of {phi[0]:.3g} ± {band:.2g} kg: is the "
            "loaded log really the one with the load, and was it moved enough?"
        )
    inside = usable(second)
    names = loaded.layout.channels["tau"].axes
    with_load = errors(
        np.concatenate([second.A, extra], axis=2), second.b, inside, solved.theta, names
    )
    with_load["without_load"] = errors(second.A, second.b, inside, robot.theta, names)["relative"]
    times, late = np.concatenate([first.t, second.t]), np.arange(len(b)) >= len(first.t)
    with_load["held_out"] = validate(
        A, b, good, times, segment, prior, width, robot.std, names, within=late
    )
    std = np.sqrt(np.diag(cov))
    weak = [n for n, v, s in zip(PARAMETERS, phi, std, strict=True) if Z95 * s > abs(v)]
    return Payload(body, phi, cov, _nearest_possible(phi, cov), with_load, weak)


def _load_columns(loaded: Stream, body: str) -> Array:
    """Rows (n, k, 10) of a unit load at the body, filtered as the others are."""
    rig, recipe = loaded.rig, loaded.robot.recipe
    index = list(rig.tree.names).index(body)
    drive = replace(rig.options["drive"], parts=(), columns=(), table=None)
    alone = replace(
        rig,
        bodies=(body,),
        tree_bodies=[index],
        known={},
        extra=(),
        cad=np.zeros(10),
        options={"drive": drive},
    )
    rows, _ = make_rows(alone, loaded.t, loaded.flat, loaded.segment, recipe.rows)
    return rows.A


def _nearest_possible(phi: Array, cov: Array) -> Array:
    """φ itself, or the likeliest body that can exist."""
    if is_consistent(phi):
        return phi
    mass, com, _ = mass_com_inertia(phi)
    reach = 0.05
    guess = body_parameters(mass, com, np.eye(3) * 0.4 * float(mass) * reach**2)
    solver = SDPBatch(prior="none")
    solver.reset(Problem(prior=guess))
    W = np.linalg.inv(np.linalg.cholesky(cov + 1e-12 * np.diag(np.diag(cov))))
    solver.update(eq=Equation(0.0, W, W @ phi))
    estimate = solver.solve()
    return guess if "fallback" in estimate.info else np.asarray(estimate.theta)


def _central(phi: Array) -> Array:
    """[m, c, I about the centre as xx, yy, zz, xy, yz, xz] (10,)."""
    mass, com, I = mass_com_inertia(phi)
    six = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[1, 2], I[0, 2]]
    return np.array([float(mass), *com, *six])


def _central_std(phi: Array, cov: Array) -> Array:
    """Standard deviations of `_central` to first order, by central differences."""
    step = 1e-4 * np.sqrt(np.diag(cov))
    columns = [
        (_central(phi + h) - _central(phi - h)) / (2 * s)
        for h, s in zip(np.diag(step), step, strict=True)
    ]
    J = np.column_stack(columns)
    return np.asarray(np.sqrt(np.maximum(np.diag(J @ cov @ J.T), 0.0)))


def controller_forms(phi: Array) -> dict[str, str]:
    """The load as common robot controllers ask for it, ready to be typed in.

    All of them take mass, centre of mass and inertia about it. Universal Robots and Franka want the
    matrix; KUKA and ABB the principal moments (kg·m², centre in mm), with the orientation of their
    axes: as turns A, B, C about Z, Y′, X″ (degrees) and as a quaternion, scalar first.
    """
    m, x, y, z, xx, yy, zz, xy, yz, xz = _central(phi)
    (a, b, c), R = principal_axes(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    turn = Rotation.from_matrix(R)
    i, j, k, w = turn.as_quat(canonical=True)
    A, B, C = turn.as_euler("ZYX", degrees=True)
    return {
        "Universal Robots": (
            f"set_target_payload({m:.4f}, [{x:.5f}, {y:.5f}, {z:.5f}], "
            f"[{xx:.6f}, {yy:.6f}, {zz:.6f}, {xy:.6f}, {xz:.6f}, {yz:.6f}])"
        ),
        "Franka": (
            f"setLoad({m:.4f}, {{{x:.5f}, {y:.5f}, {z:.5f}}}, "
            f"{{{xx:.6f}, {xy:.6f}, {xz:.6f}, {xy:.6f}, {yy:.6f}, {yz:.6f}, "
            f"{xz:.6f}, {yz:.6f}, {zz:.6f}}})"
        ),
        "KUKA": (
            f"M {m:.3f}, CM {{X {1e3 * x:.1f}, Y {1e3 * y:.1f}, Z {1e3 * z:.1f}, "
            f"A {A:.2f}, B {B:.2f}, C {C:.2f}}}, J {{X {a:.5f}, Y {b:.5f}, Z {c:.5f}}}"
        ),
        "ABB": (
            f"[{m:.4f}, [{1e3 * x:.2f}, {1e3 * y:.2f}, {1e3 * z:.2f}], "
            f"[{w:.6f}, {i:.6f}, {j:.6f}, {k:.6f}], {a:.5f}, {b:.5f}, {c:.5f}]"
        ),
        "general": (
            f"mass {m:.4f} kg; centre [{x:.5f}, {y:.5f}, {z:.5f}] m; inertia about the centre "
            f"xx {xx:.6f} yy {yy:.6f} zz {zz:.6f} xy {xy:.6f} yz {yz:.6f} xz {xz:.6f} kg·m²"
        ),
    }


def principal_axes(I: Array) -> tuple[Array, Array]:
    """Principal moments (3,) and their axes as the columns of a rotation (3, 3), I = R diag Rᵀ.

    Of the 24 rotations that do so the one that turns least, so that an inertia whose matrix is
    diagonal already keeps its order.
    """
    moments, axes = np.linalg.eigh(I)
    found = []
    for order in permutations(range(3)):
        for signs in product((1.0, -1.0), repeat=3):
            R = axes[:, order] * signs
            if np.linalg.det(R) > 0:
                found.append((float(np.trace(R)), order, R))
    _, order, R = max(found, key=lambda one: one[0])
    return moments[list(order)], R

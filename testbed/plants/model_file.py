"""Model files as they are simulated: rigid-body dynamics and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco

from testbed.core.resources import find_model
from testbed.kinematics import compile_spec, load_spec


def load_shipped(
    name: str, extend: Callable[[Any], None] | None = None
) -> tuple[Path, mujoco.MjModel]:
    """A shipped robot without its looks; the path is that of the file with them.

    Args:
        name: Of the file.
        extend: Adds to the editable model before it is compiled.
    """
    path = find_model(name)
    spec = load_spec(path)
    strip_looks(spec)
    if extend is not None:
        extend(spec)
    model = compile_spec(spec, path)
    rigid_only(model)
    return path, model


def strip_looks(spec: Any) -> None:
    """Delete geometry, cameras and lights: they cost more than the dynamics of a small robot."""
    for item in [*spec.geoms, *spec.cameras, *spec.lights]:
        spec.delete(item)


def rigid_only(model: mujoco.MjModel) -> None:
    """Switch off everything that is not rigid-body dynamics: contact, limits, constraints."""
    bits = mujoco.mjtDisableBit
    model.opt.disableflags |= int(bits.mjDSBL_CONSTRAINT) | int(bits.mjDSBL_AUTORESET)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE


_POINT = 0.02  # m, radius of the ball that a point mass is taken for


def mend_inertias(spec: Any) -> list[str]:
    """Give bodies that weigh something, but resist no turning, the inertia of a small ball.

    Robot files are full of them, as simulators that never look at the last link's inertia accept
    them. Returns the names of the bodies.
    """
    mended = []
    for body in spec.bodies:
        full = [x for x in body.fullinertia if x == x]  # NaN: not given
        given = any(body.inertia) or (len(full) == 6 and any(full))
        if body.explicitinertial and body.mass > 0 and not given:
            body.inertia = [0.4 * body.mass * _POINT**2] * 3
            mended.append(body.name)
    return mended

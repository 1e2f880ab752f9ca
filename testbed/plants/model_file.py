"""Model files as they are simulated: rigid-body dynamics and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco

from testbed.core.resources import find_model
from testbed.kinematics import compile_spec, load_spec


def load_shipped(name: str) -> tuple[Path, mujoco.MjModel]:
    """A shipped robot without its looks; the path is that of the file with them."""
    path = find_model(name)
    spec = load_spec(path)
    strip_looks(spec)
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

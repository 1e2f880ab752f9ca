"""A force-torque sensor at a site of a user's model, and the rigid body that it carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.signals import Array
from testbed.inertia import change_frame

_SENSORS = ("FORCE", "TORQUE", "ACCELEROMETER", "GYRO", "FRAMEANGACC")


def add_sensors(spec: Any, site: str) -> None:
    """Put wrench, acceleration, rate and angular acceleration of the site into the model.

    URDFs have no sites: the name of a body stands for one at its origin.
    """
    names = [s.name for s in spec.sites]
    if site not in names:
        for body in spec.bodies:
            if body.name == site and site != "world":
                body.add_site(name=site)
                names.append(site)
    if site not in names:
        raise UnknownName("site", site, names, "plant.site: ")
    for kind in _SENSORS:
        spec.add_sensor(
            name=f"testbed_{kind.lower()}",
            type=getattr(mujoco.mjtSensor, f"mjSENS_{kind}"),
            objtype=mujoco.mjtObj.mjOBJ_SITE,
            objname=site,
        )


class ForceSite:
    """What a sensor at a site measures the wrench of: its body and everything welded to it.

    Args:
        model: The compiled model.
        site: The site's name.
        bodies: Names of all bodies but the world, in MuJoCo's order.
    """

    def __init__(self, model: mujoco.MjModel, site: str, bodies: Sequence[str]) -> None:
        self.name, self.id = site, int(model.site(site).id)
        self.body = int(model.site_bodyid[self.id])
        if self.body == 0:
            raise BadInput(f"plant.site: {site!r} is fixed to the world, nothing hangs on it")
        self.carrier = bodies[self.body - 1]
        inside = {self.body}
        for b in range(self.body + 1, model.nbody):
            if int(model.body_parentid[b]) in inside:
                inside.add(b)
                if model.body_dofnum[b]:
                    raise BadInput(
                        f"plant.site: {bodies[b - 1]!r} beyond the sensor {site!r} has joints of "
                        "its own; what the sensor carries must be one rigid body"
                    )
        d = mujoco.MjData(model)
        mujoco.mj_kinematics(model, d)
        Rs, ps = d.site_xmat[self.id].reshape(3, 3), d.site_xpos[self.id]
        self.carried = {  # body → its pose (R, p) in the site's frame
            bodies[b - 1]: (Rs.T @ d.xmat[b].reshape(3, 3), Rs.T @ (d.xpos[b] - ps))
            for b in sorted(inside)
        }
        R, p = self.carried[self.carrier]
        self.at_body_origin = np.allclose(R, np.eye(3), atol=1e-15) and not np.any(
            np.abs(p) > 1e-15
        )

    def total(self, parameters: Mapping[str, Array]) -> Array:
        """φ (10,) of all that the sensor carries, in the site's frame."""
        parts = [change_frame(parameters[b], R, p) for b, (R, p) in self.carried.items()]
        return np.sum(parts, axis=0)

    def read(self, d: mujoco.MjData) -> Array:
        """Wrench, a − g, ω and α in the site's frame (15,)."""
        out = d.sensordata.copy()
        out[12:] = out[12:] @ d.site_xmat[self.id].reshape(3, 3)  # MuJoCo gives α in world axes
        return out

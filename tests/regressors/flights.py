"""Trajectories of a free body from an integrator that is not MuJoCo, as flat samples."""

from __future__ import annotations

from functools import cache

import numpy as np

from testbed import make_plant
from testbed.harness.ports import make_regressor
from testbed.kinematics import dual_quaternion as dq
from testbed.plants.free_flyer import BODIES
from testbed.reproduce.rigid_body import Body, State, at_rest, integrate
from testbed.reproduce.variational_integrator import integrate_variational
from testbed.sensors import Sensor

AMPLITUDE = np.array([1.0, 0.7, 1.3, 0.5, 0.8, 0.6])
RATE = np.array([0.9, 1.3, 0.7, 1.1, 0.6, 1.5])
START = at_rest()._replace(omega=np.array([0.1, -0.2, 0.15]), v=np.array([0.05, 0.1, -0.1]))


def phi_of(name="main"):
    m, r, J = BODIES[name]
    return np.array([m, *(m * x for x in r), *J])


BODY = Body(phi_of())


def wrench(t):
    """Sinusoids of different amplitudes and phases on all six axes."""
    return AMPLITUDE * np.sin(RATE * t + np.arange(6.0))


def rig(dt, std=None):
    """The free flyer's, with this white noise declared on its channels."""
    sensors = {c: Sensor.from_table({"std": s}, c) for c, s in (std or {}).items()}
    return make_plant("free_flyer", rate=round(1 / dt), sensors=sensors).rig


def regressor(name, dt, rig_=None, **params):
    return make_regressor("mine@measured", rig_ or rig(dt), {"mine": {"use": name, **params}})


def flat(layout, state, wrenches):
    """Samples (n, size) of the plant's layout; accelerations are left at NaN: nobody may look."""
    out = np.full((len(wrenches), layout.size), np.nan)
    R = dq.rotation_matrix(state.quaternion)
    out[:, layout["position"]], out[:, layout["quaternion"]] = state.position, state.quaternion
    out[:, layout["velocity"]] = np.einsum("nij,nj->ni", R, state.v)
    out[:, layout["gyro"]], out[:, layout["wrench"]] = state.omega, wrenches
    out.flags.writeable = False
    return out


@cache
def smooth(h, seconds=3.0, turning=True, force=wrench):
    """An exact flight under a smooth wrench."""
    n = round(seconds / h)
    start = START if turning else START._replace(omega=np.zeros(3))
    state = integrate(BODY, start, force, h, n, substeps=max(4, round(h / 0.005)))
    return flat(rig(h).layout, state, np.array([force(k * h) for k in range(n + 1)]))


@cache
def held(h, seconds=3.0):
    """An exact flight under a wrench that is held; sample k has that of the interval before it."""
    y, states, wrenches = START, [START], [wrench(0.0)]
    for k in range(round(seconds / h)):
        now = wrench(k * h)
        steps = integrate(BODY, y, lambda t, w=now: w, h, 1, substeps=max(4, round(h / 0.01)))
        y = State(*(x[-1] for x in steps))
        states.append(y)
        wrenches.append(now)
    state = State(*(np.stack(part) for part in zip(*states, strict=True)))
    return flat(rig(h).layout, state, np.array(wrenches))


@cache
def discrete(h, steps=100):
    """Poses of the variational integrator."""
    poses, chi = integrate_variational(BODY, START, wrench, h, steps)
    state = State(*dq.to_pose(poses), chi[:, :3], chi[:, 3:])
    return flat(rig(h).layout, state, np.array([wrench(k * h) for k in range(steps + 1)]))


def residual(reg, flight):
    """Largest |A φ − b| over a flight."""
    A, b = reg.batch(flight)
    return float(np.abs(A @ BODY.phi - b).max())


def orders(name, make, hs=(0.05, 0.025, 0.0125), **params):
    """log₂ of the residual's ratio from one step size to the next."""
    found = [residual(regressor(name, h, **params), make(h)) for h in hs]
    return np.diff(np.log2(found)) / np.diff(np.log2(hs))

"""The log of `benchmarks.peers`: a four-joint arm with a part in its hand, and its controller.

The controller runs at 500 Hz, the simulation (RK4) in the same steps, and the log has every second
of them. A roll-out can so repeat the simulation almost exactly, which favours whoever rolls out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from scipy.signal import savgol_filter

from testbed.core.signals import Array
from testbed.inertia import body_parameters, box, combine, mass_com_inertia

RATE, SECONDS, DT = 250.0, 3.0, 2e-3
STD = {"q": 1e-5, "v": 1e-3, "tau": np.array([0.1, 0.1, 0.05, 0.02])}  # rad, rad/s, N·m
JOINTS = ("base", "shoulder", "elbow", "wrist")
HAND = box(0.4, (0.06, 0.10, 0.12), (0.0, 0.0, 0.06))  # empty: what everybody believes at first
PART = box(1.2, (0.06, 0.24, 0.08), (0.03, 0.05, 0.16), np.array(
    [[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]]))  # fmt: skip
TRUTH = combine(HAND, PART)
ARM = """<mujoco><compiler angle="radian"/>
 <option timestep="{dt}" integrator="RK4"><flag contact="disable"/></option>
 <worldbody>
  <body name="column" pos="0 0 0.3">
   <inertial pos="0 0 0.05" mass="4" diaginertia="0.03 0.03 0.02"/><joint name="base" axis="0 0 1"/>
   <body name="upper" pos="0 0.05 0.1">
    <inertial pos="0 0 0.15" mass="3" diaginertia="0.03 0.03 0.01"/>
    <joint name="shoulder" axis="0 1 0"/>
    <body name="lower" pos="0 -0.05 0.3">
     <inertial pos="0 0 0.12" mass="2" diaginertia="0.015 0.015 0.004"/>
     <joint name="elbow" axis="0 1 0"/>
     <body name="hand" pos="0 0 0.28">
      <inertial pos="{com}" mass="{mass:.17g}" fullinertia="{inertia}"/>
      <joint name="wrist" axis="1 0 0"/>
     </body></body></body></body>
 </worldbody>
 <actuator>{actuators}</actuator><sensor>{sensors}</sensor></mujoco>"""
GAINS = {"base": (100, 14), "shoulder": (250, 34), "elbow": (70, 9), "wrist": (8, 1)}


def arm(phi: Array) -> Any:
    """The arm as an MjSpec, its hand with the given parameters (10,)."""
    actuators = "".join(
        f'<position name="{j}" joint="{j}" kp="{p}" kv="{d}"/>' for j, (p, d) in GAINS.items()
    )
    kinds = {"q": "jointpos", "v": "jointvel", "tau": "jointactuatorfrc"}
    sensors = "".join(
        f'<{kind} name="{c}.{j}" joint="{j}"/>' for c, kind in kinds.items() for j in JOINTS
    )
    mass, com, inertia = mass_com_inertia(phi)
    text = ARM.format(
        dt=DT,
        actuators=actuators,
        sensors=sensors,
        mass=float(mass),
        com=_numbers(com),
        inertia=_numbers(inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]),
    )
    return mujoco.MjSpec.from_string(text)


def _numbers(values: Array) -> str:
    return " ".join(f"{x:.17g}" for x in values)


@dataclass(frozen=True)
class Log:
    """What the controller wrote, all (n, 4) at `t` (n,)."""

    t: Array
    reference: Array
    q: Array
    v: Array
    tau: Array

    def first(self, seconds: float) -> Log:
        """Its beginning."""
        n = round(seconds * RATE)
        return Log(self.t[:n], self.reference[:n], self.q[:n], self.v[:n], self.tau[:n])

    def acceleration(self) -> Array:
        """The velocities' derivatives (n, 4), by cubics over 11 samples."""
        return np.asarray(savgol_filter(self.v, 11, 3, deriv=1, delta=1 / RATE, axis=0))

    def torque(self) -> Array:
        """Torques (n, 4) that belong to these accelerations.

        The controller acts in steps, so torques jump where they are logged, by gain times the
        change of the reference. An acceleration from both sides of the jump goes with the mean of
        the torques before and after it; taken as logged, they are half a step too early.
        """
        gain = np.array([p for p, _ in GAINS.values()])
        return self.tau - 0.5 * DT * gain * np.gradient(self.reference, 1 / RATE, axis=0)


def reference(t: Array) -> Array:
    """Sums of five sines a joint (n, 4)."""
    rng = np.random.default_rng(1)
    w = 2 * np.pi * np.linspace(0.25, 2.0, 5)
    amplitude = rng.uniform(0.05, 0.3, (4, 5))
    phase = rng.uniform(0, 2 * np.pi, (4, 5))
    return np.asarray(np.sum(amplitude * np.sin(t[:, None, None] * w + phase), axis=2))


def simulate(seed: int) -> Log:
    """The log with noise of this seed; it begins a second after the motion."""
    model = arm(TRUTH).compile()
    data = mujoco.MjData(model)
    before, every = round(1.0 / DT), round(1 / (RATE * DT))
    n = before + round(SECONDS / DT)
    targets = reference(DT * np.arange(n))
    out = np.empty((n, 12))
    for k in range(n):
        data.ctrl[:] = targets[k]
        mujoco.mj_forward(model, data)
        out[k] = data.sensordata
        mujoco.mj_step(model, data)
    out, targets = out[before::every], targets[before::every]
    noise = np.random.default_rng(seed).normal(size=out.shape)
    out = out + noise * np.concatenate([np.full(4, STD["q"]), np.full(4, STD["v"]), STD["tau"]])
    t = np.arange(len(out)) / RATE
    return Log(t, targets, out[:, :4], out[:, 4:8], out[:, 8:])


def known_parameters(model: Any) -> Array:
    """Parameters of all bodies of a compiled arm (10 nb,), as CAD has them."""
    found = []
    for b in range(1, model.nbody):
        R = np.empty(9)
        mujoco.mju_quat2Mat(R, model.body_iquat[b])
        R = R.reshape(3, 3)
        inertia = R @ np.diag(model.body_inertia[b]) @ R.T
        found.append(body_parameters(model.body_mass[b], model.body_ipos[b], inertia))
    return np.concatenate(found)

"""Ten smooth motions of the person on the force plate, with exact derivatives.

A joint angle is q_j(t) = w(t) Σ_i G_ij s_i(t): each *synergy* s_i is a bias plus a multi-sine of
incommensurate frequencies that drives several joints together (a squat bends hips, knees and back
at once), and the window w = (1 − cos⁸(πt/T))² makes q, v and a vanish at both ends (w ~ t⁴, so
C³ with the rest posture before and after) without a knot in between.

Both feet stay flat and still because the legs move alike. With roll r, hip h and knee k the sole
has orientation Rx(r) Ry(h) Ry(k) Ry(ankle) Rx(ankle_roll), which is the identity for
ankle = −(h+k), ankle_roll = −r. The pelvis stays upright and translates so that the ankles stay:
p = p₀ + l₁ + l₂ − Rx(r) (Ry(h) l₁ + Ry(h+k) l₂) with thigh l₁ and shank l₂.

x is forward, y left, z up; rad, m, s, N, N m. `q`, `v`, `a` are full qpos, qvel, qacc.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from testbed.core.errors import BadInput, UnknownName

Array = NDArray[np.float64]
State = tuple[Array, Array, Array]  # q, v, a

_LEG = ("hip_roll", "hip", "knee", "ankle", "ankle_roll")  # the order of the model's joints
# Leg angles of one side from the family's coordinates (roll, hip, knee).
_FAMILY = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, -1, -1], [-1, 0, 0]], dtype=float)


@dataclass(frozen=True, slots=True)
class Synergy:
    """Joints moving together: angle = gain · (bias + Σ weight · sin(2π hz t + phase)).

    `gains` are in rad, and reached where bias + Σ weight = 1. A joint without a side means both,
    as mirror images (a positive `shoulder_roll` lifts either arm), except the legs, which always
    move alike. Ankles follow by themselves.
    """

    bias: float
    tones: Mapping[float, float]  # hz -> weight
    gains: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Motion:
    """What the person does, in words and as synergies."""

    summary: str
    synergies: tuple[Synergy, ...]


def _s(bias: float, tones: Mapping[float, float], **gains: float) -> Synergy:
    return Synergy(bias, tones, gains)


# fmt: off
MOTIONS: dict[str, Motion] = {
    "squat": Motion("deep knee bends, arms held out in front", (
        _s(.63, {.37: .28, .67: .08}, hip=-1.18, knee=1.82, lumbar_pitch=.55, thoracic_pitch=.2,
           neck_pitch=-.5),
        _s(.00, {.53: .70}, lumbar_roll=.1, left_shoulder_pitch=.2, right_shoulder_pitch=-.2),
        _s(.75, {.61: .20}, shoulder_pitch=-1.6, elbow=-.4, shoulder_roll=.2, wrist=-.4))),
    "sway": Motion("shifts the weight from foot to foot, the trunk leaning against it", (
        _s(.00, {.41: .65, .67: .35}, hip_roll=.090, lumbar_roll=-.18),
        _s(.60, {.59: .25, .97: .15}, shoulder_roll=.55, elbow=-.5),
        _s(.00, {.53: .60, .89: .30}, thoracic_roll=.15, neck_yaw=.4))),
    "lean": Motion("leans forward and back about the ankles while the arms swing", (
        _s(.00, {.31: .60, .59: .40}, hip=.040),
        _s(.00, {.47: .80}, thoracic_roll=.12, neck_yaw=.3),
        _s(.50, {.61: .50}, shoulder_pitch=-.6, elbow=-.3),
        _s(.10, {.83: .50, .41: .30}, lumbar_pitch=.14, neck_pitch=-.3))),
    "arm_raise_front": Motion("raises both arms to the front and overhead, not quite together", (
        _s(.58, {.39: .30, .67: .08}, shoulder_pitch=-2.4),
        _s(.00, {.83: 1.0}, left_shoulder_pitch=.25, right_shoulder_pitch=-.25),
        _s(.50, {1.09: .4}, elbow=-.7, wrist=-.5),
        _s(.50, {.53: .40}, lumbar_pitch=-.12, neck_pitch=-.35))),
    "arm_raise_side": Motion("flaps both arms sideways up to the shoulders and above", (
        _s(.60, {.51: .28, .87: .10}, shoulder_roll=2.0),
        _s(.00, {.73: 1.0}, left_shoulder_roll=.2, right_shoulder_roll=.2),
        _s(.40, {1.13: .4}, elbow=-.5, wrist=.6, shoulder_yaw=.5))),
    "torso_twist": Motion("turns the trunk left and right with the arms spread", (
        _s(.00, {.49: .60, .81: .35}, lumbar_yaw=.4, thoracic_yaw=.55, neck_yaw=-.4),
        _s(.80, {.67: .15}, shoulder_roll=1.35, elbow=-.6),
        _s(.20, {.93: .50}, thoracic_pitch=.15, wrist=.4))),
    "torso_bend": Motion("bends sideways, one arm reaching over the head", (
        _s(.15, {.41: .50, .69: .30}, lumbar_roll=.34, thoracic_roll=.36, hip_roll=-.08),
        _s(.87, {.57: .13}, left_shoulder_roll=2.9, left_elbow=-.7),
        _s(.80, {.73: .20}, right_shoulder_roll=-.5, right_elbow=-1.6))),
    "boxing": Motion("punches left and right from a guard with bent knees", (
        _s(1.0, {}, shoulder_pitch=-.85, elbow=-1.45, shoulder_yaw=-.35),
        _s(.00, {.79: .65, 1.07: .35}, left_shoulder_pitch=-.65, right_shoulder_pitch=.65,
           left_elbow=1.0, right_elbow=-1.0, thoracic_yaw=-.35, lumbar_yaw=-.15),
        _s(.60, {.59: .35}, hip=-.5, knee=1.0, lumbar_pitch=.15),
        _s(.30, {.71: .50}, shoulder_roll=.3, neck_yaw=.3))),
    "waving": Motion("waves with the raised right hand and looks around", (
        _s(1.0, {}, right_shoulder_roll=-1.75, right_shoulder_pitch=-.3),
        _s(.90, {.61: .10}, right_shoulder_yaw=-1.45, right_elbow=-1.5),
        _s(.00, {1.21: .7}, right_shoulder_roll=.3, right_wrist=.7),
        _s(.00, {.43: .60, .71: .40}, neck_yaw=.7, thoracic_yaw=.15),
        _s(.50, {.89: .40}, left_shoulder_pitch=.3, left_elbow=-.7),
        _s(.20, {.53: .60}, hip_roll=.03, thoracic_roll=.15))),
    "bow_and_reach": Motion("bows with the hips going back and reaches forward and down", (
        _s(.62, {.39: .26, .67: .10}, lumbar_pitch=.9, thoracic_pitch=.5, hip=-.45, knee=.4,
           neck_pitch=-.5, shoulder_pitch=-2.3),
        _s(.00, {.57: .70}, thoracic_yaw=.3, lumbar_yaw=.12),
        _s(.50, {.83: .45}, elbow=-.9, wrist=.5))),
}
# fmt: on


def feet_constraint(model: mujoco.MjModel, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> State:
    """Complete joint motions (..., 28) to full q (..., 35), v, a (..., 34) with both feet at rest.

    Leg angles are first projected (linearly, hence rates and accelerations alike) to the family
    that keeps the feet flat: roll, hip and knee become the mean of both sides, the ankles follow.
    Other joints pass unchanged.
    """
    joints = [np.array(x, dtype=float) for x in (q, v, a)]
    starts = [int(model.joint(f"{side}_hip_roll").dofadr[0]) - 6 for side in ("left", "right")]
    legs = np.add.outer(starts, np.arange(len(_LEG)))  # (2, 5) columns
    family = [x[..., legs[:, :3]].mean(axis=-2) for x in joints]  # (..., 3) each
    for x, y in zip(joints, family, strict=True):
        x[..., legs] = (y @ _FAMILY.T)[..., None, :]
    (r, h, k), (dr, dh, dk), (ddr, ddh, ddk) = (np.moveaxis(y, -1, 0) for y in family)
    n, dn, ddn = h + k, dh + dk, ddh + ddk
    thigh, shank = model.body("left_shank").pos, model.body("left_foot").pos
    # The ankle seen from the hip. Pitch turns x + iz by e^{−iα}, then roll turns y + iz by e^{ir}.
    w1 = complex(thigh[0], thigh[2]) * np.exp(-1j * h)
    w2 = complex(shank[0], shank[2]) * np.exp(-1j * n)
    w, dw = w1 + w2, -1j * (dh * w1 + dn * w2)
    ddw = -(1j * ddh + dh**2) * w1 - (1j * ddn + dn**2) * w2
    z, dz, ddz, turn = w.imag, dw.imag, ddw.imag, 1j * np.exp(1j * r)
    yz, dyz = z * turn, (dz + 1j * z * dr) * turn
    ddyz = (ddz + 2j * dz * dr + z * (1j * ddr - dr**2)) * turn
    moves = ((w, yz), (dw, dyz), (ddw, ddyz))
    root = [-np.stack([x.real, y.real, y.imag], axis=-1) for x, y in moves]
    root[0] += model.qpos0[:3] + thigh + shank
    still = np.zeros((*r.shape, 3))
    turns = (np.broadcast_to(model.qpos0[3:7], (*r.shape, 4)), still, still)
    full = [np.concatenate(x, axis=-1) for x in zip(root, turns, joints, strict=True)]
    return full[0], full[1], full[2]


class HumanMotion:
    """One motion of `duration` seconds; the person stands at rest before 0 and after the end."""

    def __init__(
        self,
        model: mujoco.MjModel,
        name: str,
        duration: float,
        rng: np.random.Generator | None = None,
        amplitude: float = 1.0,
    ) -> None:
        """Scale all angles by `amplitude`; draw the phases from `rng` (None: fixed ones)."""
        if name not in MOTIONS:
            raise UnknownName("motion", name, MOTIONS)
        if not 1e-2 <= duration <= 1e6:
            raise BadInput(f"duration of motion {name!r} must lie in [0.01, 1e6] s, got {duration}")
        if not 0 <= amplitude <= 10:
            raise BadInput(f"amplitude of motion {name!r} must lie in [0, 10], got {amplitude}")
        self.model, self.name, self.duration = model, name, float(duration)
        synergies = MOTIONS[name].synergies
        tones = [(i, hz, w) for i, s in enumerate(synergies) for hz, w in s.tones.items()]
        self._omega = 2 * np.pi * np.array([hz for _, hz, _ in tones])  # (k,) rad/s
        golden = 0.5 * (np.sqrt(5.0) - 1.0)  # spreads the fixed phases evenly, whatever their count
        turns = golden * np.arange(len(tones)) % 1.0 if rng is None else rng.random(len(tones))
        self._phase = 2 * np.pi * turns
        self._bias = np.array([s.bias for s in synergies])
        self._mix = np.zeros((len(tones), len(synergies)))
        self._mix[np.arange(len(tones)), [i for i, *_ in tones]] = [w for *_, w in tones]
        self._gains = np.zeros((len(synergies), model.nv - 6))
        for i, synergy in enumerate(synergies):
            for key, gain in synergy.gains.items():
                for column, sign in _columns(model, key):
                    self._gains[i, column] += amplitude * sign * gain

    def __call__(self, t: ArrayLike) -> State:
        """Full q (..., nq), v and a (..., nv) at the times t (...) in s."""
        time = np.asarray(t, dtype=float)[..., None]
        angle = self._omega * time + self._phase
        sine, cosine = np.sin(angle), np.cos(angle)
        s, ds = self._bias + sine @ self._mix, (cosine * self._omega) @ self._mix
        dds = -(sine * self._omega**2) @ self._mix
        w, dw, ddw = _window(time, self.duration)
        parts = (w * s, dw * s + w * ds, ddw * s + 2 * dw * ds + w * dds)
        return feet_constraint(self.model, *(x @ self._gains for x in parts))


def _window(t: Array, duration: float) -> State:
    """(1 − cos⁸x)², x = πt/T, and its first two time derivatives; 0 outside [0, T]."""
    rate, inside = np.pi / duration, (t > 0) & (t < duration)
    s, c = np.sin(rate * t * inside), np.cos(rate * t * inside)
    u, du, ddu = c**8, -8 * c**7 * s, 56 * c**6 * s**2 - 8 * c**8
    return (1 - u) ** 2, -2 * (1 - u) * du * rate, 2 * (du**2 - (1 - u) * ddu) * rate**2


def _columns(model: mujoco.MjModel, key: str) -> list[tuple[int, float]]:
    """Joint columns and signs a synergy's key drives: itself, or both sides of a sideless one."""
    if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, key) >= 0:
        return [(int(model.joint(key).dofadr[0]) - 6, 1.0)]
    left, right = model.joint(f"left_{key}"), model.joint(f"right_{key}")
    # The mirror image turns the other way about x and z, the same way about y.
    sign = 1.0 if key in _LEG or left.axis[1] else -1.0
    return [(int(left.dofadr[0]) - 6, 1.0), (int(right.dofadr[0]) - 6, sign)]


class MotionSequence:
    """Several motions one after another, each `seconds` long; at rest before and after."""

    def __init__(
        self,
        model: mujoco.MjModel,
        seconds: float = 4.0,
        names: Sequence[str] | None = None,
        rng: np.random.Generator | None = None,
        amplitude: float = 1.0,
    ) -> None:
        """Play `names` in that order (default all ten); phases from `rng` in the same order."""
        self.names = tuple(names or MOTIONS)
        self.motions = tuple(HumanMotion(model, n, seconds, rng, amplitude) for n in self.names)
        self.seconds, self.duration = seconds, seconds * len(self.names)

    def segment(self, t: ArrayLike) -> NDArray[np.intp]:
        """Index (...) of the motion at the times t (...); the first before 0, the last after."""
        index = np.floor(np.asarray(t, dtype=float) / self.seconds)
        return np.asarray(np.clip(index, 0, len(self.names) - 1), dtype=np.intp)

    def __call__(self, t: ArrayLike) -> State:
        """Full q (..., nq), v and a (..., nv) at the times t (...) in s."""
        time, index, model = np.asarray(t, dtype=float), self.segment(t), self.motions[0].model
        q, v, a = (np.empty((*time.shape, n)) for n in (model.nq, model.nv, model.nv))
        for i in np.unique(index):
            at = index == i
            q[at], v[at], a[at] = self.motions[i](time[at] - i * self.seconds)
        return q, v, a


def plate_wrench(
    model: mujoco.MjModel, data: mujoco.MjData, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> Array:
    """Wrench (6,) [fx fy fz mx my mz] of the plate on the person, in and about the plate's frame.

    The plate is all that holds the person, so the wrench is the root's generalised force: a world
    force at the pelvis's origin and a moment in the pelvis's axes. `data` is overwritten.
    """
    data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
    mujoco.mj_inverse(model, data)
    force, local = data.qfrc_inverse[:6].reshape(2, 3)
    plate, pelvis = data.site("plate"), data.body("pelvis")
    moment = pelvis.xmat.reshape(3, 3) @ local + np.cross(pelvis.xpos - plate.xpos, force)
    axes = plate.xmat.reshape(3, 3)
    return np.array([*(force @ axes), *(moment @ axes)])


def centre_of_pressure(wrench: ArrayLike) -> Array:
    """Point (..., 2) of the plate's surface where the wrench (..., 6) has no tilting moment."""
    w = np.asarray(wrench, dtype=float)
    return np.asarray(np.stack([-w[..., 4], w[..., 3]], axis=-1) / w[..., 2:3])


def support_polygon(model: mujoco.MjModel) -> Array:
    """Corners (4, 2), counter-clockwise in the plate's frame, of the hull of both soles at rest."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    soles = ("left_sole", "right_sole")
    centre = np.array([data.site(s).xpos - data.site("plate").xpos for s in soles])[:, :2]
    half = np.array([model.site(s).size for s in soles])[:, :2]
    # Equal parallel rectangles side by side: the hull is their bounding box.
    (x0, y0), (x1, y1) = (centre - half).min(axis=0), (centre + half).max(axis=0)
    return np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])


def support_margin(model: mujoco.MjModel, points: ArrayLike) -> Array:
    """Distance (...) in m from points (..., 2) to the nearest edge; negative outside."""
    box, p = support_polygon(model), np.asarray(points, dtype=float)
    return np.asarray(np.minimum(p - box[0], box[2] - p).min(axis=-1))

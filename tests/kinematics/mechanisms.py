"""Mechanisms to test with: random ones, and one with everything MuJoCo allows."""

import mujoco
import numpy as np

from testbed.inertia import change_frame, ellipsoid
from testbed.kinematics import from_mujoco


def rotation(rng):
    """A uniformly random rotation matrix."""
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q * np.sign(np.linalg.det(Q))


def random_body(rng, n=None):
    """Parameters (n, 10) of skew ellipsoids that are off their frames' origins."""
    if n is not None:
        return np.array([random_body(rng) for _ in range(n)])
    own = ellipsoid(rng.uniform(0.3, 3.0), rng.uniform(0.05, 0.3, 3))
    return change_frame(own, rotation(rng), rng.normal(scale=0.2, size=3))


def text(x):
    """Numbers for an XML attribute, to the last digit."""
    return " ".join(repr(float(v)) for v in np.ravel(x))


def inertial(rng):
    """A random MJCF <inertial>."""
    moments = random_body(rng)[4:7]
    quat, pos = rng.normal(size=4), rng.normal(scale=0.2, size=3)
    return (
        f'<inertial mass="{rng.uniform(0.3, 3.0)!r}" pos="{text(pos)}" '
        f'quat="{text(quat / np.linalg.norm(quat))}" diaginertia="{text(moments)}"/>'
    )


def body(rng, joints="", children="", attributes=""):
    """A random MJCF <body simple="false">; `{axis}` and `{pos}` in `joints` become random."""
    while "{axis}" in joints or "{pos}" in joints:
        joints = joints.replace("{axis}", text(rng.normal(size=3)), 1)
        joints = joints.replace("{pos}", text(rng.normal(scale=0.2, size=3)), 1)
    quat = rng.normal(size=4)
    return (
        f'<body simple="false" pos="{text(rng.normal(scale=0.3, size=3))}" '
        f'quat="{text(quat / np.linalg.norm(quat))}" {attributes}>'
        f"{joints}{inertial(rng)}{children}</body>"
    )


def compiled(world, option='gravity="1.2 -0.7 -9.81"'):
    """The model of what stands in its worldbody; contacts off."""
    return mujoco.MjModel.from_xml_string(
        '<mujoco><compiler angle="radian" inertiafromgeom="false"/>'
        f'<option {option} jacobian="dense"><flag contact="disable"/></option>'
        f"<worldbody>{world}</worldbody></mujoco>"
    )


FREE = "<freejoint/>"
BALL = '<joint type="ball" pos="{pos}"/>'
SLIDE = '<joint type="slide" axis="{axis}" pos="{pos}"/>'
HINGE = '<joint type="hinge" axis="{axis}" pos="{pos}"/>'
HINGE_REF = '<joint type="hinge" axis="{axis}" pos="{pos}" ref="0.7" armature="0.3" damping="2"/>'
SLIDE_REF = '<joint type="slide" axis="{axis}" pos="{pos}" ref="-0.4" stiffness="5"/>'


def everything(rng):
    """Every joint type, welds, several joints on a body, references, three trees."""
    limb = body(rng, SLIDE + HINGE, body(rng, "", body(rng, BALL)))
    other = body(rng, HINGE + HINGE, body(rng, HINGE_REF + SLIDE_REF))
    floating = body(rng, FREE, limb + other)
    fixed = body(rng, "", body(rng, SLIDE_REF, body(rng, HINGE, body(rng))))
    pendulum = body(rng, BALL, body(rng, HINGE + SLIDE + HINGE))
    return compiled(floating + fixed + pendulum)


def random_state(model, rng, n=None, away=0.0):
    """q, v, a: everything moves; free bodies are `away` metres from the origin."""
    if n is not None:
        return tuple(
            np.array(x)
            for x in zip(*(random_state(model, rng, away=away) for _ in range(n)), strict=True)
        )
    q = rng.normal(size=model.nq)
    for j in range(model.njnt):
        start = int(model.jnt_qposadr[j])
        if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE:
            q[start] += away
            start += 3
        if model.jnt_type[j] in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL):
            q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
    return q, 2.0 * rng.normal(size=model.nv), 5.0 * rng.normal(size=model.nv)


def theta(model):
    """Parameters of all bodies, flat (10·(nbody − 1),)."""
    return np.concatenate([from_mujoco(model, b) for b in range(1, model.nbody)])


def rigid_torque(model, q, v, a):
    """What MuJoCo's own inverse dynamics says of the rigid bodies alone (nv,)."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
    mujoco.mj_inverse(model, data)
    total = data.qfrc_inverse + data.qfrc_passive + data.qfrc_constraint
    return total - model.dof_armature * a


def relative(got, expected):
    """Largest error over largest entry."""
    return np.max(np.abs(got - expected)) / np.max(np.abs(expected))

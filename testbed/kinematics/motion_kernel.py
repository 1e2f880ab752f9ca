"""Poses, velocities and accelerations of all bodies, compiled.

Joints are taken one after the other, as if each moved a massless body of its own; this handles
several joints on one body, welded bodies and floating bases alike. World frame throughout.
"""

from __future__ import annotations

import math

from testbed.core.jit import kernel
from testbed.kinematics.tree import BALL, FREE, HINGE, SLIDE


@kernel
def cross(a, b, out):  # type: ignore[no-untyped-def]
    """out = a × b."""
    x = a[1] * b[2] - a[2] * b[1]
    y = a[2] * b[0] - a[0] * b[2]
    z = a[0] * b[1] - a[1] * b[0]
    out[0], out[1], out[2] = x, y, z


@kernel
def rotate(R, x, out):  # type: ignore[no-untyped-def]
    """out = R x."""
    a = R[0, 0] * x[0] + R[0, 1] * x[1] + R[0, 2] * x[2]
    b = R[1, 0] * x[0] + R[1, 1] * x[1] + R[1, 2] * x[2]
    c = R[2, 0] * x[0] + R[2, 1] * x[1] + R[2, 2] * x[2]
    out[0], out[1], out[2] = a, b, c


@kernel
def rotate_back(R, x, out):  # type: ignore[no-untyped-def]
    """out = Rᵀ x."""
    a = R[0, 0] * x[0] + R[1, 0] * x[1] + R[2, 0] * x[2]
    b = R[0, 1] * x[0] + R[1, 1] * x[1] + R[2, 1] * x[2]
    c = R[0, 2] * x[0] + R[1, 2] * x[1] + R[2, 2] * x[2]
    out[0], out[1], out[2] = a, b, c


@kernel
def quaternion_matrix(w, x, y, z, R):  # type: ignore[no-untyped-def]
    """Rotation matrix of the quaternion, normalised first."""
    s = 2.0 / (w * w + x * x + y * y + z * z)
    R[0, 0] = 1.0 - s * (y * y + z * z)
    R[0, 1] = s * (x * y - w * z)
    R[0, 2] = s * (x * z + w * y)
    R[1, 0] = s * (x * y + w * z)
    R[1, 1] = 1.0 - s * (x * x + z * z)
    R[1, 2] = s * (y * z - w * x)
    R[2, 0] = s * (x * z - w * y)
    R[2, 1] = s * (y * z + w * x)
    R[2, 2] = 1.0 - s * (x * x + y * y)


@kernel
def multiply(A, B, out):  # type: ignore[no-untyped-def]
    """out = A B for 3×3 matrices; out must not be A or B."""
    for i in range(3):
        for j in range(3):
            out[i, j] = A[i, 0] * B[0, j] + A[i, 1] * B[1, j] + A[i, 2] * B[2, j]


@kernel
def point_acceleration(acc, alpha, omega, arm, out):  # type: ignore[no-untyped-def]
    """out = a + α×r + ω×(ω×r): acceleration of another point of the same rigid body."""
    wx = omega[1] * arm[2] - omega[2] * arm[1]
    wy = omega[2] * arm[0] - omega[0] * arm[2]
    wz = omega[0] * arm[1] - omega[1] * arm[0]
    x = acc[0] + alpha[1] * arm[2] - alpha[2] * arm[1] + omega[1] * wz - omega[2] * wy
    y = acc[1] + alpha[2] * arm[0] - alpha[0] * arm[2] + omega[2] * wx - omega[0] * wz
    z = acc[2] + alpha[0] * arm[1] - alpha[1] * arm[0] + omega[0] * wy - omega[1] * wx
    out[0], out[1], out[2] = x, y, z


@kernel
def motion(  # type: ignore[no-untyped-def]
    parent, pos, quat, joint_start, joint_type, joint_pos, joint_axis, joint_qpos, joint_dof,
    qpos0, gravity, q, v, a, R, p, omega, alpha, acc, axis, anchor, turns, work,
):  # fmt: skip
    """Fill, for one configuration, the motion of every body and the axis of every dof.

    Out: R (nb, 3, 3), p (nb, 3), omega, alpha (nb, 3), acc (nb, 3) = acceleration of the body
    origin minus gravity; axis, anchor (nv, 3); turns (nv,) 1 for rotation, 0 for translation.
    work (4, 3, 3) is scratch.
    """
    Rj, Rb, s = work[0], work[1], work[2]
    arm, u, o, c = work[3, 0], work[3, 1], work[3, 2], s[0]
    for b in range(parent.size):
        k = parent[b]
        quaternion_matrix(quat[b, 0], quat[b, 1], quat[b, 2], quat[b, 3], Rb)
        if k < 0:
            for i in range(3):
                p[b, i] = pos[b, i]
                omega[b, i] = 0.0
                alpha[b, i] = 0.0
                acc[b, i] = -gravity[i]
                for j in range(3):
                    R[b, i, j] = Rb[i, j]
        else:
            rotate(R[k], pos[b], arm)
            point_acceleration(acc[k], alpha[k], omega[k], arm, acc[b])
            multiply(R[k], Rb, R[b])
            for i in range(3):
                p[b, i] = p[k, i] + arm[i]
                omega[b, i] = omega[k, i]
                alpha[b, i] = alpha[k, i]
        for j in range(joint_start[b], joint_start[b + 1]):
            kind, iq, iv = joint_type[j], joint_qpos[j], joint_dof[j]
            if kind == FREE:
                for i in range(3):
                    p[b, i] = q[iq + i]
                    acc[b, i] = a[iv + i] - gravity[i]
                    for n in range(3):
                        axis[iv + n, i] = 1.0 if i == n else 0.0
                        anchor[iv + n, i] = p[b, i]
                        anchor[iv + 3 + n, i] = p[b, i]
                    turns[iv + i] = 0
                    turns[iv + 3 + i] = 1
                quaternion_matrix(q[iq + 3], q[iq + 4], q[iq + 5], q[iq + 6], R[b])
                for i in range(3):
                    for n in range(3):
                        axis[iv + 3 + n, i] = R[b, i, n]
                rotate(R[b], v[iv + 3 : iv + 6], omega[b])
                rotate(R[b], a[iv + 3 : iv + 6], alpha[b])
            elif kind == SLIDE:
                rotate(R[b], joint_axis[j], axis[iv])
                rotate(R[b], joint_pos[j], arm)
                step = q[iq] - qpos0[iq]
                for i in range(3):
                    anchor[iv, i] = p[b, i] + arm[i]
                    c[i] = axis[iv, i] * step
                    u[i] = axis[iv, i] * v[iv]
                turns[iv] = 0
                # The body origin moves on: its arm grows, and Coriolis comes with it.
                point_acceleration(acc[b], alpha[b], omega[b], c, acc[b])
                cross(omega[b], u, o)
                for i in range(3):
                    p[b, i] += c[i]
                    acc[b, i] += axis[iv, i] * a[iv] + 2.0 * o[i]
            else:
                rotate(R[b], joint_pos[j], arm)
                for i in range(3):
                    o[i] = p[b, i] + arm[i]
                point_acceleration(acc[b], alpha[b], omega[b], arm, acc[b])  # now of the anchor
                if kind == HINGE:
                    rotate(R[b], joint_axis[j], axis[iv])
                    turns[iv] = 1
                    half = 0.5 * (q[iq] - qpos0[iq])
                    sine = math.sin(half)
                    quaternion_matrix(
                        math.cos(half),
                        sine * joint_axis[j, 0],
                        sine * joint_axis[j, 1],
                        sine * joint_axis[j, 2],
                        Rj,
                    )
                    multiply(R[b], Rj, Rb)
                    for i in range(3):
                        anchor[iv, i] = o[i]
                        u[i] = axis[iv, i] * v[iv]
                        c[i] = axis[iv, i] * a[iv]
                elif kind == BALL:
                    quaternion_matrix(q[iq], q[iq + 1], q[iq + 2], q[iq + 3], Rj)
                    multiply(R[b], Rj, Rb)
                    for n in range(3):
                        turns[iv + n] = 1
                        for i in range(3):
                            axis[iv + n, i] = Rb[i, n]
                            anchor[iv + n, i] = o[i]
                    rotate(Rb, v[iv : iv + 3], u)
                    rotate(Rb, a[iv : iv + 3], c)
                for i in range(3):
                    for n in range(3):
                        R[b, i, n] = Rb[i, n]
                # α' = α + axis·q̈ + ω × (axis·q̇), the axis being carried by what came before.
                cross(omega[b], u, arm)
                for i in range(3):
                    alpha[b, i] += c[i] + arm[i]
                    omega[b, i] += u[i]
                rotate(R[b], joint_pos[j], arm)
                for i in range(3):
                    arm[i] = -arm[i]
                    p[b, i] = o[i] + arm[i]
                point_acceleration(acc[b], alpha[b], omega[b], arm, acc[b])

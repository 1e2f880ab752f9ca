"""Poses, velocities and accelerations of all bodies, compiled.

Joints are taken one after the other, as if each moved a massless body of its own; this handles
several joints on one body, welded bodies and floating bases alike. World frame throughout.

Vectors are passed as three scalars and arrays by row number: a slice would make the compiled
code count references, which costs more than the arithmetic.
"""

from __future__ import annotations

import math

import numpy as np

from testbed.core.jit import kernel
from testbed.kinematics.tree import FREE, HINGE, SLIDE


@kernel
def cross(a, b, c, x, y, z):  # type: ignore[no-untyped-def]
    """(a, b, c) × (x, y, z)."""
    return b * z - c * y, c * x - a * z, a * y - b * x


@kernel
def rotate(R, i, x, y, z):  # type: ignore[no-untyped-def]
    """R[i] (x, y, z), with R (n, 9) row-major."""
    return (
        R[i, 0] * x + R[i, 1] * y + R[i, 2] * z,
        R[i, 3] * x + R[i, 4] * y + R[i, 5] * z,
        R[i, 6] * x + R[i, 7] * y + R[i, 8] * z,
    )


@kernel
def rotate_back(R, i, x, y, z):  # type: ignore[no-untyped-def]
    """R[i]ᵀ (x, y, z)."""
    return (
        R[i, 0] * x + R[i, 3] * y + R[i, 6] * z,
        R[i, 1] * x + R[i, 4] * y + R[i, 7] * z,
        R[i, 2] * x + R[i, 5] * y + R[i, 8] * z,
    )


@kernel
def turn(R, i, w, x, y, z):  # type: ignore[no-untyped-def]
    """R[i] ← R[i] · rotation of the quaternion, normalised first."""
    s = 2.0 / (w * w + x * x + y * y + z * z)
    q00, q01, q02 = 1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)
    q10, q11, q12 = s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)
    q20, q21, q22 = s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)
    for r in range(0, 9, 3):
        a, b, c = R[i, r], R[i, r + 1], R[i, r + 2]
        R[i, r] = a * q00 + b * q10 + c * q20
        R[i, r + 1] = a * q01 + b * q11 + c * q21
        R[i, r + 2] = a * q02 + b * q12 + c * q22


@kernel
def shift(acc, alpha, omega, i, x, y, z):  # type: ignore[no-untyped-def]
    """a + α×r + ω×(ω×r): acceleration of the point at r from the one that acc[i] is of."""
    wx, wy, wz = cross(omega[i, 0], omega[i, 1], omega[i, 2], x, y, z)
    ax, ay, az = cross(alpha[i, 0], alpha[i, 1], alpha[i, 2], x, y, z)
    bx, by, bz = cross(omega[i, 0], omega[i, 1], omega[i, 2], wx, wy, wz)
    return acc[i, 0] + ax + bx, acc[i, 1] + ay + by, acc[i, 2] + az + bz


@kernel
def set3(A, i, v):  # type: ignore[no-untyped-def]
    """A[i] = v."""
    A[i, 0], A[i, 1], A[i, 2] = v


@kernel
def workspace(nb, nv):  # type: ignore[no-untyped-def]
    """What `motion` fills: R, p, omega, alpha, acc of bodies, then axis, anchor, turns of dofs."""
    return (
        np.empty((nb, 9)),
        np.empty((nb, 3)),
        np.empty((nb, 3)),
        np.empty((nb, 3)),
        np.empty((nb, 3)),
        np.empty((nv, 3)),
        np.empty((nv, 3)),
        np.empty(nv, dtype=np.int64),
    )


@kernel
def motion(  # type: ignore[no-untyped-def]
    parent, pos, quat, joint_start, joint_type, joint_pos, joint_axis, joint_qpos, joint_dof,
    qpos0, gravity, n, q, v, a, R, p, omega, alpha, acc, axis, anchor, turns,
):  # fmt: skip
    """Fill the motion of every body and the axis of every dof for sample n of q, v, a.

    Out: R (nb, 9), p (nb, 3), omega, alpha (nb, 3), acc (nb, 3) = acceleration of the body
    origin minus gravity; axis, anchor (nv, 3); turns (nv,) 1 for rotation, 0 for translation.
    """
    for b in range(parent.size):
        k = parent[b]
        if k < 0:
            for i in range(9):
                R[b, i] = 1.0 if i % 4 == 0 else 0.0
            for i in range(3):
                p[b, i] = pos[b, i]
                omega[b, i] = alpha[b, i] = 0.0
                acc[b, i] = -gravity[i]
        else:
            x, y, z = rotate(R, k, pos[b, 0], pos[b, 1], pos[b, 2])
            set3(acc, b, shift(acc, alpha, omega, k, x, y, z))
            set3(p, b, (p[k, 0] + x, p[k, 1] + y, p[k, 2] + z))
            for i in range(9):
                R[b, i] = R[k, i]
            for i in range(3):
                omega[b, i] = omega[k, i]
                alpha[b, i] = alpha[k, i]
        turn(R, b, quat[b, 0], quat[b, 1], quat[b, 2], quat[b, 3])
        for j in range(joint_start[b], joint_start[b + 1]):
            kind, iq, iv = joint_type[j], joint_qpos[j], joint_dof[j]
            if kind == FREE:
                for i in range(9):
                    R[b, i] = 1.0 if i % 4 == 0 else 0.0
                turn(R, b, q[n, iq + 3], q[n, iq + 4], q[n, iq + 5], q[n, iq + 6])
                for i in range(3):
                    p[b, i] = q[n, iq + i]
                    acc[b, i] = a[n, iv + i] - gravity[i]
                    turns[iv + i], turns[iv + 3 + i] = 0, 1
                    for m in range(3):
                        axis[iv + m, i] = 1.0 if i == m else 0.0
                        axis[iv + 3 + m, i] = R[b, 3 * i + m]
                        anchor[iv + m, i] = anchor[iv + 3 + m, i] = q[n, iq + i]
                set3(omega, b, rotate(R, b, v[n, iv + 3], v[n, iv + 4], v[n, iv + 5]))
                set3(alpha, b, rotate(R, b, a[n, iv + 3], a[n, iv + 4], a[n, iv + 5]))
                continue
            ax, ay, az = rotate(R, b, joint_axis[j, 0], joint_axis[j, 1], joint_axis[j, 2])
            rx, ry, rz = rotate(R, b, joint_pos[j, 0], joint_pos[j, 1], joint_pos[j, 2])
            ox, oy, oz = p[b, 0] + rx, p[b, 1] + ry, p[b, 2] + rz
            if kind == SLIDE:
                step = q[n, iq] - qpos0[iq]
                set3(axis, iv, (ax, ay, az))
                set3(anchor, iv, (ox, oy, oz))
                turns[iv] = 0
                # The body origin moves on: its arm grows, and Coriolis comes with it.
                x, y, z = shift(acc, alpha, omega, b, ax * step, ay * step, az * step)
                x, y, z = x + ax * a[n, iv], y + ay * a[n, iv], z + az * a[n, iv]
                rate = 2.0 * v[n, iv]
                cx, cy, cz = cross(
                    omega[b, 0], omega[b, 1], omega[b, 2], ax * rate, ay * rate, az * rate
                )
                set3(acc, b, (x + cx, y + cy, z + cz))
                set3(p, b, (p[b, 0] + ax * step, p[b, 1] + ay * step, p[b, 2] + az * step))
                continue
            set3(acc, b, shift(acc, alpha, omega, b, rx, ry, rz))  # now of the anchor
            if kind == HINGE:
                half = 0.5 * (q[n, iq] - qpos0[iq])
                c, s = math.cos(half), math.sin(half)
                turn(R, b, c, s * joint_axis[j, 0], s * joint_axis[j, 1], s * joint_axis[j, 2])
                set3(axis, iv, (ax, ay, az))
                set3(anchor, iv, (ox, oy, oz))
                turns[iv] = 1
                ux, uy, uz = ax * v[n, iv], ay * v[n, iv], az * v[n, iv]
                cx, cy, cz = ax * a[n, iv], ay * a[n, iv], az * a[n, iv]
            else:  # a ball joint
                turn(R, b, q[n, iq], q[n, iq + 1], q[n, iq + 2], q[n, iq + 3])
                for m in range(3):
                    set3(axis, iv + m, (R[b, m], R[b, 3 + m], R[b, 6 + m]))
                    set3(anchor, iv + m, (ox, oy, oz))
                    turns[iv + m] = 1
                ux, uy, uz = rotate(R, b, v[n, iv], v[n, iv + 1], v[n, iv + 2])
                cx, cy, cz = rotate(R, b, a[n, iv], a[n, iv + 1], a[n, iv + 2])
            # α' = α + axis·q̈ + ω × (axis·q̇), the axis being carried by what came before.
            x, y, z = cross(omega[b, 0], omega[b, 1], omega[b, 2], ux, uy, uz)
            set3(alpha, b, (alpha[b, 0] + cx + x, alpha[b, 1] + cy + y, alpha[b, 2] + cz + z))
            set3(omega, b, (omega[b, 0] + ux, omega[b, 1] + uy, omega[b, 2] + uz))
            rx, ry, rz = rotate(R, b, -joint_pos[j, 0], -joint_pos[j, 1], -joint_pos[j, 2])
            set3(p, b, (ox + rx, oy + ry, oz + rz))
            set3(acc, b, shift(acc, alpha, omega, b, rx, ry, rz))

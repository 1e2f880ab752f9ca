"""One regressor row of one body, compiled: the work its inertial wrench does on a unit motion.

With a body's motion in its own frame (a = acceleration of the origin minus gravity, α, ω) its
inertial wrench is, in θ's order,

    f = m a + α×h + ω×(ω×h),    n = h×a + I α + ω×(I ω).

A row is lin·f + ang·n for a unit motion (ang, lin) of the body origin: a joint axis, or an axis
of a force plate. Collected by parameter it needs no 6×10 matrix.
"""

from __future__ import annotations

import numpy as np

from testbed.core.jit import kernel
from testbed.kinematics.motion_kernel import motion, rotate_back


@kernel
def row(ang, lin, a, al, w, out):  # type: ignore[no-untyped-def]
    """out (10,) += coefficients of ang·n + lin·f, everything in the body frame."""
    out[0] += lin[0] * a[0] + lin[1] * a[1] + lin[2] * a[2]
    # h: Sᵀ lin + a×ang with S = [α]× + [ω]×², and ang·(h×a) = h·(a×ang).
    wl = w[0] * lin[0] + w[1] * lin[1] + w[2] * lin[2]
    ww = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    out[1] += lin[1] * al[2] - lin[2] * al[1] + w[0] * wl - ww * lin[0]
    out[2] += lin[2] * al[0] - lin[0] * al[2] + w[1] * wl - ww * lin[1]
    out[3] += lin[0] * al[1] - lin[1] * al[0] + w[2] * wl - ww * lin[2]
    out[1] += a[1] * ang[2] - a[2] * ang[1]
    out[2] += a[2] * ang[0] - a[0] * ang[2]
    out[3] += a[0] * ang[1] - a[1] * ang[0]
    # I: angᵀ I α + uᵀ I ω with u = ang×ω.
    u0 = ang[1] * w[2] - ang[2] * w[1]
    u1 = ang[2] * w[0] - ang[0] * w[2]
    u2 = ang[0] * w[1] - ang[1] * w[0]
    out[4] += ang[0] * al[0] + u0 * w[0]
    out[5] += ang[1] * al[1] + u1 * w[1]
    out[6] += ang[2] * al[2] + u2 * w[2]
    out[7] += ang[0] * al[1] + ang[1] * al[0] + u0 * w[1] + u1 * w[0]
    out[8] += ang[1] * al[2] + ang[2] * al[1] + u1 * w[2] + u2 * w[1]
    out[9] += ang[0] * al[2] + ang[2] * al[0] + u0 * w[2] + u2 * w[0]


@kernel
def axis_row(axis, anchor, turns, R, p, a, al, w, work, out):  # type: ignore[no-untyped-def]
    """The row for a world axis (through `anchor` where it turns); a, al, w in the body frame."""
    if turns:
        rotate_back(R, axis, work[0])
        x, y, z = p[0] - anchor[0], p[1] - anchor[1], p[2] - anchor[2]
        work[1, 0] = axis[1] * z - axis[2] * y
        work[1, 1] = axis[2] * x - axis[0] * z
        work[1, 2] = axis[0] * y - axis[1] * x
        rotate_back(R, work[1], work[1])
    else:
        work[0, 0] = work[0, 1] = work[0, 2] = 0.0
        rotate_back(R, axis, work[1])
    row(work[0], work[1], a, al, w, out)


@kernel
def tree_rows(  # type: ignore[no-untyped-def]
    parent, pos, quat, joint_start, joint_type, joint_pos, joint_axis, joint_qpos, joint_dof,
    qpos0, gravity, ancestor_start, ancestor_dof, q, v, a, nv, plate, out,
):  # fmt: skip
    """Rows of a whole tree for n samples.

    q (n, nq), v, a (n, nv). With an empty `plate` (0, 7) the rows are the nv joint torques,
    out (n, nv, 10 nb); else one row a plate axis: [axis, anchor, turns], out (n, rows, 10 nb).
    `out` must come in as zeros.
    """
    nb = parent.size
    R = np.empty((nb, 3, 3))
    p, omega, alpha, acc = (
        np.empty((nb, 3)),
        np.empty((nb, 3)),
        np.empty((nb, 3)),
        np.empty((nb, 3)),
    )
    axis, anchor, turns = np.empty((nv, 3)), np.empty((nv, 3)), np.empty(nv, dtype=np.int64)
    work, body = np.empty((4, 3, 3)), np.empty((3, 3))
    for n in range(q.shape[0]):
        motion(
            parent, pos, quat, joint_start, joint_type, joint_pos, joint_axis, joint_qpos,
            joint_dof, qpos0, gravity, q[n], v[n], a[n], R, p, omega, alpha, acc, axis, anchor,
            turns, work,
        )  # fmt: skip
        for b in range(nb):
            rotate_back(R[b], acc[b], body[0])
            rotate_back(R[b], alpha[b], body[1])
            rotate_back(R[b], omega[b], body[2])
            if plate.shape[0] == 0:
                for k in range(ancestor_start[b], ancestor_start[b + 1]):
                    d = ancestor_dof[k]
                    axis_row(
                        axis[d], anchor[d], turns[d], R[b], p[b], body[0], body[1], body[2],
                        work[3], out[n, d, 10 * b : 10 * b + 10],
                    )  # fmt: skip
            else:
                for r in range(plate.shape[0]):
                    axis_row(
                        plate[r, :3], plate[r, 3:6], plate[r, 6] > 0.5, R[b], p[b], body[0],
                        body[1], body[2], work[3], out[n, r, 10 * b : 10 * b + 10],
                    )  # fmt: skip

"""One regressor row of one body, compiled: the work its inertial wrench does on a unit motion.

With a body's motion in its own frame (a = acceleration of the origin minus gravity, α, ω) its
inertial wrench is, in θ's order,

    f = m a + α×h + ω×(ω×h),    n = h×a + I α + ω×(I ω).

A row is lin·f + ang·n for a unit motion (ang, lin) of the body origin: a joint axis, or an axis
of a force plate. Collected by parameter it needs no 6×10 matrix.
"""

from __future__ import annotations

from testbed.core.jit import kernel
from testbed.kinematics.motion_kernel import cross, motion, rotate_back, workspace


@kernel
def row(out, n, r, c, g, l, a, e, w):  # type: ignore[no-untyped-def]
    """out[n, r, c : c + 10] = coefficients of ang·n + lin·f.

    g = ang, l = lin, a = acceleration, e = α, w = ω: triples in the body frame.
    """
    g0, g1, g2 = g
    l0, l1, l2 = l
    a0, a1, a2 = a
    e0, e1, e2 = e
    w0, w1, w2 = w
    out[n, r, c] = l0 * a0 + l1 * a1 + l2 * a2
    # h: Sᵀ lin + a×ang with S = [α]× + [ω]×², and ang·(h×a) = h·(a×ang).
    wl, ww = w0 * l0 + w1 * l1 + w2 * l2, w0 * w0 + w1 * w1 + w2 * w2
    out[n, r, c + 1] = l1 * e2 - l2 * e1 + w0 * wl - ww * l0 + a1 * g2 - a2 * g1
    out[n, r, c + 2] = l2 * e0 - l0 * e2 + w1 * wl - ww * l1 + a2 * g0 - a0 * g2
    out[n, r, c + 3] = l0 * e1 - l1 * e0 + w2 * wl - ww * l2 + a0 * g1 - a1 * g0
    # I: angᵀ I α + uᵀ I ω with u = ang×ω.
    u0, u1, u2 = cross(g0, g1, g2, w0, w1, w2)
    out[n, r, c + 4] = g0 * e0 + u0 * w0
    out[n, r, c + 5] = g1 * e1 + u1 * w1
    out[n, r, c + 6] = g2 * e2 + u2 * w2
    out[n, r, c + 7] = g0 * e1 + g1 * e0 + u0 * w1 + u1 * w0
    out[n, r, c + 8] = g1 * e2 + g2 * e1 + u1 * w2 + u2 * w1
    out[n, r, c + 9] = g0 * e2 + g2 * e0 + u0 * w2 + u2 * w0


@kernel
def axis_motion(R, p, b, x, y, z, ox, oy, oz, turns):  # type: ignore[no-untyped-def]
    """(ang, lin) of body b's origin, in its frame, for a world axis through o where it turns."""
    g = rotate_back(R, b, x, y, z)
    if not turns:
        return (0.0, 0.0, 0.0), g
    lx, ly, lz = cross(x, y, z, p[b, 0] - ox, p[b, 1] - oy, p[b, 2] - oz)
    return g, rotate_back(R, b, lx, ly, lz)


@kernel
def tree_rows(  # type: ignore[no-untyped-def]
    parent, pos, quat, joint_start, joint_type, joint_pos, joint_axis, joint_qpos, joint_dof,
    qpos0, gravity, ancestor_start, ancestor_dof, q, v, a, nv, plate, out,
):  # fmt: skip
    """Rows of a whole tree for n samples.

    q (n, nq), v, a (n, nv). With an empty `plate` (0, 7) the rows are the nv joint torques,
    out (n, nv, 10 nb); else one row a plate axis: [axis, anchor, turns], out (n, rows, 10 nb).
    `out` must come in as zeros: where a joint does not move a body nothing is written.
    """
    nb = parent.size
    R, p, omega, alpha, acc, axis, anchor, turns = workspace(nb, nv)
    for n in range(q.shape[0]):
        motion(
            parent, pos, quat, joint_start, joint_type, joint_pos, joint_axis, joint_qpos,
            joint_dof, qpos0, gravity, n, q, v, a, R, p, omega, alpha, acc, axis, anchor, turns,
        )  # fmt: skip
        for b in range(nb):
            f = rotate_back(R, b, acc[b, 0], acc[b, 1], acc[b, 2])
            e = rotate_back(R, b, alpha[b, 0], alpha[b, 1], alpha[b, 2])
            w = rotate_back(R, b, omega[b, 0], omega[b, 1], omega[b, 2])
            if plate.shape[0] == 0:
                for k in range(ancestor_start[b], ancestor_start[b + 1]):
                    d = ancestor_dof[k]
                    g, l = axis_motion(
                        R, p, b, axis[d, 0], axis[d, 1], axis[d, 2],
                        anchor[d, 0], anchor[d, 1], anchor[d, 2], turns[d] == 1,
                    )  # fmt: skip
                    row(out, n, d, 10 * b, g, l, f, e, w)
            else:
                for r in range(plate.shape[0]):
                    g, l = axis_motion(
                        R, p, b, plate[r, 0], plate[r, 1], plate[r, 2],
                        plate[r, 3], plate[r, 4], plate[r, 5], plate[r, 6] > 0.5,
                    )  # fmt: skip
                    row(out, n, r, 10 * b, g, l, f, e, w)

"""Base parameters: the combinations that torques depend on, found in the rows themselves.

Rank-revealing QR picks as many columns as the rank (Gautier 1991); every other column is a
combination of them, and its parameter is seen only together with theirs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from testbed.core.signals import Array
from testbed.replay.diagnose import rank_of, seen

_SMALL = 1e-6  # a share of another parameter that is not worth naming


@dataclass
class Base:
    """Base parameters β = K θ.

    Attributes:
        K: (r, p).
        names: What each is, `link_2.Izz + 0.225 link_3.hx …`.
        alone: Indices of parameters that are identifiable by themselves.
        unseen: Indices of parameters that act on nothing measured.
    """

    K: Array
    names: list[str]
    alone: NDArray[np.int64]
    unseen: NDArray[np.int64]

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.K)


def find_base(A: Array, scale: Array, names: list[str]) -> Base:
    """Base parameters of whitened rows.

    Args:
        A: Rows (m, p).
        scale: Typical size of each parameter (p,).
        names: Of the parameters.
    """
    p = A.shape[1]
    use = np.flatnonzero(seen(A, scale))
    rank, _ = rank_of(A, scale)
    size = np.sqrt(np.sum(A[:, use] ** 2, axis=0))
    R = np.linalg.qr(A[:, use] / size, mode="r")
    _, R, order = qr(R, mode="economic", pivoting=True)
    mix = solve_triangular(R[:rank, :rank], R[:rank, rank:])  # of the columns left over
    K = np.zeros((rank, p))
    picked, left = use[order[:rank]], use[order[rank:]]
    K[range(rank), picked] = 1.0
    K[:, left] = mix * size[order[rank:]] / size[order[:rank]][:, None]
    K[np.abs(K) * scale < _SMALL * scale[picked][:, None]] = 0.0
    K[range(rank), picked] = 1.0
    by_place = np.argsort(picked)
    K = K[by_place]
    alone = np.array([int(np.flatnonzero(row)[0]) for row in K if np.count_nonzero(row) == 1], int)
    unseen = np.setdiff1d(np.arange(p), use)
    return Base(K, [_name(row, names) for row in K], alone, unseen)


def _name(row: Array, names: list[str]) -> str:
    """A combination in words, its own parameter first."""
    order = sorted(np.flatnonzero(row), key=lambda i: (row[i] != 1.0, i))
    parts: list[str] = []
    for i in order:
        share = "" if abs(abs(row[i]) - 1.0) < 1e-6 else f"{abs(row[i]):.4g} "
        sign = "" if not parts and row[i] > 0 else "− " if row[i] < 0 else "+ "
        parts.append(f"{sign}{share}{names[i]}")
    return " ".join(parts[:8]) + (" …" if len(parts) > 8 else "")

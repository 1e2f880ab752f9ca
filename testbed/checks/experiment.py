"""A small identification experiment of known truth, its rows in units of their noise.

Rows are random but built like those of a robot: a force sees masses and first moments alone, a
moment first moments and inertias. An experiment can be told again in other frames and units: with
random rigid G a body and unit scales c (mass), s (length), H = diag(s, s, s, 1) G, a body is
P → c H P Hᵀ (Lee & Park 2018, eq. 13), a linear map M of θ, and rows become A M⁻¹.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation

from testbed.core.signals import Array
from testbed.core.types import Equation, Problem
from testbed.inertia import box, from_pseudo_inertia, natural_basis, pseudo_inertia, sample_around

ROWS = 6  # of a usual equation: forces, then moments
_UNITS = pseudo_inertia(np.eye(10))  # (10, 4, 4)
# Standard deviations of the entries of a force and of a moment row, before division by its noise.
_FORCE = np.array([20.0] + [60.0] * 3 + [0.0] * 6)
_MOMENT = np.array([0.0] + [60.0] * 3 + [600.0] * 6)
_EXTRA = 6.0


@dataclass(frozen=True, eq=False)
class Experiment:
    """Truth, prior and rows.

    Args:
        truth: θ (p,).
        prior: θ₀ (p,).
        root: Natural coordinates of θ around the prior: θ = θ₀ + root·x, (p, p).
        error: Standard deviation of x, declared and true.
        A: Rows (n, k, p).
        b: (n, k).
        std: Of the noise of each row (k,), declared.
        t: Times (n,) in seconds.
        dt: Sampling time.
        extra: Number of extra parameters.
        declared: Whether the problem tells more than the prior and dt.
        cov: Declared covariance of each sample's rows (n, k, k); None: diag(std²) of them all.
    """

    truth: Array
    prior: Array
    root: Array
    error: float
    A: Array
    b: Array
    std: Array
    t: Array
    dt: float
    extra: int = 0
    declared: bool = True
    cov: Array | None = None

    def __len__(self) -> int:
        return len(self.t)

    @property
    def bodies(self) -> int:
        """Number of bodies."""
        return (self.prior.size - self.extra) // 10

    def problem(self) -> Problem:
        """What an estimator is told; new arrays every time."""
        if not self.declared:
            return Problem(prior=self.prior, dt=self.dt, extra=self.extra)
        unit = self.root @ self.root.T
        return Problem(
            prior=self.prior,
            dt=self.dt,
            extra=self.extra,
            prior_cov=self.error**2 * unit,
            scale=np.sqrt(np.diag(unit)),
            rng=np.random.default_rng(1),
        )

    def equation(self, i: int) -> Equation:
        """The rows of sample i; new arrays every time."""
        cov = np.diag(self.std**2) if self.cov is None else self.cov[i].copy()
        return Equation(float(self.t[i]), self.A[i].copy(), self.b[i].copy(), cov)

    def instrument(self, i: int) -> Equation:
        """The same rows as planned: no noise, and what the prior predicts."""
        return Equation(float(self.t[i]), self.A[i].copy(), self.A[i] @ self.prior)

    # ----- how far ---------------------------------------------------------------------------

    def natural(self, difference: Array) -> float:
        """Length of a difference of θ (p,) in natural coordinates, without units."""
        return float(np.linalg.norm(np.linalg.solve(self.root, difference)))

    def distance(self, theta: Array) -> float:
        """From the truth, over that of the prior."""
        return self.natural(theta - self.truth) / self.natural(self.prior - self.truth)

    def by_parameter(self, theta: Array) -> float:
        """From the truth, over that of the prior, each parameter in units of its own scale.

        Natural coordinates would call it far to learn a mass and leave the inertias alone.
        """
        scale = np.sqrt(np.square(self.root).sum(axis=1))
        wrong, start = (theta - self.truth) / scale, (self.prior - self.truth) / scale
        return float(np.linalg.norm(wrong) / np.linalg.norm(start))

    def misfit(self, theta: Array) -> float:
        """Error of predicting the rows without noise, over that of the prior."""
        rows = self.A / self.std[:, None]
        wrong, start = rows @ (theta - self.truth), rows @ (self.prior - self.truth)
        return float(np.linalg.norm(wrong) / np.linalg.norm(start))

    # ----- the same, otherwise ---------------------------------------------------------------

    def with_rows(self, A: Array, noise: Array | float = 0.0) -> Experiment:
        """Other rows (n, k, p), answered by the same truth; noise (n, k) in units of b."""
        return replace(self, A=A, b=A @ self.truth + noise)

    def at(self, t: ArrayLike) -> Experiment:
        """At other times (n,)."""
        return replace(self, t=np.asarray(t, dtype=float))

    def backwards(self) -> Experiment:
        """The last rows first; times stay in order."""
        cov = None if self.cov is None else self.cov[::-1]
        return replace(self, A=self.A[::-1], b=self.b[::-1], cov=cov)

    def stacked(self) -> Experiment:
        """All rows as one equation."""
        n, covs = len(self), [self.equation(i).cov for i in range(len(self))]
        return replace(
            self, A=self.A.reshape(1, -1, self.prior.size), b=self.b.reshape(1, -1),
            std=np.tile(self.std, n), t=self.t[:1], cov=block_diag(*covs)[None],
        )  # fmt: skip

    def disturbed(self, size: float, rng: np.random.Generator) -> Experiment:
        """With noise that all rows have in common, declared: another mixture at every sample.

        To b comes size·std·u g with u (k,) random and g ~ N(0, 1), so that the covariance is full.
        """
        u = size * self.std * rng.normal(size=self.b.shape)  # (n, k)
        cov = np.diag(self.std**2) + u[:, :, None] * u[:, None, :]
        return replace(self, b=self.b + u * rng.normal(size=(len(self), 1)), cov=cov)

    def scaled(self, factors: ArrayLike) -> Experiment:
        """The same rows in other units: row j of every sample times factor j (k,)."""
        f = np.asarray(factors, dtype=float)
        cov = None if self.cov is None else self.cov * np.outer(f, f)
        return replace(self, A=self.A * f[:, None], b=self.b * f, std=self.std * f, cov=cov)

    def batch_solution(self) -> Array:
        """Weighted least squares of all rows (p,), worked out at once and without a prior."""
        whitened = [self.equation(i).whitened() for i in range(len(self))]
        A, b = (np.concatenate(parts) for parts in zip(*whitened, strict=True))
        x = np.linalg.lstsq(A @ self.root, b - A @ self.prior, rcond=None)[0]
        solution: Array = self.prior + self.root @ x
        return solution

    def mapped(self, M: Array) -> Experiment:
        """θ → M θ (p, p), b as it was."""
        return replace(
            self, truth=M @ self.truth, prior=M @ self.prior, root=M @ self.root,
            A=self.A @ np.linalg.inv(M),
        )  # fmt: skip

    def in_units(self, mass: float, length: float) -> Array:
        """M (p, p) for a unit of mass and length that is so much smaller; extras stay."""
        H = np.diag([length] * 3 + [1.0])
        return block_diag(*[_moved(mass, H)] * self.bodies, np.eye(self.extra))

    def in_frames(self, rng: np.random.Generator) -> Array:
        """M (p, p) for a random frame of each body; extras stay."""
        maps = []
        for _ in range(self.bodies):
            H = np.eye(4)
            H[:3, :3] = Rotation.random(random_state=int(rng.integers(2**31))).as_matrix()
            H[:3, 3] = 0.3 * rng.normal(size=3)
            maps.append(_moved(1.0, H))
        return block_diag(*maps, np.eye(self.extra))


def _moved(c: float, H: Array) -> Array:
    """(10, 10) of φ for P → c H P Hᵀ."""
    moved: Array = from_pseudo_inertia(c * H @ _UNITS @ H.T).T
    return moved


def make_experiment(
    *,
    bodies: int = 1,
    extra: int = 0,
    samples: int = 120,
    rows: int = ROWS,
    noise: float = 0.0,
    error: float = 0.2,
    dt: float = 1e-3,
    seed: int = 0,
    declared: bool = True,
    std: float = 1.0,
) -> Experiment:
    """Random boxes, random rows.

    Args:
        bodies: How many.
        extra: Parameters after them.
        samples: n.
        rows: k.
        noise: Of b, as a multiple of what is declared; 0 is exact.
        error: Of the prior, relative.
        dt: Sampling time.
        seed: Of everything random.
        declared: Whether the problem tells more than the prior and dt.
        std: Of the declared noise, as a multiple of the usual.
    """
    rng = np.random.default_rng(seed)
    prior = np.concatenate([_box(rng) for _ in range(bodies)])
    truth = sample_around(prior.reshape(-1, 10), error, rng).ravel()
    root = block_diag(*natural_basis(prior.reshape(-1, 10)), np.eye(extra))
    prior = np.concatenate([prior, rng.uniform(0.5, 1.5, size=extra)])
    truth = np.concatenate([truth, prior[10 * bodies :] + error * rng.normal(size=extra)])
    size = np.stack([_FORCE if i % ROWS < 3 else _MOMENT for i in range(rows)])
    size = np.concatenate([np.tile(size, bodies), np.full((rows, extra), _EXTRA)], axis=1)
    A = size * rng.normal(size=(samples, rows, prior.size))
    stds = std * (np.linspace(0.8, 1.25, rows) if rows > 1 else np.ones(rows))
    b = A @ truth + noise * stds * rng.normal(size=(samples, rows))
    t = np.asarray(dt * np.arange(samples), dtype=float)
    return Experiment(truth, prior, root, error, A, b, stds, t, dt, extra, declared)


def _box(rng: np.random.Generator) -> Array:
    return box(rng.uniform(0.5, 4.0), rng.uniform(0.1, 0.4, size=3), com=0.1 * rng.normal(size=3))

"""Invariant, always possible, ready at every sample: log-det estimation in whitened coordinates.

    J(x) = ½ Σₖ ‖rₖ − zₖ x‖² + α Σⱼ (tr Xⱼ − log det(1 + Xⱼ))

z are rows as seen from the prior bodies (`whitened.py`). The log-det divergence stands in for the
squared geodesic distance of Lee & Park 2018 (they agree to third order near the prior): it is
convex, and a barrier, so that the minimum is one and every estimate a possible body. Ω = Σ zᵀz and
g = Σ zᵀr are exact; each sample makes two to four steps of a preconditioned descent, backtracking
until they are possible and downhill. What is left of a step is not lost: the next gradient sees it.

The preconditioner, an inverse Hessian, follows every sample by a low-rank update. It is made anew
(one factorisation) when steps stop getting shorter, and now and then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from testbed.core.errors import BadInput
from testbed.core.jit import COMPILED
from testbed.core.registry import estimator
from testbed.core.signals import Array
from testbed.core.types import Equation, Estimate, Problem
from testbed.estimators import stream_kernel, stream_numpy
from testbed.estimators.forgetting import make_forgetting, noticed, sifted
from testbed.estimators.gamma import check_gamma, declared
from testbed.estimators.geometric_prior import Chart, bodies_of
from testbed.estimators.logdet import CHANGED_ALPHA, centre_pull, changed_strength
from testbed.estimators.nuisance import make_nuisance
from testbed.estimators.row_weights import RowWeights, whitened_rows
from testbed.estimators.stream_kernel import FINE, NO_ROWS
from testbed.estimators.whitened import Whitened
from testbed.estimators.whitened_interior import minimise_whitened
from testbed.inertia.factor import inverse_from

MOST_STEPS = 4  # a sample
_EARLIEST, _LATEST = 25, 400  # samples between two factorisations
_SLOW = 0.3  # share of a step that is left after it, from which on M is made anew
_JAMMED = 0.3  # natural length of a sample's last step from which on it is going nowhere
_SETTLED = 1e-6  # natural length of steps that need no better preconditioner


@estimator("geometric_stream", claims={"bounded", "consistent", "invariant"})
class GeometricStream:
    """Recursive, every estimate possible and the same in all frames and units (Lee & Park 2018).

    Args:
        gamma: Strength of the prior: "declared" (1/e² of the problem's covariance) or a number.
        tau: γ = 1/τ² instead.
        row_std: Noise of the rows instead of the declared one.
        nuisance: "plate_offset", "row_offset" or None.
        nuisance_std: Its standard deviation before any data.
        forgetting: As for `rls`.
        changed_gamma: The prior's strength at most, once a rule has said that something changed, or
            "keep": as it was.
    """

    inputs: ClassVar[Mapping[str, str]] = {"eq": "@measured"}

    def __init__(
        self,
        gamma: float | str = "declared",
        tau: float | None = None,
        row_std: float | Sequence[float] | None = None,
        nuisance: str | None = None,
        nuisance_std: float | Sequence[float] | None = None,
        forgetting: Any = None,
        changed_gamma: float | str = CHANGED_ALPHA,
    ) -> None:
        check_gamma(gamma, tau)
        if gamma in ("rule", "cv"):
            raise BadInput(f"geometric_stream needs gamma before the data: not {gamma!r}")
        make_nuisance(nuisance, nuisance_std)
        self.gamma, self.tau = gamma, tau
        self.weights = RowWeights(row_std)
        self.nuisance, self.nuisance_std = nuisance, nuisance_std
        self.forgetting = make_forgetting(forgetting)
        self._changed = changed_strength(changed_gamma=changed_gamma)

    def reset(self, problem: Problem) -> None:
        """No data: the minimiser is the prior."""
        self.problem, self.theta = problem, problem.prior.copy()
        if self.tau is not None:
            self._alpha = 1.0 / self.tau**2
        else:
            known = isinstance(self.gamma, str)
            self._alpha = declared(problem) if known else float(self.gamma)
        self._begin(None)

    def _begin(self, rows: int | None) -> None:
        """The state of no data; `rows` of an equation, once that is known."""
        problem = self.problem
        self._nuisance = make_nuisance(self.nuisance, self.nuisance_std, rows)
        std = None if self._nuisance is None else self._nuisance.std
        self._whitened = W = Whitened(problem, "geometric_stream", std)
        n = W.size
        self._fresh = True
        self.information, self.vector, self.x = np.zeros((n, n)), np.zeros(n), np.zeros(n)
        self._inverse = np.tile(np.eye(4), (W.bodies, 1, 1))  # Y⁻¹ (nb, 4, 4)
        self._slope, self._work = np.zeros(n), np.empty((4, n))
        self._out = np.array(
            [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]
        )  # steps, first, last, log det, margin, –
        self._M = np.eye(n) / self._alpha
        self._M[range(W.inertial, n), range(W.inertial, n)] = 1.0
        self._since, self._ask = 0, False
        self._fallback: str | None = None
        self._K = np.empty((0, n))
        # Rules work on whitened information: what they do is then invariant, too.
        extra = n - W.inertial
        told = Problem(prior=np.zeros(n), dt=problem.dt, bodies=problem.bodies, extra=extra)
        self.forgetting.reset(told)

    def update(self, eq: Equation) -> Estimate:
        """Forget a little, take in k rows, and make up to four steps."""
        if eq.A.shape[1] != self.theta.size:
            raise BadInput(f"A must have {self.theta.size} columns, got {eq.A.shape[1]}")
        if self._fresh and self._nuisance is not None and len(eq.b):
            self._begin(len(eq.b))
        columns = [] if self._nuisance is None else [self._nuisance.of(eq)]
        rows = whitened_rows(self.weights.of(eq), eq.A, *columns, eq.b)
        if rows is None:
            return self._skipped("non-finite data")
        self._fresh = self._fresh and not len(eq.b)
        z, residual = self._rows(rows)
        mu, told = self.forgetting.factor(), {}
        if mu is None:
            told = self._forget(z, residual)
            if "skipped" in told:
                return Estimate(self.theta, self.covariance, told)
            z, residual = sifted(self.forgetting, z, residual)
        status = self._take(z, residual, 1.0 if mu is None else mu)
        if status == NO_ROWS:
            return self._skipped("rows too large to be squared")
        self._keep_up(status, "change" in told)
        self.theta = self._answer()
        return Estimate(self.theta, self.covariance, {**self._info(), **told})

    def _rows(self, rows: Array) -> tuple[Array, Array]:
        """z (k, size) and b − Aθ₀ (k,) of rows [A | nuisances | b] (k, ·) of unit noise."""
        W, p = self._whitened, self.theta.size
        own = rows[:, p:-1] if self._nuisance is not None else None
        if not COMPILED:
            return W.rows(rows[:, :p], rows[:, -1], own)
        z, residual = np.empty((len(rows), W.size)), np.empty(len(rows))
        stream_kernel.whiten(rows, W.prior, W.basis, W.std, W.extra, z, residual)
        if own is not None:
            z[:, W.inertial + W.extra :] = own * W.std[W.extra :]
        return z, residual

    def _take(self, z: Array, residual: Array, mu: float) -> int:
        """Absorb and descend; what it came to."""
        if len(self._K) != len(z):
            self._K = np.empty(z.shape)
        path: Any = stream_kernel if COMPILED else stream_numpy
        if mu != 1.0:  # the preconditioner forgets along, and its share of the prior too much so
            self._M *= 1.0 / mu
            self._since += int(2.0 * _LATEST * (1.0 - mu))
        state = (self.information, self.vector, self.x)
        status = path.absorb(*state, z, residual, mu, self._M, self._K, self._slope)
        if status == FINE:
            status = self._descend(path)
        return int(status)

    def _descend(self, path: Any) -> int:
        scratch = (self._slope, self._work, MOST_STEPS, self._out)
        return int(
            path.descend(self.information, self.x, self._inverse, self._alpha, self._M, *scratch)
        )

    def _keep_up(self, status: int, changed: bool) -> None:
        """Make the preconditioner anew where it does not serve any more."""
        self._since += 1
        made, first, last, *_ = self._out.tolist()
        slow = made > 1 and last > _SETTLED and last > _SLOW * first
        lost = status not in (FINE, NO_ROWS)
        jammed = made >= MOST_STEPS and last > _JAMMED
        self._ask = self._ask or slow
        due = self._since >= _LATEST or (self._ask and self._since >= _EARLIEST)
        self._fallback = None
        if jammed:
            self._jump()
        if lost or changed or due or jammed:
            self._since, self._ask = 0, False
            self._M = self._precondition()
            self._slope = self.information @ self.x - self.vector  # without what rounding added
            if lost:
                self._descend(stream_kernel if COMPILED else stream_numpy)

    def _jump(self) -> None:
        """To the minimum at once, where steps crawl along the edge of the cone."""
        nb = self._whitened.bodies
        x = minimise_whitened(self.information, self.vector, self._alpha, nb)
        if x is None:
            return
        Y = bodies_of(x, nb)
        try:
            C = np.asarray(np.linalg.cholesky(Y), dtype=float)
        except np.linalg.LinAlgError:  # flat to rounding: stay where doubles can tell
            return
        self.x = x
        self._inverse[:] = inverse_from(C)
        size = np.einsum("bii->bi", Y) * np.einsum("bii->bi", self._inverse)
        self._out[3] = 2.0 * np.sum(np.log(np.einsum("bii->bi", C)))
        self._out[4] = 1.0 / np.max(size, initial=1.0)
        self._fallback = "interior point"

    def _forget(self, z: Array, residual: Array) -> dict[str, Any]:
        """Give up what a rule that is no plain factor says; what it noticed comes back."""
        G = self.forgetting.discount(self.information, z, residual - z @ self.x, self.x)
        if G is not None:
            self.information -= G
            self.vector -= G @ self.x
            self._since += _LATEST // 10  # the preconditioner does not follow that: be early
        told = noticed(self.forgetting)
        if "change" in told and self._changed is not None:
            self._loosen(self._changed)
        return told

    def _loosen(self, gamma: float) -> None:
        """A loose prior about the estimate takes the place of the old one: see `RLSLogDet`."""
        W = self._whitened
        self._alpha = min(self._alpha, gamma)
        pull = centre_pull(bodies_of(self.x, W.bodies)).ravel()
        self._slope = -np.concatenate([self._alpha * pull, self.x[W.inertial :]])  # Ωx − z
        self.vector = self.information @ self.x - self._slope
        self._M = self._precondition()

    def _hessian(self) -> Array:
        """∇²J (size, size): Ω + α Y⁻¹⊗Y⁻¹, and 1 for what follows the bodies."""
        W, H = self._whitened, self.information.copy()
        T = Chart(self._inverse).basis()  # D → Y^(−½) D Y^(−½) up to a rotation
        blocks = self._alpha * T @ T.transpose(0, 2, 1)
        for b, block in enumerate(blocks):
            H[10 * b : 10 * b + 10, 10 * b : 10 * b + 10] += block
        H[range(W.inertial, W.size), range(W.inertial, W.size)] += 1.0
        return H

    def _precondition(self) -> Array:
        """(∇²J)⁻¹ (size, size); where rounding forbids it, that of the prior alone."""
        H = self._hessian()
        factor, failed = dpotrf(H, lower=1)
        if not failed:
            M, failed = dpotri(factor, lower=1)
        if failed or not np.all(np.isfinite(M)):
            return np.diag(1.0 / np.diag(H))
        M = np.tril(M)
        return np.ascontiguousarray(M + np.tril(M, -1).T)

    def _answer(self) -> Array:
        """θ (p,)."""
        W = self._whitened
        # Flat bodies, and what next to nothing is left of, need the digits that a sum would lose.
        least = (1.0 + self.x[: W.inertial].reshape(-1, 10)[:, :4]).max(axis=1).min(initial=1.0)
        if COMPILED and self._out[4] * least > 1e-6:
            theta = np.empty(self.theta.size)
            stream_kernel.parameters(self.x, W.basis, W.prior, W.std, W.extra, theta)
            return theta
        Y = bodies_of(self.x, W.bodies)
        return W.theta(Y, self.x)

    def _info(self) -> dict[str, Any]:
        made, _, last, _, margin, _ = self._out.tolist()
        info = {"iterations": int(made), "step": last, "margin": margin}
        info["fallback"] = self._fallback
        if self._nuisance is not None:
            values = self._whitened.nuisances(self.x).tolist()
            info["nuisance"] = dict(zip(self._nuisance.names, values, strict=True))
        return info

    def _skipped(self, why: str) -> Estimate:
        return Estimate(self.theta, self.covariance, {"skipped": why})

    def covariance(self) -> Array:
        """Inverse Hessian of the objective (p, p)."""
        W, p = self._whitened, self.theta.size
        unit = np.zeros((W.size, W.size))
        for b, block in enumerate(W.basis):
            unit[10 * b : 10 * b + 10, 10 * b : 10 * b + 10] = block
        unit[range(W.inertial, W.size), range(W.inertial, W.size)] = W.std
        cov = unit @ self._precondition() @ unit.T
        return 0.5 * (cov + cov.T)[:p, :p]

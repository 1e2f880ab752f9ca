"""Recursive least squares that is physically consistent at every step.

Minimises, over everything seen so far,

    J(θ) = ½ Σₖ ‖bₖ − Aₖ θ‖²_W + αₖ R(θ),   W = weight · cov⁻¹       (Cho 2024, eqs. 12 and 23)

with R the log-det divergence from the prior. The state is (Ω, z), Ω = Σ AᵀWA and z = Σ AᵀWb, and
the gradient g = Ωθ − z + α∇R(θ) is absolute: the incremental form of eq. 16 drifts from the batch
solution, and a step that it skips is lost for ever.

Three ways lead to the minimum, and all end at the same one: compiled Newton steps with one
factorisation an update (`logdet_kernel`), chord steps with none (`logdet_chord`), and for what
these will not take on damped Newton steps that never leave the cone (`logdet_newton`), or the
interior-point method of `logdet_interior` where those would only crawl along its edge.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.jit import COMPILED
from testbed.core.registry import estimator
from testbed.core.signals import Array
from testbed.core.types import Equation, Estimate, Problem
from testbed.estimators import logdet_chord, logdet_kernel
from testbed.estimators.forgetting import make_forgetting, noticed, sifted
from testbed.estimators.logdet import CHANGED_ALPHA, LogDet, changed_strength, prior_strength
from testbed.estimators.logdet_interior import minimise_from_prior
from testbed.estimators.logdet_kernel import CAREFUL, DONE, FLAT, HEAVIEST, SKIPPED
from testbed.estimators.logdet_newton import CONVERGED, Minimum, minimise
from testbed.estimators.logdet_numpy import NumpyNewton
from testbed.estimators.weights import check_positive, make_weight

_NO_WHITENER = np.zeros((0, 0))
_NOT_FINITE = {"skipped": "non-finite data"}
_TRIES = 10  # damped Newton steps from the last estimate before starting from the prior
REFRESH = 200  # updates after which a chord's inverse Hessian is made anew


@estimator("rls_logdet", claims={"batch_exact", "bounded", "consistent", "invariant"})
class RLSLogDet:
    """Log-det regularised least squares: every estimate is a possible body (Cho 2024).

    Args:
        alpha: Strength of the prior (eq. 23); None takes the one that the problem declares.
        beta: Ridge on the extra parameters; None takes their declared variance.
        weight: Factor on cov⁻¹, or "normalised".
        every: Solve at every n-th sample only; the others just accumulate.
        mode: "newton" factorises at every solution, "chord" hardly ever: faster, and the same.
        adaptive: α_sf of αₖ = α_sf tr(Ω [∇²R]⁻¹) (III-C) instead of a constant α.
        forgetting: As for `rls`.
        changed_alpha: The prior's strength at most, once a rule has said that something changed, or
            "keep": as it was.
    """

    inputs: ClassVar[Mapping[str, str]] = {"eq": "@measured"}

    def __init__(
        self,
        alpha: float | None = None,
        beta: float | None = None,
        weight: float | str = 1.0,
        every: int = 1,
        mode: Literal["newton", "chord"] = "newton",
        adaptive: float | None = None,
        forgetting: Any = None,
        changed_alpha: float | str = CHANGED_ALPHA,
    ) -> None:
        check_positive(alpha=alpha, beta=beta, adaptive=adaptive)
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise BadInput(f"every must be a whole number of samples from 1 on, got {every!r}")
        if mode not in ("newton", "chord"):
            raise BadInput(f'mode must be "newton" or "chord", got {mode!r}')
        self.alpha, self.beta, self.every, self.mode = alpha, beta, every, mode
        self.adaptive, self.weight = adaptive, make_weight(weight)
        self.forgetting = make_forgetting(forgetting)
        self._changed = changed_strength(changed_alpha=changed_alpha)

    def reset(self, problem: Problem) -> None:
        """No data: the minimiser is the prior."""
        p = problem.size
        self._alpha0 = prior_strength(problem) if self.alpha is None else self.alpha
        self._alpha = self._alpha0
        self.regulariser = R = LogDet(problem, self.beta, self._alpha)
        self._prior = problem.prior
        self.theta = problem.prior.copy()  # (p,)
        self.information = np.zeros((p, p))  # Ω
        self.vector = np.zeros(p)  # z
        self.forgetting.reset(problem)
        self.weight.reset(problem, self.forgetting)
        self._samples = self._eager = 0
        self._adapts = self.adaptive is not None
        self._info: dict[str, Any] = {"iterations": 0, "decrement": 0.0, "margin": R.margin()}
        self._flat = not R.margin() > FLAT  # whether θ is too flat for any but the careful path
        self._plain = NumpyNewton(R)
        self._P = np.empty((R.inertial // 10, 4, 4))
        logdet_kernel.invert_bodies(self.theta, self._P)
        self._constants = R.L0_inverse, R.extra0, np.ascontiguousarray(R.beta)
        self._H, self._M, self._work = np.empty((p, p)), np.empty((p, p)), np.empty((3, p))
        self._rows, self._K = np.empty((0, p)), np.empty((0, p))
        self._options, self._out = np.zeros(4), np.zeros(3)

    def update(self, eq: Equation) -> Estimate:
        """Forget a little, take in k rows, and go to the new minimum."""
        A, b, W = eq.A, eq.b, eq.whitening()
        k, p = A.shape
        if p != self.theta.size:
            raise BadInput(f"A must have {self.theta.size} columns, got {p}")
        if W is not None and W.shape != (k, k):
            raise BadInput(f"cov must have shape {(k, k)}, got {W.shape}")
        mu = self.forgetting.factor()
        weight, told = self.weight.factor(k), {}
        if mu is None:
            told = self._forget(A, b, W, weight)
            if "skipped" in told:
                return Estimate(self._answer(), self.covariance, told)
            if getattr(self.forgetting, "sieve", None) is not None:
                A, b = sifted(self.forgetting, *_weighted(A, b, W, 1.0))
                W = None
        solve = (self._samples + 1) % self.every == 0 or self._eager > 0
        self._eager = max(0, self._eager - 1)
        direct = COMPILED and solve and not self._flat and self.adaptive is None
        status, theta = self._take(A, b, W, weight, 1.0 if mu is None else mu, direct)
        if status == SKIPPED:
            return self._skipped()
        self._samples += 1
        if solve and not direct and not self._flat:
            status, theta = self._solve()
        if solve:
            self._settle(status, theta)
        return Estimate(self._answer(), self.covariance, self._info | told if told else self._info)

    def _take(
        self, A: Array, b: Array, W: Array | None, weight: float, mu: float, solve: bool
    ) -> tuple[int, Array]:
        """Accumulate, and `solve` in the same compiled call."""
        if not COMPILED:
            return self._accumulate(A, b, W, weight, mu), self.theta
        if len(self._rows) != len(A):
            self._rows, self._K = np.empty((2, *A.shape))
        options, theta = self._options, self.theta.copy() if solve else self.theta
        options[0], options[1], options[2] = weight, mu, solve
        state = (self.information, self.vector, theta, self._P, *self._constants, self._alpha)
        rows = (_NO_WHITENER if W is None else W, A, b, options, self._H)
        if self.mode == "chord":
            if self._samples % REFRESH == 0:
                options[3] = 0.0
            scratch = (self._M, self._work, self._rows, self._K, self._out)
            return logdet_chord.chord_update(*state, *rows, *scratch), theta
        return logdet_kernel.update(*state, *rows, self._work, self._rows, self._out), theta

    def _accumulate(self, A: Array, b: Array, W: Array | None, weight: float, mu: float) -> int:
        """The same without compiled loops."""
        A, b = _weighted(A, b, W, weight)
        if not np.vdot(A, A) + np.dot(b, b) < HEAVIEST:
            return SKIPPED
        if mu != 1.0:
            self.vector -= (1.0 - mu) * (self.information @ self.theta)
            self.information *= mu
        self.information += A.T @ A
        self.vector += A.T @ b
        return CAREFUL

    def _forget(self, A: Array, b: Array, W: Array | None, weight: float) -> dict[str, Any]:
        """Give up what a rule that is no plain factor says; what it noticed comes back."""
        A, b = _weighted(A, b, W, weight)
        if not np.vdot(A, A) + np.dot(b, b) < HEAVIEST:
            return _NOT_FINITE
        G = self.forgetting.discount(self.information, A, b - A @ self.theta, self.theta)
        told = noticed(self.forgetting)
        if G is not None:
            self.information -= G
            self.vector -= G @ self.theta
            if "change" in told and self._changed is not None:
                self._loosen(self._changed)
        return told

    def _loosen(self, alpha: float) -> None:
        """Let the prior go, too: what it says is of the body before the change.

        A loose one about θ̂ takes its place. z would else go on to hold what the data did against
        the old one: a force of its full strength without any information behind it.
        """
        self._alpha = min(self._alpha, alpha)
        self._adapts = False  # z holds the pull of the new centre, at this strength
        self.vector = self.information @ self.theta
        self.vector += self._alpha * self.regulariser.pull_from(self._answer())
        self._options[3] = 0.0  # a chord's inverse Hessian is of another α
        self._eager = self.every  # the rule would take an estimate that lags for another change

    def _solve(self) -> tuple[int, Array]:
        """From what has been accumulated, where a sample was not solved with its own update."""
        if self._adapts:
            self._alpha = self._adapted()
        if COMPILED:
            theta = self.theta.copy()
            state = (self.information, self.vector, theta, self._P, *self._constants, self._alpha)
            return logdet_kernel.newton(*state, self._H, self._work, self._out), theta
        status, theta, *out = self._plain(self.information, self.vector, self.theta, self._alpha)
        self._out[:] = out
        return status, theta

    def _settle(self, status: int, theta: Array) -> None:
        """Keep what a solution found, or go the careful way where there is none."""
        if status == DONE and not self._flat:
            self.theta = theta
            iterations, decrement, margin = self._out.tolist()
            self._info = {"iterations": int(iterations), "decrement": decrement, "margin": margin}
            self._info["fallback"] = None
            return
        R = self.regulariser
        if not self._flat:
            R.look_at(self.theta)
        if self._adapts:
            self._alpha = self._adapted()
        found, way = self._carefully()
        self.theta, margin = found.theta, R.margin()
        self._flat = not margin > FLAT
        if not self._flat:
            logdet_kernel.invert_bodies(self.theta, self._P)
        self._options[3] = 0.0  # a chord's inverse Hessian is from somewhere else
        self._info = {
            "iterations": found.iterations,
            "decrement": found.decrement,
            "margin": margin,
            "fallback": way,
        }

    def _carefully(self) -> tuple[Minimum, str]:
        """Damped Newton from the last estimate; from the prior where that does not get there."""
        data, R = (self.information, self.vector), self.regulariser
        before = self.theta, R.C
        total, decrement = 0, math.inf
        try:
            found = minimise(*data, R, self.theta, self._alpha, most=_TRIES)
            if found.decrement < CONVERGED:
                return found, "damped Newton"
            other = minimise_from_prior(*data, R, self._prior, self._alpha)
            total, decrement = found.iterations + other.iterations, other.decrement
            if decrement < CONVERGED:
                return other._replace(iterations=total), "interior point"
        except np.linalg.LinAlgError:  # data that outweigh the prior beyond what doubles hold
            pass
        theta, R.C = before  # a step that cannot be told right from wrong is not taken
        return Minimum(theta, total, decrement), "no minimum found: the estimate stays"

    def _adapted(self) -> float:
        """αₖ = α_sf tr(Ω [∇²R(θ)]⁻¹) (III-C), and never nothing."""
        R = self.regulariser
        if not self._flat:
            R.look_at(self.theta)
        T = R.basis()
        spread = np.einsum("ij,ij->j", T, self.information @ T) / R.curvature()
        assert self.adaptive is not None
        return max(self.adaptive * float(np.sum(spread)), 1e-12 * self._alpha0)

    def _answer(self) -> Array:
        return self.regulariser.lift(self.theta) if self._flat else self.theta

    def _skipped(self) -> Estimate:
        return Estimate(self._answer(), self.covariance, _NOT_FINITE)

    def covariance(self) -> Array:
        """Inverse Hessian of the objective (p, p)."""
        R = self.regulariser
        if not self._flat:
            R.look_at(self.theta)
        T = R.basis()
        H = T.T @ self.information @ T + np.diag(self._alpha * R.curvature())
        result: Array = T @ np.linalg.solve(H, T.T)
        return 0.5 * (result + result.T)


def _weighted(A: Array, b: Array, W: Array | None, weight: float) -> tuple[Array, Array]:
    """Rows scaled to unit noise, times the root of the weight; what overflows is not finite."""
    root = math.sqrt(weight)
    with np.errstate(over="ignore", invalid="ignore"):
        return (root * A, root * b) if W is None else (root * (W @ A), root * (W @ b))

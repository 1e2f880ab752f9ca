"""Estimators that keep every promise: what the broken ones are made from."""

# ruff: noqa: RUF012  plugins are written as users write them
from __future__ import annotations

from collections import deque

import numpy as np
from scipy.linalg import block_diag

from testbed import Estimate
from testbed.inertia import is_consistent, natural_basis


class Twin:
    """Least squares from the declared prior, in coordinates that know no frames and units."""

    inputs = {"eq": "@measured"}
    claims = frozenset({"batch_exact", "bounded", "invariant"})

    def reset(self, problem):
        self.problem = problem
        n = 10 * len(problem.bodies)
        self.bodies, self.prior = n, problem.prior.copy()
        self.root = block_diag(
            *natural_basis(self.prior[:n].reshape(-1, 10)), np.eye(problem.size - n)
        )  # (p, p): θ = θ₀ + root x
        self.information = self.prior_information(problem)  # (p, p) of x
        self.vector = np.zeros(problem.size)  # Ω x
        self.theta = self.prior.copy()

    def prior_information(self, problem):
        if problem.prior_cov is None:
            return np.eye(problem.size)
        inverse = np.linalg.inv(self.root)
        return np.linalg.inv(inverse @ problem.prior_cov @ inverse.T)

    def update(self, eq):
        A, b = eq.whitened()
        if not self.usable(A, b):
            return self.say({"skipped": "non-finite data"})
        self.absorb(A @ self.root, b - A @ self.prior)
        return self.say({})

    def usable(self, A, b):
        return np.isfinite(A).all() and np.isfinite(b).all()

    def absorb(self, Z, residual):
        """Rows Z x = residual (k, p)."""
        self.information = self.information + Z.T @ Z
        self.vector = self.vector + Z.T @ residual
        self.theta = self.prior + self.root @ np.linalg.solve(self.information, self.vector)

    def say(self, info):
        return Estimate(self.theta.copy(), self.covariance, info)

    def covariance(self):
        P = self.root @ np.linalg.inv(self.information) @ self.root.T
        return 0.5 * (P + P.T)


class Modest(Twin):
    """Claims nothing and gives no covariance."""

    claims = frozenset()

    def say(self, info):
        return Estimate(self.theta.copy(), None, info)


class Helped(Twin):
    """May have an instrument, and does without one."""

    inputs = {"eq": "@measured", "instrument?": "@reference"}

    def update(self, eq, instrument=None):
        return super().update(eq)


class Batch(Twin):
    """Answers at the end."""

    claims = frozenset({"batch_exact", "invariant"})

    def update(self, eq):
        said = super().update(eq)
        return Estimate(self.prior.copy(), None, said.info)

    def solve(self):
        return self.say({})


class Late(Modest):
    """Takes in each sample when the next one comes; keeps a copy of it until then."""

    waiting = None

    def reset(self, problem):
        super().reset(problem)
        self.waiting = None

    def update(self, eq):
        if not self.usable(eq.A, eq.b):
            return self.say({"skipped": "non-finite data"})
        if not len(eq.b):
            return self.say({})
        if self.waiting is not None:
            A, b, W = self.waiting
            self.absorb(W @ A @ self.root, W @ (b - A @ self.prior))
        self.waiting = (self.kept(eq.A), self.kept(eq.b), eq.whitening().copy())
        return self.say({})

    def kept(self, array):
        return array.copy()


class Stepwise(Modest):
    """The usual recursion for the estimate itself: θ += K (b − A θ)."""

    def absorb(self, Z, residual):
        self.information = self.information + Z.T @ Z
        x = np.linalg.solve(self.root, self.theta - self.prior)
        x = x + np.linalg.solve(self.information, Z.T @ (residual - Z @ x))
        self.theta = self.prior + self.root @ x


class Windowed(Modest):
    """The last hundred samples alone."""

    def reset(self, problem):
        super().reset(problem)
        self.start = self.information
        self.rows = deque(maxlen=100)

    def update(self, eq):
        self.t = eq.t
        return super().update(eq)

    def absorb(self, Z, residual):
        self.rows.append((self.t, Z, residual))
        self.information, self.vector = self.start, np.zeros(len(self.start))
        Z, residual = (np.concatenate([row[i] for row in self.inside()]) for i in (1, 2))
        super().absorb(Z, residual)

    def inside(self):
        return list(self.rows)


class Possible(Twin):
    """Goes from the prior towards the solution as far as the bodies are possible."""

    claims = frozenset({"consistent"})

    def say(self, info):
        theta, share = self.theta, 1.0
        while not self.fine(theta):
            share *= 0.5
            theta = self.prior + share * (self.theta - self.prior)
        return Estimate(theta.copy(), None, info)

    def fine(self, theta):
        return np.all(is_consistent(theta[: self.bodies].reshape(-1, 10)))

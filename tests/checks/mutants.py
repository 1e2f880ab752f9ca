"""Broken estimators, each with one fault, under the check that must find it and nothing else."""

# ruff: noqa: RUF012  plugins are written as users write them
from __future__ import annotations

import gc
import sys
import warnings

import numpy as np

from testbed import Estimate
from testbed.plants import Plant
from tests.checks.twins import Batch, Helped, Late, Modest, Possible, Stepwise, Twin, Windowed

MUTANTS: dict[str, list[type]] = {}


def caught_by(check):
    def add(mutant):
        MUTANTS.setdefault(check, []).append(mutant)
        return mutant

    return add


# ----- contract ------------------------------------------------------------------------------


@caught_by("protocol")
class AsksForAnotherPort(Twin):
    inputs = {"equation": "@measured"}


@caught_by("protocol")
class CannotBeReset(Twin):
    reset = None


@caught_by("shapes")
class ForgetsTheExtras(Twin):
    def say(self, info):
        return Estimate(self.theta[: self.bodies].copy(), None, info)


@caught_by("shapes")
class CovarianceOfBodiesAlone(Twin):
    def covariance(self):
        return super().covariance()[: self.bodies, : self.bodies]


@caught_by("rows_vary")
class OneSizeOfRows(Twin):
    buffer = None

    def reset(self, problem):
        super().reset(problem)
        self.buffer = None

    def absorb(self, Z, residual):
        if self.buffer is None:
            self.buffer = np.empty_like(Z)
        self.buffer[:] = Z
        super().absorb(self.buffer.copy(), residual)


@caught_by("rows_vary")
class HasRoomForSixRows(Twin):
    claims = frozenset({"bounded", "invariant"})

    def absorb(self, Z, residual):
        super().absorb(Z[:6], residual[:6])


@caught_by("bare_problem")
class NeedsACovariance(Twin):
    def prior_information(self, problem):
        inverse = np.linalg.inv(self.root)
        return np.linalg.inv(inverse @ problem.prior_cov @ inverse.T)


@caught_by("info_is_plain")
class TellsItsWholeSelf(Twin):
    def say(self, info):
        return super().say({**info, "me": self})


@caught_by("quiet")
class Warns(Twin):
    def absorb(self, Z, residual):
        warnings.warn("condition is poor", RuntimeWarning, stacklevel=1)
        super().absorb(Z, residual)


@caught_by("quiet")
class Prints(Twin):
    def absorb(self, Z, residual):
        print("theta is", self.theta[0])
        super().absorb(Z, residual)


@caught_by("optional_ports")
class TakesTheOptionalForGranted(Helped):
    def update(self, eq, instrument):
        return super().update(eq)


# ----- state ---------------------------------------------------------------------------------


@caught_by("deterministic")
class RollsDice(Modest):
    def absorb(self, Z, residual):
        super().absorb(Z, residual)
        self.theta *= 1.0 + 1e-13 * np.random.normal()  # noqa: NPY002


@caught_by("reset_equals_fresh")
class ForgetsToReset(Twin):
    def prior_information(self, problem):
        old = getattr(self, "information", np.zeros(0))
        return old if len(old) == problem.size else super().prior_information(problem)


@caught_by("long_runs_leave_nothing")
class TrustsWhatItHasSeenLong(Twin):
    """Long runs of this process make the next one's prior a little firmer."""

    trust = {}

    def reset(self, problem):
        super().reset(problem)
        self.key, self.count = problem.prior.tobytes(), 0
        self.information = self.trust.get(self.key, 1.0) * self.information

    def absorb(self, Z, residual):
        super().absorb(Z, residual)
        self.count += 1
        if self.count > 500:
            self.trust[self.key] = self.trust.get(self.key, 1.0) * (1.0 + 1e-10)


@caught_by("instances_are_apart")
class SharesItsBasis(Twin):
    def reset(self, problem):
        super().reset(problem)
        type(self).root = self.__dict__.pop("root")


@caught_by("inputs_not_modified")
class WritesIntoThePrior(Twin):
    def absorb(self, Z, residual):
        super().absorb(Z, residual)
        self.problem.prior[:] = self.theta


@caught_by("inputs_not_modified")
class WhitensInPlace(Twin):
    def update(self, eq):
        said = super().update(eq)
        if eq.cov is not None and eq.cov.flags.writeable:  # the harness knows its plugins
            eq.cov[:] = np.eye(len(eq.b))
        return said


@caught_by("estimates_stay")
class ReturnsAView(Twin):
    def reset(self, problem):
        super().reset(problem)
        self.shown = self.theta.copy()

    def say(self, info):
        self.shown[:] = self.theta
        return Estimate(self.shown, self.covariance, info)


@caught_by("buffers_reused")
class KeepsAReference(Late):
    def kept(self, array):
        return array


@caught_by("state_restored")
class SavesHalfItsState(Twin):
    def get_state(self):
        return {"information": self.information}

    def set_state(self, state):
        self.information = state["information"]
        self.vector = np.zeros_like(self.vector)


@caught_by("state_restored")
class CannotBeCopied(Twin):
    def __deepcopy__(self, memo):
        return self


@caught_by("solve_repeatable")
class SolvesOnce(Batch):
    def solve(self):
        said = self.say({})
        self.information, self.vector = self.prior_information(self.problem), 0.0 * self.vector
        self.theta = self.prior.copy()
        return said


# ----- accuracy ------------------------------------------------------------------------------


@caught_by("convergence")
class OverlooksAColumn(Modest):
    def update(self, eq):
        A = eq.A.copy()
        A[:, 6 : self.bodies : 10] = 0.0
        return super().update(type(eq)(eq.t, A, eq.b, eq.cov))


@caught_by("extras_converge")
class LeavesExtrasAlone(Twin):
    def absorb(self, Z, residual):
        Z = Z.copy()
        Z[:, self.bodies :] = 0.0
        super().absorb(Z, residual)


@caught_by("batch_agreement")
class ForgetsALittle(Twin):
    def absorb(self, Z, residual):
        self.information, self.vector = 0.9999 * self.information, 0.9999 * self.vector
        super().absorb(Z, residual)


@caught_by("declared_noise")
class IgnoresTheNoise(Modest):
    def update(self, eq):
        return super().update(type(eq)(eq.t, eq.A, eq.b))


@caught_by("batch_agreement")
class WeighsBadRowsTooLittle(Twin):
    """By the inverse of the covariance, squared: whatever the order, but no least squares."""

    def update(self, eq):
        if eq.cov is not None:
            eq = type(eq)(eq.t, eq.A, eq.b, eq.cov @ eq.cov)
        return super().update(eq)

    def say(self, info):
        return Estimate(self.theta.copy(), None, info)


@caught_by("declared_noise")
class KeepsTheFirstCovariance(Modest):
    def reset(self, problem):
        super().reset(problem)
        self.first = {}

    def update(self, eq):
        cov = self.first.setdefault(len(eq.b), eq.cov)
        return super().update(type(eq)(eq.t, eq.A, eq.b, cov))


@caught_by("declared_noise")
class IgnoresCorrelations(Modest):
    def update(self, eq):
        cov = None if eq.cov is None else np.diag(np.diag(eq.cov))
        return super().update(type(eq)(eq.t, eq.A, eq.b, cov))


@caught_by("no_drift")
class Leaks(Stepwise):
    def absorb(self, Z, residual):
        super().absorb(Z, residual)
        if Z.any():
            self.theta = self.theta + 1e-5 * self.root.sum(axis=1)


# ----- data ----------------------------------------------------------------------------------


@caught_by("nonfinite_not_absorbed")
class AbsorbsInf(Twin):
    def update(self, eq):
        if np.isnan(eq.A).any() or np.isnan(eq.b).any():
            return self.say({"skipped": "NaN"})
        return super().update(eq)

    def usable(self, A, b):
        return True


@caught_by("nonfinite_not_absorbed")
class AbsorbsNanInA(Twin):
    def usable(self, A, b):
        return np.isfinite(b).all() and not np.isinf(A).any()


@caught_by("nonfinite_not_absorbed")
class ForgetsAtBadSamples(Twin):
    def usable(self, A, b):
        usable = super().usable(A, b)
        if not usable:
            self.information, self.vector = 0.9 * self.information, 0.9 * self.vector
        return usable


@caught_by("skipping_is_said")
class SkipsInSilence(Twin):
    def say(self, info):
        return super().say({})


@caught_by("zero_data")
class DividesByTheNorm(Twin):
    def absorb(self, Z, residual):
        norm = np.linalg.norm(Z)
        super().absorb(Z / norm * norm, residual / norm * norm)


@caught_by("constant_data")
class DividesByTheSpread(Twin):
    def reset(self, problem):
        super().reset(problem)
        self.seen, self.low, self.high = 0, np.inf, -np.inf

    def absorb(self, Z, residual):
        if residual.any():
            self.seen += 1
            self.low, self.high = min(self.low, residual[0]), max(self.high, residual[0])
            spread = self.high - self.low if self.seen > 1 else 1.0
            residual = residual / spread * spread
        super().absorb(Z, residual)


@caught_by("rank_deficient")
class LeastNorm(Modest):
    def prior_information(self, problem):
        return np.zeros((problem.size, problem.size))

    def absorb(self, Z, residual):
        about_zero = residual + Z @ np.linalg.solve(self.root, self.prior)
        self.information = self.information + Z.T @ Z
        self.vector = self.vector + Z.T @ about_zero
        if self.information.any():
            inverse = np.linalg.pinv(self.information, rcond=1e-10, hermitian=True)
            self.theta = self.root @ (inverse @ self.vector)


@caught_by("badly_scaled")
class IgnoresSmallRows(Twin):
    def update(self, eq):
        big = np.abs(eq.A).max(axis=1, initial=0.0) > 1e-3
        cov = eq.cov[np.ix_(big, big)] if eq.cov is not None else None
        if np.isfinite(eq.A).all():
            eq = type(eq)(eq.t, eq.A[big], eq.b[big], cov)
        return super().update(eq)


# ----- time ----------------------------------------------------------------------------------


class Clocked(Twin):
    """Knows the time of the last good sample."""

    last = None

    def reset(self, problem):
        super().reset(problem)
        self.last = None

    def update(self, eq):
        if np.isfinite(eq.A).all() and np.isfinite(eq.b).all():
            passed = None if self.last is None else eq.t - self.last
            self.last = eq.t
            if passed is not None and not self.timely(passed):
                return self.say({"skipped": "time"})
        return super().update(eq)

    def timely(self, passed):
        return True


@caught_by("odd_timestamps")
class DividesByTheTimePassed(Clocked):
    def timely(self, passed):
        return 1.0 / passed < np.inf


@caught_by("clock_offset")
class StartsAtZero(Twin):
    def update(self, eq):
        return super().update(eq) if eq.t >= 0.0 else self.say({"skipped": "not started"})


@caught_by("gaps")
class StopsAtALostSample(Clocked):
    def timely(self, passed):
        if passed > 3.5 * self.problem.dt:
            raise RuntimeError("a sample was lost")
        return True


@caught_by("ten_hertz")
class HardCodesItsWindow(Windowed):
    def inside(self):
        return [row for row in self.rows if row[0] > self.t - 0.1005]


@caught_by("ten_kilohertz")
class HardCodesDt(Clocked):
    def timely(self, passed):
        return round(passed / 1e-3) != 0  # else the same sample again


# ----- claims --------------------------------------------------------------------------------


@caught_by("consistent_every_step")
class ClaimsToBePossible(Possible):
    def fine(self, theta):
        return True


@caught_by("frame_invariance")
class PriorByParameter(Twin):
    def prior_information(self, problem):
        cov = self.root @ self.root.T if problem.prior_cov is None else problem.prior_cov
        return self.root.T @ np.diag(1.0 / np.diag(cov)) @ self.root


@caught_by("unit_invariance")
class TrustsHeavyPriors(Twin):
    def prior_information(self, problem):
        mass = problem.prior[: self.bodies : 10].sum()
        return super().prior_information(problem) * (1.0 + np.tanh(0.1 * mass))


@caught_by("body_order")
class FirstBodyIsSpecial(Twin):
    def prior_information(self, problem):
        information = super().prior_information(problem)
        if len(problem.bodies) > 1:
            information[:10, :10] *= 2.0
        return information


@caught_by("bounded_at_rest")
class WindsUp(Twin):
    claims = frozenset({"bounded", "invariant"})

    def absorb(self, Z, residual):
        self.information, self.vector = 0.99 * self.information, 0.99 * self.vector
        super().absorb(Z, residual)


@caught_by("bounded_at_rest")
class WindsUpInSecret(WindsUp):
    def say(self, info):
        return Estimate(self.theta.copy(), None, info)


# ----- covariance ----------------------------------------------------------------------------


@caught_by("covariance_valid")
class LosesSymmetry(Twin):
    def covariance(self):
        P = super().covariance()
        P[0, 1] *= 1.0 + 1e-4
        return P


@caught_by("covariance_honest")
class PromisesTooMuch(Twin):
    def covariance(self):
        return 0.1 * super().covariance()


@caught_by("covariance_honest")
class TakesVariancesForDeviations(Twin):
    claims = frozenset({"bounded", "invariant"})

    def update(self, eq):
        if eq.cov is not None:
            eq = type(eq)(eq.t, eq.A, eq.b, eq.cov @ eq.cov)
        return super().update(eq)


# ----- isolation -----------------------------------------------------------------------------


@caught_by("blind_to_truth")
class LooksUpTheStack(Twin):
    def say(self, info):
        frame = sys._getframe()
        while frame is not None:
            truth = frame.f_locals.get("truth")
            if isinstance(truth, np.ndarray) and truth.shape == self.theta.shape:
                return Estimate(truth.copy(), None, info)
            frame = frame.f_back
        return super().say(info)


@caught_by("blind_to_truth")
class SearchesTheHeap(Twin):
    """Only when the harness calls: elsewhere there is nothing to find."""

    def say(self, info):
        caller = sys._getframe(2).f_globals["__name__"]
        if caller == "testbed.harness.contender":
            for thing in gc.get_objects():
                if isinstance(thing, Plant) and thing._theta.shape == self.theta.shape:
                    return Estimate(thing._theta.copy(), None, info)
        return super().say(info)


@caught_by("bounded_memory")
class RemembersEverything(Twin):
    def reset(self, problem):
        super().reset(problem)
        self.log = []

    def say(self, info):
        self.log.append(self.theta[0])
        return super().say(info)


_LOG = []


@caught_by("bounded_memory")
class RemembersElsewhere(Twin):
    def say(self, info):
        _LOG.append(self.theta.copy())
        return super().say(info)

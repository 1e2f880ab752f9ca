"""The one step that everything loops over: run, replay, sweeps, environments.

    sample, truth = session.reset(seed)
    for _ in range(steps):
        sample, truth = session.step()

Each step: the source's next sample → every equation that anybody asked for, once → each
estimator predicts, updates and is scored. Estimators get equations and samples; truth goes to the
scores only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.protocols import Regressor, Rig, Source
from testbed.core.seeding import Streams
from testbed.core.signals import Array
from testbed.core.types import Equation, Estimate, Sample, Truth
from testbed.harness.clean_rows import CleanRows
from testbed.harness.contender import Contender
from testbed.harness.driver import Driver
from testbed.harness.history import Column, History
from testbed.harness.ports import make_regressor, read_ports
from testbed.harness.problem import make_prior, make_problem, prior_covariance
from testbed.harness.watchdog import Watchdog
from testbed.regressors.mass_matrix import MassMatrix, positive_definite
from testbed.scores import Course, Tally


class Session:
    """A source, the estimators on it, and their scores.

    Args:
        source: Where samples come from.
        estimators: Name → estimator.
        inputs: Name → ports, where a scenario overrides an estimator's own.
        regressors: The scenario's own regressor instances, by name.
        prior_error: How far the prior is from CAD, on the manifold (relative).
        truth_error: How far the truth is declared to be from CAD.
        score_hz: How often the costly scores are evaluated.
        duration: Length of the run (s), where it is known.
        watchdog: Breaks plugins that hang.
        driver: Whose parameters the source's controller uses: "prior", "truth", an estimator, or a
            law of the controller's own; None where it needs none.
    """

    def __init__(
        self,
        source: Source,
        estimators: Mapping[str, Any],
        *,
        inputs: Mapping[str, Mapping[str, str]] | None = None,
        regressors: Mapping[str, Mapping[str, Any]] | None = None,
        prior_error: float = 0.0,
        truth_error: float = 0.0,
        score_hz: float = 10.0,
        duration: float = math.inf,
        watchdog: Watchdog | None = None,
        driver: str | None = None,
    ) -> None:
        self.source, self.rig = source, source.rig
        self.prior_error, self.truth_error = prior_error, truth_error
        self.dog = watchdog or Watchdog(None)
        self.driver = None if driver is None else Driver(driver, source)
        self.validation: Array | None = None  # rows (n, p) that only the scores see
        self.delivered = True  # whether sensors gave all that the last sample's equation needs
        self.duration = duration
        self._every = max(1, round(1.0 / (score_hz * self.rig.dt)))
        self._second = max(1, round(1.0 / (self._every * self.rig.dt)))
        self.mass_matrix = MassMatrix.of(self.rig)
        self.contenders: dict[str, Contender] = {}
        for name, estimator in estimators.items():
            asked = (inputs or {}).get(name, getattr(estimator, "inputs", {}))
            ports = read_ports(asked, self.rig, name)
            self.contenders[name] = Contender(name, estimator, ports)
        self._regressors = self._make_regressors(regressors or {})
        for contender in self.contenders.values():
            if "column_cov" in getattr(contender.estimator, "needs", ()):
                for port in contender.ports:
                    if port.key in self._regressors:
                        self._regressors[port.key][0].with_column_cov = True  # type: ignore[attr-defined]
        self.default_key = f"{self.rig.default_regressor}@measured"
        self._clean = CleanRows(make_regressor(self.default_key, self.rig, {}), self.rig)

    def _make_regressors(
        self, named: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, tuple[Regressor, str]]:
        """Key → regressor and its group; optional ports that do not fit the plant are left out."""
        ports = [p for c in self.contenders.values() for p in c.ports if p.key != "sample"]
        required = {p.key for p in ports if not p.optional}
        made = {}
        for key in sorted({p.key for p in ports}):
            try:
                made[key] = make_regressor(key, self.rig, named), key.partition("@")[2]
            except BadInput:
                if key in required:
                    raise
                for contender in self.contenders.values():
                    contender.leave_out(key)
        return made

    def reset(self, seed: int = 0) -> tuple[Sample, Truth | None]:
        """Start everything anew from one seed and take in sample 0."""
        streams = Streams(seed)
        if self.driver is not None:
            self.driver.start(make_prior(self.rig, self.prior_error, streams))
        sample, truth = self.source.reset(seed)
        self.t_history, self.truth_history = Column(), Column()
        self.course = self._course(streams)
        self._clean.reset(self.course)
        for name, contender in self.contenders.items():
            problem = make_problem(self.rig, name, streams, self.prior_error, self.truth_error)
            tally = self._tally()
            history = History(self.t_history, self.truth_history, tally.norms)
            contender.reset(problem, tally, history, self.dog)
        if self.driver is not None:
            self.driver.begin(min((s.at for s in self.course.shifts), default=None))
            if self.driver.name in self.contenders:
                self.contenders[self.driver.name].tally.loop = self.driver.loop
        for regressor, _ in self._regressors.values():
            regressor.reset()
        self._unknown = np.full(self.rig.size, np.nan)
        self._frozen: Array | None = None
        self.steps = 0
        self.skipped_equations = 0
        self._take(sample, truth)
        return sample, truth

    def _tally(self) -> Tally:
        M = self.mass_matrix
        return Tally(
            len(self.rig.bodies),
            self._every,
            positive=None if M is None else lambda q, theta: positive_definite(M(q, theta)),
            course=self.course,
        )

    def _course(self, streams: Streams) -> Course:
        """What all estimators are measured against: from declarations, truth and changes."""
        problem = make_problem(self.rig, "scores", streams, self.prior_error, self.truth_error)
        cov = problem.prior_cov
        unit = prior_covariance(self.rig, self.rig.cad, 1.0)
        shifts = getattr(self.source, "shifts", None)
        why = None
        if not getattr(self.source, "rigid_truth", True):
            why = "no parameters solve the equations exactly: they are wrong on purpose"
        elif self._clean.noiseless:
            why = (
                "no sensor behind the equations has noise, so errors could be as small as rounding"
            )
        try:
            root = np.linalg.cholesky(unit if cov is None else cov)  # type: ignore[arg-type]
        except np.linalg.LinAlgError:
            root = np.full((self.rig.size, self.rig.size), np.nan)
        return Course(
            len(self.rig.bodies),
            problem.prior,
            root,
            shifts=() if shifts is None else shifts(),
            end=self.duration,
            every=self._every,
            second=self._second,
            validation=self.validation,
            prior_known=cov is None,
            why_no_bound=why,
            leaves_out=[
                f"sensors.{channel}.{key}"
                for channel, keys in self.rig.beyond_noise.items()
                if channel in self._clean.uses
                for key in keys
            ],
        )

    def step(self, action: Array | None = None) -> tuple[Sample, Truth | None]:
        """One sample further; `action` None leaves the source's own controller in charge."""
        sample, truth = self.source.step(action)
        if getattr(self.source, "restarted", False):  # another log, or a gap: no window spans it
            for regressor, _ in self._regressors.values():
                regressor.reset()
            self._clean.restart()
        if self.driver is not None and action is None:
            self.driver.look(self.t_history.last)
        self._take(sample, truth)
        self.steps += 1
        return sample, truth

    @property
    def estimates(self) -> dict[str, Estimate | None]:
        """The latest estimate of each estimator; None before its first update."""
        return {name: c.estimate for name, c in self.contenders.items()}

    @property
    def residual_max(self) -> float | None:
        """Largest |Γθ − τ| of noiseless truth over the run's largest |τ|."""
        return self._clean.residual_max if getattr(self.source, "rigid_truth", True) else None

    @property
    def unit(self) -> str:
        """Of what the plant's own equations are about; "" where no channel says it."""
        about = sorted(self._clean.uses & {"tau", "wrench", "plate"})
        return self.rig.layout.channels[about[0]].unit if about else ""

    def finish(self) -> None:
        """The run is over: batch estimators solve, tallies close."""
        self._clean.flush()
        self.course.finish(float(self.t_history.array()[-1]))
        for contender in self.contenders.values():
            contender.finish(self.dog)

    def _take(self, sample: Sample, truth: Truth | None) -> None:
        equations: dict[str, Any] = {"sample": sample}
        for key, (regressor, group) in self._regressors.items():
            equations[key] = self._finite(
                regressor.equation(sample.t, sample.groups[group], sample.segment)
            )
        theta = None if truth is None else truth.theta
        if truth is not None:
            key = self.default_key  # where nobody asked for it, its signals tell
            self.delivered = (
                equations[key] is not None
                if key in equations
                else self._clean.delivers(sample.groups["measured"])
            )
            self._clean.add(sample.t, truth, self.delivered)
        if self.course.due:
            self._clean.flush()
            self.course.look(sample.t)
        self.course.samples += 1
        self.t_history.append(sample.t)
        self.truth_history.append(self._unknown if theta is None else theta)
        if self.contenders:
            M = self.mass_matrix
            q = None if M is None else M.configuration(sample.groups["measured"].flat)
            for contender in self.contenders.values():
                if contender.failed is None:
                    contender.step(sample, equations, theta, q, self.dog)
        if self.driver is not None:
            self.driver.tell(truth, self.contenders)

    def _finite(self, equation: Equation | None) -> Equation | None:
        """Never deliver what is not finite; count it."""
        if equation is None:
            return None
        A, b = equation.A, equation.b
        # One dot product each is far cheaper than isfinite; huge but finite values are looked at.
        if not math.isfinite(np.vdot(A, A) + np.dot(b, b)) and not (
            np.all(np.isfinite(A)) and np.all(np.isfinite(b))
        ):
            self.skipped_equations += 1
            return None
        # Shared by all who asked for it: nobody may write into it.
        A.flags.writeable = b.flags.writeable = False
        if equation.column_cov is not None:
            equation.column_cov.flags.writeable = False
        if equation.cov is not self._frozen:  # mostly one array for the whole run
            self._frozen = equation.cov
            for array in (equation.cov, equation.whitener):
                if array is not None:
                    array.flags.writeable = False
        return equation


def layout_of(rig: Rig) -> dict[str, list[str]]:
    """The layout of θ for results: bodies, then extras."""
    return {"bodies": list(rig.bodies), "extra": list(rig.extra)}

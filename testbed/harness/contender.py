"""One estimator in the loop: guarded, timed and scored.

Whatever a plugin does (raise, hang, return rubbish), it is marked failed with the reason and the
others go on. Its scores up to then are kept.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from testbed.core.errors import BadInput, TestbedError
from testbed.core.signals import Array
from testbed.core.types import Estimate, Problem, Sample
from testbed.harness.history import History
from testbed.harness.ports import Port
from testbed.harness.watchdog import PluginTimeout, Watchdog
from testbed.scores import Growth, Stopwatch, Tally

_SHARED = ("change", "fallback", "skipped", "iterations", "margin", "gap")


class Contender:
    """An estimator, its ports, and what it has achieved so far.

    Args:
        name: In results.
        estimator: The plugin.
        ports: What it asks for, the first equation being the one it is scored on.
    """

    def __init__(self, name: str, estimator: Any, ports: list[Port]) -> None:
        for method in ("reset", "update"):
            if not callable(getattr(estimator, method, None)):
                raise BadInput(f"estimator {name!r} has no method {method}()")
        self.name, self.estimator, self.ports = name, estimator, ports
        self._required = [(p.name, p.key) for p in ports if not p.optional]
        self._optional = [(p.name, p.key) for p in ports if p.optional]
        scored = [p.key for p in ports if p.key != "sample"]
        self.scored_key = scored[0] if scored else ""

    def reset(self, problem: Problem, tally: Tally, history: History, dog: Watchdog) -> None:
        """Start anew; an estimator that cannot be reset is bad input."""
        dog.arm()
        try:
            self.estimator.reset(problem)
        except KeyboardInterrupt:
            raise
        except PluginTimeout:
            raise BadInput(
                f"estimator {self.name!r} hung: reset took longer than {dog.seconds:g} s"
            ) from None
        except BaseException as error:  # a plugin may call exit() or raise anything
            known = isinstance(error, TestbedError)
            why = " ".join((str(error) if known else f"{type(error).__name__}: {error}").split())
            raise BadInput(f"estimator {self.name!r} cannot be reset: {why}") from error
        finally:
            dog.disarm()
        self.failed: str | None = None
        self.theta: Array = problem.prior.copy()
        self.estimate: Estimate | None = None
        self._says_change = False
        self.tally, self.history = tally, history
        self.info: dict[str, Any] = {"updates": 0}
        self.solve_ms: float | None = None
        self.watch, self.growth = Stopwatch(), Growth()
        self._deadline_ns = problem.dt * 1e9

    def leave_out(self, key: str) -> None:
        """Do without the optional ports of this key: the plant cannot serve them."""
        self.ports = [p for p in self.ports if p.key != key]
        self._optional = [(name, k) for name, k in self._optional if k != key]

    def gather(self, equations: Mapping[str, Any]) -> dict[str, Any] | None:
        """The keywords of this sample's update; None while a required port is missing."""
        ports = {}
        for name, key in self._required:
            value = equations[key]
            if value is None:
                return None
            ports[name] = value
        for name, key in self._optional:
            value = equations[key]
            if value is not None:
                ports[name] = value
        return ports

    def step(
        self,
        sample: Sample,
        equations: Mapping[str, Any],
        truth: Array | None,
        q: Array | None,
        dog: Watchdog,
    ) -> None:
        """Predict, update, check, score."""
        ports = self.gather(equations)
        cpu = wall = 0
        if ports is not None:
            before = self.theta
            dog.arm()
            try:
                start_wall, start_cpu = time.perf_counter_ns(), time.thread_time_ns()
                estimate = self.estimator.update(**ports)
                cpu = time.thread_time_ns() - start_cpu
                wall = time.perf_counter_ns() - start_wall
                dog.disarm()
                self._accept(estimate)
            except KeyboardInterrupt:
                raise
            except PluginTimeout:
                self._fail(f"hung: update took longer than {dog.seconds:g} s", sample.t)
            except BaseException as error:  # a plugin may call exit() or raise anything
                self._fail(f"{type(error).__name__}: {error}", sample.t)
            finally:
                dog.disarm()
            if self.failed:
                return
            self.info["updates"] += 1
            if dog.compiled:  # once a process, and milliseconds to seconds: nothing of its own
                cpu = wall = 0
            else:
                self.watch.add(cpu, wall, self._deadline_ns)
            scored = equations.get(self.scored_key)
            if scored is not None:
                self.tally.fit(scored, before, self.theta)
            if self._says_change:
                self.tally.alarm(sample.t)
        cov = None
        if self.tally.due:
            cov = self._covariance(dog, sample.t)
            if self.failed:
                return
            self.growth.look(self.tally.samples, self.estimator)
        self.tally.step(self.theta, truth, q, sample.t, cov)
        self.history.add(self.theta, cpu, wall)

    def _covariance(self, dog: Watchdog, t: float | None) -> Array | None:
        """The covariance (p, p) that it claims now; None where it claims none."""
        if self.estimate is None or self.estimate.cov is None:
            return None
        dog.arm()
        try:
            cov = np.array(self.estimate.covariance(), dtype=float)
            shape = (self.theta.size, self.theta.size)
            if cov.shape != shape:
                raise ValueError(f"cov must have shape {shape}, got {cov.shape}")
        except KeyboardInterrupt:
            raise
        except PluginTimeout:
            self._fail(f"hung: its covariance took longer than {dog.seconds:g} s", t)
        except BaseException as error:
            self._fail(f"its covariance: {type(error).__name__}: {error}", t)
        else:
            return cov
        finally:
            dog.disarm()
        return None

    def covariance(self, dog: Watchdog) -> Array | None:
        """A copy of the covariance (p, p) that it claims now, guarded like its updates."""
        return self._covariance(dog, None)

    def finish(self, dog: Watchdog) -> None:
        """The run is over: a batch estimator solves, the tally closes."""
        solved = self.solve(dog)
        cov = None if self.failed else self._covariance(dog, None)
        self.tally.alive = self.failed is None
        self.tally.close(cov, solved)

    def changes(self, times: Sequence[float]) -> list[dict[str, float | None]]:
        """How it did after each change of a scenario, in the scenario's order."""
        rows = []
        for at in times:
            tracker = self.tally.tracking.of(at)
            if tracker is not None:
                rows.append(tracker.summary(self.failed is None))
        return rows

    def efficiency(self, key: str) -> dict[str, float | str | None]:
        """How far from the best possible; `key` names the rows that the bound is made of."""
        row = self.tally.efficiencies()
        if row["sentence"] is not None and self.scored_key != key:
            row["sentence"] = f"{row['sentence']} (of {key}: it reads other rows)"
        return row

    def timing(self, reference_us: float | None) -> dict[str, Any]:
        """Its timing block for results."""
        grown = self.growth.growth_kb(self.tally.samples, self.estimator)
        return {
            **self.watch.summary(reference_us),
            "memory_growth_kb": grown,
            "solve_ms": self.solve_ms,
        }

    def solve(self, dog: Watchdog) -> bool:
        """Let a batch estimator finish, timed apart; whether it has an estimate of its own."""
        solve = getattr(self.estimator, "solve", None)
        if self.failed or not callable(solve):
            return False
        start = time.perf_counter_ns()
        dog.arm()
        try:
            estimate = solve()
            dog.disarm()
            self.solve_ms = (time.perf_counter_ns() - start) / 1e6
            if estimate is not None:
                self._accept(estimate)
                self.tally.theta = self.theta
                self.history.replace_last(self.theta)
                return True
        except KeyboardInterrupt:
            raise
        except PluginTimeout:
            self._fail(f"hung: solve took longer than {dog.seconds:g} s", None)
        except BaseException as error:
            self._fail(f"{type(error).__name__}: {error}", None)
        finally:
            dog.disarm()
        return False

    def _accept(self, estimate: Any) -> None:
        """Check what came back: type, shape, finiteness."""
        if not isinstance(estimate, Estimate):
            raise TypeError(f"update must return an Estimate, got {type(estimate).__name__}")
        if np.iscomplexobj(estimate.theta):
            raise TypeError("theta must be real numbers, got complex ones")
        theta = np.asarray(estimate.theta, dtype=float)
        if theta.shape != self.theta.shape:
            raise ValueError(f"theta must have shape {self.theta.shape}, got {theta.shape}")
        if not math.isfinite(np.dot(theta, theta)):
            finite = "absurdly large" if np.all(np.isfinite(theta)) else "not finite"
            raise ValueError(f"theta is {finite}")
        if estimate.cov is not None and not callable(estimate.cov):
            shape = np.shape(estimate.cov)
            if shape != (theta.size, theta.size):
                raise ValueError(f"cov must have shape {(theta.size, theta.size)}, got {shape}")
        if not isinstance(estimate.info, Mapping):
            raise TypeError(f"info must be a mapping, got {type(estimate.info).__name__}")
        # A copy: a plugin that returns a view of its state must not rewrite the past.
        self.theta, self.estimate = theta.copy(), estimate
        self._says_change = False
        if estimate.info:
            self._note(estimate.info)

    def _note(self, info: Mapping[str, Any]) -> None:
        """Count flags and sum up numbers of the shared keys."""
        for key in _SHARED:
            value = info.get(key)
            if value is None or value is False:
                continue
            if key in ("change", "fallback", "skipped"):
                if value:  # an array has no truth value: it raises here, where it is guarded
                    self.info[key] = self.info.get(key, 0) + 1
                    self._says_change |= key == "change"
            elif isinstance(value, int | float | np.number):
                kind, pick = ("max", max) if key == "iterations" else ("min", min)
                name = f"{key}_{kind}"
                self.info[name] = pick(self.info.get(name, float(value)), float(value))

    def summary(self) -> dict[str, Any]:
        """What it had to say over the run, and with its last estimate."""
        last = {} if self.estimate is None else dict(self.estimate.info)
        return {**self.info, "last": last} if last else dict(self.info)

    def _fail(self, reason: str, t: float | None) -> None:
        when = "" if t is None else f" (at t = {t:g} s)"
        self.failed = " ".join(reason.split()) + when

"""Checks by name, and the loop that runs them: whatever a plugin does, it is one failed check.

A check is a function of the subject. It returns when all is well and raises `Failed` with what it
saw; `NotApplicable` where its question makes no sense. Its docstring is the sentence that a user
reads on a failure: what the check protects from.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from testbed.checks.report import Failure, Report
from testbed.core.errors import BadInput, UnknownName
from testbed.harness.watchdog import PluginTimeout, Watchdog

_HANGS = 2  # after so many nobody wants to wait for the rest
_FIRST = 2.0  # times the timeout for gates: kernels are compiled at the first update


class Failed(Exception):
    """What a check saw; the message is for the user."""


class NotApplicable(Exception):
    """The question makes no sense for this subject; the message says why."""


@dataclass(frozen=True, slots=True)
class Check:
    """One question to a plugin.

    Args:
        name: In reports and in `expected_failed_checks`.
        test: Called with the subject.
        claim: Only asked of those who claim it.
        gate: Where it fails, nothing else can be asked.
        after: Checks without which this one says nothing: not run where one of them failed.
    """

    name: str
    test: Callable[[Any], None]
    claim: str | None = None
    gate: bool = False
    after: tuple[str, ...] = ()

    @property
    def protects(self) -> str:
        """What it protects a user from: its docstring, on one line."""
        return " ".join((self.test.__doc__ or "").split())


class Battery:
    """All checks of one kind of plugin, in the order in which they were written down.

    Args:
        kind: "estimator", "plant" or "regressor".
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.checks: dict[str, Check] = {}

    def __call__(
        self, *, claim: str | None = None, gate: bool = False, after: Iterable[str] = ()
    ) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
        """Decorator: the function's name is the check's."""

        def add(test: Callable[[Any], None]) -> Callable[[Any], None]:
            name = test.__name__
            assert name not in self.checks, name
            self.checks[name] = Check(name, test, claim, gate, tuple(after))
            return test

        return add

    def __iter__(self) -> Iterator[Check]:
        """Gates first, then each after those that it rests on."""
        checks = self.checks.values()
        return iter(sorted(checks, key=lambda check: (not check.gate, self._depth(check))))

    def _depth(self, check: Check) -> int:
        return max((1 + self._depth(self.checks[name]) for name in check.after), default=0)

    def run(
        self,
        subject: Any,
        spec: str,
        *,
        claims: Collection[str] = (),
        expected: Mapping[str, str] | None = None,
        only: Collection[str] | None = None,
        timeout: float = 100.0,
        watch: Callable[[int, int], None] | None = None,
    ) -> Report:
        """Ask everything that applies.

        Args:
            subject: Handed to every check.
            spec: For the report.
            claims: What the plugin claims; other claims' checks are left out, without a word
                where nobody named them.
            expected: Check → why it fails. Strict: a pass is a failure, too.
            only: Names of the checks to run; None runs all.
            timeout: Seconds after which a check counts as hung.
            watch: Called with (done, total).
        """
        expected = dict(expected or {})
        for name in (*expected, *(only or ())):
            if name not in self.checks:
                raise UnknownName("check", name, self.checks, f"{spec}: ")
        for name in expected:
            if self.checks[name].gate:
                raise BadInput(
                    f"{spec}: {name} cannot be among expected_failed_checks: where it fails, "
                    "nothing else can be asked"
                )
        known = {check.claim for check in self.checks.values() if check.claim}
        for claim in claims:
            if claim not in known:
                raise UnknownName("claim", claim, known, f"{spec}: ")
        report = Report(spec, self.kind)
        chosen = []
        for check in self:
            if only is not None and check.name not in only:
                continue
            if check.claim is None or check.claim in claims:
                chosen.append(check)
            elif only is not None:
                report.not_run[check.name] = f"not asked: it does not claim {check.claim!r}"
        missed: dict[str, str] = {}  # failed checks → what they stop
        stop, hangs = "", 0
        for done, check in enumerate(chosen):
            if watch is not None:
                watch(done, len(chosen))
            reason = stop or next((missed[name] for name in check.after if name in missed), "")
            if reason:
                report.not_run[check.name] = reason
                continue
            try:
                why = _try(check, subject, timeout * (_FIRST if check.gate else 1.0))
            except NotApplicable as error:
                report.not_run[check.name] = str(error)
                continue
            if why is not None:
                missed[check.name] = f"says nothing once {check.name} has failed"
                hangs += why.startswith("hung")
                if check.gate:
                    stop = f"{check.name} failed, so nothing else can be asked"
                elif hangs >= _HANGS:
                    stop = f"it hung {_HANGS} times"
            _judge(report, check, why, expected.get(check.name))
        return report


def _judge(report: Report, check: Check, why: str | None, reason: str | None) -> None:
    """Enter an outcome; an announced failure must be one."""
    if why is None and reason is None:
        report.passed.append(check.name)
    elif why is None:
        message = f"passes, though it is expected to fail ({reason}): take it off the list"
        report.failed.append(Failure(check.name, message, check.protects))
    elif reason is None:
        report.failed.append(Failure(check.name, why, check.protects))
    else:
        report.expected[check.name] = reason


def _try(check: Check, subject: Any, timeout: float) -> str | None:
    """Why the check failed; None where it did not."""
    with (
        Watchdog(timeout) as dog,
        threadpool_limits(1),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # there is a check for them
        dog.arm()
        try:
            check.test(subject)
        except (KeyboardInterrupt, NotApplicable):
            raise
        except Failed as error:
            return " ".join(str(error).split())
        except PluginTimeout:
            return f"hung: took longer than {timeout:g} s"
        except BaseException as error:  # a plugin may call exit() or raise anything
            return " ".join(f"{type(error).__name__}: {error}".split())
        finally:
            dog.disarm()
    return None


@contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """Python's and NumPy's global generators started from a seed, and put back afterwards."""
    kept = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])  # noqa: NPY002

"""`check_estimator`, `check_plant`, `check_regressor`: from a name, a class or an instance."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from testbed.checks import (  # noqa: F401  the checks register themselves
    estimator_accuracy,
    estimator_claims,
    estimator_contract,
    estimator_covariance,
    estimator_data,
    estimator_isolation,
    estimator_state,
    estimator_time,
)
from testbed.checks.candidate import Candidate
from testbed.checks.estimators import check as estimator_checks
from testbed.checks.plants import PlantUnderCheck
from testbed.checks.plants import check as plant_checks
from testbed.checks.regressors import RegressorUnderCheck
from testbed.checks.regressors import check as regressor_checks
from testbed.checks.report import Report
from testbed.core import registry
from testbed.core.errors import BadInput
from testbed.core.spec import Spec, parse_spec
from testbed.harness.watchdog import PluginTimeout, Watchdog

Watch = Callable[[int, int], None]


def check_estimator(
    estimator: Any,
    /,
    *,
    only: Collection[str] | None = None,
    quick: bool = False,
    timeout: float = 100.0,
    watch: Watch | None = None,
    **params: Any,
) -> Report:
    """Ask an estimator everything that a user relies on.

    Args:
        estimator: A class, a function that makes one, an instance, a registered name, or a SPEC
            such as "my_rls.py:MyRLS:forgetting=0.99".
        only: Names of the checks to run; None runs all that apply.
        quick: Long runs are shortened: 3000 samples instead of 10⁵.
        timeout: Seconds after which a check counts as hung.
        watch: Called with (checks done, checks in all).
        params: Of the estimator.

    Returns:
        What was found; `ok` where nothing failed but what `expected_failed_checks` announces.
    """
    spec, make = maker(registry.estimator, estimator, params)
    with time_limit(spec, timeout):
        candidate = Candidate(make, quick)
    if only is None or "blind_to_truth" in only:
        candidate.warm_up()
    return estimator_checks.run(
        candidate,
        spec,
        claims=candidate.claims,
        expected=expected_failures(candidate.example, spec),
        only=only,
        timeout=timeout,
        watch=watch,
    )


def check_plant(
    plant: Any,
    /,
    *,
    only: Collection[str] | None = None,
    timeout: float = 100.0,
    watch: Watch | None = None,
    **params: Any,
) -> Report:
    """Ask a plant whether scores can rest on it.

    Args:
        plant: A class that takes `setup`, a registered name or a SPEC.
        only: Names of the checks to run; None runs all that apply.
        timeout: Seconds after which a check counts as hung.
        watch: Called with (checks done, checks in all).
        params: Of the plant.
    """
    spec, make = maker(registry.plant, plant, params)
    subject = PlantUnderCheck(make)
    with time_limit(spec, timeout):
        example = subject.make()
    return plant_checks.run(
        subject,
        spec,
        claims=registry.read_claims(example, spec),
        expected=expected_failures(example, spec),
        only=only,
        timeout=timeout,
        watch=watch,
    )


def check_regressor(
    regressor: Any,
    /,
    *,
    only: Collection[str] | None = None,
    timeout: float = 100.0,
    watch: Watch | None = None,
    **params: Any,
) -> Report:
    """Ask a regressor whether its rows are those of the robot, on the first plant that it fits.

    Args:
        regressor: A class that takes `rig` and `group`, a registered name or a SPEC.
        only: Names of the checks to run; None runs all that apply.
        timeout: Seconds after which a check counts as hung.
        watch: Called with (checks done, checks in all).
        params: Of the regressor.
    """
    spec, make = maker(registry.regressor, regressor, params)
    with time_limit(spec, timeout):
        subject = RegressorUnderCheck(make)
    return regressor_checks.run(
        subject,
        spec,
        claims=registry.read_claims(subject.example, spec),
        expected=expected_failures(subject.example, spec),
        only=only,
        timeout=timeout,
        watch=watch,
    )


@contextmanager
def time_limit(spec: str, timeout: float) -> Iterator[None]:
    """What cannot even be made in time is bad input; kernels are compiled meanwhile."""
    with Watchdog(2.0 * timeout) as dog:
        dog.arm()
        try:
            yield
        except PluginTimeout:
            raise BadInput(f"{spec}: making it takes longer than {2.0 * timeout:g} s") from None
        finally:
            dog.disarm()


def maker(
    kind: registry.Registry, thing: Any, params: Mapping[str, Any]
) -> tuple[str, Callable[..., Any]]:
    """How to call it, and how to make one; `given` keywords of the maker are added."""
    if isinstance(thing, str | Mapping | Spec):
        spec = parse_spec(thing)
        entry = kind.find(spec.use)
        params = {**spec.params, **params}
        name = thing if isinstance(thing, str) else spec.use
    elif callable(thing) and (inspect.isclass(thing) or not hasattr(thing, "reset")):
        name = getattr(thing, "__name__", type(thing).__name__)
        entry = registry.Entry(name, thing, "")
    else:
        if params:
            raise BadInput(f"{type(thing).__name__} is made already: it takes no parameters")
        return type(thing).__name__, lambda: copy.deepcopy(thing)

    # What takes minutes as it is set up says what the battery may ask of it instead.
    params = {**getattr(entry.make, "check_params", {}), **params}

    def make(**given: Any) -> Any:
        return registry.construct(kind.kind, entry, {**copy.deepcopy(params), **given})

    return name, make


def expected_failures(thing: Any, spec: str) -> Mapping[str, str]:
    """Check → why it fails, as the class announces."""
    found = getattr(thing, "expected_failed_checks", {})
    if not isinstance(found, Mapping) or not all(
        isinstance(reason, str) and reason.strip() for reason in found.values()
    ):
        raise BadInput(f"{spec}: expected_failed_checks must map checks to reasons, got {found!r}")
    return found

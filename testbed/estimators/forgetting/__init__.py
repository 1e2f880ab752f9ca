"""Forgetting rules: parts of their own, plugged into any estimator that carries information."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from testbed.core.errors import BadInput
from testbed.core.protocols import ForgettingRule
from testbed.core.registry import forgetting
from testbed.estimators.forgetting.directional import CovariantDirectional, Directional
from testbed.estimators.forgetting.parallel_sum import ParallelSum, parallel_sum
from testbed.estimators.forgetting.rules import Exponential, NoForgetting

__all__ = [
    "CovariantDirectional",
    "Directional",
    "Exponential",
    "NoForgetting",
    "ParallelSum",
    "make_forgetting",
    "parallel_sum",
]


def make_forgetting(spec: Any) -> ForgettingRule:
    """A rule from what a user writes: None, a rate, a name, a table, or a rule itself."""
    if spec is None:
        return NoForgetting()
    if isinstance(spec, bool):
        raise BadInput(f"forgetting must be a rate, a name or a table, got {spec}")
    if isinstance(spec, int | float):
        return NoForgetting() if spec == 1 else Exponential(rate=float(spec))
    if isinstance(spec, str | Mapping):
        rule: ForgettingRule = forgetting.make(spec)
        return rule
    if all(hasattr(spec, name) for name in ("reset", "discount", "factor")):
        return spec  # type: ignore[no-any-return]
    raise BadInput(f"forgetting must be a rate, a name or a table, got {spec!r}")

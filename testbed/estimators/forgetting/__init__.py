"""Forgetting rules: parts of their own, plugged into any estimator that carries information."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from testbed.core.errors import BadInput
from testbed.core.protocols import ForgettingRule
from testbed.core.registry import forgetting
from testbed.core.signals import Array
from testbed.estimators.forgetting.constant_trace import ConstantTrace
from testbed.estimators.forgetting.cusum import Cusum
from testbed.estimators.forgetting.directional import CovariantDirectional, Directional
from testbed.estimators.forgetting.gated import Gated
from testbed.estimators.forgetting.innovation_test import InnovationTest
from testbed.estimators.forgetting.level_slope import LevelSlope
from testbed.estimators.forgetting.parallel_sum import ParallelSum, parallel_sum
from testbed.estimators.forgetting.restart import Reset
from testbed.estimators.forgetting.rules import Exponential, NoForgetting
from testbed.estimators.forgetting.sift import SIFt
from testbed.estimators.forgetting.variable_rate import VariableRate
from testbed.estimators.forgetting.window import Window

__all__ = [
    "ConstantTrace",
    "CovariantDirectional",
    "Cusum",
    "Directional",
    "Exponential",
    "Gated",
    "InnovationTest",
    "LevelSlope",
    "NoForgetting",
    "ParallelSum",
    "Reset",
    "SIFt",
    "VariableRate",
    "Window",
    "make_forgetting",
    "noticed",
    "parallel_sum",
    "sifted",
]


# Attribute of a rule → what it does, and who can: besides `discount` these need a hook.
HOOKS = {
    "window_samples": ("by window", "rls, riv and rtls can"),
    "restart": ("by reset", "rls, riv and rtls can"),
    "augment": ("with a slope beside every parameter", "qr_ls and qr_sdp can"),
}
PLAIN = ("window_samples", "restart")


def make_forgetting(spec: Any, hooks: Iterable[str] = ()) -> ForgettingRule:
    """A rule from what a user writes: None, a rate, a name, a table, or a rule itself.

    Args:
        spec: What the user writes.
        hooks: Those of `HOOKS` that the estimator serves; a rule that needs another is refused.
    """
    rule = _make(spec)
    for hook, (what, who) in HOOKS.items():
        if hasattr(rule, hook) and hook not in hooks:
            raise BadInput(f"this estimator cannot forget {what}; {who}")
    return rule


def make_plain_forgetting(spec: Any, owner: str) -> ForgettingRule:
    """For estimators that can only scale, window or empty their state: no other rule will do."""
    rule = make_forgetting(spec, PLAIN)
    if rule.factor() is None:
        name = getattr(type(rule), "name", type(rule).__name__)
        raise BadInput(f"{owner} forgets by exponential, window or reset, not by {name}")
    return rule


def noticed(rule: ForgettingRule) -> dict[str, Any]:
    """What a rule found while it discounted, as keys of `Estimate.info`.

    A rule may have `changed`, where it has deflated the information, and `reject`, where the rows
    should be left out.
    """
    info: dict[str, Any] = {}
    if getattr(rule, "changed", False):
        info["change"] = True
    if getattr(rule, "reject", False):
        info["skipped"] = "rows that the forgetting rule leaves out"
    return info


def sifted(rule: ForgettingRule, *columns: Array) -> tuple[Array, ...]:
    """Whitened rows (k, …) less what the rule lets through no more: `sieve` (k, k) times each."""
    sieve = getattr(rule, "sieve", None)
    return columns if sieve is None else tuple(sieve @ column for column in columns)


def _make(spec: Any) -> ForgettingRule:
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

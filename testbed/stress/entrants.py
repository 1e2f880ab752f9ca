"""Who is tried where nobody is named: every shipped rule, with one setting for all cells.

The settings were chosen on seeds 1000 and above; the suite itself runs seeds from 0 on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, count
from typing import Any

from testbed.core.spec import parse_spec
from testbed.harness.entrants import label

PARALLEL_SUM: dict[str, Any] = {"use": "parallel_sum", "kappa": 1.5, "tau": 0.25}
RECOMMENDED: dict[str, Any] = {"use": "cusum", "between": PARALLEL_SUM}
# The default that we recommend: a rule and the estimator that it was tried in.
DEFAULT: dict[str, Any] = {"use": "rls_logdet", "forgetting": RECOMMENDED}
RULES: tuple[dict[str, Any], ...] = (
    {"use": "none"},
    {"use": "exponential", "tau": 0.5},
    {"use": "directional", "tau": 0.5},
    {"use": "directional_covariant", "tau": 0.5},
    {"use": "sift", "tau": 0.5, "epsilon": 0.3},
    {"use": "gated", "tau": 0.5},
    PARALLEL_SUM,
    {"use": "variable_rate", "memory": 1.0},
    {"use": "constant_trace", "share": 0.05},
    {"use": "innovation_test", "tau": 10.0},
    {"use": "cusum"},
    RECOMMENDED,
    {"use": "reset"},
    {"use": "window", "seconds": 1.0},
)
# Physically consistent beside it: what the cone adds to a rule.
CONSISTENT: tuple[dict[str, Any], ...] = (
    {"use": "none"},
    {"use": "exponential", "tau": 0.5},
    RECOMMENDED,
)


def default_entrants() -> list[dict[str, Any]]:
    """`rls` with every rule, `rls_logdet` with three of them, and a slope beside the level."""
    tables = [_table("rls", rule) for rule in RULES]
    tables += [_table("rls_logdet", rule) for rule in CONSISTENT]
    return [*tables, _table("qr_ls", {"use": "level_slope", "tau": 1.0})]


def _table(use: str, rule: Mapping[str, Any]) -> dict[str, Any]:
    return {"use": use, "name": f"{use} {rule_of({'forgetting': rule})}", "forgetting": dict(rule)}


def read_entrants(specs: Sequence[str | Mapping[str, Any]]) -> list[dict[str, Any]]:
    """SPECs as tables; without any, the default."""
    if not specs:
        return default_entrants()
    tables: list[dict[str, Any]] = []
    taken: set[str] = set()
    for spec in specs:
        parsed = parse_spec(spec)
        table = {"use": parsed.use, **parsed.params}
        name = str(table.get("name") or _called(table))
        table["name"] = next(
            n for n in chain([name], (f"{name}#{i}" for i in count(2))) if n not in taken
        )
        taken.add(table["name"])
        tables.append(table)
    return tables


def _called(table: Mapping[str, Any]) -> str:
    rule = rule_of(table)
    return label(str(table["use"])) + ("" if rule == "none" else f" {rule}")


def rule_of(table: Mapping[str, Any]) -> str:
    """The name of an estimator's forgetting rule, as told to people."""
    rule = table.get("forgetting")
    if isinstance(rule, Mapping):
        between = rule.get("between")
        more = "" if between is None else f" + {rule_of({'forgetting': between})}"
        return f"{rule.get('use', '?')}{more}"
    if isinstance(rule, int | float) and not isinstance(rule, bool):
        return "none" if rule == 1 else "exponential"
    return "none" if rule is None else str(rule).partition(":")[0]

"""What a tuning may change: numbers and choices of an estimator, by name.

    --param forgetting.tau=0.05:2         a number; on a log scale where high ≥ 10 low > 0
    --param window=5:50                   a whole number, both ends being whole
    --param forgetting=0.9:0.9999         rates below 1: 1 − x on a log scale
    --param forgetting.use=exponential|directional

Without any, every number that the SPEC names may be a tenth to ten times as large; where the SPEC
names none, those that the estimator's class has as `tunable`, or as defaults.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.core import registry
from testbed.core.errors import BadInput
from testbed.core.spec import parse_spec, parse_value, put
from testbed.sweep.grid import split_values

_RATE = 0.9  # numbers between this and 1 are taken for rates that matter by how far from 1 they are
_SPAN = 10.0


@dataclass(frozen=True)
class Range:
    """A number between two others. `kind`: linear, log, or rate (1 − x on a log scale)."""

    low: float
    high: float
    whole: bool = False
    kind: str = "linear"

    def suggest(self, trial: Any, name: str) -> Any:
        """Ask Optuna for a value."""
        if self.whole:
            return trial.suggest_int(name, int(self.low), int(self.high), log=self.kind == "log")
        if self.kind == "rate":
            return 1.0 - trial.suggest_float(name, 1 - self.high, 1 - self.low, log=True)
        return trial.suggest_float(name, self.low, self.high, log=self.kind == "log")

    def ask(self, value: Any) -> Any:
        """The value that Optuna must be given to suggest this one; None where it lies outside."""
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if not good or not self.low <= value <= self.high:
            return None
        return 1.0 - value if self.kind == "rate" else value


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    values: tuple[Any, ...]

    def suggest(self, trial: Any, name: str) -> Any:
        """Ask Optuna for a value."""
        return self.values[trial.suggest_int(name, 0, len(self.values) - 1)]

    def ask(self, value: Any) -> Any:
        """The value that Optuna must be given to suggest this one."""
        return self.values.index(value) if value in self.values else None


Space = dict[str, Range | Choice]


def read_space(texts: Sequence[str]) -> Space:
    """Parameters as given to --param."""
    space: Space = {}
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip()
        bars, colons = split_values(values), values.split(":")
        if not equals or not name or not bars:
            raise BadInput(f"--param {text!r}: expected key=low:high or key=a|b|…")
        if name in space:
            raise BadInput(f"--param: {name!r} is given twice")
        if len(bars) > 1:
            space[name] = Choice(tuple(parse_value(v) for v in bars))
        elif len(colons) == 2:
            low, high = (parse_value(v) for v in colons)
            space[name] = make_range(low, high, f"--param {text!r}")
        else:
            raise BadInput(f"--param {text!r}: expected key=low:high or key=a|b|…")
    return space


def make_range(low: Any, high: Any, where: str) -> Range:
    """A range between two numbers, on the scale that suits them."""
    numbers = [x for x in (low, high) if isinstance(x, int | float) and not isinstance(x, bool)]
    if len(numbers) != 2 or not all(math.isfinite(x) for x in numbers) or not low < high:
        raise BadInput(f"{where}: expected two finite numbers low:high with low < high")
    whole = isinstance(low, int) and isinstance(high, int)
    if not whole and _RATE / 2 <= low < high < 1 and high > _RATE:
        return Range(low, high, kind="rate")
    return Range(low, high, whole, "log" if low > 0 and high >= _SPAN * low else "linear")


def around(value: Any) -> Range | None:
    """A tenth to ten times a number; None for what is no number that can be scaled."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        return None
    if isinstance(value, int):
        return Range(max(1, value // 10), value * 10, True, "log")
    if _RATE <= value < 1:
        return Range(1 - min(0.5, _SPAN * (1 - value)), 1 - (1 - value) / _SPAN, kind="rate")
    return Range(value / _SPAN, value * _SPAN, kind="log")


def default_space(spec: str | Mapping[str, Any]) -> Space:
    """What to tune where the user does not say."""
    parsed = parse_spec(spec)
    make = registry.estimator.find(parsed.use).make
    declared = getattr(make, "tunable", None)
    if isinstance(declared, Mapping):
        return {str(k): _declared(v, f"{parsed.use}: tunable {k}") for k, v in declared.items()}
    named = {k: r for k, v in flatten(parsed.params).items() if (r := around(v)) is not None}
    if named:
        return dict(named)
    try:
        parameters = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {p.name: r for p in parameters if (r := around(p.default)) is not None}


def _declared(value: Any, where: str) -> Range | Choice:
    """`(low, high)` is a range, a list is a choice."""
    if isinstance(value, list) and value:
        return Choice(tuple(value))
    if not isinstance(value, tuple) or len(value) != 2:
        raise BadInput(f"{where}: expected (low, high), or a list to choose from")
    return make_range(value[0], value[1], where)


def defaults(spec: str | Mapping[str, Any]) -> dict[str, Any]:
    """Values that an estimator has now: its SPEC's, else its class's defaults."""
    parsed = parse_spec(spec)
    make = registry.estimator.find(parsed.use).make
    try:
        parameters = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):
        parameters = ()  # type: ignore[assignment]
    own = {p.name: p.default for p in parameters if isinstance(p.default, int | float | str)}
    return {**own, **flatten(parsed.params)}


def flatten(params: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested parameters by dotted names."""
    flat: dict[str, Any] = {}
    for key, value in params.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{before}{key}."))
        else:
            flat[f"{before}{key}"] = value
    return flat


def with_params(spec: str | Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """A SPEC as a table, with parameters replaced."""
    parsed = parse_spec(spec)
    table: dict[str, Any] = {}
    for name, value in {**flatten(parsed.params), **chosen}.items():
        put(table, name, value, f"{parsed.use}: ")
    return {"use": parsed.use, **table}

"""Turn a function, or an object with other method names, into an estimator.

est = testbed.wrap(lambda A, b: np.linalg.lstsq(A, b)[0])          # stateless
est = testbed.wrap(my_cpp_filter, update="process", reset="init")  # an object of yours
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.types import Equation, Estimate, Problem, Sample

_MEANINGS = ("eq", "A", "b", "t", "cov", "theta", "problem", "sample")


class Wrapped:
    """A function or object behind the estimator protocol.

    Its update may ask, by argument name, for: the ports themselves (`eq`, …), `A`, `b`, `t`,
    `cov` of the equation, the previous `theta`, the `problem`, or the raw `sample`. It returns
    an `Estimate`, a θ (p,), or None for "no news". A function whose arguments have no readable
    names (bound from C++) is called as `update(A, b)`, its reset as `reset(prior)`.
    """

    def __init__(
        self,
        target: Any,
        inputs: Mapping[str, str],
        update: Callable[..., Any],
        reset: Callable[..., Any] | None,
        name: str,
    ) -> None:
        self.target, self.inputs, self.name = target, dict(inputs), name
        self._update, self._reset = update, reset
        self._asks = _arguments(update, self.inputs)

    def reset(self, problem: Problem) -> None:
        """Start from the prior; calls the object's own reset where it has one."""
        self.problem, self.theta = problem, problem.prior.copy()
        if self._reset is not None:
            if not _readable(self._reset):
                self._reset(problem.prior)
            elif inspect.signature(self._reset).parameters:
                self._reset(problem)
            else:
                self._reset()

    def update(self, **ports: Any) -> Estimate:
        """Hand over what the function asks for."""
        eq = next((x for x in ports.values() if isinstance(x, Equation)), None)
        sample = next((x for x in ports.values() if isinstance(x, Sample)), None)
        known: dict[str, Any] = {"theta": self.theta, "problem": self.problem, "sample": sample}
        if eq is not None:
            known.update(eq=eq, A=eq.A, b=eq.b, t=eq.t, cov=eq.cov)
        known.update(ports)
        if self._asks is None:
            answer = self._update(known["A"], known["b"])
        else:
            # An optional port may be silent: the function's own default stands in.
            answer = self._update(**{name: known[name] for name in self._asks if name in known})
        if isinstance(answer, Estimate):
            self.theta = answer.theta
            return answer
        if answer is not None:
            self.theta = np.array(answer, dtype=float)
        return Estimate(self.theta)

    def __deepcopy__(self, memo: dict[int, Any]) -> Wrapped:
        """A copy whose bound methods belong to the copied object, not to the first one."""
        twin = copy.copy(self)
        memo[id(self)] = twin
        twin.target = copy.deepcopy(self.target, memo)
        for slot in ("_update", "_reset"):
            method = getattr(self, slot)
            if method is self.target:  # a function, a bound method, or an object that is called
                setattr(twin, slot, twin.target)
            elif method is not None and getattr(method, "__self__", None) is self.target:
                setattr(twin, slot, getattr(twin.target, method.__name__))
        for key in ("theta", "problem"):
            if hasattr(self, key):
                setattr(twin, key, copy.deepcopy(getattr(self, key), memo))
        return twin


def wrap(
    target: Any,
    inputs: Mapping[str, str] | None = None,
    *,
    update: str = "update",
    reset: str = "reset",
    name: str | None = None,
) -> Wrapped:
    """An estimator from a function, or from an object (also one bound from C++).

    Args:
        target: A function of what `Wrapped` lists, or an object with an update method.
        inputs: Ports, as an estimator's `inputs`; default the plant's own regressor on what was
            measured, and the raw sample where the function asks for one.
        update: Name of the object's update method.
        reset: Name of its reset method; it may be missing.
        name: How to call it in results.
    """
    if inspect.isclass(target):
        raise BadInput(f"wrap an object, not the class {target.__name__}: call it first")
    method = getattr(target, update, None)
    step = method if method is not None else (target if callable(target) else None)
    if step is None:
        raise BadInput(f"{target!r} is no function and has no method {update!r}")
    restart = getattr(target, reset, None) if method is not None else None
    if inputs is None:
        asks = set(inspect.signature(step).parameters) if _readable(step) else set()
        inputs = {"eq": "@measured"} if not asks or asks - {"sample"} else {}
        if "sample" in asks:
            inputs = {**inputs, "sample": "sample"}
    label = str(name or getattr(target, "__name__", type(target).__name__))
    return Wrapped(target, inputs, step, restart, label)


def _readable(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function)
    except (TypeError, ValueError):  # a function bound from C++
        return False
    return True


def _arguments(update: Callable[..., Any], ports: Mapping[str, str]) -> tuple[str, ...] | None:
    """Names that the function asks for, in its own order; None where they cannot be read."""
    if not _readable(update):
        return None
    allowed = (*_MEANINGS, *(p.rstrip("?") for p in ports))
    parameters = inspect.signature(update).parameters.values()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    kinds = {p.kind for p in parameters}
    by_place = inspect.Parameter.VAR_POSITIONAL in kinds and not names
    if inspect.Parameter.POSITIONAL_ONLY in kinds or by_place:
        return None  # as compiled functions have it
    for p in parameters:
        if p.name in names and p.name not in allowed and p.default is p.empty:
            raise BadInput(
                f"the wrapped function asks for {p.name!r}; it can have {', '.join(allowed)}"
            )
    if inspect.Parameter.VAR_KEYWORD in kinds:  # takes the ports as they are
        names += [p.rstrip("?") for p in ports]
    return tuple(dict.fromkeys(n for n in names if n in allowed))

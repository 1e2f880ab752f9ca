"""Formulas of extra columns: `sign(v.joint_5 + v.joint_6)`, read from a file and never executed.

A formula is parsed into Python's syntax tree and worked out node by node; only numbers, signals,
+ − * / **, and a handful of functions are known. Signals are `q.JOINT`, `v.JOINT`, `a.JOINT`,
`tau.JOINT` and `log.COLUMN`; a name that is no identifier stands in brackets: `v["joint 5"]`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.signals import Array

Values = Mapping[tuple[str, str], Array]
FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "sign": np.sign,
    "abs": np.abs,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "exp": np.exp,
    "sqrt": np.sqrt,
}
OPERATORS: dict[type[ast.operator], Callable[[Array, Array], Array]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}
CHANNELS = ("q", "v", "a", "tau", "log")
_LONGEST = 400  # characters of a formula


@dataclass(frozen=True)
class Formula:
    """A formula, and the signals (channel, name) that it needs."""

    text: str
    node: ast.expr
    signals: frozenset[tuple[str, str]]

    def __call__(self, values: Values) -> Array:
        """Its value (n,), given every signal (n,)."""
        with np.errstate(all="ignore"):  # what is not finite is dropped and counted later
            return np.asarray(_value(self.node, values), dtype=float)


def parse_formula(text: object, where: str) -> Formula:
    """Read a formula; `where` opens messages."""
    if isinstance(text, int | float) and not isinstance(text, bool):
        text = repr(float(text))
    if not isinstance(text, str) or not 0 < len(text) <= _LONGEST:
        raise BadInput(f"{where} must be a formula, e.g. 'sign(v.joint_5 + v.joint_6)'")
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadInput(f"{where}: cannot read the formula {text!r}") from None
    found: set[tuple[str, str]] = set()
    _check(node, found, f"{where}: {text!r}: ")
    return Formula(text, node, frozenset(found))


def _check(node: ast.expr, found: set[tuple[str, str]], where: str) -> None:
    signal = _signal(node)
    if signal is not None:
        if signal[0] not in CHANNELS:
            raise UnknownName("channel", signal[0], CHANNELS, where)
        found.add(signal)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        _check(node.left, found, where)
        _check(node.right, found, where)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        _check(node.operand, found, where)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id not in FUNCTIONS:
            raise UnknownName("function", node.func.id, FUNCTIONS, where)
        if len(node.args) != 1 or node.keywords:
            raise BadInput(f"{where}{node.func.id} takes one value")
        _check(node.args[0], found, where)
    else:
        raise BadInput(
            f"{where}only numbers, signals (v.joint), + - * / ** and the functions "
            f"{', '.join(FUNCTIONS)} are known"
        )


def _signal(node: ast.expr) -> tuple[str, str] | None:
    """(channel, name) of `v.joint` or `v["joint"]`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.value.id, node.attr
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    ):
        return node.value.id, node.slice.value
    return None


def _value(node: ast.expr, values: Values) -> Array:
    signal = _signal(node)
    if signal is not None:
        return values[signal]
    if isinstance(node, ast.Constant):
        return np.asarray(float(node.value))  # type: ignore[arg-type]
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, values), _value(node.right, values)
        return OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.UnaryOp):
        inner = _value(node.operand, values)
        return -inner if isinstance(node.op, ast.USub) else inner
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    return FUNCTIONS[node.func.id](_value(node.args[0], values))

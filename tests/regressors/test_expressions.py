"""Formulas are read and worked out, never executed."""

from __future__ import annotations

import numpy as np
import pytest

from testbed import BadInput
from testbed.regressors.expressions import parse_formula

VALUES = {("v", "a"): np.array([1.0, -2.0]), ("q", "joint 5"): np.array([0.5, 0.25])}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sign(v.a)", [1, -1]),
        ('q["joint 5"] ** 2 - 1', [-0.75, -0.9375]),
        ("-v.a * 3 + tanh(0)", [-3, 6]),
        ("abs(v.a) / 2", [0.5, 1]),
        (4, [4, 4]),
    ],
)
def test_values(text, expected):
    formula = parse_formula(text, "column.x")
    np.testing.assert_allclose(np.broadcast_to(formula(VALUES), 2), expected)


@pytest.mark.parametrize(
    "text",
    ["__import__('os').system('x')", "v.a.b", "(lambda: 1)()", "[1]", "v.a; 1", "open('x')", "'a'",
     "v.a if 1 else 2", "x.y", "sign(v.a, 2)", "", None, True, "1" * 500, "f'{1}'", "v[0]"],
)  # fmt: skip
def test_nothing_else_is_read(text):
    with pytest.raises(BadInput, match=r"column\.x"):
        parse_formula(text, "column.x")


def test_the_signals_that_a_formula_needs_are_known_beforehand():
    formula = parse_formula("v.a * log.heat + tau.b", "column.x")
    assert formula.signals == {("v", "a"), ("log", "heat"), ("tau", "b")}

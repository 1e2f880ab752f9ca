"""wrap of functions whose arguments have no readable names, as those bound from C++."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from testbed import Equation, Problem, wrap

PRIOR = np.arange(10.0)


def reset(est):
    est.reset(Problem(prior=PRIOR))
    return est


class Unreadable:
    """Like a function bound from C++: Python cannot tell its arguments."""

    __signature__ = "none of your business"

    def __call__(self, *args):
        self.heard = args
        return args[-1][:10]


@pytest.mark.parametrize(
    "function",
    [Unreadable(), lambda x, y, /: y[:10], lambda *args: args[1][:10], np.matmul, operator.matmul],
    ids=["unreadable", "positional-only", "var-positional", "ufunc", "builtin"],
)
def test_a_function_without_readable_names_is_called_with_a_and_b(function):
    rng = np.random.default_rng(1)
    eq = Equation(0.0, rng.normal(size=(10, 10)), rng.normal(size=10))
    answer = reset(wrap(function)).update(eq=eq).theta
    expected = eq.A @ eq.b if function in (np.matmul, operator.matmul) else eq.b
    np.testing.assert_array_equal(answer, expected)


def test_an_unreadable_reset_gets_the_prior():
    class Compiled:
        def __init__(self):
            self.reset, self.update = Unreadable(), Unreadable()

    compiled = Compiled()
    reset(wrap(compiled))
    (prior,) = compiled.reset.heard
    np.testing.assert_array_equal(prior, PRIOR)

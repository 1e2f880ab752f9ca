"""wrap: a function or an object with other names becomes an estimator."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from testbed import BadInput, Estimate, Problem, Sample, wrap
from testbed.core.signals import Channel, Layout, Signals
from tests.estimators.equations import stream

PRIOR = np.arange(10.0)
SAMPLE = Sample(0.5, {"measured": Signals(Layout([Channel("x", ("x",), "m")]), np.ones(1))})


def reset(est):
    est.reset(Problem(prior=PRIOR))
    return est


def an_equation():
    return stream(np.random.default_rng(0), n=1, k=20)[0]


class Accumulator:
    """An object with other method names; its estimate is the sum of all b."""

    def init(self, problem):
        self.total, self.first = problem.prior.copy(), problem.prior

    def process(self, b):
        self.total += b.sum()
        return self.total


def test_a_function_of_a_and_b_is_an_estimator():
    eq = an_equation()
    est = reset(wrap(lambda A, b: np.linalg.lstsq(A, b, rcond=None)[0]))
    assert est.inputs == {"eq": "@measured"}
    answer = est.update(eq=eq)
    assert isinstance(answer, Estimate)
    np.testing.assert_array_equal(answer.theta, np.linalg.lstsq(eq.A, eq.b, rcond=None)[0])


def test_arguments_come_by_name_whatever_their_order():
    heard = {}

    def step(cov, theta, t, problem, b, eq, A):
        heard.update(locals())

    est, eq = reset(wrap(step)), an_equation()
    est.update(eq=eq)
    assert heard["eq"] is eq
    assert heard["A"] is eq.A
    assert heard["b"] is eq.b
    assert heard["cov"] is None
    assert heard["t"] == eq.t
    np.testing.assert_array_equal(heard["theta"], PRIOR)
    np.testing.assert_array_equal(heard["problem"].prior, PRIOR)


def test_a_function_that_asks_for_the_sample_gets_it_and_only_it():
    heard = []
    est = reset(wrap(lambda sample: heard.append(sample)))
    assert est.inputs == {"sample": "sample"}
    est.update(sample=SAMPLE)
    assert heard == [SAMPLE]


def test_a_function_may_ask_for_both_rows_and_sample():
    est = reset(wrap(lambda A, sample: A[0] * sample["measured"]["x"]))
    assert est.inputs == {"eq": "@measured", "sample": "sample"}
    eq = an_equation()
    np.testing.assert_array_equal(est.update(eq=eq, sample=SAMPLE).theta, eq.A[0])


def test_none_means_no_news_and_the_previous_theta_stays():
    answers = iter([None, np.ones(10), None])
    est = reset(wrap(lambda b: next(answers)))
    for expected in (PRIOR, np.ones(10), np.ones(10)):
        np.testing.assert_array_equal(est.update(eq=an_equation()).theta, expected)


def test_an_estimate_is_passed_on_as_it_is():
    given = Estimate(np.ones(10), np.eye(10), {"iterations": 3})
    est = reset(wrap(lambda b: given))
    assert est.update(eq=an_equation()) is given
    assert est.theta is given.theta


def test_an_object_with_other_method_names_is_an_estimator():
    est = reset(wrap(Accumulator(), update="process", reset="init", name="sum"))
    eq = an_equation()
    np.testing.assert_array_equal(est.update(eq=eq).theta, PRIOR + eq.b.sum())
    assert est.name == "sum"
    reset(est)
    np.testing.assert_array_equal(est.update(eq=eq).theta, PRIOR + eq.b.sum())


def test_what_it_answered_is_not_rewritten_when_it_returns_its_own_state():
    est = reset(wrap(Accumulator(), update="process", reset="init"))
    first = est.update(eq=an_equation()).theta
    kept = first.copy()
    est.update(eq=an_equation())
    np.testing.assert_array_equal(first, kept)


def test_a_reset_may_take_nothing_or_be_missing():
    class Bare:
        resets = 0

        def reset(self):
            self.resets += 1

        def update(self, A, b):
            return None

    bare = Bare()
    reset(wrap(bare))
    assert bare.resets == 1
    reset(wrap(bare, reset="no_such_method"))
    assert bare.resets == 1


def test_a_function_with_var_keywords_gets_its_ports():
    heard = {}
    est = reset(wrap(lambda **ports: heard.update(ports), {"eq": "@measured", "raw": "sample"}))
    eq = an_equation()
    est.update(eq=eq, raw=SAMPLE)
    assert heard == {"eq": eq, "raw": SAMPLE}


def test_a_silent_optional_port_leaves_the_functions_own_default():
    heard = []
    est = reset(
        wrap(lambda b, instrument=7: heard.append(instrument), {"eq": "", "instrument?": "@plan"})
    )
    eq = an_equation()
    est.update(eq=eq)
    est.update(eq=eq, instrument=eq)
    assert heard == [7, eq]


def test_asking_for_something_unknown_is_bad_input():
    with pytest.raises(BadInput, match=r"asks for 'truth'; it can have eq, A, b, t, cov"):
        wrap(lambda A, b, truth: None)
    wrap(lambda A, b, gain=0.5: None)  # what has a default of its own is the function's business
    with pytest.raises(BadInput, match="not the class Accumulator"):
        wrap(Accumulator)
    with pytest.raises(BadInput, match="no function and has no method 'update'"):
        wrap(Accumulator())


class Counter:
    """Callable, with a state."""

    def __init__(self):
        self.n = 0

    def __call__(self, b):
        self.n += 1
        return np.full(10, float(self.n))


@pytest.mark.parametrize(
    "make",
    [
        lambda: wrap(Accumulator(), update="process", reset="init"),
        lambda: wrap(Counter()),
        lambda: wrap(Counter().__call__),
    ],
    ids=["object", "callable", "bound method"],
)
def test_a_deep_copy_goes_on_alike_and_on_its_own(make):
    eq = an_equation()
    est = reset(make())
    est.update(eq=eq)
    twin = copy.deepcopy(est)
    straight = [est.update(eq=eq).theta for _ in range(3)]
    for theta in straight:
        np.testing.assert_array_equal(twin.update(eq=eq).theta, theta)

"""The paper's incremental SVD: the same answer as `rtls` and as a batch SVD."""

from __future__ import annotations

import numpy as np
import pytest

from testbed import BadInput, Equation, make_estimator
from testbed.core import registry
from tests.estimators.equations import problem
from tests.estimators.noisy_equations import batch_tls, noisy_stream, stacked


def test_equals_batch_tls_and_rtls_from_the_first_possible_sample_on():
    std = np.array([2.0, 0.2, 1.0, 0.1, 3.0, 1.0, 0.3, 1.0, 2.0, 0.5, 0.4])
    equations, _, _ = noisy_stream(np.random.default_rng(0), std=std, signal=8.0, n=200)
    printed, ours = make_estimator("rtls_isvd"), make_estimator("rtls", fallback=False)
    for est in (printed, ours):
        est.reset(problem(np.zeros(10)))
    for i, eq in enumerate(equations, 1):
        one, two = printed.update(eq=eq), ours.update(eq=eq)
        if i % 20 == 0 or i in (3, 4):
            C = 6 * i * np.diag(std**2)
            theta, gap, smallest = batch_tls(stacked(equations[:i]), C)
            if gap > 1.5:
                np.testing.assert_allclose(one.theta, theta, rtol=0, atol=1e-9)
                np.testing.assert_allclose(one.theta, two.theta, rtol=0, atol=1e-9)
            assert one.info["gap"] == pytest.approx(gap, rel=1e-9)
            assert one.info["lambda"] == pytest.approx(smallest, rel=1e-9)


def test_a_smallest_value_that_is_not_unique_gives_the_shortest_solution():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(200, 2))
    theta = np.array([1.0, 2.0])
    M = np.column_stack([A, A[:, 0], A @ theta])  # columns 0 and 2 are the same: a plane of zeros
    est = make_estimator("rtls_isvd", column_std=1.0)
    est.reset(problem(np.zeros(3)))
    for i in range(0, 200, 4):
        est.S[np.abs(est.S) < 1e-12 * est.S.max()] = 0.0  # rounding would tell the two apart
        found = est.update(eq=Equation(i * 1e-3, M[i : i + 4, :3], M[i : i + 4, 3]))
    est.S[-2:] = 0.0
    found = est._answer()
    np.testing.assert_allclose(found.theta, [0.5, 2.0, 0.5], atol=1e-9)


def test_it_is_a_reference_and_refuses_what_is_bad():
    assert "reference" in registry.estimator.find("rtls_isvd").tags
    with pytest.raises(BadInput, match="epsilon"):
        make_estimator("rtls_isvd", epsilon=-1.0)
    est = make_estimator("rtls_isvd")
    est.reset(problem(np.zeros(10)))
    with pytest.raises(BadInput, match="10 columns, got 9"):
        est.update(eq=Equation(0.0, np.ones((6, 9)), np.ones(6)))
    answer = est.update(eq=Equation(0.0, np.full((6, 10), np.nan), np.ones(6)))
    assert answer.info["skipped"]

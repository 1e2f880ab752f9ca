"""The triangle [R z; 0 ρ]: what is folded in can be read off, compiled or not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from testbed import make_estimator
from testbed.core.jit import COMPILED
from testbed.estimators import rls, square_root
from tests.estimators.equations import feed, spd, stream

PATHS = [
    pytest.param(True, marks=pytest.mark.skipif(not COMPILED, reason="numba is switched off")),
    False,
]


def run(monkeypatch, compiled, p, k, n=40, start=1e-3):
    """Triangle after n blocks of k rows, and all rows stacked."""
    monkeypatch.setattr(square_root, "COMPILED", compiled)
    rng = np.random.default_rng(p + 100 * k)
    T = np.zeros((p + 1, p + 1))
    T[:p, :p] = start * np.eye(p)
    stacked = [T.copy()]
    for _ in range(n):
        rows = rng.normal(size=(k, p + 1))
        stacked.append(rows.copy())
        T = square_root.absorb(T, rows)
    return T, np.vstack(stacked)


@pytest.mark.skipif(not COMPILED, reason="numba is switched off: there is one path only")
@pytest.mark.parametrize("p", [1, 10, 66])
@pytest.mark.parametrize("k", [1, 3, 6])
def test_compiled_and_numpy_paths_agree(monkeypatch, p, k):
    answers = []
    for compiled in (True, False):
        T, _ = run(monkeypatch, compiled, p, k)
        answers.append((square_root.solve(T), square_root.covariance(T), np.abs(T[p, p])))
    for a, b in zip(*answers, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * max(1.0, np.abs(b).max()))


@pytest.mark.skipif(not COMPILED, reason="numba is switched off: there is one path only")
@pytest.mark.parametrize("p", [1, 10, 66])
@pytest.mark.parametrize("k", [1, 3, 6])
@pytest.mark.parametrize("weighted", [False, True])
def test_an_rls_update_in_one_compiled_call_equals_the_one_in_steps(monkeypatch, p, k, weighted):
    rng = np.random.default_rng(p + 100 * k)
    equations = stream(rng, n=40, p=p, k=k)
    if weighted:
        equations = [replace(eq, cov=spd(rng, k)) for eq in equations]
    answers = []
    for compiled in (True, False):
        for module in (rls, square_root):
            monkeypatch.setattr(module, "COMPILED", compiled)
        est = make_estimator("rls", forgetting=0.95)
        answers.append((feed(est, equations, np.ones(p)), est.covariance()))
    for a, b in zip(*answers, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * max(1.0, np.abs(b).max()))


@pytest.mark.parametrize("compiled", PATHS)
@pytest.mark.parametrize("p", [1, 10, 66])
@pytest.mark.parametrize("k", [1, 3, 6])
def test_the_triangle_has_the_gram_matrix_of_all_rows(monkeypatch, compiled, p, k):
    T, rows = run(monkeypatch, compiled, p, k)
    gram = rows.T @ rows
    np.testing.assert_array_equal(T, np.triu(T))
    np.testing.assert_allclose(T.T @ T, gram, rtol=0, atol=1e-12 * gram.max())
    expected = np.linalg.lstsq(rows[:, :p], rows[:, p], rcond=None)[0]
    np.testing.assert_allclose(
        square_root.solve(T), expected, rtol=0, atol=1e-11 * max(1.0, np.abs(expected).max())
    )
    left = np.linalg.norm(rows[:, p] - rows[:, :p] @ expected)
    np.testing.assert_allclose(np.abs(T[p, p]), left, rtol=1e-11)


@pytest.mark.parametrize("compiled", PATHS)
def test_a_direction_left_open_has_no_solution(monkeypatch, compiled):
    T, _ = run(monkeypatch, compiled, p=4, k=1, n=3, start=0.0)
    T[3, 3] = 0.0  # three rows leave it open up to rounding
    assert square_root.solve(T) is None


def test_refactor_keeps_information_and_estimate_and_refuses_the_indefinite():
    rng = np.random.default_rng(0)
    M, theta = rng.normal(size=(9, 5)), rng.normal(size=5)
    T = square_root.refactor(M.T @ M, theta, 2.5)
    np.testing.assert_allclose(T[:5, :5].T @ T[:5, :5], M.T @ M, rtol=0, atol=1e-13)
    np.testing.assert_allclose(square_root.solve(T), theta, rtol=0, atol=1e-13)
    assert T[5, 5] == 2.5
    np.testing.assert_allclose(
        square_root.covariance(T), np.linalg.inv(M.T @ M), rtol=0, atol=1e-13
    )
    assert square_root.refactor(np.diag([1.0, 1.0, -1e-9]), np.zeros(3)) is None
    assert square_root.refactor(np.diag([1.0, 0.0, 1.0]), np.zeros(3)) is None
    assert square_root.refactor(np.diag([1.0, np.nan, 1.0]), np.zeros(3)) is None


@pytest.mark.parametrize("compiled", PATHS)
def test_dust_of_rounding_does_not_overflow(compiled, monkeypatch):
    """Directions never seen hold rounding, then rounding of rounding: 1/dust² is infinite."""
    monkeypatch.setattr(square_root, "COMPILED", compiled)
    rows = np.array([[1e-160, 1.0, 2.0], [1e-160, 3.0, 4.0]])
    T = square_root.absorb(np.zeros((3, 3)), rows.copy())
    np.testing.assert_allclose(T.T @ T, rows.T @ rows, rtol=1e-12, atol=1e-150)

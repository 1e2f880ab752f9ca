"""The own interior point: against cvxpy, its certificate, and what it does with nasty problems."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.core.jit import COMPILED
from testbed.estimators import cone_kernel
from testbed.estimators.cone_numpy import certified_gap, solve_cone
from testbed.estimators.cone_reference import solve_by
from testbed.inertia import (
    change_units,
    is_consistent,
    natural_basis,
    pseudo_inertia,
    sample_around,
)
from testbed.inertia.symmetric import from_coordinates
from tests.estimators.cones import BASIS, MAIN, objective, triangle, unconstrained

PATHS = [
    pytest.param(True, marks=pytest.mark.skipif(not COMPILED, reason="numba is switched off")),
    False,
]


def infeasible(seed, n, **more):
    rng, out = np.random.default_rng(seed), []
    while len(out) < n:
        T = triangle(rng, **more)
        if not is_consistent(unconstrained(T)):
            out.append(T)
    return out


def relative(phi, other):
    """Difference in natural coordinates, over the size of the body in them."""
    x = np.linalg.solve(BASIS, np.column_stack([phi - other, other]))
    return np.abs(x[:, 0]).max() / np.abs(x[:, 1]).max()


@pytest.mark.parametrize("compiled", PATHS)
@pytest.mark.parametrize("decades", [0.0, 1.0, 2.0])
def test_agrees_with_cvxpy_at_a_tight_tolerance(decades, compiled):
    for T in infeasible(1, 8, decades=decades):
        own = solve_cone(T, BASIS, compiled)
        # Clarabel's last steps may lose digits again, which ones depends on the processor: of two
        # tolerances one agrees in φ, and neither has a lower objective.
        references = [
            solve_by("cvxpy", T, BASIS, solver="CLARABEL", tolerance=t) for t in (1e-10, 1e-13)
        ]
        assert own.good
        assert min(relative(own.phi, other.phi) for other in references) < 1e-6
        for other in references:
            assert objective(T, own.phi) <= objective(T, other.phi) * (1 + 1e-9)


@pytest.mark.parametrize(("name", "close"), [("scs", 1e-5), ("clarabel", 1e-3), ("cvxpy", 1e-2)])
def test_the_reference_forms_are_verified_too(name, close):
    """cvxpy with SCS at its usual tolerance is the paper's way; some of its answers do not pass."""
    answers = [(solve_cone(T, BASIS), solve_by(name, T, BASIS)) for T in infeasible(2, 6)]
    good = [(own, other) for own, other in answers if other.good]
    assert len(good) >= 3
    for own, other in good:
        assert is_consistent(other.phi)
        assert relative(own.phi, other.phi) < close


@pytest.mark.parametrize("compiled", PATHS)
def test_the_answer_is_possible_and_meets_the_conditions_of_optimality(compiled):
    for T in infeasible(3, 20):
        found = solve_cone(T, BASIS, compiled)
        assert found.good
        assert is_consistent(found.phi)
        R = T[:10, :10] @ BASIS
        x = np.linalg.solve(BASIS, found.phi)
        gradient = R.T @ (R @ x - T[:10, 10])
        S, Z = from_coordinates(x), from_coordinates(found.multiplier)
        size = np.abs(Z).max() * np.abs(S).max()
        np.testing.assert_allclose(gradient, found.multiplier, atol=1e-6 * np.abs(Z).max())
        assert np.linalg.eigvalsh(Z).min() > -1e-12 * np.abs(Z).max()
        assert np.abs(S @ Z).max() < 1e-6 * size


@pytest.mark.parametrize("compiled", PATHS)
def test_no_possible_body_is_better_than_the_certificate_allows(compiled):
    rng = np.random.default_rng(4)
    for T in infeasible(4, 10):
        found = solve_cone(T, BASIS, compiled)
        value = objective(T, found.phi)
        for error in (1e-3, 1e-2, 0.1, 1.0):
            for other in sample_around(np.tile(found.phi, (20, 1)), error, rng):
                assert objective(T, other) >= value - found.gap - 1e-12


def test_the_certificate_of_a_wrong_answer_is_large():
    for T in infeasible(5, 5):
        found = solve_cone(T, BASIS)
        Q = np.linalg.qr(np.column_stack([T[:10, :10] @ BASIS, T[:10, 10]]), mode="r")
        off = np.linalg.solve(BASIS, 1.1 * found.phi)
        excess = objective(T, 1.1 * found.phi) - objective(T, found.phi)
        gap = certified_gap(Q[:10, :10], Q[:10, 10], off, found.multiplier)
        assert gap >= excess - found.gap


def test_the_answer_does_not_depend_on_the_body_that_sets_the_units():
    rng = np.random.default_rng(6)
    for T in infeasible(6, 5):
        one = solve_cone(T, BASIS)
        other = solve_cone(T, np.ascontiguousarray(natural_basis(sample_around(MAIN, 0.5, rng))))
        assert relative(one.phi, other.phi) < 1e-5


def test_grams_and_millimetres_give_the_same_body():
    scale = change_units(np.ones(10), mass=1e3, length=1e3)
    for T in infeasible(7, 5):
        small = T.copy()
        small[:10, :10] = T[:10, :10] / scale
        own = solve_cone(T, BASIS)
        other = solve_cone(small, np.ascontiguousarray(natural_basis(MAIN * scale)))
        assert relative(own.phi, other.phi / scale) < 1e-7


@pytest.mark.parametrize("compiled", PATHS)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda T: T * 0.0,
        lambda T: T * np.nan,
        lambda T: T * 1e200,
        lambda T: np.where(np.arange(11)[:, None] == 4, 0.0, T),
    ],
    ids=["nothing", "nan", "overflow", "a zero row"],
)
def test_rubbish_is_never_called_good_unless_it_is_possible(spoil, compiled):
    with np.errstate(all="ignore"):
        found = solve_cone(spoil(infeasible(8, 1)[0]), BASIS, compiled)
    assert not found.good or is_consistent(found.phi)


@pytest.mark.skipif(not COMPILED, reason="the NumPy path decides by is_consistent itself")
def test_the_compiled_check_is_the_packages_own():
    rng = np.random.default_rng(9)
    bodies = sample_around(np.tile(MAIN, (2000, 1)), 1.0, rng)
    bodies += 0.3 * np.abs(bodies) * rng.normal(size=bodies.shape)
    ours = np.array([cone_kernel.is_possible(b) for b in bodies])
    np.testing.assert_array_equal(ours, is_consistent(bodies))
    assert 200 < ours.sum() < 1800


def never_infeasible(n, seed):
    """How many of n random problems were solved; all estimates must be possible."""
    rng, solved, hard = np.random.default_rng(seed), 0, 0
    for i in range(n):
        # One in three is near-rank-deficient, by up to fourteen decades.
        T = triangle(rng, decades=rng.uniform(0, 14 if i % 3 == 0 else 3),
                     noise=10 ** rng.uniform(-3, 1), rows=rng.integers(11, 20))  # fmt: skip
        if i % 7 == 0:
            T[9, :10] = 1e-14 * rng.normal() * T[9, :10]
        phi = unconstrained(T)
        if is_consistent(phi):
            continue
        hard += 1
        found = solve_cone(T, BASIS, True)
        solved += found.good
        assert not found.good or is_consistent(found.phi), i
        assert not found.good or np.linalg.eigvalsh(pseudo_inertia(found.phi)).max() > 0
    return solved, hard


@pytest.mark.skipif(not COMPILED, reason="too many for the NumPy path")
def test_two_thousand_random_problems_give_no_impossible_body():
    solved, hard = never_infeasible(2000, 10)
    assert hard > 1500
    assert solved >= 0.999 * hard


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="too many for the NumPy path")
def test_a_hundred_thousand_random_problems_give_no_impossible_body():
    solved, hard = never_infeasible(100_000, 11)
    assert hard > 70_000
    assert solved >= 0.999 * hard

"""What a measure of difference between bodies must satisfy."""

import numpy as np
from hypothesis import given
from inertia_strategies import bodies, frames, laws, random_bodies, units
from scipy.linalg import eigh, expm

from testbed.inertia import (
    affine_distance,
    change_frame,
    change_units,
    from_pseudo_inertia,
    logdet_divergence,
    natural_basis,
    pseudo_inertia,
)


def moved(phi, frame, unit):
    return change_units(change_frame(phi, *frame), *unit)


@laws
@given(bodies, bodies)
def test_distance_is_symmetric_and_separates(a, b):
    np.testing.assert_allclose(affine_distance(a, b), affine_distance(b, a), rtol=1e-11, atol=1e-12)
    assert affine_distance(a, a) == 0.0
    assert affine_distance(a, 1.001 * a) > 1e-3


@laws
@given(bodies, bodies, bodies)
def test_distance_obeys_the_triangle_inequality(a, b, c):
    assert affine_distance(a, c) <= (affine_distance(a, b) + affine_distance(b, c)) * (1 + 1e-12)


@laws
@given(bodies, bodies)
def test_divergence_is_non_negative_and_zero_only_at_itself(a, b):
    assert logdet_divergence(a, b) >= 0.0
    assert logdet_divergence(a, a) == 0.0
    assert logdet_divergence(1.001 * a, a) > 1e-6


@laws
@given(bodies, bodies, frames, units)
def test_neither_depends_on_frame_or_units(a, b, frame, unit):
    for measure in (affine_distance, logdet_divergence):
        seen = measure(moved(a, frame, unit), moved(b, frame, unit))
        np.testing.assert_allclose(seen, measure(a, b), rtol=1e-9, atol=1e-11)


def test_both_are_their_formulas():
    for a, b in zip(random_bodies(20, seed=1), random_bodies(20, seed=2), strict=True):
        eigenvalues = eigh(pseudo_inertia(a), pseudo_inertia(b), eigvals_only=True)
        distance = np.sqrt(0.5 * np.sum(np.log(eigenvalues) ** 2))
        divergence = np.sum(eigenvalues - np.log(eigenvalues) - 1)
        np.testing.assert_allclose(affine_distance(a, b), distance, rtol=1e-10)
        np.testing.assert_allclose(logdet_divergence(a, b), divergence, rtol=1e-10)


def test_scaling_the_mass_by_e_is_root_two_away():
    phi = random_bodies(1)[0]
    np.testing.assert_allclose(affine_distance(np.e * phi, phi), np.sqrt(2), rtol=1e-14)
    np.testing.assert_allclose(logdet_divergence(np.e * phi, phi), 4 * (np.e - 2), rtol=1e-14)


def test_distance_of_a_geodesic_draw_is_its_coordinates_norm():
    phi, rng = random_bodies(1)[0], np.random.default_rng(0)
    L = np.linalg.cholesky(pseudo_inertia(phi))
    X = rng.normal(size=(4, 4))
    X += X.T
    there = from_pseudo_inertia(L @ expm(X) @ L.T)
    np.testing.assert_allclose(
        affine_distance(there, phi), np.linalg.norm(X) / np.sqrt(2), rtol=1e-9
    )


def test_close_to_the_reference_divergence_is_half_the_squared_natural_coordinates():
    phi, x = random_bodies(1)[0], np.random.default_rng(0).normal(size=10)
    x /= np.linalg.norm(x)
    near = phi + natural_basis(phi) @ (1e-5 * x)
    np.testing.assert_allclose(logdet_divergence(near, phi), 0.5e-10, rtol=1e-4)
    np.testing.assert_allclose(affine_distance(near, phi) ** 2, 0.5e-10, rtol=1e-4)


def test_an_impossible_body_is_infinitely_far_and_spoils_nobody_else():
    phi, reference = random_bodies(3), random_bodies(1, seed=9)[0]
    bad = phi.copy()
    bad[1] = -bad[1]
    bad[2, 3] = np.nan
    for measure in (affine_distance, logdet_divergence):
        for args in ((bad, reference), (reference, bad)):
            assert np.isposinf(measure(*args)[1:]).all()
        assert measure(bad, reference)[0] == measure(phi, reference)[0]
        assert measure(bad[1], reference) == np.inf


def test_measures_broadcast():
    a, b = random_bodies(3)[:, None], random_bodies(4, seed=1)
    for measure in (affine_distance, logdet_divergence):
        assert measure(a, b).shape == (3, 4)
        np.testing.assert_allclose(measure(a, b)[2, 3], measure(a[2, 0], b[3]), rtol=1e-12)

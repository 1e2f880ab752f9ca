"""Shortest paths and the mean, by what defines them."""

import numpy as np
import pytest
from hypothesis import given, settings
from inertia_strategies import between, bodies, frames, laws, natural_error, random_bodies

from testbed.core.errors import BadInput
from testbed.inertia import (
    affine_distance,
    change_frame,
    geodesic,
    is_consistent,
    karcher_mean,
    pseudo_inertia,
    sample_around,
)


@laws
@given(bodies, bodies, between(-0.5, 1.5))
def test_geodesic_has_constant_speed(a, b, s):
    point, d = geodesic(a, b, s), affine_distance(a, b)
    np.testing.assert_allclose(affine_distance(point, a), abs(s) * d, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(affine_distance(point, b), abs(1 - s) * d, rtol=1e-8, atol=1e-9)


@laws
@given(bodies, bodies)
def test_geodesic_ends_are_exact_and_reversal_is_the_same_path(a, b):
    np.testing.assert_array_equal(geodesic(a, b, 0.0), a)
    np.testing.assert_array_equal(geodesic(a, b, 1.0), b)
    assert natural_error(geodesic(a, b, 0.25), geodesic(b, a, 0.75)) < 1e-9


@laws
@given(bodies, bodies, frames)
def test_geodesic_is_the_same_seen_from_any_frame(a, b, frame):
    seen = geodesic(change_frame(a, *frame), change_frame(b, *frame), 0.3)
    assert natural_error(seen, change_frame(geodesic(a, b, 0.3), *frame)) < 1e-8


def test_a_whole_path_comes_in_one_call():
    a, b = random_bodies(2)
    s = np.linspace(-0.2, 1.2, 15)
    path = geodesic(a, b, s)
    assert path.shape == (15, 10)
    assert is_consistent(path).all()
    np.testing.assert_allclose(path[4], geodesic(a, b, s[4]), rtol=1e-12)


def gradient_norm(mean, phis, weights):
    """Norm of Σ wᵢ log(J⁻½ Jᵢ J⁻½), by another route than the implementation's."""
    w, V = np.linalg.eigh(pseudo_inertia(mean))
    root = (V / np.sqrt(w)) @ V.T
    total = np.zeros((4, 4))
    for weight, phi in zip(weights, phis, strict=True):
        w, V = np.linalg.eigh(root @ pseudo_inertia(phi) @ root)
        total += weight * (V * np.log(w)) @ V.T
    return np.linalg.norm(total)


@pytest.mark.parametrize("n", [1, 3, 20])
def test_mean_is_a_stationary_point(n):
    phis, weights = random_bodies(n, seed=n), np.random.default_rng(n).dirichlet(np.ones(n))
    assert gradient_norm(karcher_mean(phis, weights), phis, weights) < 1e-10


def test_nothing_near_the_mean_is_better():
    phis = random_bodies(5)
    mean = karcher_mean(phis)
    others = sample_around(np.tile(mean, (50, 1)), 1e-2, np.random.default_rng(0))
    cost = np.square(affine_distance(phis[:, None], others)).sum(axis=0)
    assert cost.min() > np.square(affine_distance(phis, mean)).sum()


@settings(laws, max_examples=25)
@given(bodies, bodies, between(0.0, 1.0))
def test_mean_of_two_lies_on_their_geodesic(a, b, s):
    mean = karcher_mean(np.array([a, b]), [1 - s, s])
    assert natural_error(mean, geodesic(a, b, s)) < 1e-8


def test_mean_ignores_order_frame_and_the_scale_of_weights():
    phis, w = random_bodies(6), np.arange(1.0, 7.0)
    R = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    mean = karcher_mean(phis, w)
    assert natural_error(karcher_mean(phis[::-1], 10 * w[::-1]), mean) < 1e-11
    seen = karcher_mean(change_frame(phis, R, np.ones(3)), w)
    assert natural_error(seen, change_frame(mean, R, np.ones(3))) < 1e-9


def test_means_come_in_batches():
    phis = random_bodies(12).reshape(3, 4, 10)
    means = karcher_mean(phis)
    assert means.shape == (3, 10)
    for mean, group in zip(means, phis, strict=True):
        assert natural_error(mean, karcher_mean(group)) < 1e-11


@pytest.mark.parametrize("weights", [[0, 0], [1, -1], [np.nan, 1], [np.inf, 1]])
def test_unusable_weights_are_refused(weights):
    with pytest.raises(BadInput, match="weights must be"):
        karcher_mean(random_bodies(2), weights)


def test_impossible_bodies_are_refused():
    a, b = random_bodies(2)
    with pytest.raises(BadInput, match="phi1 is not physically consistent"):
        geodesic(a, -b, 0.5)
    with pytest.raises(BadInput, match="1 of 2"):
        karcher_mean(np.array([a, -b]))
    with pytest.raises(BadInput, match="n ≥ 1"):
        karcher_mean(a)

"""Random bodies: always possible, isotropic in natural coordinates, reproducible."""

import numpy as np
import pytest
from inertia_strategies import derivative, random_bodies

from testbed.core.errors import BadInput
from testbed.inertia import (
    affine_distance,
    box,
    change_frame,
    change_units,
    from_pseudo_inertia,
    is_consistent,
    logdet_divergence,
    natural_basis,
    pseudo_inertia,
    sample_around,
)


def draws(phi, error, n, seed=0):
    return sample_around(np.tile(phi, (n, 1)), error, np.random.default_rng(seed))


def test_small_draws_have_the_covariance_of_the_natural_basis():
    phi, error, n = random_bodies(1)[0], 1e-3, 20_000
    x = np.linalg.solve(natural_basis(phi), (draws(phi, error, n) - phi).T) / error  # (10, n)
    np.testing.assert_allclose(x @ x.T / n, np.eye(10), rtol=0, atol=5 * np.sqrt(2 / n))
    np.testing.assert_allclose(x.mean(axis=1), np.zeros(10), atol=5 / np.sqrt(n))


def test_mean_squared_distance_is_five_squared_errors_at_any_error():
    phi, n = random_bodies(1)[0], 20_000
    for error in (0.01, 0.3, 1.0):
        squares = np.square(affine_distance(draws(phi, error, n), phi)) / error**2
        np.testing.assert_allclose(squares.mean(), 5.0, atol=5 * np.sqrt(5 / n))  # ½ χ²(10)


@pytest.mark.parametrize("error", [0.1, 1.0, 3.0, 10.0, 1e3])
def test_draws_are_always_consistent(error):
    phi = np.concatenate([random_bodies(200), np.tile(box(5, [1, 1, 1e-3], [1, 1, 1]), (50, 1))])
    assert is_consistent(sample_around(phi, error, np.random.default_rng(0))).all()


def test_zero_error_returns_the_centre_to_the_bit_and_takes_the_same_numbers():
    phi, rng, other = random_bodies(5), np.random.default_rng(0), np.random.default_rng(0)
    np.testing.assert_array_equal(sample_around(phi, 0.0, rng), phi)
    sample_around(phi, 0.5, other)
    assert rng.bit_generator.state == other.bit_generator.state


def test_errors_may_differ_body_by_body():
    phi = random_bodies(3)
    mixed = sample_around(phi, [0.0, 0.2, 0.0], np.random.default_rng(0))
    alone = sample_around(phi, 0.2, np.random.default_rng(0))
    np.testing.assert_array_equal(mixed[[0, 2]], phi[[0, 2]])
    np.testing.assert_array_equal(mixed[1], alone[1])


def test_one_body_draws_one_body():
    phi = random_bodies(1)[0]
    one = sample_around(phi, 0.2, np.random.default_rng(3))
    assert one.shape == (10,)
    np.testing.assert_allclose(
        one, sample_around(phi[None], 0.2, np.random.default_rng(3))[0], rtol=1e-13
    )


@pytest.mark.parametrize("error", [-0.1, np.nan, np.inf])
def test_unusable_errors_are_refused(error):
    with pytest.raises(BadInput, match="error must be finite and non-negative"):
        sample_around(random_bodies(1)[0], error, np.random.default_rng(0))


def test_an_impossible_centre_is_refused():
    with pytest.raises(BadInput, match="phi0 is not physically consistent"):
        sample_around(-random_bodies(1)[0], 0.1, np.random.default_rng(0))


def test_natural_basis_is_the_linear_chart():
    phi, rng = random_bodies(1)[0], np.random.default_rng(0)
    L = np.linalg.cholesky(pseudo_inertia(phi))
    x = rng.normal(size=10)
    X = np.diag(x[:4])
    for value, (i, j) in zip(x[4:], [(0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)], strict=True):
        X[i, j] = X[j, i] = value / np.sqrt(2)
    np.testing.assert_allclose(np.linalg.norm(X), np.linalg.norm(x), rtol=1e-14)
    chart = from_pseudo_inertia(L @ (np.eye(4) + X) @ L.T)
    np.testing.assert_allclose(phi + natural_basis(phi) @ x, chart, rtol=1e-12, atol=1e-13)


def test_inverse_square_of_the_basis_is_the_hessian_of_the_divergence():
    phi = random_bodies(1)[0]
    B = natural_basis(phi)

    def gradient(x):
        return derivative(lambda y: logdet_divergence(phi + B @ y, phi), x, h=3e-3)

    np.testing.assert_allclose(derivative(gradient, np.zeros(10), h=3e-3), np.eye(10), atol=1e-7)


def test_the_basis_metric_transforms_as_a_tensor():
    phi, R = random_bodies(1)[0], np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]

    def there(p):
        return change_units(change_frame(p, R, [0.1, -0.2, 0.3]), 1e3, 1e2)

    T = np.column_stack([there(e) for e in np.eye(10)])
    B, seen = natural_basis(phi), natural_basis(there(phi))
    scale = np.sqrt(np.diag(seen @ seen.T))
    np.testing.assert_allclose(
        (T @ B @ B.T @ T.T) / np.outer(scale, scale),
        seen @ seen.T / np.outer(scale, scale),
        atol=1e-10,
    )


def test_bases_come_in_batches():
    phi = random_bodies(6)
    bases = natural_basis(phi.reshape(2, 3, 10))
    assert bases.shape == (2, 3, 10, 10)
    np.testing.assert_allclose(bases[1, 2], natural_basis(phi[5]), rtol=1e-13)

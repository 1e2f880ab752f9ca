"""The two baselines of Rucker's comparison: exponential and eigenvalue."""

import numpy as np
import pytest
from hypothesis import given
from inertia_strategies import bodies, derivative, laws, natural_error, random_bodies, vectors
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from testbed.core.errors import BadInput
from testbed.inertia import (
    body_parameters,
    box,
    eigenvalue_jacobian,
    eigenvalue_to_phi,
    exponential_jacobian,
    exponential_to_phi,
    is_consistent,
    phi_to_eigenvalue,
    phi_to_exponential,
    pseudo_inertia,
)

PAIRS = [(0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)]
MAPS = {
    "exponential": (exponential_to_phi, phi_to_exponential, exponential_jacobian),
    "eigenvalue": (eigenvalue_to_phi, phi_to_eigenvalue, eigenvalue_jacobian),
}
each_map = pytest.mark.parametrize("name", MAPS)


@laws
@given(bodies)
def test_round_trips_from_bodies(phi):
    for to_phi, from_phi, _ in MAPS.values():
        assert natural_error(to_phi(from_phi(phi)), phi) < 1e-9


@laws
@given(vectors(10, 1.0))
def test_every_vector_is_a_possible_body(theta):
    for to_phi, _, _ in MAPS.values():
        assert is_consistent(to_phi(theta))


@laws
@given(vectors(10, 1.5))
def test_exponential_is_the_matrix_exponential_and_inverts(theta):
    Q = np.diag(theta[:4])
    for value, (i, j) in zip(theta[4:], PAIRS, strict=True):
        Q[i, j] = Q[j, i] = value / np.sqrt(2)
    J = expm(Q)
    phi = exponential_to_phi(theta)
    np.testing.assert_allclose(pseudo_inertia(phi), J, rtol=0, atol=1e-13 * np.abs(J).max())
    np.testing.assert_allclose(phi_to_exponential(phi), theta, rtol=0, atol=1e-10)


@laws
@given(vectors(10, 1.5))
def test_eigenvalue_is_its_construction(theta):
    R = Rotation.from_rotvec(theta[4:7]).as_matrix()
    second = (R * np.exp(theta[7:])) @ R.T
    expected = body_parameters(np.exp(theta[0]), theta[1:4], np.trace(second) * np.eye(3) - second)
    np.testing.assert_allclose(
        eigenvalue_to_phi(theta), expected, rtol=0, atol=1e-13 * np.abs(expected).max()
    )


def test_eigenvalue_parameters_of_an_aligned_body_have_no_rotation():
    theta = phi_to_eigenvalue(box(12.0, [0.3, 0.1, 0.2], [1.0, 2.0, 3.0]))
    np.testing.assert_allclose(theta[:7], [np.log(12), 1, 2, 3, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(np.exp(theta[7:]), [0.09, 0.01, 0.04], rtol=1e-11)


@each_map
@pytest.mark.parametrize("seed", range(5))
def test_jacobians_match_differences(name, seed):
    to_phi, _, jacobian = MAPS[name]
    theta = np.random.default_rng(seed).uniform(-1, 1, 10)
    if seed == 0:
        theta[4:7] *= 1e-4  # nearly no rotation, nearly diagonal
    if seed == 1:
        theta[4:7] *= 0.25  # where the rotation's derivative is summed as a series
    J = derivative(to_phi, theta, h=1e-2)
    np.testing.assert_allclose(jacobian(theta), J, atol=3e-11 * np.abs(J).max())


@pytest.mark.parametrize("gap", [0.0, 1e-15, 1e-12, 1e-8, 1e-4])
def test_exponential_jacobian_keeps_its_digits_at_close_eigenvalues(gap):
    """The naive divided difference is off by 1e-16/gap here."""
    theta = np.array([0.3, 0.3 + gap, 0.3, 0.3 - gap, 0, 0, 0, 0, 0, 0])
    tied = np.exp(0.3) * exponential_jacobian(np.zeros(10))
    np.testing.assert_allclose(exponential_jacobian(theta), tied, rtol=0, atol=1e-14 + 3 * gap)


def test_exponential_jacobian_survives_a_wide_spectrum():
    theta = np.array([600.0, -600.0, 0, 0, 1.0, 0, 0, 0, 0, 0])
    assert np.isfinite(exponential_jacobian(theta)).all()


def test_eigenvalue_map_is_singular_at_symmetric_bodies_and_exponential_is_not():
    for shape, rank in (([0.1, 0.1, 0.1], 7), ([0.1, 0.1, 0.2], 9), ([0.1, 0.2, 0.3], 10)):
        phi = box(5.0, shape)
        J = eigenvalue_jacobian(phi_to_eigenvalue(phi))
        assert np.linalg.matrix_rank(J, tol=1e-12 * np.abs(J).max()) == rank
        assert np.linalg.matrix_rank(exponential_jacobian(phi_to_exponential(phi))) == 10


@each_map
def test_everything_is_batched(name):
    to_phi, from_phi, jacobian = MAPS[name]
    phi = random_bodies(6).reshape(2, 3, 10)
    theta = from_phi(phi)
    assert jacobian(theta).shape == (2, 3, 10, 10)
    np.testing.assert_allclose(theta[1, 2], from_phi(phi[1, 2]), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(to_phi(theta)[1, 2], to_phi(theta[1, 2]), rtol=1e-12)
    np.testing.assert_allclose(jacobian(theta)[1, 2], jacobian(theta[1, 2]), rtol=1e-11, atol=1e-12)


@each_map
def test_an_impossible_body_has_no_parameters(name):
    with pytest.raises(BadInput, match="not physically consistent"):
        MAPS[name][1](-random_bodies(1)[0])

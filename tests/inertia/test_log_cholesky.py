"""The log-Cholesky map against its definition, Pinocchio and differences."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from inertia_strategies import (
    bodies,
    derivative,
    laws,
    log_cholesky_vectors,
    natural_error,
    random_bodies,
)

from testbed.core.errors import BadInput
from testbed.inertia import (
    box,
    is_consistent,
    log_cholesky_hessian,
    log_cholesky_jacobian,
    log_cholesky_to_phi,
    mass_com_inertia,
    phi_to_log_cholesky,
    pseudo_inertia,
    to_order,
)


@laws
@given(log_cholesky_vectors)
def test_the_pseudo_inertia_is_u_u_transposed(theta):
    a, d1, d2, d3, s12, s23, s13, t1, t2, t3 = theta
    e1, e2, e3 = np.exp([d1, d2, d3])
    U = np.array([[e1, s12, s13, t1], [0, e2, s23, t2], [0, 0, e3, t3], [0, 0, 0, 1]]) * np.exp(a)
    J = U @ U.T
    got = pseudo_inertia(log_cholesky_to_phi(theta))
    np.testing.assert_allclose(got, J, rtol=0, atol=1e-14 * np.abs(J).max())
    assert is_consistent(log_cholesky_to_phi(theta))


@laws
@given(log_cholesky_vectors)
def test_mass_and_centre_are_read_off(theta):
    """Rucker's eq. 9 as printed fails this: it is the map of UᵀU."""
    mass, com, _ = mass_com_inertia(log_cholesky_to_phi(theta))
    np.testing.assert_allclose(mass, np.exp(2 * theta[0]), rtol=1e-14)
    np.testing.assert_allclose(com, theta[7:], rtol=1e-13, atol=1e-300)


@laws
@given(bodies)
def test_round_trip_from_bodies(phi):
    assert natural_error(log_cholesky_to_phi(phi_to_log_cholesky(phi)), phi) < 1e-11


@laws
@given(log_cholesky_vectors)
def test_round_trip_from_parameters(theta):
    got = phi_to_log_cholesky(log_cholesky_to_phi(theta))
    np.testing.assert_allclose(got, theta, rtol=0, atol=1e-9)


@laws
@given(log_cholesky_vectors)
def test_log_det_is_linear(theta):
    sign, logdet = np.linalg.slogdet(pseudo_inertia(log_cholesky_to_phi(theta)))
    assert sign == 1
    np.testing.assert_allclose(logdet, 8 * theta[0] + 2 * theta[1:4].sum(), atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_map_and_jacobian_agree_with_pinocchio(seed):
    theta = np.random.default_rng(seed).uniform(-1, 1, 10)
    oracle = pin.LogCholeskyParameters(theta)
    np.testing.assert_allclose(
        to_order(log_cholesky_to_phi(theta), "pinocchio"),
        oracle.toDynamicParameters(),
        rtol=1e-13,
        atol=1e-14,
    )
    jacobian = to_order(log_cholesky_jacobian(theta).T, "pinocchio").T
    np.testing.assert_allclose(jacobian, oracle.calculateJacobian(), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_derivatives_match_differences(seed):
    theta = np.random.default_rng(seed).uniform(-1, 1, 10)
    J = derivative(log_cholesky_to_phi, theta, h=1e-2)
    np.testing.assert_allclose(log_cholesky_jacobian(theta), J, atol=3e-11 * np.abs(J).max())
    H = derivative(log_cholesky_jacobian, theta, h=1e-2)
    np.testing.assert_allclose(log_cholesky_hessian(theta), H, atol=3e-11 * np.abs(H).max())


@laws
@given(log_cholesky_vectors)
def test_hessian_is_symmetric_and_knows_that_alpha_scales_by_two(theta):
    H, J = log_cholesky_hessian(theta), log_cholesky_jacobian(theta)
    np.testing.assert_allclose(H, np.swapaxes(H, -1, -2), rtol=1e-13, atol=1e-13 * np.abs(H).max())
    np.testing.assert_allclose(J[:, 0], 2 * log_cholesky_to_phi(theta), rtol=1e-13)
    np.testing.assert_allclose(H[:, 0], 2 * J, rtol=1e-12, atol=1e-13 * np.abs(J).max())


@laws
@given(log_cholesky_vectors)
def test_jacobian_determinant_has_only_exponential_factors(theta):
    """det ∂φ/∂θ = const · e^(20α + 2 d1 + 3 d2 + 4 d3): never 0."""
    a, d1, d2, d3 = theta[:4]
    logs = np.linalg.slogdet(log_cholesky_jacobian(theta))[1]
    base = np.linalg.slogdet(log_cholesky_jacobian(np.zeros(10)))[1]
    np.testing.assert_allclose(logs - base, 20 * a + 2 * d1 + 3 * d2 + 4 * d3, atol=1e-8)


def test_symmetric_bodies_are_no_singularity():
    theta = phi_to_log_cholesky(box(1.0, [0.1, 0.1, 0.1]))
    assert np.linalg.matrix_rank(log_cholesky_jacobian(theta)) == 10


def test_everything_is_batched():
    phi = random_bodies(6).reshape(2, 3, 10)
    theta = phi_to_log_cholesky(phi)
    np.testing.assert_allclose(log_cholesky_to_phi(theta), phi, rtol=1e-12, atol=1e-14)
    J, H = log_cholesky_jacobian(theta), log_cholesky_hessian(theta)
    assert (J.shape, H.shape) == ((2, 3, 10, 10), (2, 3, 10, 10, 10))
    np.testing.assert_allclose(J[1, 2], log_cholesky_jacobian(theta[1, 2]), rtol=1e-14)
    np.testing.assert_allclose(H[1, 2], log_cholesky_hessian(theta[1, 2]), rtol=1e-14)


def test_an_impossible_body_has_no_parameters():
    with pytest.raises(BadInput, match="phi is not physically consistent"):
        phi_to_log_cholesky(-random_bodies(1)[0])

"""The two pictures of a body, against the integral that defines them and against Pinocchio."""

import numpy as np
import pinocchio as pin
from hypothesis import given
from inertia_strategies import bodies, laws, random_bodies

from testbed.inertia import (
    body_parameters,
    from_pseudo_inertia,
    inertia_matrix,
    mass_com_inertia,
    pseudo_inertia,
    spatial_inertia,
)


def point_masses(seed=0, n=50):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 1.0, n), rng.normal(size=(n, 3))


def phi_of_points(masses, points):
    """The definition, Rucker eq. 1: sums over point masses."""
    x, y, z = points.T
    integrand = [x**0, x, y, z, y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -y * z, -x * z]
    return np.array([masses @ f for f in integrand])


def test_pseudo_inertia_is_the_second_moment_of_homogeneous_points():
    masses, points = point_masses()
    q = np.column_stack([points, np.ones(len(points))])
    J = (q * masses[:, None]).T @ q
    np.testing.assert_allclose(pseudo_inertia(phi_of_points(masses, points)), J, rtol=1e-13)


@laws
@given(bodies)
def test_pseudo_inertia_round_trip(phi):
    np.testing.assert_allclose(
        from_pseudo_inertia(pseudo_inertia(phi)), phi, rtol=1e-14, atol=1e-15
    )


@laws
@given(bodies)
def test_mass_com_inertia_inverts_body_parameters(phi):
    np.testing.assert_allclose(
        body_parameters(*mass_com_inertia(phi)), phi, rtol=0, atol=4e-15 * np.abs(phi).max()
    )


def test_from_pseudo_inertia_ignores_the_antisymmetric_part():
    J = pseudo_inertia(random_bodies(1)[0])
    A = np.random.default_rng(0).normal(size=(4, 4))
    np.testing.assert_allclose(
        from_pseudo_inertia(J + A - A.T), from_pseudo_inertia(J), rtol=0, atol=1e-14
    )


def test_a_batch_is_its_members():
    phi = random_bodies(6)
    grid = phi.reshape(2, 3, 10)
    for f in (pseudo_inertia, spatial_inertia, inertia_matrix):
        one_by_one = np.array([f(p) for p in phi])
        np.testing.assert_allclose(f(grid).reshape(one_by_one.shape), one_by_one, rtol=1e-15)
    assert mass_com_inertia(grid)[2].shape == (2, 3, 3, 3)


def test_agrees_with_pinocchio():
    for phi in random_bodies(20):
        mass, com, inertia = mass_com_inertia(phi)
        oracle = pin.Inertia(float(mass), com, inertia)
        J = pin.PseudoInertia.FromInertia(oracle).toMatrix()
        np.testing.assert_allclose(pseudo_inertia(phi), J, rtol=1e-12, atol=1e-14 * np.abs(J).max())
        swap = [3, 4, 5, 0, 1, 2]  # Pinocchio writes the linear part first
        M = oracle.matrix()[np.ix_(swap, swap)]
        np.testing.assert_allclose(
            spatial_inertia(phi), M, rtol=1e-12, atol=1e-14 * np.abs(M).max()
        )


def test_spatial_inertia_gives_the_kinetic_energy_of_point_masses():
    masses, points = point_masses(seed=1)
    omega, v = np.random.default_rng(2).normal(size=(2, 3))
    energy = 0.5 * masses @ np.sum((v + np.cross(omega, points)) ** 2, axis=1)
    twist = np.concatenate([omega, v])
    M = spatial_inertia(phi_of_points(masses, points))
    np.testing.assert_allclose(0.5 * twist @ M @ twist, energy, rtol=1e-13)

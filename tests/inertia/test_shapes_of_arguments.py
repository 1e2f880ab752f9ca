"""A wrong shape is named with the right one; one body is never special."""

import numpy as np
import pytest
from inertia_strategies import random_bodies

import testbed.inertia as inertia
from testbed.core.errors import BadInput

OF_PHI = [
    "pseudo_inertia",
    "is_consistent",
    "consistency_margin",
    "natural_basis",
    "spatial_inertia",
    "mass_com_inertia",
    "inertia_matrix",
    "phi_to_log_cholesky",
    "phi_to_exponential",
    "phi_to_eigenvalue",
    "equivalent_ellipsoid",
]
OF_THETA = [
    f"{name}_{what}"
    for name in ("log_cholesky", "exponential", "eigenvalue")
    for what in ("to_phi", "jacobian")
]


@pytest.mark.parametrize("name", [*OF_PHI, *OF_THETA, "log_cholesky_hessian"])
@pytest.mark.parametrize("shape", [(), (9,), (10, 11)])
def test_wrong_shapes_are_named_with_the_right_one(name, shape):
    with pytest.raises(BadInput, match=r"must have shape \(\.\.\., 10\), got"):
        getattr(inertia, name)(np.ones(shape))


@pytest.mark.parametrize("name", OF_PHI)
def test_one_body_lists_and_batches_all_work(name):
    f, phi = getattr(inertia, name), random_bodies(4)
    first = [r if isinstance(r, tuple) else (r,) for r in (f(phi[0]), f(phi[0].tolist()))]
    batch = f(phi.reshape(2, 1, 2, 10))
    batch = batch if isinstance(batch, tuple) else (batch,)
    for one, listed, many in zip(*first, batch, strict=True):
        np.testing.assert_array_equal(one, listed)
        assert many.shape == (2, 1, 2, *np.shape(one))
        np.testing.assert_allclose(many[0, 0, 0], one, rtol=1e-9, atol=1e-11)


def test_an_empty_batch_is_an_empty_answer():
    empty = np.empty((0, 10))
    assert inertia.is_consistent(empty).shape == (0,)
    assert inertia.affine_distance(empty, empty).shape == (0,)
    assert inertia.sample_around(empty, 0.1, np.random.default_rng(0)).shape == (0, 10)


def test_exported_names_exist_and_are_sorted_once():
    assert len(set(inertia.__all__)) == len(inertia.__all__)
    for name in inertia.__all__:
        assert getattr(inertia, name).__doc__


def test_arguments_are_never_written_to():
    phi = random_bodies(3)
    before = phi.copy()
    phi.setflags(write=False)
    for name in OF_PHI:
        getattr(inertia, name)(phi)
    inertia.sample_around(phi, 0.1, np.random.default_rng(0))
    inertia.mass_com_inertia(phi)[0][...] = 0.0
    np.testing.assert_array_equal(phi, before)


def test_frames_and_parts_with_wrong_shapes_are_named():
    phi = random_bodies(1)[0]
    with pytest.raises(BadInput, match=r"R must have shape \(..., 3, 3\)"):
        inertia.change_frame(phi, np.ones(3), np.ones(3))
    with pytest.raises(BadInput, match=r"p must have shape \(..., 3\)"):
        inertia.change_frame(phi, np.eye(3), 1.0)
    with pytest.raises(BadInput, match=r"J must have shape \(..., 4, 4\)"):
        inertia.from_pseudo_inertia(np.eye(3))
    with pytest.raises(BadInput, match=r"phi_b must have shape"):
        inertia.combine(phi, phi[:5])

"""What the data identify beyond the prior."""

import numpy as np
import pytest

from testbed.core.errors import BadInput
from testbed.inertia import identifiable_subspace


def information(p=12, rank=7, strength=1e3, seed=0):
    A = np.sqrt(strength) * np.random.default_rng(seed).normal(size=(rank, p))
    return A.T @ A


def test_together_the_two_are_an_orthonormal_basis():
    seen, unseen = identifiable_subspace(information(), np.full(12, 0.5))
    assert (seen.shape, unseen.shape) == ((12, 7), (12, 5))
    both = np.column_stack([seen, unseen])
    np.testing.assert_allclose(both.T @ both, np.eye(12), atol=1e-13)


def test_the_null_space_carries_no_information():
    info, scale = information(), np.geomspace(0.1, 10, 12)
    _, unseen = identifiable_subspace(info, scale)
    scaled = scale[:, None] * info * scale
    assert np.abs(scaled @ unseen).max() < 1e-12 * np.abs(scaled).max()


def test_what_counts_is_information_beyond_the_prior():
    info = np.diag([4.0, 1.01, 0.99, 0.0])
    seen, unseen = identifiable_subspace(info, np.ones(4))
    np.testing.assert_allclose(np.abs(seen), np.eye(4)[:, :2], atol=1e-15)
    assert unseen.shape == (4, 2)
    assert identifiable_subspace(info, np.full(4, 2.0))[0].shape == (4, 3)
    assert identifiable_subspace(info, np.ones(4), threshold=2.0)[0].shape == (4, 1)


def test_strongest_direction_comes_first():
    seen, _ = identifiable_subspace(np.diag([2.0, 9.0, 5.0]), np.ones(3))
    np.testing.assert_array_equal(np.abs(seen).argmax(axis=0), [1, 2, 0])


def test_units_of_the_parameters_do_not_matter():
    info, scale, unit = information(), np.geomspace(0.1, 10, 12), np.geomspace(1e-6, 1e3, 12)
    seen, _ = identifiable_subspace(info, scale)
    other, _ = identifiable_subspace(info / np.outer(unit, unit), scale * unit)
    np.testing.assert_allclose(seen @ seen.T, other @ other.T, atol=1e-11)


def test_no_data_identify_nothing():
    seen, unseen = identifiable_subspace(np.zeros((3, 3)), np.ones(3))
    assert (seen.shape, unseen.shape) == ((3, 0), (3, 3))


@pytest.mark.parametrize(
    ("info", "scale", "message"),
    [
        (np.eye(3), np.ones(4), r"shape \(p, p\) and scale \(p,\)"),
        (np.eye(3), [1, 0, 1], "scale must be positive"),
        (np.nan * np.eye(3), np.ones(3), "must be finite"),
        (np.eye(3) + np.eye(3, k=1), np.ones(3), "must be symmetric"),
    ],
)
def test_unusable_input_is_refused(info, scale, message):
    with pytest.raises(BadInput, match=message):
        identifiable_subspace(info, scale)

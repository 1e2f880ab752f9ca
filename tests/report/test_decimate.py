"""Fewer points, no extreme lost, none made up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from testbed.report.decimate import envelope, keep_extremes

TABLES = arrays(
    float,
    array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=400),
    elements=st.floats(-1e6, 1e6) | st.just(np.nan),
    fill=st.floats(-10, 10),
)


@given(TABLES, st.integers(1, 30))
def test_extremes_and_ends_stay(y, bins):
    for column, index in zip(y.T, keep_extremes(y, bins), strict=True):
        assert np.all(np.diff(index) > 0)
        assert {0, len(column) - 1} <= set(index.tolist())
        assert len(index) <= max(2 * bins + 2, 1)
        if np.any(np.isfinite(column)):
            assert np.nanmin(column[index]) == np.nanmin(column)
            assert np.nanmax(column[index]) == np.nanmax(column)


def test_every_bin_keeps_its_own_extremes():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(10_000, 3))
    size = 10_000 // 100
    for column, index in zip(y.T, keep_extremes(y, 100), strict=True):
        blocks = column.reshape(100, size)
        kept = set(index.tolist())
        for k, block in enumerate(blocks):
            assert k * size + int(block.argmin()) in kept
            assert k * size + int(block.argmax()) in kept


def test_a_single_spike_survives_a_million_samples():
    y = np.zeros((1_000_000, 1))
    y[123_456] = 7.0
    (index,) = keep_extremes(y, 250)
    assert 123_456 in index
    assert len(index) < 10  # all else is flat


def test_flat_stretches_need_their_ends_only():
    y = np.r_[np.zeros(50), np.ones(50)][:, np.newaxis]
    (index,) = keep_extremes(y, 1000)
    assert index.tolist() == [0, 49, 50, 99]


def test_gaps_stay_gaps():
    y = np.ones((100, 1))
    y[40:60] = np.nan
    (index,) = keep_extremes(y, 5)
    assert np.isnan(y[index, 0]).any() or 40 not in index
    drawn = np.interp(50, index, np.where(np.isnan(y[index, 0]), -1e9, y[index, 0]))
    assert drawn < 0  # no line of ones is drawn across the gap


@given(st.integers(2, 3000), st.integers(1, 200))
def test_the_envelope_holds_every_sample(n, bins):
    y = np.abs(np.random.default_rng(n).normal(size=n))
    t, low, rms, high = envelope(np.arange(n) * 0.1, y, bins)
    assert low.min() == y.min()
    assert high.max() == y.max()
    assert np.all(low <= rms * (1 + 1e-12))
    assert np.all(rms <= high * (1 + 1e-12))
    assert np.all(np.diff(t) > 0) or len(t) == 1
    assert len(t) <= bins


def test_the_envelope_leaves_out_what_is_not_there():
    y = np.r_[np.full(50, np.nan), np.full(50, 3.0)]
    t, low, rms, high = envelope(np.arange(100.0), y, 10)
    assert len(t) == 5
    np.testing.assert_allclose([low, rms, high], 3.0)
    assert t.min() >= 50


def test_all_missing_is_nothing():
    assert len(envelope(np.arange(9.0), np.full(9, np.nan), 3)[0]) == 0


@pytest.mark.parametrize("n", [1, 2, 3])
def test_tiny_runs(n):
    assert [i.tolist() for i in keep_extremes(np.arange(n, dtype=float)[:, np.newaxis], 5)] == [
        list(range(n))
    ]

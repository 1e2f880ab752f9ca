"""Percentiles from a histogram, and memory held by an estimator."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from testbed.scores import Growth, Stopwatch
from testbed.scores.footprint import footprint
from testbed.scores.stopwatch import ReferenceKernel


def test_percentiles_are_right_to_a_bin_and_extremes_exactly():
    rng = np.random.default_rng(0)
    cpu = rng.lognormal(9.0, 1.0, size=5000).astype(int)
    wall = (cpu * 1.3).astype(int)
    watch = Stopwatch()
    for c, w in zip(cpu, wall, strict=True):
        watch.add(int(c), int(w), 50_000.0)
    row = watch.summary(2.0)
    for key, times in (("cpu", cpu), ("wall", wall)):
        for share in (50, 99):
            exact = np.percentile(times, share, method="inverted_cdf") * 1e-3
            assert row[f"{key}_us_p{share}"] == pytest.approx(exact, rel=0.012)
        assert row[f"{key}_us_max"] == times.max() * 1e-3
    assert row["deadline_misses"] == np.sum(wall > 50_000)
    assert row["relative_p50"] == row["cpu_us_p50"] / 2.0
    assert row["label"] == "Python on this machine"


def test_without_an_update_there_are_no_times():
    row = Stopwatch().summary(None)
    assert row["cpu_us_p50"] is row["wall_us_max"] is row["relative_p50"] is None
    assert row["deadline_misses"] == 0


def test_times_outside_the_scale_go_to_its_ends():
    watch = Stopwatch()
    for ns in (0, 1, 2**60):
        watch.add(ns, ns, 1.0)
    assert watch.summary(None)["cpu_us_max"] == 2**60 * 1e-3


def test_the_reference_is_a_time_of_this_run():
    kernel = ReferenceKernel(10)
    assert kernel.us is None
    for _ in range(3):
        kernel.time()
    assert 0.0 < kernel.us < 1e6


class State:
    """Something like an estimator."""

    def __init__(self):
        self.rows, self.array, self.same = [], np.zeros(1000), None


class Slotted:
    """State without a dictionary."""

    __slots__ = ("array",)


def test_footprint_counts_what_is_reachable_once():
    state = State()
    size = footprint(state)
    assert 8000 < size < 12_000
    state.same = state.array[10:20]  # a view holds on to all of it, but nothing more
    assert abs(footprint(state) - size) < 200
    state.rows.append(np.zeros(500))
    assert footprint(state) - size > 4000
    state.rows.append(state)  # a circle ends
    assert footprint(state) < 20_000
    slotted = Slotted()
    slotted.array = np.zeros(100)
    assert footprint(slotted) >= 800


class Locked(Mapping):
    """Somebody's store: reading it runs somebody's code."""

    __slots__ = ("array",)

    def __getattr__(self, name):
        raise RuntimeError(f"{name} is not for you")

    def __getitem__(self, key):
        raise RuntimeError("locked")

    def __iter__(self):
        raise RuntimeError("locked")

    def __len__(self):
        return 1

    def __sizeof__(self):
        raise SystemExit(3)


def test_footprint_runs_nobodys_code_and_survives_where_it_must():
    state = State()
    size = footprint(state)
    state.store = Locked()
    assert size <= footprint(state) < size + 500
    state.store.array = np.zeros(1000)
    assert footprint(state) >= size + 8000


def test_growth_is_that_of_the_second_half():
    growth, state = Growth(), State()
    for k in range(1, 65):
        if k < 17:
            state.rows.append(np.zeros(128))  # a window that fills
        growth.look(k, state)
    assert growth.growth_kb(64, state) == 0.0
    growth, state = Growth(), State()
    for k in range(1, 65):
        state.rows.append(np.zeros(128))
        growth.look(k, state)
    assert growth.growth_kb(64, state) == pytest.approx(32, rel=0.3)
    assert Growth().growth_kb(10, state) is None

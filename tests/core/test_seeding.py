"""Random streams depend on the seed and their own name, and on nothing else."""

import subprocess
import sys

import numpy as np
import pytest

from testbed.core.seeding import Streams


def draws(streams, name, n=1000):
    return streams(name).standard_normal(n)


def test_the_same_seed_and_name_give_the_same_bits():
    np.testing.assert_array_equal(draws(Streams(3), "gyro"), draws(Streams(3), "gyro"))
    streams = Streams(3)
    np.testing.assert_array_equal(draws(streams, "gyro"), draws(streams, "gyro"))


@pytest.mark.parametrize(
    ("one", "other"),
    [((3, "gyro"), (3, "accel")), ((3, "gyro"), (4, "gyro")), ((3, "a"), (3, "a "))],
)
def test_different_names_and_seeds_are_independent(one, other):
    x, y = (draws(Streams(seed), name, 10_000) for seed, name in (one, other))
    assert not np.any(x == y)
    assert abs(np.mean(x * y)) < 4e-2  # four standard errors


def test_other_streams_change_nothing():
    alone = draws(Streams(5), "wrench")
    crowd = Streams(5)
    for i in range(20):
        draws(crowd, f"sensor/{i}")
    np.testing.assert_array_equal(draws(crowd, "wrench"), alone)


def test_the_bits_are_the_same_in_another_process_and_for_ever():
    code = (
        "from testbed.core.seeding import Streams; print(Streams(7)('sensor/gyro').bytes(8).hex())"
    )
    run = [sys.executable, "-c", code]
    there = subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip()
    assert there == Streams(7)("sensor/gyro").bytes(8).hex() == "37666beacf9fb708"

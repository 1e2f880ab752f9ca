"""One seed a run, one named random stream a component.

A stream depends on the seed and its own name only. Adding a sensor, an estimator or a varied
number therefore leaves the noise of every other channel bit-identical, and serial and parallel
runs agree to the bit.
"""

from __future__ import annotations

import hashlib

import numpy as np

from testbed.core.errors import BadInput


class Streams:
    """Named, independent random generators of one run.

    Args:
        seed: A non-negative integer; the only source of randomness of the run.
    """

    def __init__(self, seed: int) -> None:
        if seed < 0:
            raise BadInput(f"seed must be a whole number ≥ 0, got {seed}")
        self.seed = int(seed)

    def __call__(self, name: str) -> np.random.Generator:
        """A fresh generator for `name`; the same name always starts at the same point."""
        digest = hashlib.sha256(name.encode()).digest()
        key = tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
        sequence = np.random.SeedSequence(self.seed, spawn_key=key)
        return np.random.Generator(np.random.PCG64(sequence))

"""Does it keep to itself: no look at the truth, no memory without end?"""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import numpy as np

from testbed.checks.battery import Failed
from testbed.checks.candidate import Candidate, same
from testbed.checks.estimators import check
from testbed.checks.plant_stream import SEED, find_plant, make_session
from testbed.core.signals import Signals
from testbed.core.types import Sample, Truth

_SAMPLES = 40
_UPDATES = 200
_GROWTH = 24.0  # bytes an update: a number in a list is more than that


@check(after=["deterministic"])
def blind_to_truth(candidate: Candidate) -> None:
    """An estimator that sees the truth, by whatever way, makes every score worthless.

    It runs in the real loop beside a live plant, then on the same samples with a false truth and
    no plant: its estimates must be the same to the bit.
    """
    plant = find_plant(candidate.inputs, _SAMPLES)
    tape = _Tape(plant)
    live = _history(candidate, tape)
    rig, samples, clean = plant.rig, tape.samples, tape.layout
    del plant, tape
    gc.collect()
    false = _history(candidate, _Decoy(rig, samples, clean))
    same(live, false, "with another truth in the harness it gives another estimate")


def _history(candidate: Candidate, source: Any) -> Any:
    session = make_session(source, candidate.make(), candidate.inputs)
    session.reset(SEED)
    for _ in range(_SAMPLES):
        session.step()
    contender = session.contenders["candidate"]
    contender.solve(session.dog)
    if contender.failed:
        raise Failed(f"on {source.rig.name}: {contender.failed}")
    return np.array(contender.history.theta)


class _Tape:
    """A plant whose samples are kept."""

    def __init__(self, plant: Any) -> None:
        self.plant, self.rig, self.layout = plant, plant.rig, plant.layout
        self.samples: list[Sample] = []

    def reset(self, seed: int) -> tuple[Sample, Truth]:
        return self._keep(self.plant.reset(seed))

    def step(self, action: Any = None) -> tuple[Sample, Truth]:
        return self._keep(self.plant.step(action))

    def _keep(self, pair: tuple[Sample, Truth]) -> tuple[Sample, Truth]:
        self.samples.append(pair[0])
        return pair


class _Decoy:
    """The kept samples again, with a truth that is wrong."""

    def __init__(self, rig: Any, samples: list[Sample], layout: Any) -> None:
        self.rig, self.samples, self.k = rig, samples, 0
        self.truth = Truth(1.7 * rig.cad, Signals(layout, np.full(layout.size, 0.7)))

    def reset(self, seed: int) -> tuple[Sample, Truth]:
        self.k = 0
        return self.samples[0], self.truth

    def step(self, action: Any = None) -> tuple[Sample, Truth]:
        self.k += 1
        return self.samples[self.k], self.truth


@check()
def bounded_memory(candidate: Candidate) -> None:
    """A list that grows with every sample fills the robot's memory after a day."""
    stream = candidate.usual(samples=50)
    ports = [stream.ports(i) for i in range(len(stream))]
    estimator = candidate.make()
    estimator.reset(stream.problem())

    def feed() -> None:
        for k in range(_UPDATES):
            estimator.update(**ports[k % len(ports)])

    feed()  # windows are full, kernels compiled
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    try:
        marks = []
        for _ in range(3):
            feed()
            gc.collect()
            marks.append(tracemalloc.get_traced_memory()[0])
    finally:
        if not tracing:
            tracemalloc.stop()
    growth = min(np.diff(marks)) / _UPDATES
    if growth > _GROWTH:
        raise Failed(f"it holds {growth:.0f} bytes more with every update")

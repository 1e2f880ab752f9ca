"""The ten motions of the person on the force plate, as an excitation."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.core.errors import BadInput
from testbed.core.registry import excitation
from testbed.core.signals import Array
from testbed.plants.excitations.plan import Plan
from testbed.plants.human_motions import MotionSequence


@excitation("motions")
class Motions:
    """Human motions one after the other, from and to upright standing.

    Args:
        plan: The person (its `model` must be the human's).
        names: Which motions, in this order; None for all ten.
        seconds: Length of each (s).
        amplitude: Scale of all of them; up to 1 the person stays balanced.
    """

    space = "human"

    def __init__(
        self,
        plan: Plan,
        names: Sequence[str] | None = None,
        seconds: float = 4.0,
        amplitude: float = 1.0,
    ) -> None:
        if plan.model is None:
            raise BadInput(
                "excitation.use = 'motions' moves a person: it needs the plant human_plate"
            )
        if names is not None and not len(names):
            raise BadInput("excitation.names is empty: name a motion, or leave it out for all ten")
        self.sequence = MotionSequence(plan.model, seconds, names, plan.rng, amplitude)

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """Full q (n, nq), v, a (n, nv), feet flat and still."""
        return self.sequence(t)

    def segment(self, t: float) -> int:
        """Number of the motion at time t (s)."""
        return int(self.sequence.segment(t))

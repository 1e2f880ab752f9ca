"""Excitations: how the robot is moved so that its parameters can be seen."""

from testbed.plants.excitations.chirp import Chirp
from testbed.plants.excitations.filtered_random import FilteredRandom
from testbed.plants.excitations.fourier import Fourier, Multisine
from testbed.plants.excitations.motions import Motions
from testbed.plants.excitations.moves import Moves
from testbed.plants.excitations.plan import Plan
from testbed.plants.excitations.prbs import PRBS
from testbed.plants.excitations.rest import Rest
from testbed.plants.excitations.sequence import ExcitationSequence

__all__ = [
    "PRBS",
    "Chirp",
    "ExcitationSequence",
    "FilteredRandom",
    "Fourier",
    "Motions",
    "Moves",
    "Multisine",
    "Plan",
    "Rest",
]

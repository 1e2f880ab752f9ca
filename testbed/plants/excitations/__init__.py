"""Excitations: how the robot is moved so that its parameters can be seen."""

from testbed.plants.excitations.fourier import Fourier, Multisine, Rest
from testbed.plants.excitations.motions import Motions
from testbed.plants.excitations.plan import Plan

__all__ = ["Fourier", "Motions", "Multisine", "Plan", "Rest"]

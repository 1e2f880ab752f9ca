"""A body as people write it down: a value type for files, messages and tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from testbed.core.errors import BadInput
from testbed.inertia.bodies import body_parameters, mass_com_inertia
from testbed.inertia.checks import Array, floats, parameters
from testbed.inertia.consistency import is_consistent

# An inertia read from a file is symmetric up to its printed digits' rounding.
_SYMMETRY = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class InertialParameters:
    """Mass, centre of mass and inertia of one possible body; checked once, then immutable.

    Attributes:
        mass: In kg.
        com: Centre of mass in the body frame, in m, (3,).
        inertia: About the centre of mass, body axes, in kg·m², (3, 3).

    Raises:
        BadInput: Saying which condition of a possible body fails.
    """

    mass: float
    com: Array
    inertia: Array

    def __post_init__(self) -> None:
        """Check the values and keep read-only copies."""
        mass = floats(self.mass, (), "mass")
        com, inertia = floats(self.com, (3,), "com"), floats(self.inertia, (3, 3), "inertia")
        if mass.ndim or com.ndim != 1 or inertia.ndim != 2:
            raise BadInput(
                "InertialParameters is one body: mass (), com (3,), inertia (3, 3); "
                f"got {mass.shape}, {com.shape}, {inertia.shape}"
            )
        for name, value in (("mass", mass), ("com", com), ("inertia", inertia)):
            if not np.all(np.isfinite(value)):
                raise BadInput(f"{name} must be finite, got {value.tolist()}")
        if mass <= 0.0:
            raise BadInput(f"mass must be positive, got {mass:g}")
        if np.abs(inertia - inertia.T).max() > _SYMMETRY * np.abs(inertia).max():
            raise BadInput(f"inertia must be symmetric, got {inertia.tolist()}")
        inertia = 0.5 * (inertia + inertia.T)
        _check_moments(inertia)
        object.__setattr__(self, "mass", float(mass))
        object.__setattr__(self, "com", _frozen(com))
        object.__setattr__(self, "inertia", _frozen(inertia))
        if not is_consistent(self.phi):
            raise BadInput("inertia is too small for its distance from the frame origin: rounding")

    @classmethod
    def from_phi(cls, phi: ArrayLike) -> InertialParameters:
        """Return the body of a 10-vector about the body-frame origin, (10,)."""
        phi = parameters(phi)
        if phi.ndim != 1:
            raise BadInput(f"phi must have shape (10,), got {phi.shape}")
        if not np.all(np.isfinite(phi)):
            raise BadInput(f"phi must be finite, got {phi.tolist()}")
        if phi[0] <= 0.0:
            raise BadInput(f"mass must be positive, got {phi[0]:g}")
        mass, com, inertia = mass_com_inertia(phi)
        return cls(float(mass), com, inertia)

    @property
    def phi(self) -> Array:
        """The 10-vector [m, h, Ixx, Iyy, Izz, Ixy, Iyz, Ixz] about the body-frame origin."""
        return body_parameters(self.mass, self.com, self.inertia)

    def __eq__(self, other: object) -> bool:
        """Equal to the bit."""
        if not isinstance(other, InertialParameters):
            return NotImplemented
        return (
            self.mass == other.mass
            and np.array_equal(self.com, other.com)
            and np.array_equal(self.inertia, other.inertia)
        )

    def __hash__(self) -> int:
        """Consistent with ``==`` (adding 0 makes −0 and 0 one)."""
        numbers = np.concatenate([self.com, self.inertia.ravel()]) + 0.0
        return hash((self.mass, numbers.tobytes()))

    def __str__(self) -> str:
        """One line with units."""
        x, y, z = self.com
        inertia = self.inertia
        six = {name: inertia["xyz".index(name[0]), "xyz".index(name[1])] for name in _NAMES}
        moments = ", ".join(f"{name} {value:.4g}" for name, value in six.items())
        return (
            f"mass {self.mass:.4g} kg, com [{x:.4g}, {y:.4g}, {z:.4g}] m, "
            f"inertia about com [{moments}] kg·m²"
        )


_NAMES = ("xx", "yy", "zz", "xy", "yz", "xz")


def _check_moments(inertia: Array) -> None:
    """Raise unless the principal moments are positive and obey the triangle inequality."""
    a, b, c = np.linalg.eigvalsh(inertia)
    if a <= 0.0:
        raise BadInput(f"inertia must be positive definite: smallest principal moment {a:.4g}")
    if a + b <= c:
        raise BadInput(
            "inertia breaks the triangle inequality: principal moments need "
            f"{a:.6g} + {b:.6g} > {c:.6g}"
        )


def _frozen(array: Array) -> Array:
    """A read-only copy."""
    copy = np.array(array)
    copy.setflags(write=False)
    return copy

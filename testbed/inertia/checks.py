"""Turn what a caller passed into float arrays of a known shape, or say what was expected.

Only dtypes and trailing dimensions are looked at here: both are cheap enough for functions that
run at every sample. Whether the numbers make a possible body is the business of
:mod:`testbed.inertia.consistency`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from testbed.core.errors import BadInput

Array = NDArray[np.float64]


def floats(value: ArrayLike, trailing: tuple[int, ...], name: str) -> Array:
    """Return ``value`` as a float array whose last dimensions are ``trailing``.

    Args:
        value: Anything numpy can read; leading dimensions are free.
        trailing: The required last dimensions, for example ``(3, 3)``; ``()`` accepts all.
        name: How the error message calls the argument.

    Raises:
        BadInput: If the value isn't numeric or its last dimensions differ.
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"{name} must be numeric: {error}") from error
    n = len(trailing)
    if n and array.shape[-n:] != trailing:
        wanted = ", ".join(["...", *map(str, trailing)])
        raise BadInput(f"{name} must have shape ({wanted}), got {array.shape}")
    return array


def parameters(phi: ArrayLike, name: str = "phi") -> Array:
    """Return inertial parameters as floats of shape (..., 10)."""
    return floats(phi, (10,), name)

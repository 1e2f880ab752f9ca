"""Compile hot loops with numba where it is there; run them as they are where it is not.

`TESTBED_NUMBA=0` switches compilation off, to measure or to debug: every kernel has a NumPy
path beside it (chosen by `COMPILED`), because the same loops in plain Python would be slow.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def _numba_njit() -> Callable[..., Any] | None:
    if os.environ.get("TESTBED_NUMBA", "1") == "0":
        return None
    try:
        from numba import njit
    except ImportError:
        return None
    return njit


_njit = _numba_njit()
COMPILED: bool = _njit is not None


def kernel(function: F) -> F:
    """Decorate a function of arrays and numbers: compiled on first use and cached on disk.

    `error_model="numpy"` gives inf and nan for a division by zero, as NumPy does, and no
    fast-math: results must not depend on which path ran beyond the last digits.
    """
    if _njit is None:
        return function
    return _njit(cache=True, nogil=True, error_model="numpy")(function)  # type: ignore[no-any-return]

"""Offsets that an agent asks for in steps, as smooth motion with exact derivatives."""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm

from testbed.core.signals import Array

FILTER_HZ = 2.0  # corner of the filter


def offset_filter(dt: float) -> Array:
    """F (3, 4) with [x, x', x'']_{k+1} = F [x, x', x'', u]_k for u held over dt seconds.

    x''' = w³ (u − x) − 3 w² x' − 3 w x'': three equal poles at w = 2π·2 Hz, so x never overshoots.
    """
    w = 2 * np.pi * FILTER_HZ
    A = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [-(w**3), -3 * w**2, -3 * w, w**3], [0] * 4])
    return np.asarray(expm(A * dt)[:3])

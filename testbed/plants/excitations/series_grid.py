"""A Fourier trajectory on a grid of times: linear in its coefficients, so a product of matrices."""

from __future__ import annotations

import numpy as np

from testbed.core.signals import Array
from testbed.plants.excitations.profiles import Window


class SeriesGrid:
    """q, v, a (n, d) = B₀ X, B₁ X, B₂ X with X (2h + 1, d): rows ρ, then δ, then q₀.

    Args:
        base_hz: Base frequency (Hz).
        harmonics: Number h of harmonics.
        seconds: Length of the active part (s).
        lead_in: Seconds before it.
        lead_out: Seconds after it.
        number: Samples of the active part; the leads have the same spacing.
    """

    def __init__(
        self,
        base_hz: float,
        harmonics: int,
        seconds: float,
        lead_in: float,
        lead_out: float,
        number: int,
    ) -> None:
        self.harmonics = harmonics
        before, after = (int(np.ceil(number * x / seconds)) for x in (lead_in, lead_out))
        within = lead_in + seconds * np.arange(number) / number
        self.t = np.concatenate(
            [
                np.linspace(0.0, lead_in, before, endpoint=False),
                within,
                lead_in + seconds + np.linspace(0.0, lead_out, after + 1),
            ]
        )
        self.active = slice(before, before + number)
        w = 2 * np.pi * base_hz * np.arange(1, harmonics + 1)
        angle = (self.t[:, None] - lead_in) * w  # time counts from the active part
        s, c = np.sin(angle), np.cos(angle)
        window = Window(lead_in, lead_out, lead_in + seconds + lead_out, order=6)
        parts = window.times(
            self.t,
            np.hstack([s, c]),
            np.hstack([w * c, -w * s]),
            np.hstack([-(w**2) * s, -(w**2) * c]),
        )
        column = np.ones((3, self.t.size, 1))
        column[1:] = 0.0
        self.B = np.concatenate([np.array(parts), column], axis=2)  # (3, n, 2h + 1)

    def motion(self, X: Array) -> Array:
        """(3, …, n, d): q, v and a of coefficients X (…, 2h + 1, d)."""
        return np.array([B @ X for B in self.B])

    def pull_back(self, gradient: Array) -> Array:
        """Derivative by X (…, 2h + 1, d) from that by q, v and a (3, …, n, d)."""
        return np.asarray(sum(B.T @ g for B, g in zip(self.B, gradient, strict=True)))

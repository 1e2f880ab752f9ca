"""Whether a total-least-squares estimate can be trusted, and if not, why.

Errors in A lift every singular value of the whitened [A | b] to about 1, also λ_{n+1} of the true
parameters. The motion must lift all the others clearly above it: with λ_n close to λ_{n+1} the
noise alone decides which way the last singular vector points, and the estimate may be anything.
λ_{n+1} itself must be 1: above it stands something that the declared noise does not explain.
"""

from __future__ import annotations

import math

from testbed.core.errors import BadInput

ROWS_A_COLUMN = 10  # fewer rows fit noise: λ_{n+1} is then far below 1 by itself


class Trust:
    """The rules by which an estimate is trusted.

    Args:
        gap: Least λ_n/λ_{n+1}.
        noise: Largest λ_{n+1}, or its inverse, where errors are declared; None never looks.
    """

    def __init__(self, gap: float = 1.5, noise: float | None = 1.15) -> None:
        if not 1 <= gap < math.inf:
            raise BadInput(f"gap must be at least 1, got {gap}")
        if noise is not None and not 1 < noise < math.inf:
            raise BadInput(f"noise must be above 1, got {noise}")
        self.gap, self.noise = gap, noise

    def doubt(self, gap: float, smallest: float, rows: float, columns: int, known: bool) -> str:
        """Why not: "rows", "gap" or "noise"; empty where it can be trusted.

        Args:
            gap: λ_n/λ_{n+1}.
            smallest: λ_{n+1}.
            rows: How many rows count.
            columns: Of [A | b].
            known: Whether errors were declared: only then must λ_{n+1} be 1.
        """
        if rows < ROWS_A_COLUMN * columns:
            return "rows"
        if not gap >= self.gap:
            return "gap"
        if known and self.noise is not None and not 1 / self.noise < smallest < self.noise:
            return "noise"
        return ""

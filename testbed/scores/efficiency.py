"""How far from the best possible: squared errors over the bound, and what that means in words.

Every ratio has the expectation 1 for an estimator that makes the best of what it is given, in the
declared model: each parameter's squared error over its bound, averaged over the parameters of a
group and over the run. One run scatters around its expectation; many seeds do not.

The best possible is taken to know *when* the truth changes, and with many rows a second it has
learnt the new one at once. Right after a change every real estimator is far from it: how far,
settle times say better. So there are two sums: over the whole run, and over the last quarter
before each change and before the end (`settled`), which the sentence is about.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from testbed.core.signals import Array
from testbed.core.types import PARAMETERS
from testbed.scores.course import Best

GROUPS = ("mass", "first_moment", "inertia", "extra")
_LIMIT = 2.0  # a mean-square error below this many times the bound: the motion is the limit
_BELOW = 0.5  # and below this share of it there is more behind than luck


def group_of(index: int, bodies: int) -> str:
    """To which group of parameters θ[index] belongs."""
    if index >= 10 * bodies:
        return "extra"
    name = PARAMETERS[index % 10]
    return {"m": "mass", "h": "first_moment", "I": "inertia"}[name[0]]


class Efficiency:
    """Sums of squared errors over the bound.

    Args:
        size: Number of parameters p.
    """

    def __init__(self, size: int) -> None:
        self._ratio, self._count = np.zeros(size), 0
        self._validation = 0.0

    def add(self, error: Array, in_validation: float, best: Best) -> None:
        """Take in an error (p,) and its mean square in validation output."""
        with np.errstate(divide="ignore", invalid="ignore"):
            self._ratio += error**2 / best.variance  # NaN or inf where nothing is uncertain
            self._validation += float(np.float64(in_validation) / best.validation)
        self._count += 1

    def __bool__(self) -> bool:
        return self._count > 0

    @property
    def validation(self) -> float | None:
        """Mean-square validation error over the best possible; None without a validation motion."""
        value = self._validation / self._count if self._count else float("nan")
        return value if np.isfinite(value) else None

    def group(self, name: str, bodies: int) -> float | None:
        """Mean over the uncertain parameters of a group; "all" for all of them."""
        if not self._count:
            return None
        names = np.array([group_of(i, bodies) for i in range(self._ratio.size)])
        chosen = self._ratio[(names == name) | (name == "all")] / self._count
        chosen = chosen[np.isfinite(chosen)]
        return float(np.mean(chosen)) if chosen.size else None

    def headline(self, bodies: int) -> float | None:
        """In validation output where there is one, else over all parameters."""
        return self.group("all", bodies) if self.validation is None else self.validation


def summary(
    run: Efficiency, settled: Efficiency, bodies: int, leaves_out: Sequence[str] = ()
) -> dict[str, float | str | None]:
    """The figures of each group over the run, the settled headline, and a sentence."""
    row: dict[str, float | str | None] = {g: run.group(g, bodies) for g in (*GROUPS, "all")}
    row["validation"] = run.validation
    row["settled"] = settled.headline(bodies)
    row["sentence"] = sentence(settled.headline(bodies), leaves_out)
    return row


def sentence(ratio: float | None, leaves_out: Sequence[str] = ()) -> str | None:
    """Whether the estimator or the trajectory is the limit, once settled.

    Args:
        ratio: Mean-square error over the bound.
        leaves_out: Keys of what the sensors do that the bound does not hold: no estimator is
            blamed for these.
    """
    if ratio is None:
        return None
    root = float(np.sqrt(ratio))
    times = f"rms error {f'{root:.2g}' if root < 100 else f'{root:.0f}'} × the best possible"
    if ratio < _BELOW:
        return (
            f"{times}: luck of this seed, or it knows more than the declared noise and prior say "
            "(physical consistency, another signal)"
        )
    if ratio <= _LIMIT:
        return f"{times}: the trajectory and the sensors are the limit"
    if leaves_out:
        left = ", ".join(leaves_out)
        return f"{times}: the estimator is the limit, or what the bound leaves out ({left})"
    return f"{times}: the estimator is the limit"

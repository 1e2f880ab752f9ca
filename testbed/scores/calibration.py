"""Does an estimator know how wrong it is? Its covariance against its true error.

NEES is eᵀP⁻¹e with e = θ̂ − θ and P the covariance it gives: on average p where P is right
(Bar-Shalom et al. 2001, section 5.4). Samples of one run are not independent, so one run's mean is
held against the band of a single chi-square variable with p degrees of freedom; over N runs from
different seeds the band of their mean is that of chi-square with N p degrees, over N.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs
from scipy.special import gammaincinv

from testbed.core.signals import Array

_TWO_SIDED = 1.959963984540054  # 95 % of a normal variable lies within this many σ
_UNUSABLE = "not positive definite (or has a variance of zero)"


class Calibration:
    """Sums of NEES and of how often |error| ≤ 1.96 σ."""

    def __init__(self) -> None:
        self.count = 0  # samples with a usable covariance
        self.unusable = 0  # samples whose covariance is not positive definite
        self._nees = 0.0
        self._inside = 0
        self._entries = 0

    def add(self, error: Array, cov: Array) -> float:
        """Take in an error (p,) and its claimed covariance (p, p); returns its NEES, or NaN."""
        if not np.all(np.isfinite(error)):
            return float("nan")  # no truth
        std = np.sqrt(np.maximum(np.diag(cov), 0.0))
        with np.errstate(all="ignore"):
            scaled = cov / np.outer(std, std)  # units differ by many orders of magnitude
        # LAPACK itself: SciPy's and NumPy's own checks take several times as long as its work.
        if not np.all(np.isfinite(scaled)):
            failed = 1
        else:
            L, failed = dpotrf(0.5 * (scaled + scaled.T), lower=1)
        if failed:
            self.unusable += 1
            return float("nan")
        white, _ = dtrtrs(L, error / std, lower=1)
        nees = float(white @ white)
        self.count += 1
        self._nees += nees
        self._inside += int(np.sum(np.abs(error) <= _TWO_SIDED * std))
        self._entries += error.size
        return nees

    @property
    def nees_mean(self) -> float | None:
        """Mean NEES of the run; p where the covariance is right."""
        return self._nees / self.count if self.count else None

    @property
    def coverage_95(self) -> float | None:
        """Share of errors within ±1.96 σ; 0.95 where the covariance is right."""
        return self._inside / self._entries if self._entries else None

    def summary(self, size: int) -> dict[str, object]:
        """For results: the figures, the band, and what they say."""
        low, high = nees_band(size)
        mean = self.nees_mean
        verdict = None
        if self.unusable and not self.count:
            verdict = f"its covariance cannot be used: {_UNUSABLE}"
        elif mean is not None:
            verdict = "calibrated"
            if mean > high:
                verdict = "over-confident: its errors are larger than it says"
            elif mean < low:
                verdict = "under-confident: its errors are smaller than it says"
            if self.unusable:
                looks = self.unusable + self.count
                verdict += f"; at {self.unusable} of {looks} looks its covariance was {_UNUSABLE}"
        return {
            "nees_mean": mean,
            "expected": size,
            "band95": [low, high],
            "coverage_95": self.coverage_95,
            "unusable": self.unusable,
            "verdict": verdict,
        }


def nees_band(size: int, runs: int = 1, level: float = 0.95) -> tuple[float, float]:
    """Where the mean NEES of `runs` independent runs lies with this probability."""
    tail = 0.5 * (1.0 - level)
    # Quantiles of chi-square with n degrees of freedom: twice those of the gamma function at n/2.
    low, high = 2.0 * gammaincinv(0.5 * size * runs, [tail, 1.0 - tail]) / runs
    return float(low), float(high)

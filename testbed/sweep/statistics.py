"""Statistics of paired runs, robust to outliers, failures and runs that never settle.

Values are "smaller is better", and +∞ is a run that failed or never settled: it is worse than any
other, as bad as another such run, and never dropped.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from scipy import stats

from testbed.core.signals import Array

_RESAMPLES = 4000
_SEED = 20240501  # the same data give the same interval


def paired_differences(a: Array, b: Array) -> Array:
    """b − a (n,), where two infinite values are equal."""
    with np.errstate(invalid="ignore"):
        d = np.asarray(b, float) - np.asarray(a, float)
    return np.where(np.isinf(a) & np.isinf(b), 0.0, d)


def wilcoxon(d: Array) -> float:
    """Two-sided p of the signed-rank test (Wilcoxon 1945; zeros after Pratt 1959).

    Infinite differences share the highest rank. With fewer than 51 differences that are not zero
    the distribution over all their signs is exact, ties or not, else normal.
    """
    d = _finite_ranks(d)
    if not np.any(d):
        return 1.0
    if np.count_nonzero(d) <= 50:
        return _sign_flips(d)
    with np.errstate(all="ignore"):
        p = stats.wilcoxon(d, zero_method="pratt", method="asymptotic").pvalue
    return 1.0 if math.isnan(p) else float(p)


def _sign_flips(d: Array) -> float:
    """Exact two-sided p of the rank sum: every difference may have had the other sign."""
    doubled = np.rint(2 * stats.rankdata(np.abs(d))).astype(int)[d != 0]  # ties: half ranks
    chance = np.ones(1)  # of every sum of the positive ones' doubled ranks
    for rank in doubled:
        chance = 0.5 * (np.pad(chance, (0, rank)) + np.pad(chance, (rank, 0)))
    seen = int(doubled[d[d != 0] > 0].sum())
    return min(1.0, 2 * float(min(chance[: seen + 1].sum(), chance[seen:].sum())))


def rank_biserial(d: Array) -> float:
    """Effect size in [−1, 1]: (ranks of positive − of negative differences) / all (Kerby 2014)."""
    d = _finite_ranks(d)
    d = d[d != 0]
    if not d.size:
        return 0.0
    ranks = stats.rankdata(np.abs(d))
    return float(np.sum(np.sign(d) * ranks) / np.sum(ranks))


def holm(p: Sequence[float]) -> list[float]:
    """Adjusted p-values that keep the chance of any false finding (Holm 1979)."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    worst = 0.0
    for i, k in enumerate(order):
        worst = max(worst, min(1.0, (len(p) - i) * p[k]))
        adjusted[k] = worst
    return adjusted.tolist()


def median_interval(values: Array, level: float = 0.95) -> tuple[float, float, float]:
    """Median and its percentile bootstrap interval; any of the three may be infinite."""
    values = np.sort(np.asarray(values, float))
    n = values.size
    if n == 0:
        return math.nan, math.nan, math.nan
    rng = np.random.default_rng(_SEED)
    drawn = values[np.sort(rng.integers(n, size=(_RESAMPLES, n)), axis=1)]
    medians = np.sort(_middle(drawn))
    tail = (1 - level) / 2
    low = medians[math.floor(tail * (_RESAMPLES - 1))]
    high = medians[math.ceil((1 - tail) * (_RESAMPLES - 1))]
    return float(_middle(values[None])[0]), float(low), float(high)


def median(values: Array) -> float:
    """Median, which may be infinite."""
    return float(_middle(np.sort(np.asarray(values, float))[None])[0])


def _middle(rows: Array) -> Array:
    """Medians of sorted rows; the mean of −∞ and +∞ counts as 0."""
    n = rows.shape[1]
    with np.errstate(invalid="ignore"):
        middle = 0.5 * (rows[:, (n - 1) // 2] + rows[:, n // 2])
    return np.where(np.isnan(middle), 0.0, middle)


def kaplan_meier_median(times: Array, settled: Array) -> tuple[float | None, Array, Array]:
    """Median time to settle where some never do (Kaplan & Meier 1958).

    Args:
        times: Time to settle, or how long was watched without (n,).
        settled: Which of the two (n,).

    Returns:
        The time by which half have settled (None: never seen), and the curve: times at which some
        settle, and the share that has not settled after each.
    """
    settled = np.asarray(settled).astype(bool)
    times = np.asarray(times, float)
    if not np.any(settled):
        return None, np.zeros(0), np.zeros(0)
    data = stats.CensoredData.right_censored(times, np.logical_not(settled))
    left = stats.ecdf(data).sf
    below = np.flatnonzero(left.probabilities <= 0.5 + 1e-12)
    median = float(left.quantiles[below[0]]) if below.size else None
    return median, np.asarray(left.quantiles), np.asarray(left.probabilities)


def share_interval(share: float, n: int) -> tuple[float, float]:
    """95 % interval of a share among n independent cases (Wilson 1927)."""
    z2 = stats.norm.ppf(0.975) ** 2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def by_case(d: Array, cases: Sequence[Hashable]) -> Array:
    """One value a case (m,), the median of its own, in the order in which cases first come.

    Runs of one seed at several points of a grid are repeated looks at one case: counted as if
    each were a case of its own, they would make chance look certain.
    """
    groups: dict[Hashable, list[float]] = {}
    for case, x in zip(cases, np.asarray(d, float), strict=True):
        groups.setdefault(case, []).append(float(x))
    return np.array([median(np.array(values)) for values in groups.values()])


def _finite_ranks(d: Array) -> Array:
    """Infinite differences as one size larger than all others."""
    d = np.asarray(d, float)
    finite = np.abs(d[np.isfinite(d)])
    beyond = 2.0 * finite.max(initial=0.0) + 1.0
    return np.where(np.isinf(d), np.sign(d) * beyond, d)

"""The figures of Cho 2024's claims, read off Table II as we made it."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from testbed.reproduce.verdict import Measured, assess, paper_file

L2, LOGDET = "rls_l2", "rls_logdet"
RATES = (1, 10, 100, 1000)  # Hz
EARLY = (0.03, 0.1, 0.3, 1.0)  # s: few data, of Fig. 1
_INDICATORS = ("consistent", "mass_matrix")
ROWS = {  # field of a cell: how the table calls it
    "consistent": "I_cons",
    "mass_matrix": "I_M",
    "mass_matrix_share": "share with M > 0",
    "error": "‖θ̃(t_f)‖",
    "posterior": "‖τ̃(t; t)‖, N·m",
    "before": "‖τ̃(t; t⁻)‖, N·m",
    "final": "‖τ̃(t; t_f)‖, N·m",
}
PAPER: Mapping[str, Mapping[str, list[float]]] = paper_file("cho2024")["table_ii"]


class Run(NamedTuple):
    """One swing of the leg: what the claims are judged by.

    Args:
        cells: Estimator → rate → `Cell`, at the four rates of the paper.
        early: Estimator → ‖τ̃(t′; t)‖_rms (N·m) over the samples to come at the instants `EARLY`.
        alpha_l2: The matched α of the l2 recursion.
    """

    cells: Mapping[str, Mapping[int, Any]]
    early: Mapping[str, Sequence[float]]
    alpha_l2: float


def claims(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The paper's claims, each with a verdict and the reason; a run a seed."""
    return assess("cho2024", measured(runs))


def over_seeds(runs: Sequence[Run], key: str, name: str) -> list[float]:
    """A row of Table II, a figure a rate: medians, and of the indicators the share of seeds."""
    pick = statistics.mean if key in _INDICATORS else statistics.median
    return [float(pick(getattr(run.cells[name][rate], key) for run in runs)) for rate in RATES]


def measured(runs: Sequence[Run]) -> dict[str, Measured]:
    """Claim → figures of ours; ratios are taken in each swing, and their medians judged."""

    def row(key: str, name: str) -> list[float]:
        return over_seeds(runs, key, name)

    def each(figures: Callable[[Run], Sequence[float]]) -> list[float]:
        return [float(statistics.median(x)) for x in zip(*map(figures, runs), strict=True)]

    def cells(run: Run, key: str, name: str) -> list[float]:
        return [getattr(run.cells[name][rate], key) for rate in RATES]

    def closer(run: Run) -> list[float]:
        return [b / a for a, b in itertools.pairwise(cells(run, "error", LOGDET))]

    def stays(run: Run) -> list[float]:
        *lower, last = cells(run, "error", L2)
        return [last / x for x in lower]

    def apart(run: Run, key: str) -> list[float]:
        pairs = zip(cells(run, key, L2), cells(run, key, LOGDET), strict=True)
        return [abs(a - b) / b for a, b in pairs]

    def better(run: Run) -> list[float]:
        return [a / b for a, b in zip(run.early[LOGDET], run.early[L2], strict=True)]

    error = row("error", LOGDET)
    counts = [[run.cells[LOGDET][rate].iterations for run in runs] for rate in RATES]
    early = [each(lambda run: run.early[L2]), each(lambda run: run.early[LOGDET])]
    return {
        "logdet_possible": Measured(row("consistent", LOGDET)),
        "l2_impossible": Measured(row("consistent", L2)),
        "logdet_mass_matrix": Measured(row("mass_matrix", LOGDET)),
        "l2_mass_matrix": Measured(row("mass_matrix", L2)),
        "closer_with_rate": Measured(error, each(closer)),
        "distance": Measured(error[:3]),
        "batch": Measured([error[-1]]),
        "l2_stays_away": Measured(row("error", L2), each(stays)),
        "alike": Measured(
            [row("final", L2), row("final", LOGDET)], each(lambda run: apart(run, "final"))
        ),
        "alike_now": Measured(
            [row("posterior", L2), row("posterior", LOGDET)],
            each(lambda run: apart(run, "posterior")),
        ),
        "few_data": Measured(early, each(better)),
        "iterations": Measured([max(k for one in rate for k in one) for rate in counts]),
    }

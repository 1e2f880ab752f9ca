"""The figures of Cho 2024's claims, read off Table II as we made it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from testbed.reproduce.verdict import Measured, assess, paper_file

L2, LOGDET = "rls_l2", "rls_logdet"
RATES = (1, 10, 100, 1000)  # Hz
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


def claims(cells: Mapping[str, Mapping[int, Any]]) -> list[dict[str, Any]]:
    """The paper's claims, each with a verdict and the reason.

    Args:
        cells: Estimator → rate → `Cell`, at the four rates of the paper.
    """
    return assess("cho2024", measured(cells))


def measured(cells: Mapping[str, Mapping[int, Any]]) -> dict[str, Measured]:
    """Claim → figures of ours; for the arguments see `claims`."""

    def row(key: str, name: str) -> list[Any]:
        return [getattr(cells[name][rate], key) for rate in RATES]

    error, l2_error = row("error", LOGDET), row("error", L2)
    final, l2_final = row("final", LOGDET), row("final", L2)
    apart = [abs(a - b) / b for a, b in zip(l2_final, final, strict=True)]
    steps = [max(counts, default=0) for counts in row("iterations", LOGDET)]
    before, l2_before = row("before", LOGDET)[0], row("before", L2)[0]
    return {
        "logdet_possible": Measured(row("consistent", LOGDET)),
        "l2_impossible": Measured(row("consistent", L2)),
        "logdet_mass_matrix": Measured(row("mass_matrix", LOGDET)),
        "l2_mass_matrix": Measured(row("mass_matrix", L2)),
        "closer_with_rate": Measured(error, [b / a for a, b in itertools.pairwise(error)]),
        "distance": Measured(error[:3]),
        "batch": Measured([error[-1]]),
        "l2_stays_away": Measured(l2_error, [l2_error[-1] / x for x in l2_error[1:-1]]),
        "alike": Measured([l2_final, final], apart),
        "few_data": Measured([l2_before, before], [before / l2_before]),
        "iterations": Measured(steps),
    }

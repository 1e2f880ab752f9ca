"""Lee & Park 2018 on our person: Table I over many seeds, `python -m testbed.reproduce.lee2018`.

    --seeds N      persons (10)
    --tracking T   "articulated" (`plant.tracking`) or "links" (each wanders by itself)
    --out DIR      also the figures 4 and 5, and table.json (needs the extra "plots")

Every method gets the same rows and the same noise of the rows, found from residuals; each has its
own strength of the prior, chosen by leaving motions out; `geometric_direct` (Remark 3) also as it
is when nobody says anything. Errors are of other motions: as measured,
and without noise ("clean"), which is what the estimate itself gets wrong. The paper's claims are
judged by `testbed reproduce lee2018`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from testbed.core.errors import TestbedError
from testbed.core.signals import Array
from testbed.estimators.gamma import leave_motions_out
from testbed.estimators.geometric_batch import Rows
from testbed.estimators.geometric_direct import GeometricDirect
from testbed.estimators.geometric_prior import bodies_of
from testbed.estimators.whitened import Whitened
from testbed.make import make_estimator
from testbed.reproduce.lee2018_lmi import solve_lmi
from testbed.reproduce.lee2018_person import TRACKING, Recording, record
from testbed.reproduce.verdict import Measured, paper_file

PRIOR, LMI, EQ19, REMARK3 = "prior", "LS + LMI", "eq. 19", "Remark 3"
DEFAULT = "Remark 3, default γ"
METHODS = (PRIOR, LMI, EQ19, REMARK3, DEFAULT)
GEOMETRIC: Mapping[str, tuple[str, str]] = {  # estimator and γ
    REMARK3: ("geometric_direct", "cv"),
    EQ19: ("geometric", "cv"),
    DEFAULT: ("geometric_direct", "declared"),
}
CHANNELS = ("f_z", "m_x", "m_y")
ALPHAS = np.geomspace(1e4, 1e-3, 8)  # of the Euclidean prior, in raw units
DEGENERATE = 1e-3  # smallest eigenvalue of P₀⁻¹P below which a link counts as flat
# Table I of the paper: RMSE of f_z (N), m_x and m_y (N·m), identification and validation.
PAPER: Mapping[str, Mapping[str, list[float]]] = {
    method: paper_file("lee2018")["table_i"][key]
    for method, key in ((PRIOR, "prior"), (EQ19, "eq19"), (LMI, "lmi"))
}


class Score(NamedTuple):
    """Of one answer: RMSE of f_z, m_x, m_y, and how flat its links are."""

    identification: Array  # (3,)
    validation: Array  # (3,)
    clean: Array  # (3,)
    smallest: Array  # (nb,): relative eigenvalue of each link


def score(recording: Recording, theta: Array) -> Score:
    """How good θ is."""
    return Score(
        recording.fit_rmse(theta),
        recording.rmse(theta),
        recording.clean_rmse(theta),
        recording.relative_eigenvalues(theta),
    )


def identify(recording: Recording) -> dict[str, Array]:
    """Method → θ (p,)."""
    found = {PRIOR: recording.problem.prior}
    for method, (name, gamma) in GEOMETRIC.items():
        est = make_estimator(name, gamma=gamma, row_std="residuals")
        est.reset(recording.problem)
        for eq in recording.equations:
            est.update(eq=eq)
        answer = est.solve()
        found[method] = answer.theta
        if method == REMARK3:
            assert isinstance(est, GeometricDirect)
            rows = est._rows()
            assert rows is not None
            scaled, whitened = rows.scaled(np.array(answer.info["noise"])), est._whitened
    found[LMI] = lmi_by_motions(scaled, whitened)
    return found


def lmi_by_motions(rows: Rows, whitened: Whitened) -> Array:
    """Euclidean regularisation in the cone, its strength chosen by leaving motions out."""

    def fit(z: Array, residual: Array, alpha: float, start: Array | None) -> Array:
        return solve_lmi(z, residual, alpha, whitened)

    chosen, *_ = leave_motions_out(ALPHAS, rows.z, rows.residual, rows.segment, fit)
    x = solve_lmi(rows.z, rows.residual, float(ALPHAS[chosen]), whitened)
    return whitened.theta(bodies_of(x, whitened.bodies), x)


def study(seeds: Sequence[int], tracking: str, progress: bool = False) -> dict[str, list[Score]]:
    """Method → score of every person."""
    scores: dict[str, list[Score]] = {method: [] for method in METHODS}
    for seed in seeds:
        if progress:
            print(f"\rperson {seed} ", end="", file=sys.stderr, flush=True)
        recording = record(seed, tracking)
        for method, theta in identify(recording).items():
            scores[method].append(score(recording, theta))
    if progress:
        print(file=sys.stderr)
    return scores


def medians(scores: Sequence[Score]) -> dict[str, Any]:
    """Over persons; degenerate links on average."""
    flat = [int(np.count_nonzero(s.smallest < DEGENERATE)) for s in scores]
    table: dict[str, Any] = {
        part: np.median([getattr(s, part) for s in scores], axis=0).tolist()
        for part in ("identification", "validation", "clean")
    }
    smallest = float(min(s.smallest.min() for s in scores))
    return table | {"degenerate": float(np.mean(flat)), "smallest": smallest}


def measured(table: Mapping[str, Mapping[str, Any]]) -> dict[str, Measured]:
    """Figures of what the paper says of Table I and Fig. 5, from `medians` of each method."""

    def moments(method: str, part: str) -> list[float]:
        return list(table[method][part][1:])

    def ratio(method: str, other: str) -> list[float]:
        pairs = zip(moments(method, "clean"), moments(other, "clean"), strict=True)
        return [a / b for a, b in pairs]

    def apart(method: str, other: str) -> list[float]:
        """The larger validation error over the smaller: f_z, m_x, m_y."""
        pairs = zip(table[method]["validation"], table[other]["validation"], strict=True)
        return [max(a / b, b / a) for a, b in pairs]

    return {
        "lmi_flat": Measured([table[LMI]["degenerate"]]),
        "plausible": Measured([table[EQ19]["smallest"]]),
        "moments": Measured(
            [moments(EQ19, "validation"), moments(LMI, "validation")], ratio(EQ19, LMI)
        ),
        "similar": Measured(
            [table[m]["validation"] for m in (EQ19, LMI, PRIOR)],
            apart(LMI, EQ19) + apart(LMI, PRIOR),
        ),
        "force": Measured(
            [table[m]["validation"][0] for m in (EQ19, PRIOR)], apart(EQ19, PRIOR)[:1]
        ),
    }


def cycles_over_lmi(recording: Recording, cycles: int) -> float:
    """CPU time of eq. 19 by its own cycles over that of the LMI, each to its end.

    Args:
        recording: The person.
        cycles: At most; where they do not suffice, the ratio is a lower bound.
    """
    spent = []
    for name, params in (
        ("geometric_cyclic", {"row_std": "residuals", "mean": 1.0, "cycles": cycles}),
        ("sdp_batch", {"prior": "l2", "alpha": 100.0}),
    ):
        est = make_estimator(name, **params)
        est.reset(recording.problem)
        for eq in recording.equations:
            est.update(eq=eq)
        start = time.process_time()
        est.solve()
        spent.append(time.process_time() - start)
    return spent[0] / spent[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; draw the figures where a folder is given."""
    parser = argparse.ArgumentParser(prog="python -m testbed.reproduce.lee2018")
    parser.add_argument("--seeds", type=int, default=10, help="how many persons")
    parser.add_argument("--tracking", choices=tuple(TRACKING), default="articulated")
    parser.add_argument("--out", type=Path, help="folder for figures and table.json")
    given = parser.parse_args(arguments)
    if given.seeds < 1:
        parser.error("--seeds must be at least 1")
    table = {
        method: medians(scores)
        for method, scores in study(range(given.seeds), given.tracking, progress=True).items()
    }
    print(f"medians over {given.seeds} persons, tracking: {given.tracking}; f_z in N, m in N·m")
    print(f"{'':21}{'identification':>20}{'validation':>20}{'clean':>20}  degenerate  smallest")
    for method, row in table.items():
        parts = (row[part] for part in ("identification", "validation", "clean"))
        cells = "".join(f"{'/'.join(f'{x:.2f}' for x in part):>20}" for part in parts)
        print(f"{method:21}{cells}{row['degenerate']:9.1f}/16  {row['smallest']:.1e}")
    if given.out is not None:
        from testbed.reproduce.lee2018_figures import draw

        try:
            files = draw(given.out)
        except (TestbedError, OSError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        text = json.dumps({"table": table}, ensure_ascii=False, indent=1)
        (given.out / "table.json").write_text(text, encoding="utf-8")
        print(", ".join(str(path) for path in files))
    return 0


if __name__ == "__main__":
    sys.exit(main())

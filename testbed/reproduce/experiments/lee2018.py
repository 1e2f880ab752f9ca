"""Lee & Park 2018 for `testbed reproduce`: Table I, Figs. 4 and 5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from testbed.core.signals import Array
from testbed.reproduce import lee2018 as lee
from testbed.reproduce.charts import rounded
from testbed.reproduce.findings import Chart, Findings, Say, Size, Table
from testbed.reproduce.lee2018_figures import VIEWS, link_poses, shadow
from testbed.reproduce.lee2018_person import Recording, record, relative_eigenvalues
from testbed.reproduce.lee2018_projection import clearest, flattest, project_both
from testbed.reproduce.verdict import Measured

_APART, _BELOW = 1.75, 2.15  # m between persons, and between front and side
_CORNERS = 40  # of an ellipse
_RED, _DARK = "#b3261e", "#303030"


def experiment(size: Size, say: Say) -> Findings:
    """Identify several persons by four methods, and project one prior onto one equation.

    Args:
        size: `persons`, and how many `cycles` of eq. 19 are timed at most.
        say: Told what goes on.
    """
    persons = int(size["persons"])
    scores: dict[str, list[lee.Score]] = {method: [] for method in lee.METHODS}
    drawn: dict[str, Array] = {}
    for seed in range(persons):
        say(f"person {seed + 1} of {persons}")
        recording = record(seed)
        found = lee.identify(recording)
        for method, theta in found.items():
            scores[method].append(lee.score(recording, theta))
        if seed == 0:
            first, drawn = recording, found
    table = {method: lee.medians(rows) for method, rows in scores.items()}
    say("one equation, two projections")
    both = project_both(first, clearest(first))
    natural, euclidean = (flattest(first, x) for x in (both.natural, both.euclidean))
    say("eq. 19 by its own cycles, and the LMI, timed")
    slower = lee.cycles_over_lmi(first, int(size["cycles"]))
    measured = lee.measured(table) | {
        "speed": Measured([slower]),
        "natural_projection": Measured([float(natural.min())]),
        "euclidean_projection": Measured([int(np.count_nonzero(euclidean < lee.DEGENERATE))]),
    }
    prior = first.problem.prior
    charts = [
        _figure(
            "Fig. 4: the prior projected onto one equation m_x = b",
            {"prior": prior, "natural": both.natural, "Euclidean with LMI": both.euclidean},
            first,
        ),
        _figure(
            "Fig. 5: identified from 300 rows f_z, m_x, m_y",
            {
                "prior": prior,
                "eq. 19": drawn[lee.EQ19],
                "Remark 3": drawn[lee.REMARK3],
                "least squares + LMI": drawn[lee.LMI],
                "truth": first.truth,
            },
            first,
        ),
    ]
    about = f"{persons} simulated person{'s' * (persons > 1)} of 16 links, 300 rows each; medians"
    return Findings(about, measured, [_table_i(table)], charts)


def _table_i(table: Mapping[str, Mapping[str, Any]]) -> Table:
    rows = []
    for method, ours in table.items():
        paper = lee.PAPER.get(method)
        rows.append(
            [
                method,
                *(
                    "–" if paper is None else paper[part]
                    for part in ("identification", "validation")
                ),
                *(ours[part] for part in ("identification", "validation", "clean")),
                f"{ours['degenerate']:.1f} of 16",
            ]
        )
    head = [
        "", "identification, paper", "validation, paper",
        "identification, ours", "validation, ours", "without noise, ours", "flat links, ours",
    ]  # fmt: skip
    return Table("Table I: RMSE of f_z (N), m_x and m_y (N·m)", head, rows)


def _figure(title: str, persons: Mapping[str, Array], recording: Recording) -> Chart:
    """Persons side by side, from the front above and from the side below."""
    poses, prior = link_poses(recording), recording.problem.prior
    data: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for column, (label, theta) in enumerate(persons.items()):
        smallest = np.nan_to_num(relative_eigenvalues(theta, prior))
        flat = int(np.count_nonzero(smallest < lee.DEGENERATE))
        ratio = theta[::10] / prior[::10]
        for row, axes in enumerate(VIEWS.values()):
            for link, phi in enumerate(theta.reshape(-1, 10)):
                x, y = _outline(*shadow(phi, *poses[link], axes))
                place = x + _APART * column, y - _BELOW * row
                name = f"{recording.problem.bodies[link]}: {ratio[link]:.2f} × the prior's mass"
                data.append(_ellipse(*place, name, ratio[link], smallest[link] < lee.DEGENERATE))
        head = f"{flat} of {len(smallest)} links flat" if flat else "no link flat"
        notes.append(
            {
                "text": f"{label}<br>{head}", "x": _APART * column, "y": 1.85,
                "showarrow": False, "yanchor": "bottom", "font": {"size": 12},
            }
        )  # fmt: skip
    hidden = {"visible": False}
    layout = {
        "showlegend": False, "annotations": notes, "dragmode": False,
        "xaxis": {**hidden, "range": [-0.9, _APART * (len(persons) - 1) + 0.9]},
        "yaxis": {**hidden, "range": [-_BELOW - 0.1, 2.25], "scaleanchor": "x"},
    }  # fmt: skip
    return Chart(
        title,
        "Each link as the uniform ellipsoid with its parameters. Blue: lighter than the prior's, "
        "red: heavier; a red edge: a link that has collapsed.",
        data,
        layout,
        660 if len(persons) > 3 else 760,
        True,
    )


def _outline(
    centre: list[float], width: float, height: float, degrees: float
) -> tuple[Array, Array]:
    """Points (_CORNERS,) of an ellipse; what is flat keeps 6 mm, so that it shows."""
    t = np.linspace(0.0, 2.0 * np.pi, _CORNERS)
    a, b = 0.5 * max(width, 0.006) * np.cos(t), 0.5 * max(height, 0.006) * np.sin(t)
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return centre[0] + c * a - s * b, centre[1] + s * a + c * b


def _ellipse(x: Array, y: Array, name: str, ratio: float, collapsed: bool) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "lines", "fill": "toself", "hoveron": "fills",
        "x": rounded(x), "y": rounded(y), "name": name, "text": name, "hoverinfo": "text",
        "fillcolor": _colour(ratio),
        "line": {"color": _RED if collapsed else _DARK, "width": 1.8 if collapsed else 0.8},
    }  # fmt: skip


def _colour(ratio: float) -> str:
    """From blue (half the prior's mass or less) over white to red (twice or more)."""
    x = float(np.clip(np.log2(max(ratio, 1e-3)), -1.0, 1.0))
    end = np.array([178.0, 24.0, 43.0]) if x > 0.0 else np.array([33.0, 102.0, 172.0])
    r, g, b = (np.full(3, 247.0) * (1.0 - abs(x)) + end * abs(x)).round().astype(int)
    return f"rgba({r},{g},{b},0.85)"

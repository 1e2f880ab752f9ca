"""A reproduction as one HTML file: claims, tables and charts, nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from typing import Any

from testbed.report.template import asset, embedded, fill, policy, version
from testbed.reproduce.catalogue import Reproduction
from testbed.reproduce.findings import Table, shown
from testbed.reproduce.verdict import NOT, paper_file
from testbed.reproduce.words import counted, size_warning

_ROOM = "testbed.reproduce"


def page_of(found: Reproduction, command: str) -> str:
    """The whole page as text.

    Args:
        found: What came out.
        command: What was typed.
    """
    from plotly.offline import get_plotlyjs

    plotly, script = get_plotlyjs(), asset("page.js", _ROOM)
    warning = size_warning(found)
    parts = {
        "title": escape(found.title),
        "policy": policy(plotly, script),
        "style": asset("report.css"),
        "experiment": escape(paper_file(found.paper)["experiment"]),
        "about": escape(found.findings.about),
        "warning": f'<p class="missing">{escape(warning)}</p>' if warning else "",
        "count": escape(counted(found.claims)),
        "claims": _claims(found.claims),
        "tables": "".join(_table(table) for table in found.findings.tables),
        "command": escape(command),
        "version": escape(version()),
        "data": embedded([asdict(chart) for chart in found.findings.charts]),
        "plotly": plotly,
        "script": script,
    }
    return fill(asset("page.html", _ROOM), parts)


def _claims(claims: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        f'<tr><th scope="row">{escape(row["claim"])}</th><td>{escape(row["where"])}</td>'
        f"<td>{_badge(row['verdict'])}</td>"
        f'<td class="figures">{escape(shown(row["paper"]))}</td>'
        f'<td class="figures">{escape(shown(row["ours"]))}<small>{escape(row["ours_are"])}</small>'
        f"</td><td>{escape(row['why'])}</td>"
        f'<td class="figures">{escape(row["judged"]["tolerance"])}'
        f"<small>{escape(row['judged']['what'])}</small></td></tr>"
        for row in claims
    ]
    head = ("claim", "where", "verdict", "paper", "ours", "why", "reproduced if")
    return _scroll("Claims", head, "".join(rows))


def _badge(verdict: str) -> str:
    kind = "not" if verdict == NOT else verdict
    return f'<span class="badge {kind}">{escape(verdict)}</span>'


def _table(table: Table) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(shown(row[0]))}</th>'
        + "".join(f'<td class="figures">{escape(shown(cell))}</td>' for cell in row[1:])
        + "</tr>"
        for row in table.rows
    )
    return f"<h3>{escape(table.title)}</h3>{_scroll(table.title, table.head, rows)}"


def _scroll(label: str, head: Sequence[str], rows: str) -> str:
    cells = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}"><table>'
        f"<thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table></div>"
    )

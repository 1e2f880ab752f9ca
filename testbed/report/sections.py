"""Parts of the page that are plain HTML. Every text that comes from a run is escaped here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from testbed.report.columns import COLUMNS, Column, best_value, columns_of, show
from testbed.report.folder import RunFolder, tables
from testbed.report.words import describe_changes, describe_rule, describe_run


def headings(runs: Sequence[RunFolder], pictures: Sequence[str], why: Sequence[str]) -> str:
    """Title, sentence, changes, verdict and picture of each run."""
    return "".join(
        _heading(r, p, w, len(runs) > 1) for r, p, w in zip(runs, pictures, why, strict=True)
    )


def _heading(run: RunFolder, picture: str, why: str, several: bool) -> str:
    title = escape(str(run.scenario.get("title", "A run")))
    label = f'<p class="label">{escape(run.label)}</p>' if several else ""
    tag = "h2" if several else "h1"
    changes = "".join(
        f"<li><span class='when'>{_when(c)}</span> {escape(c['text'])}</li>"
        for c in describe_changes(run.scenario)
    )
    changes = f"<ul class='changes'>{changes}</ul>" if changes else ""
    shown = (
        f'<img src="{picture}" alt="The robot of this run, drawn half-way through it" '
        'width="960" height="720">'
        if picture
        else f'<p class="missing">{escape(why)}</p>'
    )
    return (
        f'<div class="opening"><div class="words">{label}<{tag}>{title}</{tag}>'
        f"<p>{escape(describe_run(run))}</p>{changes}{_verdict(run)}</div>"
        f"<figure>{shown}</figure></div>"
    )


def _when(change: Mapping[str, Any]) -> str:
    until = change["until"]
    return f"{change['at']:.4g} s" if until is None else f"{change['at']:.4g} to {until:.4g} s"


def _verdict(run: RunFolder) -> str:
    """Accept rules, failures and warnings, one line each."""
    lines = []
    for row in tables(run.card.get("accept")):
        if isinstance(row.get("rule"), Mapping):
            lines.append(_mark("pass" if row.get("passed") else "fail", describe_rule(row)))
    for name, row in run.estimators.items():
        if row.get("failed"):
            lines.append(_mark("fail", f"{name} failed: {row['failed']}"))
    if run.card.get("stopped"):
        lines.append(_mark("fail", f"The run stopped early: {run.card['stopped']}"))
    warnings = run.card.get("warnings")
    lines += [_mark("note", str(w)) for w in (warnings if isinstance(warnings, list) else [])]
    for key in ("bound", "excitation"):
        sentence = _sentence(run.card.get(key))
        lines += [_mark("note", sentence)] if sentence else []
    return f"<ul class='verdict'>{''.join(lines)}</ul>" if lines else ""


def _sentence(table: Any) -> str:
    """What a table of the result says in words, as a sentence."""
    text = str(table.get("sentence") or "") if isinstance(table, Mapping) else ""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def excitation(runs: Sequence[RunFolder]) -> str:
    """What the motion told, in words: sentence and condition number of each run."""
    lines = []
    for run in runs:
        found = run.card.get("excitation")
        table: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
        sentence, kappa = _sentence(table), table.get("kappa")
        if isinstance(kappa, int | float):
            among = f" among these {table['rank']}" if table.get("rank") else ""
            sentence += f" Condition number{among}: κ = {show(float(kappa))}."
        if sentence:
            who = f"<b>{escape(run.label)}</b> " if len(runs) > 1 else ""
            lines.append(f"<li>{who}{escape(sentence)}</li>")
    return f"<ul>{''.join(lines)}</ul>" if lines else ""


def _mark(kind: str, text: str) -> str:
    return f'<li class="{kind}"><b>{kind}</b> {escape(text)}</li>'


def score_table(runs: Sequence[RunFolder], series: Sequence[Mapping[str, Any]]) -> str:
    """One row an estimator (and run), one column a score; sortable by the page's script."""
    rows = [runs[s["run"]].estimators[s["name"]] for s in series]
    columns = columns_of(rows)
    head = '<th scope="col" class="who"><button type="button">estimator</button></th>' + "".join(
        f'<th scope="col"{_further(c)}><button type="button" title="{escape(c.definition)}">'
        f"{escape(c.heading)}</button></th>"
        for c in columns
    )
    best = [best_value(c, rows) if _comparable(runs) else None for c in columns]
    units = [str(runs[s["run"]].card.get("unit") or "") for s in series]
    body = "".join(
        f'<tr data-series="{i}"{" class=failed" if row.get("failed") else ""}>'
        f'<th scope="row">{swatch(s)}{escape(s["label"])}{_why(row)}</th>'
        + "".join(_cell(c, row, unit, b) for c, b in zip(columns, best, strict=True))
        + "</tr>"
        for i, (s, row, unit) in enumerate(zip(series, rows, units, strict=True))
    )
    more = any(not c.headline for c in columns)
    option = (
        '<label class="option"><input type="checkbox" id="all-scores"> all scores</label>'
        if more
        else ""
    )
    return (
        f'{option}<div class="scroll" tabindex="0" role="region" aria-label="Scores">'
        f'<table id="scores-table" class="sortable"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{_definitions(columns)}"
    )


def swatch(series: Mapping[str, Any]) -> str:
    """A sample of the colour and line of a series."""
    return (
        f'<svg class="swatch" viewBox="0 0 24 8" aria-hidden="true"><line x1="0" x2="24" y1="4" '
        f'y2="4" stroke="{series["colour"]}" stroke-width="4" '
        f'stroke-dasharray="{series["pattern"]}"/></svg>'
    )


def _why(row: Mapping[str, Any]) -> str:
    return f"<small>failed: {escape(str(row['failed']))}</small>" if row.get("failed") else ""


def _further(column: Column) -> str:
    return "" if column.headline else ' class="further"'


def _comparable(runs: Sequence[RunFolder]) -> bool:
    """Whether one value can be better than another: all runs are of one robot and one θ."""
    return all(
        run.scenario.get("plant") == runs[0].scenario.get("plant")
        and run.card["layout"] == runs[0].card["layout"]
        for run in runs
    )


def _cell(column: Column, row: Mapping[str, Any], unit: str, best: float | None) -> str:
    value = column.value(row)
    text = escape(column.text(row, unit))
    number = "" if value is None else f' data-value="{value!r}"'
    winner = best is not None and value == best and not row.get("failed")
    return f"<td{number}{_further(column)}>{f'<b>{text}</b>' if winner else text}</td>"


def _definitions(columns: Sequence[Column]) -> str:
    rows = "".join(
        f"<dt>{escape(c.heading)}</dt><dd>{escape(c.definition)}</dd>"
        for c in columns
        if c.definition
    )
    return (
        f"<details><summary>What the columns mean</summary><dl>{rows}</dl></details>"
        if rows
        else ""
    )


def sentences(runs: Sequence[RunFolder], table: str) -> str:
    """The sentence that each estimator's table (efficiency, …) ends with."""
    lines = []
    for run in runs:
        for name, row in run.estimators.items():
            found = row.get(table)
            text = None
            if isinstance(found, Mapping):
                text = found.get("sentence") or found.get("verdict")
            if text:
                who = f"{run.label}: {name}" if len(runs) > 1 else name
                lines.append(f"<li><b>{escape(who)}</b> {escape(str(text))}</li>")
    return f"<ul>{''.join(lines)}</ul>" if lines else ""


_CHANGE_COLUMNS = (
    ("detection_s", "noticed after", "s"),
    ("settle_10_s", "within 10 % after", "s"),
    ("settle_2_s", "within 2 % after", "s"),
    ("mass_settle_2_s", "mass within 2 % after", "s"),
    ("overshoot", "overshoot", "%"),
    ("steady_error", "steady error", "%"),
)


def change_table(runs: Sequence[RunFolder], series: Sequence[Mapping[str, Any]]) -> str:
    """How each estimator came through each change; a dash where nothing is known of it."""
    rows = []
    for s in series:
        run = runs[s["run"]]
        for change in tables(run.estimators[s["name"]].get("changes")):
            if any(change.get(key) is not None for key, _, _ in _CHANGE_COLUMNS):
                rows.append((s, change))
    if not rows:
        return ""
    used = [c for c in _CHANGE_COLUMNS if any(c[0] in change for _, change in rows)]
    head = '<th scope="col" class="who">estimator</th><th scope="col">change at</th>' + "".join(
        f'<th scope="col">{text}</th>' for _, text, _ in used
    )
    body = "".join(
        f'<tr><th scope="row">{swatch(s)}{escape(s["label"])}</th><td>{_seconds(change)}</td>'
        + "".join(f"<td>{_measured(change, key, unit)}</td>" for key, _, unit in used)
        + "</tr>"
        for s, change in rows
    )
    return (
        '<section id="changes"><h2>After each change</h2><p class="hint">Overshoot and steady '
        "error as shares of the jump. A dash: it does not say.</p>"
        '<div class="scroll" tabindex="0" role="region" aria-label="Changes">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></section>"
    )


def _seconds(change: Mapping[str, Any]) -> str:
    at = change.get("at")
    return escape(show(float(at), "s")) if isinstance(at, int | float) else "n/a"


def _measured(change: Mapping[str, Any], key: str, unit: str) -> str:
    value = change.get(key)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return escape(show(float(value) * (100.0 if unit == "%" else 1.0), unit))
    return (
        "never" if any(c.key == key and c.missed({"changes": [change]}) for c in COLUMNS) else "–"
    )


def provenance(runs: Sequence[RunFolder]) -> str:
    """What made each run: command, seed, versions, and the scenario itself."""
    return "".join(_origin(run, len(runs) > 1) for run in runs)


def _origin(run: RunFolder, several: bool) -> str:
    command = run.card.get("command")
    made = (
        f"<pre><code>{escape(str(command))}</code></pre>"
        if command
        else "<p>Made from Python (<code>testbed.run</code>), not by a command.</p>"
    )
    versions = run.card.get("versions")
    listed = ", ".join(
        f"{escape(str(k))} {escape(str(v))}"
        for k, v in (versions.items() if isinstance(versions, Mapping) else ())
    )
    scenario = escape(json.dumps(run.scenario, ensure_ascii=False, indent=1))
    label = f"<h3>{escape(run.label)}</h3>" if several else ""
    return (
        f"{label}{made}<p>Seed {escape(str(run.card.get('seed')))}; {listed}.</p>"
        f"<details><summary>The scenario with every value</summary><pre>{scenario}</pre></details>"
    )

"""Fills what stands between the markers of docs/estimators/*.md.

    python scripts/estimator_pages.py             # facts and the list, from the registry
    python scripts/estimator_pages.py --figures   # and figures, from runs: about three minutes

Text outside the markers is written by hand and stays.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from statistics import median
from typing import Any

import testbed
from testbed.core import registry

PAGES = Path(__file__).parents[1] / "docs" / "estimators"
CLAIMS = ("batch_exact", "bounded", "consistent", "invariant")
SEEDS = (1, 2, 3)
# (scenario, what it is)
CASES = (
    ("free_flyer_id", "one free body, good sensors"),
    ("arm_payload", "a payload at the wrist, noisy rows"),
    ("why_negative_mass", "six bodies and friction from joint torques"),
)
# Parameters other than the defaults. The paper's cycles would take minutes to the end.
WITH = {  # as the scenario itself has it
    "arm_payload": {name: {"prior_std": 10.0} for name in ("rls", "riv", "rtls")},
}
ALWAYS = {"geometric_cyclic": {"samples": 20, "cycles": 100}}
COLUMNS = ("mass_rel_error_final", "com_error_final", "inertia_rel_error_final")


def facts(name: str) -> str:
    """What the registry and the class say, as a table."""
    entry = registry.estimator.all()[name]
    cls: Any = entry.make
    inputs = ", ".join(f"`{port} = {source!r}`" for port, source in cls.inputs.items())
    rows = [
        ("summary", entry.summary),
        ("claims", words(c for c in CLAIMS if c in entry.claims)),
        ("does not claim", words(c for c in CLAIMS if c not in entry.claims)),
        ("kind", "batch: solves at the end of a run" if is_batch(cls) else "recursive"),
        ("inputs", inputs.replace("'", '"')),
        ("parameters", words(parameters(cls))),
    ]
    if getattr(cls, "max_bodies", None):
        rows.append(("bodies", f"at most {cls.max_bodies}"))
    if entry.tags:
        rows.append(("tags", words(sorted(entry.tags))))
    return "| property | value |\n|---|---|\n" + "".join(
        f"| {key} | {value} |\n" for key, value in rows
    )


def words(names: Any) -> str:
    """Names as code, or a dash."""
    return ", ".join(f"`{name}`" for name in names) or "–"


def parameters(cls: Any) -> list[str]:
    """`name = default` of every parameter, as a scenario would write it."""
    return [
        f"{p.name} = {p.default!r}".replace("'", '"')
        for p in inspect.signature(cls).parameters.values()
    ]


def is_batch(cls: Any) -> bool:
    """Whether it has something to solve at the end."""
    return hasattr(cls, "solve")


def listing() -> str:
    """The table of all estimators."""
    lines = ["| estimator | | claims | kind |", "|---|---|---|---|"]
    entries = registry.estimator.all().values()
    for entry in sorted(entries, key=lambda e: (bool(e.tags), is_batch(e.make), e.name)):
        kind = ("batch" if is_batch(entry.make) else "recursive") + (
            ", for comparison" if entry.tags else ""
        )
        claims = words(c for c in CLAIMS if c in entry.claims)
        lines.append(f"| [{entry.name}]({entry.name}.md) | {entry.summary} | {claims} | {kind} |")
    return "\n".join(lines) + "\n"


def measured(scenario: str, names: list[str]) -> dict[str, Any]:
    """Median figures of each estimator over the seeds, all on the same streams; or why not."""
    tables, found = {}, {}
    for name in names:
        table = {"use": name, **WITH.get(scenario, {}).get(name, {}), **ALWAYS.get(name, {})}
        try:  # a fifth of a second tells whether it takes this plant
            short = testbed.Scenario.load(scenario, ["duration=0.2"])
            testbed.run(short, estimators=[table], only=True)
            tables[name] = table
        except testbed.BadInput as error:
            found[name] = str(error).removeprefix(f"{scenario}.toml: ")
    cards = []
    for seed in SEEDS:
        run = testbed.run(
            scenario, seed=seed, estimators=list(tables.values()), only=True, plugin_timeout=None
        )
        cards.append(run.scorecard["estimators"])
        print(f"{scenario}, seed {seed}: done", file=sys.stderr)
    for name in tables:
        rows = [card[name] for card in cards]
        failed = next((row["failed"] for row in rows if row["failed"]), None)
        if failed:
            found[name] = failed
            continue
        metrics = [median(row["metrics"][c] for row in rows) for c in COLUMNS]
        share = min(row["metrics"]["consistent_fraction"] for row in rows)
        cost = median(row["timing"]["relative_p50"] for row in rows)
        solve = [row["timing"]["solve_ms"] for row in rows]
        found[name] = (*metrics, share, cost, None if None in solve else median(solve))
    return found


def figures(name: str, results: dict[str, dict[str, Any]]) -> str:
    """The table of one estimator."""
    lines = [
        "| scenario | mass | centre | inertia | possible | update | solve |",
        "|---|---|---|---|---|---|---|",
    ]
    told = []
    for scenario, what in CASES:
        row = results[scenario][name]
        if isinstance(row, str):
            lines.append(f"| `{scenario}`: {what} | n/a | n/a | n/a | n/a | n/a | n/a |")
            told.append(f"`{scenario}` is not for it: {row}.")
            continue
        mass, centre, inertia, share, cost, solve = row
        end = "–" if solve is None else duration(solve)
        lines.append(
            f"| `{scenario}`: {what} | {100 * mass:.2g} % | {1000 * centre:.2g} mm "
            f"| {100 * inertia:.2g} % | {floor(share)} % | {cost:.2g} | {end} |"
        )
    told.append(
        f"Errors at the end of the run, medians over seeds {SEEDS[0]} to {SEEDS[-1]} (over several "
        "bodies the median body); share of samples at which every body is possible, worst seed; "
        "CPU time of an update in Cholesky factorisations of the same size, timed in the same run; "
        "wall time of the solution at the end."
    )
    changed = [f"`{s}`: {settings(t[name])}" for s, t in WITH.items() if name in t]
    changed += [settings(ALWAYS[name])] if name in ALWAYS else []
    told.append(f"Parameters are the defaults{' but for ' if changed else ''}{'; '.join(changed)}.")
    return "\n".join(lines) + "\n\n" + " ".join(told) + "\n"


def floor(share: float) -> str:
    """A share in per cent that never rounds up to 100."""
    return "100" if share == 1.0 else f"{int(1000 * share) / 10:g}"


def duration(ms: float) -> str:
    """Two digits, in ms or s."""
    return f"{ms / 1e3:.2g} s" if ms > 999 else f"{float(f'{ms:.2g}'):g} ms"


def settings(table: dict[str, Any]) -> str:
    """A table as a scenario would write it."""
    return ", ".join(f"`{key} = {value}`" for key, value in table.items())


def filled(text: str, marker: str, content: str) -> str:
    """The page with the content between `<!-- marker… -->` and `<!-- /marker -->`."""
    pattern = re.compile(rf"(<!-- {marker}:[^\n]*-->\n).*?(<!-- /{marker} -->)", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"no marker {marker!r} in the page")
    return pattern.sub(lambda m: f"{m[1]}\n{content}\n{m[2]}", text)


def main(arguments: list[str]) -> int:
    """Fill the pages."""
    if set(arguments) - {"--figures"}:
        print(__doc__, file=sys.stderr)
        return 2
    names = sorted(registry.estimator.all())
    results = {s: measured(s, names) for s, _ in CASES} if arguments else {}
    for name in names:
        page = PAGES / f"{name}.md"
        text = filled(page.read_text(encoding="utf-8"), "facts", facts(name))
        if results:
            text = filled(text, "figures", figures(name, results))
        page.write_text(text, encoding="utf-8")
    index = PAGES / "index.md"
    index.write_text(filled(index.read_text(encoding="utf-8"), "list", listing()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

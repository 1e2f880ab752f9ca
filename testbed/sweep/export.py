"""`testbed results DIR --export FILE`: tables for papers and people, figures one column wide."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from math import floor, log10
from pathlib import Path
from typing import Any

from testbed.core.errors import BadInput
from testbed.harness.result import write_whole
from testbed.sweep.metrics import wording
from testbed.sweep.summary import flat_rows, present, summarise

SUFFIXES = (".csv", ".parquet", ".tex", ".svg", ".pdf")
_GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"),
    *("lambda", "mu", "nu", "xi", "o", "pi", "rho", "varsigma", "sigma", "tau", "upsilon"),
    *("phi", "chi", "psi", "omega"),
)
_CAPITALS = ("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega")
_SPECIAL = {
    **{chr(ord("α") + i): rf"$\{name}$" for i, name in enumerate(_GREEK)},
    **{c: rf"$\{name}$" for c, name in zip("ΓΔΘΛΞΠΣΦΨΩ", _CAPITALS, strict=True)},
    "ο": "o",
    **{c: f"\\{c}" for c in "&%$#_{}"},
    **{c: f"{{{c}}}" for c in "[]"},  # after a line's end a bracket would be its argument
    **{c: " " for c in "\n\r\t"},
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "‹": r"$\langle$",
    "›": r"$\rangle$",
    "±": r"$\pm$",
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "µ": r"\textmu{}",
}


def check_file(file: Path) -> None:
    """Refuse what cannot be written, before anything is worked out."""
    if file.suffix.lower() not in SUFFIXES:
        raise BadInput(f"--export {str(file)!r}: the name must end in {', '.join(SUFFIXES)}")
    if file.is_dir() or not file.parent.is_dir():
        raise BadInput(f"--export {str(file)!r}: there is no folder for a file of that name")


def export(rows: Sequence[Mapping[str, Any]], file: Path, metrics: Sequence[str] = ()) -> None:
    """Write runs (.csv, .parquet), a table (.tex) or a figure (.svg, .pdf).

    Args:
        rows: Of a store.
        file: Its suffix says what.
        metrics: Which; the headline ones that have values by default.
    """
    check_file(file)
    kind = file.suffix.lower()
    if not rows:
        raise BadInput("there are no finished runs to export")
    try:
        if kind == ".csv":
            write_whole(file, _csv(flat_rows(rows)).encode())
        elif kind == ".parquet":
            _parquet(flat_rows(rows), file)
        elif kind == ".tex":
            write_whole(file, latex(summarise(rows, metrics)).encode())
        else:
            from testbed.sweep.figure import draw

            draw(rows, file, list(metrics) or present(rows)[:1])
    except OSError as error:
        raise BadInput(f"--export {str(file)!r}: {error.strerror}") from None


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _parquet(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise BadInput(
            "--export ….parquet needs pyarrow: pip install 'inertia-testbed[parquet]'"
        ) from None
    columns = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        mixed = len({type(v) for v in values if v is not None} - {int, float}) and any(
            isinstance(v, int | float) for v in values
        )
        columns[name] = [None if v is None else str(v) for v in values] if mixed else values
    pyarrow.parquet.write_table(pyarrow.table(columns), file)


def latex(lines: Sequence[Mapping[str, Any]]) -> str:
    r"""A booktabs table: \usepackage{booktabs}; medians ± half the 95 % interval, best in bold."""
    metrics = [m for m in lines[0]["metrics"] if any(x["metrics"][m] for x in lines)]
    cells = list(dict.fromkeys((x["scenario"], _cell_words(x["cell"])) for x in lines))
    columns = "l" + "r" * len(metrics)
    text = [
        "% Median over runs ± half the width of its 95 % bootstrap interval; best in bold.",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        " & ".join(["estimator", *(_heading(m) for m in metrics)]) + r" \\",
    ]
    for scenario, cell in cells:
        text.append(r"\midrule")
        here = [x for x in lines if (x["scenario"], _cell_words(x["cell"])) == (scenario, cell)]
        counts = [line["runs"] for line in here]
        if len(cells) > 1 or cell:
            runs = "–".join(str(n) for n in sorted({min(counts), max(counts)}))
            title = escape(f"{scenario}{': ' + cell if cell else ''}, {runs} runs")
            text.append(rf"\multicolumn{{{len(metrics) + 1}}}{{l}}{{\emph{{{title}}}}} \\")
        for line in here:
            name = escape(line["estimator"])
            if line["failed"]:
                name += rf" \footnotesize({line['failed']} of {line['runs']} failed)"
            text.append(
                " & ".join([name, *(_latex_cell(line["metrics"][m], m) for m in metrics)]) + r" \\"
            )
    return "\n".join([*text, r"\bottomrule", r"\end{tabular}", ""])


def _heading(metric: str) -> str:
    words = wording(metric)
    return escape(words.words + (f" ({words.unit})" if words.unit else ""))


def _latex_cell(figures: Mapping[str, Any] | None, metric: str) -> str:
    if figures is None:
        return "n/a"
    text = number_with_interval(figures, metric, tex=True)
    if text is None:
        cell = "--"
    else:
        cell = rf"$\mathbf{{{text}}}$" if figures["best"] else f"${text}$"
    if figures.get("settled", 1.0) < 1.0:
        cell += rf" \footnotesize({100 * figures['settled']:.0f}\,\%)"
    return cell


def number_with_interval(figures: Mapping[str, Any], metric: str, tex: bool = False) -> str | None:
    """`1.23 ± 0.04` in the metric's usual unit; None where the median is not finite.

    Args:
        figures: median, low and high.
        metric: Whose.
        tex: As LaTeX wants it inside a formula.
    """
    factor, between = wording(metric).factor, r" \pm " if tex else " ± "
    if figures["median"] is None:
        return None
    median = factor * figures["median"]
    if figures["low"] is None or figures["high"] is None:
        return _short(median, 3, tex)
    half = abs(0.5 * factor * (figures["high"] - figures["low"]))
    if half == 0 or not median:
        return f"{_short(median, 3, tex)}{between}{_short(half, 1, tex)}"
    # As many digits as the interval warrants: two of it.
    digits = 1 - floor(log10(half))
    if digits <= 6 and abs(median) < 1e6:
        digits = max(0, digits)
        return f"{median:.{digits}f}{between}{half:.{digits}f}"
    power = floor(log10(max(abs(median), half)))
    if -4 <= power < 6:
        return f"{median:.6f}{between}{_short(half, 1, tex)}"
    median, half, digits = median / 10.0**power, half / 10.0**power, max(0, digits + power)
    both = f"({median:.{digits}f}{between}{half:.{digits}f})"
    return both + (rf" \times 10^{{{power}}}" if tex else f"e{power}")


def _short(x: float, digits: int, tex: bool) -> str:
    """A number of so many digits; LaTeX would take 2e+03 for a sum."""
    text = f"{x:.{digits}g}"
    mantissa, e, power = text.partition("e")
    return rf"{mantissa} \times 10^{{{int(power)}}}" if tex and e else text


def escape(text: str) -> str:
    """Text as LaTeX prints it."""
    return "".join(_SPECIAL.get(c, c) for c in text)


def _cell_words(cell: Mapping[str, Any]) -> str:
    return ", ".join(f"{k} = {v}" for k, v in cell.items())

"""Tables and figures of a study say what its rows say."""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ET

import numpy as np
import pyarrow.parquet
import pytest

from testbed import BadInput
from testbed.sweep.export import escape, export, latex, number_with_interval
from testbed.sweep.summary import flat_rows, summarise


@pytest.fixture
def rows():
    """Two estimators on two cells; b is better, and fails once."""
    rng = np.random.default_rng(0)
    return [
        {
            "scenario": "my_scene", "cell": {"noise.scale": scale}, "seed": seed, "estimator": name,
            "failed": "boom, said it" if (name, seed) == ("b_2", 3) else None,
            "metrics": {
                "mass_rel_error_final": factor * scale * float(rng.uniform(0.9, 1.1)),
                "consistent_fraction": 1.0,
                "validation_rmse": None,
            },
            "changes": [], "timing": {"cpu_us_p50": 5.0}, "seconds": 0.1, "key": "k",
        }
        for scale in (1.0, 2.0, 5.0)
        for name, factor in (("a", 0.02), ("b_2", 0.01))
        for seed in range(9)
    ]  # fmt: skip


def test_csv_and_parquet_hold_every_run(rows, tmp_path):
    export(rows, tmp_path / "t.csv")
    export(rows, tmp_path / "t.parquet")
    with (tmp_path / "t.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    table = pyarrow.parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert len(read) == len(table) == len(rows)
    for row, line, record in zip(rows, read, table, strict=True):
        value = row["metrics"]["mass_rel_error_final"]
        assert float(line["mass_rel_error_final"]) == record["mass_rel_error_final"] == value
        assert float(line["noise.scale"]) == record["noise.scale"] == row["cell"]["noise.scale"]
        assert (line["failed"] or None) == record["failed"] == row["failed"]
        assert line["validation_rmse"] == ""
        assert record["validation_rmse"] is None


def test_the_summary_is_the_median_with_failures_as_worst(rows):
    lines = summarise(rows, ["mass_rel_error_final"])
    assert [(x["cell"]["noise.scale"], x["estimator"]) for x in lines] == [
        (s, n) for s in (1.0, 2.0, 5.0) for n in ("a", "b_2")
    ]
    own = [r for r in rows if r["estimator"] == "b_2" and r["cell"]["noise.scale"] == 1.0]
    values = [np.inf if r["failed"] else r["metrics"]["mass_rel_error_final"] for r in own]
    figures = lines[1]["metrics"]["mass_rel_error_final"]
    assert figures["median"] == pytest.approx(np.median(values))
    assert figures["low"] <= figures["median"] <= figures["high"]
    assert figures["best"]
    assert not lines[0]["metrics"]["mass_rel_error_final"]["best"]
    assert (lines[1]["runs"], lines[1]["failed"]) == (9, 1)


def test_the_latex_table_has_rules_bold_and_intervals(rows):
    text = latex(summarise(rows))
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 1
    assert text.count(r"\midrule") == 3
    assert r"my\_scene: noise.scale = 1.0" in text
    assert r"mass error (\%)" in text
    bold = [line for line in text.splitlines() if r"\mathbf" in line]
    assert len(bold) == 3
    assert all(line.startswith(r"b\_2") and r"\pm" in line for line in bold)
    # The same in all rows: nobody is best.
    assert r"$100 \pm 0$" in text


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ((0.0123, 0.0120, 0.0127), "1.230 ± 0.035"),
        ((1.0, 0.5, 1.5), "100 ± 50"),
        ((0.5, None, None), "50"),
        ((None, None, None), None),
        ((0.0, 0.0, 0.0), "0 ± 0"),
        ((3.2e-10, 3.1e-10, 3.3e-10), "(3.20 ± 0.10)e-8"),
        ((0.01, 0.01 - 1e-9, 0.01 + 1e-9), "1.000000 ± 1e-07"),
        ((2e7, 1e7, 3e7), "(2.0 ± 1.0)e9"),
    ],
)
def test_as_many_digits_as_the_interval_warrants(figures, expected):
    median, low, high = figures
    found = number_with_interval(
        {"median": median, "low": low, "high": high}, "mass_rel_error_final"
    )
    assert found == expected


def test_latex_never_sees_a_sum_in_a_number():
    def shown(median, low, high):
        figures = {"median": median, "low": low, "high": high}
        return number_with_interval(figures, "prediction_rmse", tex=True)

    assert shown(2000.0, None, None) == r"2 \times 10^{3}"
    assert shown(0.0, -2000.0, 2000.0) == r"0 \pm 2 \times 10^{3}"
    assert shown(3.2e-8, 3.1e-8, 3.3e-8) == r"(3.20 \pm 0.10) \times 10^{-8}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a_b & 5 % {x} \\", r"a\_b \& 5 \% \{x\} \textbackslash{}"),
        ("[0]", "{[}0{]}"),  # a row's end takes what follows in brackets for its argument
        ("a\nb", "a b"),
        ("τ‹Ω", r"$\tau$$\langle$$\Omega$"),
        ("a<b|c", r"a\textless{}b\textbar{}c"),
    ],
)
def test_special_letters_are_escaped(text, expected):
    assert escape(text) == expected


def test_the_latex_table_reads_back_as_its_rows(rows):
    """Rows and columns as LaTeX splits them: every line has its cells, none an open group."""
    lines = [r for r in rows if not (r["estimator"] == "b_2" and r["seed"] > 5)]
    for row in lines:
        row["estimator"] = {"a": "[a] & {$b", "b_2": "b_2"}[row["estimator"]]
    text = latex(summarise(lines, ["mass_rel_error_final", "consistent_fraction"]))
    body = text.split(r"\toprule")[1].split(r"\bottomrule")[0].replace(r"\midrule", "")
    table = [re.split(r"(?<!\\)&", line) for line in body.strip().split(r"\\") if line.strip()]
    assert [len(cells) for cells in table] == [3, *([1, 3, 3] * 3)]
    for cell in (cell.strip() for cells in table for cell in cells):
        bare = cell.replace(r"\{", "").replace(r"\}", "").replace(r"\$", "")
        assert not cell.startswith("[")
        assert bare.count("$") % 2 == 0
        assert bare.count("{") == bare.count("}")
    assert "6–9 runs" in table[1][0]  # who ran less is not hidden


def test_names_with_dollars_and_large_grids_are_drawn(rows, tmp_path):
    more = [
        {**row, "estimator": f"{row['estimator']}$^$", "cell": {**row["cell"], "x.tau": tau}}
        for row in rows
        for tau in (0.1, 0.2, 0.3)
    ]
    export(more, tmp_path / "dots.svg")
    root = ET.parse(tmp_path / "dots.svg").getroot()
    labels = {"".join(e.itertext()) for e in root.iter() if e.tag.endswith("text")}
    assert "a$^$" in labels
    assert "scale=5.0 tau=0.3" in labels
    assert float(root.get("height").removesuffix("pt")) > 18 * 0.2 * 72  # a line for each of 18
    assert "rotate(-30" not in (tmp_path / "dots.svg").read_text()
    for row in rows:
        row["estimator"] += "$^$"
    export(rows, tmp_path / "lines.pdf")


def test_figures_are_one_column_wide_and_the_same_every_time(rows, tmp_path):
    for name in ("one.svg", "two.svg"):
        export(rows, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    root = ET.parse(tmp_path / "one.svg").getroot()
    assert float(root.get("width").removesuffix("pt")) <= 3.5 * 72
    text = (tmp_path / "one.svg").read_text()
    assert "noise.scale" in text  # along the grid
    assert "b_2" in text
    export([r for r in rows if r["cell"]["noise.scale"] == 1.0], tmp_path / "dots.svg")
    assert "noise.scale" not in (tmp_path / "dots.svg").read_text()
    export(rows, tmp_path / "f.pdf")
    assert (tmp_path / "f.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("name", ["table.xlsx", "table", "missing/table.csv"])
def test_what_cannot_be_written_is_refused(rows, tmp_path, name):
    with pytest.raises(BadInput, match="--export"):
        export(rows, tmp_path / name)


def test_nothing_to_export_is_said(tmp_path):
    with pytest.raises(BadInput, match="no finished runs"):
        export([], tmp_path / "t.csv")


def test_flat_rows_of_cells_with_different_keys_have_the_same_columns(rows):
    rows[0]["cell"] = {"other": [1, 2]}
    flat = flat_rows(rows)
    assert len({tuple(r) for r in flat}) == 1
    assert flat[0]["other"] == "[1, 2]"
    assert flat[1]["other"] is None

"""Claims and tolerances are data; verdicts follow from them by one rule."""

from __future__ import annotations

import dataclasses
import math

import pytest

from testbed.reproduce.catalogue import PAPERS, SIZES
from testbed.reproduce.findings import shown
from testbed.reproduce.verdict import (
    HALF,
    KINDS,
    NOT,
    PARTLY,
    REPRODUCED,
    Claim,
    Measured,
    assess,
    claims_of,
    paper_file,
)


def claim(kind="at_most", reproduced=1.0, partly=None, paper=1.0):
    return Claim(
        "x", "it is so", "Table I", paper, "ratio", "ratio", kind, reproduced, partly,
        "because of {0:.1f}", "",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "figures", "verdict"),
    [
        (claim("at_most", 1.0), [0.5, 1.0], REPRODUCED),
        (claim("at_most", 1.0), [0.5, 1.1], NOT),
        (claim("at_most", 1.0, 2.0), [0.5, 1.1], PARTLY),
        (claim("at_most", 1.0, 2.0), [0.5, 2.1], NOT),
        (claim("at_most", 1.0, HALF), [0.5, 9.0], PARTLY),
        (claim("at_most", 1.0, HALF), [0.5, 8.0, 9.0], NOT),
        (claim("at_least", 10.0, 2.0), [12.0], REPRODUCED),
        (claim("at_least", 10.0, 2.0), [3.0], PARTLY),
        (claim("at_least", 10.0, 2.0), [1.0], NOT),
        (claim("factor", 2.0, 4.0, [1.0, 100.0]), [1.9, 51.0], REPRODUCED),
        (claim("factor", 2.0, 4.0, [1.0, 100.0]), [1.9, 390.0], PARTLY),
        (claim("factor", 2.0, 4.0, [1.0, 100.0]), [0.2, 100.0], NOT),
        (claim("factor", 2.0, 4.0, [1.0]), [-1.0], NOT),
        (claim("at_most", 1.0, HALF), [0.5, math.nan], NOT),
        (claim("at_least", 1.0, HALF), [], NOT),
    ],
)
def test_the_rule(rule, figures, verdict):
    assert rule.verdict(figures) == verdict


def test_a_factor_needs_as_many_figures_as_the_paper_has():
    with pytest.raises(ValueError, match="zip"):
        claim("factor", 2.0, None, [1.0, 2.0]).verdict([1.0])


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_has_sizes_and_sound_claims(paper):
    tables = paper_file(paper)
    assert set(tables["size"]) == set(SIZES)
    assert len({tuple(sorted(size)) for size in tables["size"].values()}) == 1
    claims = claims_of(paper)
    assert len({c.id for c in claims}) == len({c.claim for c in claims}) == len(claims) >= 8
    for table, one in zip(tables["claim"], claims, strict=True):
        assert sum(kind in table for kind in KINDS) == 1
        known = {"id", "claim", "where", "paper", "judged", "shown", "partly", "why", "otherwise"}
        assert set(table) <= known | set(KINDS)
        if isinstance(one.partly, float | int):  # the wider bound is the wider one
            sign = 1 if one.kind == "at_least" else -1
            assert sign * one.partly < sign * one.reproduced
        else:
            assert one.partly in (HALF, None)
        if one.kind == "factor":
            assert all(isinstance(x, float | int) for x in one.paper)


def test_a_sentence_never_argues_for_another_verdict():
    assert claim().sentence([0.5]) == "because of 0.5"
    assert claim().sentence([2.0]).startswith("0 of 1 figures keep")
    assert claim(partly=HALF).sentence([0.5, 2.0]).startswith("1 of 2 figures keep")
    told = dataclasses.replace(claim(), otherwise="in spite of {0:.1f}")
    assert told.sentence([2.0]) == "in spite of 2.0"


def test_the_sentence_is_that_of_the_verdict():
    rows = {c.id: c for c in claims_of("cho2024")}
    ids = list(rows)
    good = {i: Measured([1.0]) for i in ids} | {"distance": Measured([1.158, 0.347, 0.067])}
    found = {row["id"]: row for row in assess("cho2024", good)}
    assert found["logdet_possible"]["verdict"] == REPRODUCED
    assert found["l2_mass_matrix"]["verdict"] == NOT
    assert found["l2_mass_matrix"]["why"] == rows["l2_mass_matrix"].otherwise
    assert found["distance"]["verdict"] == REPRODUCED
    assert found["distance"]["why"] == rows["distance"].why
    keys = {"claim", "paper", "ours", "verdict", "why"}
    assert keys <= set(found["distance"])


def test_figures_are_short():
    assert shown([1, 2.0, 0.12345, [1e-7, 123456.0]]) == "1; 2; 0.1235; 1e-07 / 1.235e+05"
    assert shown(None) == "–"
    assert shown([1.5, 2.25]) == "1.5 / 2.25"

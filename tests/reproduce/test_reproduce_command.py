"""`testbed reproduce`: one JSON document, a page that fetches nothing, one line for bad input."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from scipy.io import savemat

from testbed.cli.main import main
from testbed.reproduce.catalogue import reproduce
from testbed.reproduce.cho_data import read_swing
from testbed.reproduce.cho_leg import record
from testbed.reproduce.page import page_of
from testbed.reproduce.verdict import NOT, PARTLY, REPRODUCED, claims_of, paper_file
from testbed.reproduce.words import markers, rewrite, text_of


@pytest.fixture
def tiny(monkeypatch):
    """What --quick takes is as small as it can be."""
    for paper in ("cho2024", "rucker2022"):
        sizes = paper_file(paper)["size"]
        monkeypatch.setitem(sizes, "quick", sizes["tiny"])


@pytest.fixture(scope="module")
def leg():
    return reproduce("cho2024", "tiny")


def test_one_json_document_and_a_page(tiny, capsys, tmp_path):
    assert main(["reproduce", "cho2024", "--quick", "--json", "--out", str(tmp_path / "a/b")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["paper"] == "cho2024"
    assert [row["id"] for row in document["claims"]] == [c.id for c in claims_of("cho2024")]
    for row in document["claims"]:
        assert {"claim", "paper", "ours", "verdict", "why"} <= set(row)
        assert row["verdict"] in (REPRODUCED, PARTLY, NOT)
        assert row["why"]
    kept = json.loads((tmp_path / "a/b/cho2024.json").read_text())
    assert kept["claims"] == document["claims"]
    page = (tmp_path / "a/b/cho2024.html").read_text()
    assert document["files"] == [str(tmp_path / "a/b" / f"cho2024.{x}") for x in ("html", "json")]
    assert "testbed reproduce cho2024 --quick" in page


def test_for_people_and_for_the_documentation(tiny, capsys, tmp_path):
    first, last = markers("rucker2022")
    page = tmp_path / "page.md"
    page.write_text(f"before\n{first}\nold\n{last}\nafter\n")
    assert main(["reproduce", "rucker2022", "--quick", "--markdown", str(page)]) == 0
    said = capsys.readouterr()
    assert "reproduced: all three parameterisations" in said.out
    assert "15.1 %" in said.out
    assert "--out DIR" in said.err
    text = page.read_text()
    assert text.startswith(f"before\n{first}\n")
    assert text.endswith(f"{last}\nafter\n")
    assert "old" not in text
    assert text.count("| **") == len(claims_of("rucker2022"))


def test_the_page_shows_everything_and_fetches_nothing(leg):
    page = page_of(leg, "testbed reproduce <b>")
    visible = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)  # Plotly's own text aside
    assert not re.search(r"(?:src|href)=[\"'](?!data:|#)", visible)
    assert "default-src 'none'" in page
    assert "testbed reproduce &lt;b&gt;" in page
    for claim in claims_of("cho2024"):
        assert claim.claim in visible
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))
    assert [chart["title"][:6] for chart in data] == ["Fig. 1", "Fig. 2"]
    assert all(
        trace["x"] and len(trace["x"]) == len(trace["y"]) for c in data for trace in c["data"]
    )
    assert "smaller experiment" in page


def test_the_text_has_every_claim_and_table(leg):
    said = text_of(leg)
    assert "Table II" in said
    for row in leg.claims:
        assert row["verdict"] in said
    paper, ours = (
        next(x for x in said.splitlines() if f"RLS-l2       {w}" in x) for w in ("paper", "ours")
    )
    assert paper.split()[-4:] == ["0", "0", "0", "0"]
    assert ours != paper


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cho2042"], "did you mean 'cho2024'"),
        (["kubus2008", "--data", "x.mat"], "only cho2024"),
        (["cho2024", "--data", "nothing.mat"], "no such file"),
        (["cho2024", "--data", "."], "is a folder"),
        (["cho2024", "--out", ""], "name a folder"),
        (["cho2024", "--markdown", "nothing.md"], "no text file"),
        (["cho2024", "--out", __file__], "is a file"),
        (["cho2024", "--out", f"{__file__}/x"], "is a file"),
        (["cho2024", "--data", __file__], "name a MATLAB file"),
        ([], "PAPER"),
    ],
)
def test_bad_input_is_one_line(arguments, message, capsys):
    assert main(["reproduce", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.strip().splitlines()) == 1
    assert message in said.err


def test_a_page_without_markers_is_refused(leg, tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("nothing here")
    assert main(["reproduce", "cho2024", "--markdown", str(page)]) == 2
    assert "<!-- testbed reproduce cho2024 -->" in capsys.readouterr().err
    page.write_text("\n".join(markers("cho2024")))
    rewrite(page, leg)
    once = page.read_text()
    rewrite(page, leg)
    assert page.read_text() == once


# ---------------------------------------------------------------- the recorded leg
def cells(rows):
    """One vector a sample, as MATLAB keeps them."""
    made = np.empty((len(rows), 1), dtype=object)
    for i, row in enumerate(rows):
        made[i, 0] = np.asarray(row)[:, None]
    return made


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A simulated swing in the layout of the public data set, zeros at both ends."""
    from testbed.harness import Scenario

    data = Scenario.load("cheetah_swing").resolved()
    data |= {"duration": 2.2, "rate": 1000, "vary": {}}
    data["sensors"] = {"tau": {"noise": "white", "std": 1.41}}
    data["plant"]["substeps"] = 2
    plant = Scenario.from_dict(data).make_plant()
    plant.reset(1)
    samples = np.array([plant.step()[0]["measured"].flat for _ in range(2200)])
    samples[:50] = samples[-51:] = 0.0
    layout = plant.layout
    names = {"q": "q", "qd": "v", "qdd": "a", "tau": "tau"}
    file = tmp_path_factory.mktemp("data") / "CheetahSysID.mat"
    regressors = np.empty((2200, 1), dtype=object)
    regressors[:, 0] = [np.zeros((3, 60))] * 2200
    columns = {name: cells(samples[:, layout[channel]]) for name, channel in names.items()}
    savemat(file, {**columns, "Y": regressors})
    return file, samples, layout


def test_rows_of_a_recording_are_those_of_the_leg(recorded):
    file, samples, layout = recorded
    swing, simulated = read_swing(file), record(2.2)
    used = slice(50, 2200 - 51)
    np.testing.assert_array_equal(swing.b, samples[used][:, layout["tau"]])
    np.testing.assert_allclose(swing.A[..., :60], simulated.A[used][..., :60], rtol=1e-9, atol=1e-9)
    v = samples[used][:, layout["v"]]
    np.testing.assert_array_equal(swing.A[:, 1, 61], v[:, 1])
    np.testing.assert_array_equal(swing.A[:, 2, 65], np.sign(v[:, 2]))
    assert np.count_nonzero(swing.A[:, 0, 61:63]) == 0
    assert np.all(swing.prior[60:] == 0.0)


def test_the_recorded_leg_is_judged_by_the_same_claims(recorded, tiny, capsys):
    file = recorded[0]
    assert main(["reproduce", "cho2024", "--quick", "--data", str(file), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "CheetahSysID.mat" in document["about"]
    assert "2.099 s" in document["about"]
    found = {row["id"]: row for row in document["claims"]}
    assert found["logdet_possible"]["verdict"] == REPRODUCED
    assert found["batch"]["verdict"] == REPRODUCED


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qdd": None}, "no cells 'qdd'"),
        ({"q": 1500}, "1500 valid samples"),
        ({"tau": np.nan}, "must be finite"),
    ],
)
def test_a_recording_that_is_not_the_leg_is_refused(change, message, recorded, tmp_path, capsys):
    (name, what), samples, layout = *change.items(), *recorded[1:]
    channels = {"q": "q", "qd": "v", "qdd": "a", "tau": "tau"}
    rows = {key: samples[:, layout[channel]].copy() for key, channel in channels.items()}
    if what is None:
        del rows[name]
    elif isinstance(what, int):
        rows[name][50 + what :] = 0.0
    else:
        rows[name][1000] = what
    file = tmp_path / "other.mat"
    savemat(file, {key: cells(value) for key, value in rows.items()})
    assert main(["reproduce", "cho2024", "--data", str(file)]) == 2
    assert message in capsys.readouterr().err

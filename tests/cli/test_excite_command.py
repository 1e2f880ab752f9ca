"""`testbed excite`: one JSON document, exit codes, and a file that `run` uses."""

import json
import tomllib

import pytest

SMALL = ("--candidates", 5, "--harmonics", 3, "--duration", 1.0, "--budget", 1)
SCENARIO = """
title = "A designed trajectory"
duration = 0.2
plant = { use = "cheetah_leg" }
excitation = { use = "fourier", file = "tr.toml", lead_in = 0.5 }
[[estimator]]
use = "rls"
"""


def test_json_is_one_document_with_the_keys_of_the_contract(cli):
    code, out, _ = cli("excite", "cheetah_leg", "--json", "--seed", 3, *SMALL)
    found = json.loads(out)
    assert code == 0
    assert {"kappa_initial", "kappa", "seconds", "limits_ok"} <= set(found)
    assert found["limits_ok"] is True
    assert found["kappa"] <= found["kappa_initial"]
    assert found["seed"] == 3


def test_the_file_drives_a_run(cli, folder):
    code, out, _ = cli("excite", "cheetah_leg", "--out", "tr.toml", *SMALL)
    assert code == 0
    assert "tr.toml" in out
    assert tomllib.loads((folder / "tr.toml").read_text())["joints"] == ["abad", "hip", "knee"]
    (folder / "scene.toml").write_text(SCENARIO)
    code, out, err = cli("run", "scene.toml", "--json")
    assert code == 0, err
    assert json.loads(out)["steps"] > 100


def test_the_file_is_looked_for_beside_the_scenario(cli, folder):
    beside = folder / "elsewhere"
    beside.mkdir()
    cli("excite", "cheetah_leg", "--out", "elsewhere/tr.toml", *SMALL)
    (beside / "scene.toml").write_text(SCENARIO)
    assert cli("run", "elsewhere/scene.toml", "--json")[0] == 0


def test_a_file_of_another_robot_is_refused(cli, folder):
    cli("excite", "cheetah_leg", "--out", "tr.toml", *SMALL)
    (folder / "scene.toml").write_text(SCENARIO.replace("cheetah_leg", "staubli_arm"))
    code, _, err = cli("run", "scene.toml")
    assert code == 2
    assert "excitation.file" in err
    assert "cheetah_leg" in err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("free_flyer",), "driven joints"),
        (("nothing",), "nothing"),
        (("cheetah_leg", "--criterion", "det"), "criterion"),
        (("cheetah_leg", "--duration", "0"), "duration"),
        (("cheetah_leg", "--candidates", "-3"), "candidates"),
        (("cheetah_leg", "--seed", "-1"), "seed"),
        (("cheetah_leg", "--out", "tr.pickle"), "tr.pickle"),
        (("cheetah_leg", "--out", "."), "TOML"),
        (("cheetah_leg", "--harmonics", "many"), "harmonics"),
    ],
)
def test_bad_input_is_one_line_and_code_2(cli, arguments, why):
    code, out, err = cli("excite", *arguments)
    assert code == 2
    assert out == ""
    assert why in err
    assert "Traceback" not in err


def test_the_search_cut_short_says_so_and_is_still_inside_the_limits(cli):
    code, out, err = cli("excite", "cheetah_leg", "--json", "--candidates", 3, "--budget", 0.1)
    assert code == 0
    assert json.loads(out)["finished"] is False
    assert "budget" in err

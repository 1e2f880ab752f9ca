import sys
from pathlib import Path

import pytest

from testbed.core import resources
from testbed.core.errors import BadInput

OURS = '[project]\nname = "inertia-testbed"\n'


def fill(folder: Path) -> None:
    for file in ("models/leg.xml", "models/hand.urdf", "models/parts/tool.xml", "models/notes.md"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("<mujoco/>", encoding="utf-8")
    for file in ("scenarios/arm_grasp.toml", "scenarios/leg_fall.toml"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("", encoding="utf-8")


@pytest.fixture(params=["plain", "with spaces and ümläut 机器人"])
def home(request, tmp_path) -> Path:
    folder = tmp_path / request.param
    folder.mkdir()
    return folder


@pytest.fixture
def checkout(home, monkeypatch) -> Path:
    (home / "testbed").mkdir()
    (home / "pyproject.toml").write_text(OURS, encoding="utf-8")
    fill(home)
    monkeypatch.setattr(resources, "_PACKAGE", home / "testbed")
    return home


@pytest.fixture
def wheel(home, monkeypatch) -> Path:
    data = home / "testbed" / "_data"
    fill(data)
    monkeypatch.setattr(resources, "_PACKAGE", home / "testbed")
    return data


@pytest.fixture
def cwd(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "somewhere else"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def message(call, *args, **kwargs) -> str:
    with pytest.raises(BadInput) as caught:
        call(*args, **kwargs)
    text = str(caught.value)
    assert len(text.splitlines()) == 1
    return text


def test_checkout_is_used(checkout):
    assert resources.models_dir() == checkout / "models"
    assert resources.scenarios_dir() == checkout / "scenarios"


def test_wheel_is_used(wheel):
    assert resources.models_dir() == wheel / "models"
    assert resources.scenarios_dir() == wheel / "scenarios"


def test_checkout_wins_over_stale_copies(checkout):
    fill(checkout / "testbed" / "_data")
    assert resources.models_dir() == checkout / "models"


@pytest.mark.parametrize(
    "pyproject",
    [None, b'[project]\nname = "other"\n', b'[project]\nname = "inertia-testbed-x"\n', b"\xff\xfe"],
)
def test_someone_elses_folder_is_not_a_checkout(wheel, pyproject):
    parent = wheel.parent.parent
    fill(parent)
    if pyproject is not None:
        (parent / "pyproject.toml").write_bytes(pyproject)
    assert resources.models_dir() == wheel / "models"


def test_nothing_shipped_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path / "testbed")
    assert "_data" in message(resources.models_dir)
    assert "_data" in message(resources.scenarios_dir)


def test_names(checkout):
    assert resources.model_names() == ["hand", "leg", "parts/tool"]
    assert resources.scenario_names() == ["arm_grasp", "leg_fall"]


@pytest.mark.parametrize("name", ["arm_grasp", "arm_grasp.toml"])
def test_shipped_scenario(checkout, cwd, name):
    assert resources.find_scenario(name) == checkout / "scenarios" / "arm_grasp.toml"


def test_shipped_scenario_of_a_wheel(wheel, cwd):
    assert resources.find_scenario("arm_grasp") == wheel / "scenarios" / "arm_grasp.toml"


def test_own_scenario(checkout, cwd):
    own = cwd / "mein Versuch ü.toml"
    own.touch()
    for text in ("mein Versuch ü", "mein Versuch ü.toml", "./mein Versuch ü", own, str(own)):
        assert resources.find_scenario(text) == own


def test_bare_name_means_the_shipped_one(checkout, cwd):
    own = cwd / "arm_grasp.toml"
    own.touch()
    assert resources.find_scenario("arm_grasp") == checkout / "scenarios" / "arm_grasp.toml"
    assert resources.find_scenario("arm_grasp.toml") == own
    assert resources.find_scenario("./arm_grasp") == own


def test_home_is_expanded(checkout, cwd, monkeypatch):
    (cwd / "mine.toml").touch()
    monkeypatch.setenv("USERPROFILE" if sys.platform == "win32" else "HOME", str(cwd))
    assert resources.find_scenario("~/mine.toml") == cwd / "mine.toml"


def test_result_is_absolute(checkout, cwd, monkeypatch):
    (cwd / "mine.toml").touch()
    found = resources.find_scenario("mine.toml")
    monkeypatch.chdir("/")
    assert found.is_file()


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("leg", "leg.xml"),
        ("leg.xml", "leg.xml"),
        ("hand", "hand.urdf"),
        ("parts/tool", "parts/tool.xml"),
        (Path("parts/tool.xml"), "parts/tool.xml"),
    ],
)
def test_shipped_model(checkout, cwd, name, file):
    assert resources.find_model(name) == checkout / "models" / file


@pytest.mark.parametrize("as_file", [False, True])
def test_model_beside_the_scenario_comes_first(checkout, cwd, tmp_path, as_file):
    project = tmp_path / "projekt ü"
    project.mkdir()
    scenario = project / "mine.toml"
    scenario.touch()
    (cwd / "my.xml").touch()
    relative_to = scenario if as_file else project
    assert resources.find_model("my.xml", relative_to) == cwd / "my.xml"
    (project / "my.xml").touch()
    assert resources.find_model("my.xml", relative_to) == project / "my.xml"


def test_unknown_scenario_names_the_close_ones(checkout, cwd):
    text = message(resources.find_scenario, "arm_graps")
    assert text.startswith("no scenario 'arm_graps'")
    assert "did you mean 'arm_grasp'?" in text
    assert "one of arm_grasp, leg_fall" in text


@pytest.mark.parametrize("name", ["Arm-Graps", "arm_graps.toml", "scenarios/arm_graps.toml"])
def test_close_matches_forgive_case_suffix_and_folder(checkout, cwd, name):
    assert "did you mean 'arm_grasp'?" in message(resources.find_scenario, name)


def test_nothing_close(checkout, cwd):
    text = message(resources.find_model, "zzzzzzzz.xml", cwd / "no such folder")
    assert "did you mean" not in text
    assert "one of hand, leg, parts/tool" in text
    assert "no such folder" in text


def test_folder_is_not_a_file(checkout, cwd):
    (cwd / "mine").mkdir()
    assert "is a folder" in message(resources.find_scenario, "mine")


@pytest.mark.parametrize(
    "name", ["", " ", "a\nb", "a\0b", "x" * 5000, "~nobody-here/a.toml", "..", "/", "\ud800"]
)
def test_odd_names_are_bad_input(checkout, cwd, name):
    message(resources.find_scenario, name)
    message(resources.find_model, name)


def test_dots_do_not_lead_out_of_the_shipped_folder(checkout, cwd):
    message(resources.find_model, "../models/leg.xml")


def test_installed_package_has_models():
    assert resources.model_names()

"""`testbed bench`: what it gathers, what it does about benchmarks that fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testbed.cli import bench_runs
from testbed.cli.bench_command import MARKERS, duration, figure
from testbed.cli.main import main
from testbed.core.resources import benchmarks_dir

ROOT = Path(__file__).parents[2]
# Not about speed: counts of runs, a soak test, accuracy next to neighbours; and what others use.
OTHERS = {"breaking", "env_soak", "peers", "peer_log", "timing", "__init__"}
ROW = '{"ratio": %s, "us": 1.5, "reference_us": 3, "reference": "that", "bound": 1.0}'
FAKES = {
    "quick": f"""print('{{"ratios": {{"step": {ROW % 0.5}}}, "broken": []}}')""",
    "again": f"""print('{{"ratios": {{"step": {ROW % 0.25}}}, "broken": []}}')""",
    "slow": f"""import sys
print('{{"ratios": {{"lap": {ROW % 2}}}, "broken": ["lap: 2 × that, at most 1"]}}')
sys.exit(1)""",
    "lacks": "import pinocchio.nowhere_at_all",
    "breaks": "raise RuntimeError('no luck')",
    "chats": "print('hello')",
    "threads": """import os, sys
assert os.environ["OMP_NUM_THREADS"] == "1" and sys.argv[1:] == ["--json", "--few"]
"""
    + f"""print('{{"ratios": {{"threads": {ROW % 0.5}}}, "broken": []}}')""",
}


@pytest.fixture
def fakes(tmp_path, monkeypatch):
    """A folder of benchmarks that take no time."""
    folder = tmp_path / "shipped" / "benchmarks"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    for name, text in FAKES.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(bench_runs, "benchmarks_dir", lambda: folder)
    calls = {name: ("--few",) if name == "threads" else () for name in FAKES}
    monkeypatch.setattr(bench_runs, "BENCHMARKS", calls)
    monkeypatch.delenv("PYTHONPATH", raising=False)  # the folder is found without help
    monkeypatch.chdir(tmp_path)
    (tmp_path / "benchmarks").mkdir()  # the user's own, which is not meant
    (tmp_path / "benchmarks" / "__init__.py").touch()


def bench(capfd, *arguments):
    code = main(["bench", *arguments])
    out, err = capfd.readouterr()
    return code, out, err


def test_all_that_was_measured_is_told_also_when_others_fail(fakes, capfd):
    code, out, err = bench(capfd, "--json")
    found = json.loads(out)
    assert code == 1
    assert set(found["ratios"]) == {"step", "again: step", "lap", "threads"}
    assert found["ratios"]["step"] == {
        "ratio": 0.5, "us": 1.5, "reference_us": 3, "reference": "that", "bound": 1.0,
        "benchmark": "quick",
    }  # fmt: skip
    assert found["broken"] == ["lap: 2 × that, at most 1"]
    assert found["skipped"] == {"lacks": "needs pinocchio: pip install pin"}
    assert set(found["failed"]) == {"breaks", "chats"}
    assert found["failed"]["breaks"] == "RuntimeError: no luck"
    for line in (
        "lacks was left out",
        "breaks failed: Runtime",
        "a bound is broken: lap: 2 × that",
    ):
        assert line in err


@pytest.mark.parametrize(
    ("names", "code"),
    [(["quick"], 0), (["quick", "lacks"], 0), (["lacks"], 1), (["slow"], 1), (["breaks"], 1)],
)
def test_exit_code(fakes, capfd, names, code):
    assert bench(capfd, *names)[0] == code


def test_table_for_a_terminal(fakes, capfd):
    code, out, _ = bench(capfd, "quick", "quick")
    assert code == 0
    line = next(line for line in out.splitlines() if "step" in line)
    assert line.split() == ["step", "0.500", "1", "1.50", "that", "(3.00", "µs)"]


def test_a_name_mistyped(fakes, capfd):
    code, out, err = bench(capfd, "quikc")
    assert (code, out) == (2, "")
    assert "did you mean 'quick'?" in err


def test_the_table_goes_between_the_markers(fakes, capfd, tmp_path, monkeypatch):
    monkeypatch.setattr(bench_runs, "BENCHMARKS", {"quick": (), "lacks": ()})
    page = tmp_path / "page.md"
    page.write_text(f"before\n{MARKERS[0]}\nold\n{MARKERS[1]}\nafter\n", encoding="utf-8")
    assert bench(capfd, "--markdown", str(page))[0] == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- bench -->\n| what")
    assert text.endswith("<!-- /bench -->\nafter\n")
    assert "| step | 0.500 | that | 1.50 µs |" in text
    assert "Not measured: lacks (needs pinocchio" in text
    assert "old" not in text


@pytest.mark.parametrize("text", [None, "no markers"])
def test_a_page_without_markers_is_refused_before_anything_runs(fakes, capfd, tmp_path, text):
    page = tmp_path / "page.md"
    if text is not None:
        page.write_text(text)
    code, out, err = bench(capfd, "--markdown", str(page))
    assert (code, out) == (2, "")
    assert "--markdown" in err
    assert "no luck" not in err


def test_a_few_benchmarks_do_not_replace_the_whole_table(fakes, capfd, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(text := f"{MARKERS[0]}\nold\n{MARKERS[1]}\n", encoding="utf-8")
    code, out, err = bench(capfd, "quick", "--markdown", str(page))
    assert (code, out) == (2, "")
    assert "name no benchmark" in err
    assert page.read_text(encoding="utf-8") == text


def test_every_benchmark_of_speed_is_in_the_list():
    modules = {file.stem for file in benchmarks_dir().glob("*.py")}
    assert modules - OTHERS == set(bench_runs.BENCHMARKS)


def test_the_readme_has_a_table_of_every_benchmark():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.partition(MARKERS[0])[2].partition(MARKERS[1])[0]
    assert table.count("\n|") > 20
    assert "Not measured" not in table
    for what in ("Pinocchio", "LAPACK", "RK4", "Clarabel", "numpy.loadtxt", "two loops"):
        assert what in table


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.01234, "0.0123"), (4.5678, "4.57"), (789.4, "789"), (10.5e6, "10 500 000")],
)
def test_figures_have_three_digits(value, text):
    assert figure(value).replace("\u202f", " ") == text


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (1.654, "1.65 µs"),
        (999.6, "1.00 ms"),
        (29400, "29.4 ms"),
        (999_600, "1.00 s"),
        (1e9, "1 000 s"),
    ],
)
def test_times_have_a_unit_that_suits_them(us, text):
    assert duration(us).replace("\u202f", " ") == text


def test_a_real_benchmark_prints_what_the_command_gathers(monkeypatch, capfd):
    """The cheapest one, in a process of its own, from the folder that ships."""
    pytest.importorskip("pinocchio")
    main(["bench", "regressor", "--json"])  # the code depends on the machine
    found = json.loads(capfd.readouterr().out)
    assert [row["reference"] for row in found["ratios"].values()] == ["Pinocchio"]
    assert not found["failed"]

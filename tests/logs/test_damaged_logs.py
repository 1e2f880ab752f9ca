# ruff: noqa: E501  (tables of cases)
"""Damaged logs, each with what must come of it: a message, or a count of what was mended.

Never a traceback, never a silent wrong answer: what is replayed after mending predicts the torques as
well as the log before it was damaged.
"""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest

from testbed.cli.main import main
from testbed.logs.csv_file import text_of
from tests.logs.log_files import arm

SECONDS = 4.0
_KEPT: dict[str, object] = {}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The model and the columns of a good log."""
    return arm(tmp_path_factory.mktemp("whole"), SECONDS)


def call(capsys, folder, model, path, *more):
    code = main(["replay", str(path), "--model", str(model), "--json", *more])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, (json.loads(out) if code == 0 else None), err


# ----- kinds that are refused: name → (bytes of the file, its suffix, message) -----------------


def text(columns):
    return text_of(columns).encode()


def npz(columns, **more):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **columns, **more)
    return buffer.getvalue()


def other(columns, **changes):
    return {**columns, **changes}


def without(columns, *names):
    return {k: v for k, v in columns.items() if k not in names}


def noisy_bytes(n):
    return np.random.default_rng(0).integers(0, 256, n, dtype=np.uint8).tobytes()


def pickled(columns):
    return npz(columns, extra=np.array([{"a": 1}, None], dtype=object))


def bomb(columns):
    """An archive that says it holds more than any memory."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("t.npy", b"0" * 1000)
    data = bytearray(buffer.getvalue())
    at = data.rfind(b"PK\x01\x02")
    data[at + 24 : at + 28] = (2**32 - 16).to_bytes(4, "little")
    at2 = data.rfind(b"PK\x05\x06")
    entry = bytes(data[at:at2])
    end = bytearray(data[at2:])
    end[8:10] = end[10:12] = (8).to_bytes(2, "little")
    end[12:16] = (8 * len(entry)).to_bytes(4, "little")
    return bytes(data[:at]) + 8 * entry + bytes(end)


def swap_rows(columns):
    rng = np.random.default_rng(0)
    order = rng.permutation(len(columns["t"]))
    return {k: v[order] for k, v in columns.items()}


REFUSED = {
    "empty file": (lambda c: b"", ".csv", "the file is empty"),
    "names but no rows": (lambda c: b"t,q.lift,tau.lift\n", ".csv", "the log is empty"),
    "binary called csv": (lambda c: b"\x00\x01" + noisy_bytes(4000), ".csv", "a binary file"),
    "bytes without zeros": (lambda c: b"\xff\xfa\xc0" * 500, ".csv", "binary file, or a text"),
    "prose": (lambda c: b"dear diary\nnothing happened\n", ".csv", "no table of numbers"),
    "utf-16": (lambda c: text_of(c).encode("utf-16"), ".csv", "UTF-16 text: save it as UTF-8"),
    "one row": (lambda c: b"t,q.lift,q.bend,tau.lift,tau.bend\n0,1,2,3,4\n", ".csv", "log is empty"),
    "a name twice": (lambda c: b"t,q.lift,q.lift\n0,1,2\n1,2,3\n", ".csv", "share a name: 'q.lift'"),
    "delimiter changes": (
        lambda c: text(c)[:400] + text(c)[400:].replace(b",", b";"), ".csv", "delimiter ';' is wrong",
    ),
    "truncated npz": (lambda c: npz(c)[:-500], ".npz", "damaged or cut off"),
    "flipped bits npz": (
        lambda c: npz(c)[:2000] + noisy_bytes(60) + npz(c)[2060:], ".npz", "damaged",
    ),
    "pickles": (pickled, ".npz", "pickled Python objects, which are never loaded"),
    "archive bomb": (bomb, ".npz", "GiB"),
    "columns of unequal length": (
        lambda c: npz(other(c, **{"q.lift": c["q.lift"][:-7]})), ".npz", "columns differ in length",
    ),
    "header no json": (lambda c: npz(c, header=np.array("{oops")), ".npz", "header is damaged"),
    "format of the future": (
        lambda c: npz(c, header=np.array('{"format": "testbed.log/9"}')), ".npz", "'testbed.log/9'",
    ),
    "currents": (
        lambda c: text({k.replace("tau", "current"): v for k, v in c.items()}), ".csv",
        "'current.lift' looks like a current, not a torque: say .* what effort is",
    ),
    "header of unknown effort": (
        lambda c: npz(c, header=np.array('{"effort": "bananas"}')), ".npz", "effort is one of torque, ",
    ),
    "header whose driver is no name": (
        lambda c: npz(c, header=np.array('{"driver": 5}')), ".npz", "driver is a name, not 5",
    ),
    "header whose measure is no name": (
        lambda c: npz(c, header=np.array('{"measures": []}')), ".npz", "measures is a name, not ..",
    ),
    "header of an empty scenario": (
        lambda c: npz(c, header=np.array('{"format": "testbed.log/1", "plant": "mjcf", "scenario": {}}')),
        ".npz", "scenario: title is missing",
    ),
    "header whose plant is no table": (
        lambda c: npz(c, header=np.array(
            '{"format": "testbed.log/1", "plant": "mjcf", "scenario": {"plant": 5}}')),
        ".npz", "scenario: title is missing",
    ),
    "encoder ticks": (
        lambda c: text({k: 1e6 * v if k[0] == "q" else v for k, v in c.items()}), ".csv",
        "q reaches .* beyond the 10000 of any robot: say units",
    ),
    "truncated parquet": (lambda c: b"PAR1" + noisy_bytes(900), ".parquet", "not a complete Parquet"),
    "mat that is none": (lambda c: b"MATLAB 5.0 MAT-file".ljust(128) + noisy_bytes(99), ".mat",
                         "not a complete MATLAB file|damaged|no signals"),
    "mcap that is none": (lambda c: noisy_bytes(500), ".mcap", "not a complete ROS 2 bag"),
    "db3 that is none": (lambda c: noisy_bytes(5000), ".db3", "not a complete ROS 2 bag"),
    "unknown kind": (lambda c: text(c), ".xlsx", "unknown kind of log '.xlsx'"),
    "no times": (lambda c: text(without(c, "t")), ".csv", "no column of times"),
    "a joint is missing": (
        lambda c: text(without(c, "q.bend")), ".csv", "no position of the joints 'bend'",
    ),
    "no torques": (
        lambda c: text(without(c, "tau.lift", "tau.bend")), ".csv", "no torques of the joints",
    ),
    "all times the same": (lambda c: text(other(c, t=np.ones(len(c["t"])))), ".csv", "same time"),
    "times are not numbers": (
        lambda c: text(other(c, t=np.full(len(c["t"]), np.nan))), ".csv", "no column of times|no finite",
    ),
    "everything missing": (
        lambda c: text(other(c, **{"tau.lift": np.full(len(c["t"]), np.inf)})), ".csv", "only 0 rows",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind, whole, tmp_path, capsys):
    model, columns = whole
    make, suffix, message = REFUSED[kind]
    path = tmp_path / f"log{suffix}"
    path.write_bytes(make(columns))
    code, _, err = call(capsys, tmp_path, model, path)
    assert code == 2
    lines = [line for line in err.splitlines() if line.strip()]
    assert len(lines) == 1
    import re

    assert re.search(message, err), err
    assert path.name in err


# ----- kinds that are mended: name → (columns or bytes, rows dropped, warning) ------------------


def block(columns, value, rows=slice(100, 130)):
    damaged = {k: v.copy() for k, v in columns.items()}
    damaged["tau.bend"][rows] = value
    return damaged


def repeated(columns, n=7):
    index = np.sort(np.concatenate([np.arange(len(columns["t"])), np.arange(50, 50 + n)]))
    return {k: v[index] for k, v in columns.items()}


def back(columns):
    damaged = {k: v.copy() for k, v in columns.items()}
    damaged["t"][300] = 0.2
    damaged["t"][500] -= 1.0
    return damaged


def gap(columns):
    keep = np.ones(len(columns["t"]), dtype=bool)
    keep[200:260] = keep[400:403] = False
    return {k: v[keep] for k, v in columns.items()}


def jitter(columns):
    rng = np.random.default_rng(3)
    t = columns["t"] + rng.uniform(-0.3, 0.3, len(columns["t"])) * 0.005
    on = np.arange(len(t)) * 0.005
    new = {"t": t}
    for k, v in columns.items():
        if k != "t":
            new[k] = np.interp(t, on, v)
    return new


MENDED = {
    "as it was": (lambda c: text(c), 0, None),
    "truncated in a row": (lambda c: text(c)[:-40], 1, "1 rows with another number of cells"),
    "rows too long": (lambda c: text(c) + b"1,2,3,4,5,6,7,8,9\n", 1, "another number of cells"),
    "block of nan": (lambda c: text(block(c, np.nan)), 30, "30 rows with missing numbers .in tau"),
    "infinities": (lambda c: text(block(c, np.inf, slice(9, 12))), 3, "3 rows with missing"),
    "texts in cells": (
        lambda c: text(c).replace(b"\n0.5,", b"\nerror,", 1), 1, "1 cells hold texts|without a time",
    ),
    "repeated stamps": (lambda c: text(repeated(c)), 7, "7 rows repeat a time"),
    "time goes back": (lambda c: text(back(c)), 2, "2 rows go back in time and are dropped"),
    "shuffled rows": (lambda c: text(swap_rows(c)), 0, "all rows are sorted by time"),
    "shuffled columns": (lambda c: text(dict(reversed(c.items()))), 0, None),
    "gaps": (lambda c: text(gap(c)), 0, "2 gaps in time, the longest 0.305 s: 1 split the log"),
    "uneven times": (lambda c: text(jitter(c)), 0, "times are uneven: interpolated"),
    "a clock that begins anew": (
        lambda c: text(other(c, t=np.concatenate([c["t"][:500], c["t"][:300] + 0.0025]))), 0,
        "the clock begins anew 1 times .first in row 501.",
    ),
    "one absurd number": (lambda c: text(block(c, 1e300, slice(100, 101))), 1,
                          "1 rows with numbers that no robot has .tau up to 1e.300"),
    "one wild stamp": (
        lambda c: text(other(c, t=np.where(np.arange(len(c["t"])) == 300, 1e9, c["t"]))), 1,
        "1 rows in pieces shorter than 10",
    ),
    "a gap of two days": (
        lambda c: text(other(c, t=c["t"] + 172800.0 * (np.arange(len(c["t"])) > 400))), 0, "1 split the log",
    ),
    "a comment in braces": (lambda c: b"# {made by hand}\n" + text(c), 0, None),
    "semicolons": (lambda c: text(c).replace(b",", b";"), 0, None),
    "windows lines": (lambda c: text(c).replace(b"\n", b"\r\n"), 0, None),
    "blank lines": (lambda c: text(c).replace(b"\n", b"\n\n"), 0, None),
    "a comma at every end": (
        lambda c: b"".join(x + b",\n" if i else x + b"\n" for i, x in enumerate(text(c).splitlines())),
        0, None,
    ),
    "other columns beside": (
        lambda c: text(other(c, temperature=np.full(len(c["t"]), 40.0))), 0, None,
    ),
    "stamps of a wall clock": (lambda c: text(other(c, t=c["t"] + 1.7e9)), 0, None),
}  # fmt: skip


@pytest.mark.parametrize("kind", MENDED)
def test_mended_and_counted(kind, whole, tmp_path, capsys):
    model, columns = whole
    make, dropped, warning = MENDED[kind]
    path = tmp_path / "log.csv"
    path.write_bytes(make(columns))
    code, result, err = call(capsys, tmp_path, model, path)
    assert code == 0, err
    done = result["import"]
    assert done["dropped"] == dropped
    if warning is None:
        assert done["warnings"] == []
    else:
        import re

        assert any(re.search(warning, w) for w in done["warnings"]), done["warnings"]
    rms = result["estimators"]["rls"]["metrics"]["prediction_rmse"]
    if "rms" not in _KEPT:
        (tmp_path / "good.csv").write_bytes(text(columns))
        _, good, _ = call(capsys, tmp_path, model, tmp_path / "good.csv")
        _KEPT["rms"] = good["estimators"]["rls"]["metrics"]["prediction_rmse"]
    assert rms < 1.6 * _KEPT["rms"]
    if done["warnings"]:  # with --strict none of them is good enough
        code, _, err = call(capsys, tmp_path, model, path, "--strict")
        assert code == 2
        assert "--strict" in err


# ----- kinds that are told: numbers that look wrong --------------------------------------------


def clipped(columns):
    return other(columns, **{"tau.lift": np.clip(columns["tau.lift"], -3.0, 3.0)})


def stuck(columns):
    return other(columns, **{"tau.bend": np.full(len(columns["t"]), 0.25)})


def delayed(columns, samples=3):
    late = {k: v[:-samples] for k, v in columns.items()}
    for name in ("tau.lift", "tau.bend"):
        late[name] = columns[name][:-samples]
    for k in late:
        if k[0] in "qv":
            late[k] = columns[k][samples:]
    late["t"] = columns["t"][:-samples]
    return late


TOLD = {
    "degrees": (
        lambda c: {k: np.degrees(v) if k[0] in "qv" else v for k, v in c.items()}, "looks like degrees",
    ),
    "milliseconds": (lambda c: other(c, t=1e3 * c["t"]), "another unit .time.unit"),
    "velocity in degrees": (
        lambda c: {k: np.degrees(v) if k[0] == "v" else v for k, v in c.items()},
        r"57.3 times the derivative of its q .degrees",
    ),
    "velocity of the other sign": (
        lambda c: other(c, **{"v.lift": -c["v.lift"]}), r"-1 times the derivative of its q .a sign",
    ),
    "velocities swapped": (
        lambda c: other(c, **{"v.lift": c["v.bend"], "v.bend": c["v.lift"]}), "not the derivative",
    ),
    "late torque": (delayed, r"tau is \+1[45]\.\d+ ms late against the motion"),
    "torque 30 ms late": (lambda c: delayed(c, 6), r"tau is \+(29|30)\.\d+ ms late"),
    "torque 60 ms late": (lambda c: delayed(c, 12), r"tau is \+(59|60)\.\d+ ms late"),
    "torque in N·mm": (
        lambda c: {k: 1e3 * v if k.startswith("tau") else v for k, v in c.items()},
        "times as large as the CAD model says: it looks like another unit",
    ),
    "5 kHz in ms without velocities": (
        lambda c: other(without(c, "v.lift", "v.bend"), t=40 * c["t"]), "another unit .time.unit",
    ),
    "a velocity is missing": (lambda c: without(c, "v.bend"), "v of 'bend' is missing: v of all joints"),
    "a gap and a sign": (
        lambda c: {k: np.delete(-v if k == "v.lift" else v, slice(300, 500)) for k, v in c.items()},
        r"-1 times the derivative of its q .a sign",
    ),
    "clipped": (clipped, "tau of lift looks clipped"),
    "stuck": (stuck, "tau of bend is stuck at 0.25"),
}  # fmt: skip


@pytest.mark.parametrize("kind", TOLD)
def test_told(kind, whole, tmp_path, capsys):
    import re

    model, columns = whole
    make, warning = TOLD[kind]
    path = tmp_path / "log.csv"
    path.write_bytes(text(make(columns)))
    code, result, err = call(capsys, tmp_path, model, path)
    assert code == 0, err
    assert any(re.search(warning, w) for w in result["import"]["warnings"]), result["import"]
    assert call(capsys, tmp_path, model, path, "--strict")[0] == 2


def test_identify_tells_the_same(whole, tmp_path, capsys):
    model, columns = whole
    path = tmp_path / "log.csv"
    path.write_bytes(text(block(columns, np.nan)))
    arguments = ["identify", "--model", str(model), "--log", str(path), "--method", "least_squares"]
    assert main([*arguments, "--json"]) == 0
    done = json.loads(capsys.readouterr().out)["import"]
    assert done["dropped"] == 30
    assert any("30 rows with missing numbers" in w for w in done["warnings"])
    assert main([*arguments, "--strict"]) == 2
    assert "--strict: log.csv: 30 rows" in capsys.readouterr().err


def test_thirty_kinds_of_damage():
    assert len(REFUSED) + len(MENDED) + len(TOLD) - 6 >= 30  # six of them are not damaged

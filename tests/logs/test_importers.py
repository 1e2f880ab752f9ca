"""One log in every kind of file: the same columns come out."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.io import savemat

from testbed import BadInput
from testbed.logs import read_log
from testbed.replay import replay
from tests.logs.log_files import JOINTS, arm, write_text


@pytest.fixture
def log(tmp_path):
    return arm(tmp_path)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_text_of_any_delimiter(log, tmp_path, delimiter):
    _, columns = log
    table = read_log(write_text(tmp_path / "log.csv", columns, delimiter))
    assert list(table.columns) == list(columns)
    for name, column in columns.items():
        np.testing.assert_array_equal(table.columns[name], column)


def test_decimal_commas_and_a_mark_at_the_beginning(tmp_path):
    (tmp_path / "log.csv").write_bytes("\ufefft;q\n0,0;1,5\n0,1;-2,5e-1\n".encode())
    table = read_log(tmp_path / "log.csv")
    np.testing.assert_array_equal(table.columns["q"], [1.5, -0.25])


def test_decimal_commas_without_names(tmp_path):
    rows = "".join(f"0,{i:02d};1,{i};-2,5\n" for i in range(9))
    (tmp_path / "log.csv").write_text(rows)
    table = read_log(tmp_path / "log.csv")
    assert list(table.columns) == ["column1", "column2", "column3"]
    np.testing.assert_array_equal(table.columns["column1"], np.arange(9) / 100)


def test_text_columns_are_left_out_and_blanks_are_missing(tmp_path):
    (tmp_path / "log.csv").write_text("t,frame,q\n0,base,1\n1,base,\n2,base,nan\n")
    table = read_log(tmp_path / "log.csv")
    assert list(table.columns) == ["t", "q"]
    np.testing.assert_array_equal(table.columns["q"], [1, np.nan, np.nan])
    assert any("frame" in note for note in table.notes)


def mat5(path, data):
    savemat(path, data)


def mat73(path, data):
    """A file as MATLAB 7.3 writes it: columns first, cells as references."""
    import h5py

    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in data.items():
            if isinstance(value, np.ndarray) and value.dtype == object:
                refs = np.empty(value.shape[::-1], dtype=h5py.ref_dtype)
                for i, cell in enumerate(value.ravel()):
                    inner = file.create_dataset(f"#refs#/{name}{i}", data=np.asarray(cell).T)
                    refs.T.flat[i] = inner.ref
                file.create_dataset(name, data=refs).attrs["MATLAB_class"] = np.bytes_("cell")
            elif isinstance(value, dict):
                for key, inner in value.items():
                    file.create_dataset(f"{name}/{key}", data=np.atleast_2d(inner).T)
            else:
                file.create_dataset(name, data=np.atleast_2d(value).T)
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(128))


@pytest.mark.parametrize("write", [mat5, mat73])
def test_matlab_matrices_and_structures(log, tmp_path, write):
    _, columns = log
    q = np.column_stack([columns[f"q.{j}"] for j in JOINTS])
    tau = np.column_stack([columns[f"tau.{j}"] for j in JOINTS])
    write(tmp_path / "log.mat", {"time": columns["t"][:, None], "data": {"q": q, "tau": tau.T}})
    table = read_log(tmp_path / "log.mat")
    np.testing.assert_array_equal(table.columns["time"], columns["t"])
    np.testing.assert_array_equal(table.columns["data.q.2"], columns["q.bend"])
    np.testing.assert_array_equal(table.columns["data.tau.1"], columns["tau.lift"])


@pytest.mark.parametrize("write", [mat5, mat73])
def test_the_layout_of_the_public_cheetah_data(tmp_path, write):
    """Cells `Y`, `q`, `qd`, `qdd`, `tau`, one vector or matrix a sample; it replays on the leg."""
    from testbed import make_plant

    plant = make_plant("cheetah_leg", duration=0.6, rate=500)
    plant.reset(0)
    flat = np.array([plant.step()[1].clean.flat for _ in range(300)])
    cells = {}
    for name, channel in (("q", "q"), ("qd", "v"), ("qdd", "a"), ("tau", "tau")):
        cell = np.empty((300, 1), dtype=object)
        for i, row in enumerate(flat[:, plant.layout[channel]]):
            cell[i, 0] = row[:, None]
        cells[name] = cell
    cells["Y"] = np.empty((300, 1), dtype=object)
    for i in range(300):
        cells["Y"][i, 0] = np.zeros((3, 60))
    write(tmp_path / "leg.mat", {**cells, "dt": np.array([[0.002]])})
    table = read_log(tmp_path / "leg.mat")
    np.testing.assert_array_equal(table.columns["qdd.3"], flat[:, plant.layout["a"]][:, 2])
    assert any("'Y' is left out" in note for note in table.notes)
    (tmp_path / "leg.toml").write_text("[model]\ncoulomb_speed = 0.05\n")
    result = replay(tmp_path / "leg.mat", plant="cheetah_leg", config=tmp_path / "leg.toml")
    warnings = result.scorecard["import"]["warnings"]
    assert any("numbered, not named" in w and "q.1 = abad" in w for w in warnings)
    # The leg's truth is its CAD here, so the prior already predicts to a small part.
    assert result.scorecard["estimators"]["rls"]["metrics"]["prediction_rmse"] < 0.1


def test_a_matlab_file_that_ends_its_reader_is_damaged(tmp_path, monkeypatch):
    """SciPy's compiled reader can be made to crash: here it does so as soon as it is imported."""
    mat5(tmp_path / "log.mat", {"q": np.ones((5, 2))})
    assert list(read_log(tmp_path / "log.mat").columns) == ["q.1", "q.2"]
    (tmp_path / "scipy").mkdir()
    (tmp_path / "scipy" / "__init__.py").write_text("import os\nos.abort()\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadInput, match=r"log\.mat: it is damaged: reading it broke off"):
        read_log(tmp_path / "log.mat")


def test_a_matlab_73_file_with_other_things_inside_is_refused(tmp_path):
    import h5py

    mat73(tmp_path / "log.mat", {"q": np.ones((5, 2))})
    with h5py.File(tmp_path / "log.mat", "r+") as file:
        file["kind"] = np.dtype("f8")  # a named type: it has neither shape nor numbers
    with pytest.raises(BadInput, match=r"log\.mat: not a complete MATLAB file"):
        read_log(tmp_path / "log.mat")


@pytest.mark.parametrize("storage", ["sqlite3", "mcap"])
@pytest.mark.parametrize("single", [False, True])
def test_ros_bags(log, tmp_path, storage, single):
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    model, columns = log
    store = get_typestore(Stores.ROS2_HUMBLE)
    types = store.types
    State, Wrench = (
        types[t] for t in ("sensor_msgs/msg/JointState", "geometry_msgs/msg/WrenchStamped")
    )
    Header, Time = types["std_msgs/msg/Header"], types["builtin_interfaces/msg/Time"]
    Vector, Force = types["geometry_msgs/msg/Vector3"], types["geometry_msgs/msg/Wrench"]
    plugin = StoragePlugin.MCAP if storage == "mcap" else StoragePlugin.SQLITE3
    with Writer(tmp_path / "bag", version=9, storage_plugin=plugin) as writer:
        states = writer.add_connection("/joint_states", State.__msgtype__, typestore=store)
        forces = writer.add_connection("/ft", Wrench.__msgtype__, typestore=store)
        for i, t in enumerate(columns["t"]):
            stamp = Time(sec=100 + int(t), nanosec=round((t % 1) * 1e9))
            names = JOINTS if i % 2 else JOINTS[::-1]  # the order may change: names decide

            def of(channel, names=names, i=i):
                return np.array([columns[f"{channel}.{j}"][i] for j in names])

            state = State(Header(stamp, ""), list(names), of("q"), of("v"), of("tau"))
            writer.write(states, 10**12 + i, store.serialize_cdr(state, State.__msgtype__))
            wrench = Wrench(Header(stamp, "ft"), Force(Vector(1.0, 2.0, t), Vector(0.0, 0.0, 3.0)))
            writer.write(forces, 10**12 + i, store.serialize_cdr(wrench, Wrench.__msgtype__))
    path = tmp_path / "bag"
    if single:
        path = next(p for p in path.iterdir() if p.suffix in (".db3", ".mcap"))
    table = read_log(path)
    for channel, name in (("q", "position"), ("v", "velocity"), ("tau", "effort")):
        for joint in JOINTS:
            np.testing.assert_array_equal(
                table.columns[f"{name}.{joint}"], columns[f"{channel}.{joint}"]
            )
    np.testing.assert_allclose(table.columns["t"] - 100, columns["t"], atol=1e-6)
    np.testing.assert_allclose(table.columns["wrench.fz"], columns["t"], atol=1e-6)
    result = replay(path, model=model)
    assert result.scorecard["estimators"]["rls"]["failed"] is None
    assert result.scorecard["import"]["rows"] == len(columns["t"])


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [("a.parquet", "pyarrow", "parquet"), ("a.mcap", "rosbags.highlevel", "ros")],
)
def test_a_missing_extra_is_named(tmp_path, monkeypatch, name, module, extra):
    (tmp_path / name).write_bytes(b"something")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(BadInput, match=rf"pip install 'inertia-testbed\[{extra}\]'"):
        read_log(tmp_path / name)


def test_a_missing_h5py_is_named(tmp_path, monkeypatch):
    (tmp_path / "a.mat").write_bytes(b"MATLAB 7.3 MAT-file".ljust(128))
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(BadInput, match=r"pip install 'inertia-testbed\[matlab\]'"):
        read_log(tmp_path / "a.mat")

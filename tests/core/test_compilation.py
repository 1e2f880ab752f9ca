"""Compilation takes a while the first time: somebody who waits must be told."""

import pytest

from testbed.core import jit


def test_a_cache_is_cold_until_something_was_compiled(tmp_path, monkeypatch):
    monkeypatch.setattr(jit, "_FOLDER", str(tmp_path))
    assert jit.is_cold()
    (tmp_path / "estimators_0123").mkdir()  # numba makes these when a kernel is decorated
    assert jit.is_cold()
    (tmp_path / "estimators_0123" / "square_root.fold.py311.nbi").touch()
    assert not jit.is_cold()


@pytest.mark.skipif(not jit.COMPILED, reason="needs numba, switched on")
def test_compiling_is_told_once_and_running_is_not():
    import numba

    add, twice = numba.njit(lambda x, y: x + y), numba.njit(lambda x: 2 * x)
    told = []
    with jit.watch_compilation(lambda: told.append(True)):
        assert add(1.0, 2.0) == 3.0
        assert twice(3.0) == 6.0
    assert told == [True]
    with jit.watch_compilation(lambda: told.append(True)):
        assert add(2.0, 2.0) == 4.0
    assert told == [True]

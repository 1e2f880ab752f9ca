"""Compile hot loops with numba where it is there; run them as they are where it is not.

`TESTBED_NUMBA=0` switches compilation off, to measure or to debug: every kernel has a NumPy
path beside it (chosen by `COMPILED`), because the same loops in plain Python would be slow.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def _import_numba() -> Any:
    if os.environ.get("TESTBED_NUMBA", "1") == "0":
        return None
    try:
        import numba
    except ImportError:
        return None
    return numba


def _cache_folder() -> str:
    """A folder of compiled kernels that belongs to exactly these sources.

    Numba looks only at the file a kernel stands in, not at those of the kernels it calls: after
    an edit of one of those it would go on running the old code.
    """
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        if b"@kernel" in source:
            digest.update(source)
    name = f"kernels-{digest.hexdigest()[:16]}"
    homes = [package / "__pycache__", Path.home() / ".cache" / "testbed"]
    if os.environ.get("NUMBA_CACHE_DIR"):
        homes.insert(0, Path(os.environ["NUMBA_CACHE_DIR"]))
    for home in homes:
        try:
            (home / name).mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=home / name):
                return str(home / name)
        except OSError:  # a read-only installation, or no home
            continue
    return ""


_numba = _import_numba()
COMPILED: bool = _numba is not None
_FOLDER = _cache_folder() if COMPILED else ""


def is_cold() -> bool:
    """Whether kernels are yet to be compiled, which takes a while the first time.

    Numba makes folders as soon as a kernel is decorated; only an index (.nbi) tells of compilation.
    """
    return bool(_FOLDER) and not any(Path(_FOLDER).rglob("*.nbi"))


@contextmanager
def compilation(
    begins: Callable[[], None], ends: Callable[[], None], loading: bool = False
) -> Iterator[None]:
    """Call `begins` and `ends` around every kernel that is compiled in here, nested ones too.

    Args:
        begins: Called before it.
        ends: Called after it.
        loading: Also around those that only come from the cache.
    """
    if _numba is None:
        yield
        return
    from numba.core import event

    class Ends(event.Listener):
        def on_start(self, event: Any) -> None:
            begins()

        def on_end(self, event: Any) -> None:
            ends()

    kind = "numba:compiler_lock" if loading else "numba:compile"
    with event.install_listener(kind, Ends()):
        yield


@contextmanager
def watch_compilation(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` once if a kernel is compiled in here, and not if all come from the cache."""
    told = False

    def begins() -> None:
        nonlocal told
        if not told:
            told = True
            tell()

    with compilation(begins, lambda: None):
        yield


def kernel(function: F) -> F:
    """Decorate a function of arrays and numbers: compiled on first use and cached on disk.

    `error_model="numpy"` gives inf and nan for a division by zero, as NumPy does, and no
    fast-math: results must not depend on which path ran beyond the last digits.
    """
    if _numba is None:
        return function
    config = _numba.core.config
    before, config.CACHE_DIR = config.CACHE_DIR, _FOLDER or config.CACHE_DIR
    try:
        compiled: F = _numba.njit(cache=bool(_FOLDER), nogil=True, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = before
    return compiled

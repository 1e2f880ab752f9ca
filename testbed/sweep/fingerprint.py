"""What a result depends on, as digests: a run is done again exactly when one of them changes.

A *stream* (what an estimator is shown, and how it is scored) depends on the resolved scenario, the
seed, the files and installed plugins that the scenario names, the versions of what computes it, and
the sources of this package except its estimators. An *estimator* depends on its parameters, the
files that these name, and its source with everything that it imports from its own folder, found in
the syntax tree: nothing is run for it.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import json
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from testbed.core import registry
from testbed.core.plugin_file import is_file_spec
from testbed.core.resources import MODEL_SUFFIXES, models_dir
from testbed.harness.run import versions

_PACKAGE = Path(__file__).resolve().parents[1]
_ROOMS = (
    *("core", "inertia", "kinematics", "sensors", "plants", "logs"),
    *("regressors", "scores", "harness"),
)
_REFERENCE = re.compile(
    r"""\b(?:file|filename|meshdir|texturedir|assetdir)\s*=\s*["']([^"']+)["']"""
)
_LARGEST = 64_000_000  # bytes of a file that a scenario names
_NOT_IN_STREAM = ("title", "seed", "estimator", "accept", "grid")


def digest(data: Any) -> str:
    """Hash of JSON-able data, whatever the order of its keys."""
    text = json.dumps(data, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@cache
def code_digest() -> str:
    """Hash of all that turns a scenario and a seed into a stream and its scores, as imported."""
    found = hashlib.sha256()
    for room in _ROOMS:
        for path in sorted((_PACKAGE / room).rglob("*.py")):
            found.update(path.relative_to(_PACKAGE).as_posix().encode() + path.read_bytes())
    for path in sorted(p for p in models_dir().rglob("*") if p.is_file()):
        found.update(path.name.encode() + path.read_bytes())
    numbers = {k: v for k, v in versions().items() if k != "python"}
    found.update(json.dumps(numbers, sort_keys=True).encode())
    return found.hexdigest()


def estimator_digest(table: Mapping[str, Any]) -> str:
    """Hash of an estimator's parameters and of the sources behind them.

    Where a plugin file lies does not count, only what is in it.
    """
    return digest(_by_content({k: v for k, v in table.items() if k != "name"}))


def source_files(table: Any) -> dict[Path, str]:
    """Every file of the user's own plugins that a table names, with its hash."""
    found: dict[Path, str] = {}
    for spec in file_specs(table):
        path = Path(spec.rpartition(":")[0]).expanduser().resolve()
        found.update(closure(path, path.parent))
    return found


def stream_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a resolved scenario that what an estimator is shown depends on."""
    return {k: v for k, v in data.items() if k not in _NOT_IN_STREAM}


def named_files(data: Any, folder: Path | None) -> dict[str, Any]:
    """What a scenario's data names, hashed: models with what they include, trajectories, plugins.

    Args:
        data: The scenario.
        folder: Of the scenario. Relative paths are looked for there and in the current folder, as
            plants and excitations do.
    """
    found: dict[str, Any] = _installed(data)
    for text in _texts(data):
        if is_file_spec(text):
            path = Path(text.rpartition(":")[0]).expanduser().resolve()
            parts = closure(path, path.parent)
            found[text] = digest([parts[p] for p in sorted(parts)])
        else:
            places = (_contents(text, p, ("", *MODEL_SUFFIXES)) for p in (folder or Path(), Path()))
            first = next((hashes for hashes in places if hashes), None)
            if first is not None:
                found[text] = first
    return found


def _contents(text: str, folder: Path, suffixes: tuple[str, ...] = ("",)) -> list[str]:
    """Hashes of the files of a folder that a text may mean."""
    if not text or len(text) > 1000:
        return []
    try:
        name = Path(text).expanduser()
    except RuntimeError:  # ~nobody
        name = Path(text)
    # A bare word may be the name of a model without its suffix; as it stands it is no file.
    forms = [s for s in suffixes if s or name.suffix or len(name.parts) > 1]
    files = [folder / f"{name}{suffix}" for suffix in forms]
    return [_with_references(f) for f in files if _is_file(f) and f.stat().st_size <= _LARGEST]


def _installed(data: Any) -> dict[str, Any]:
    """Sources of other packages' plugins that are named; their metrics count, named or not."""
    texts = set(_texts(data))
    return {
        f"{kind}: {name}": _registered(entry.make)
        for kind, entries in registry.KINDS.items()
        for name, entry in entries.all().items()
        if (name in texts or kind == "metrics")
        and str(getattr(entry.make, "__module__", "")).partition(".")[0] != _PACKAGE.name
    }


def closure(path: Path, root: Path) -> dict[Path, str]:
    """A Python file and what it imports below `root`, directly or not, with the hash of each."""
    found: dict[Path, str] = {}
    todo = [path]
    while todo:
        here = todo.pop()
        if here in found or not _is_file(here):
            continue
        stat = here.stat()
        found[here], names = _read(here, stat.st_mtime_ns, stat.st_size)
        for name in names:
            todo += _module_files(name, here, root)
    return found


@cache
def _read(path: Path, changed: int, size: int) -> tuple[str, tuple[str, ...]]:
    """Hash and imports of a file; looked at again only when it changed."""
    source = path.read_bytes()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):  # the run itself will say so
        return hashlib.sha256(source).hexdigest(), ()
    return hashlib.sha256(source).hexdigest(), tuple(dict.fromkeys(_imports(tree)))


def _imports(tree: ast.AST) -> Iterator[str]:
    """Names of imported modules; relative ones keep their dots."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield base
            joint = "" if base.endswith(".") or not base else "."
            yield from (f"{base}{joint}{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            first = node.args[0]
            literal = isinstance(first, ast.Constant) and isinstance(first.value, str)
            if name in ("import_module", "__import__") and literal:
                yield first.value  # type: ignore[attr-defined]


def _module_files(name: str, importer: Path, root: Path) -> list[Path]:
    """Files below `root` that importing a module runs; none for everybody else's."""
    bare = name.lstrip(".")
    dots = len(name) - len(bare)
    start = importer.parents[dots - 1] if 0 < dots <= len(importer.parents) else root
    parts = bare.split(".") if bare else []
    ways = [parts]
    if not dots and root.name in parts:  # testbed.estimators.rls, seen from testbed/estimators
        ways.append(parts[parts.index(root.name) + 1 :])
    if not start.is_relative_to(root):
        return []
    files = []
    for way in ways:
        for n in range(1, len(way) + 1):
            base = start.joinpath(*way[:n])
            files += [base.with_suffix(".py"), base / "__init__.py"]
    return [f for f in files if _is_file(f)]


def _by_content(value: Any, key: str = "use", folder: Path | None = None) -> Any:
    """A table with what its names stand for: sources and files in place of their names.

    Args:
        value: The table, or a part of it.
        key: Under which it stands.
        folder: Of the plugin, where files may lie that its parameters name.
    """
    if isinstance(value, Mapping):
        use = value.get("use")
        if isinstance(use, str) and is_file_spec(use):
            folder = Path(use.rpartition(":")[0]).expanduser().resolve().parent
        return {k: _by_content(v, k, folder) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_by_content(v, key, folder) for v in value]
    if isinstance(value, str) and is_file_spec(value):
        file, _, name = value.rpartition(":")
        path = Path(file).expanduser().resolve()
        parts = closure(path, path.parent)
        return {name: sorted((p.relative_to(path.parent).as_posix(), h) for p, h in parts.items())}
    if key == "use" and isinstance(value, str):
        for kind in (registry.estimator, registry.forgetting):
            entry = kind.all().get(value)
            if entry is not None:
                return {value: _registered(entry.make)}
    elif isinstance(value, str):  # it may open the file from here, or from beside its own
        places = (Path(),) if folder is None else (Path(), folder)
        hashes = sorted({h for place in places for h in _contents(value, place)})
        return {value: hashes} if hashes else value
    return value


@cache
def _registered(make: Any) -> list[tuple[str, str]]:
    """Sources of an installed plugin: ours below testbed/estimators, others in their package.

    Looked at once: what this process has imported does not change any more.
    """
    module = sys.modules.get(getattr(make, "__module__", ""))
    file = getattr(module, "__file__", None)
    if module is None or file is None:
        return []
    path = Path(file).resolve()
    ours = _PACKAGE / "estimators"
    root = ours if path.is_relative_to(ours) else _top(module.__name__, path)
    return sorted((p.relative_to(root).as_posix(), h) for p, h in closure(path, root).items())


def _top(module: str, path: Path) -> Path:
    package = importlib.import_module(module.partition(".")[0])
    file = getattr(package, "__file__", None)
    return path.parent if file is None else Path(file).resolve().parent


def _with_references(path: Path, depth: int = 0) -> str:
    """Hash of a file; of a robot's description also of the files that it names."""
    stat = path.stat()
    own, names = _read_references(path, stat.st_mtime_ns, stat.st_size)
    contents = [own]
    if names and depth < 5:
        folders = [path.parent, *(path.parent / n for n in names if (path.parent / n).is_dir())]
        for name in sorted({n.removeprefix("package://") for n in names}):
            for inner in (folder / name for folder in folders):
                if _is_file(inner) and inner != path and inner.stat().st_size <= _LARGEST:
                    contents.append(_with_references(inner, depth + 1))
    return hashlib.sha256("\0".join(contents).encode()).hexdigest()


@cache
def _read_references(path: Path, changed: int, size: int) -> tuple[str, tuple[str, ...]]:
    """Hash of a file and what it names where it is a robot; read again only when it changed."""
    content = path.read_bytes()
    names: list[str] = []
    if path.suffix.lower() in MODEL_SUFFIXES:
        names = _REFERENCE.findall(content.decode("utf-8", "replace"))
    return hashlib.sha256(content).hexdigest(), tuple(names)


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for value in data.values():
            yield from _texts(value)
    elif isinstance(data, list | tuple):
        for value in data:
            yield from _texts(value)


def file_specs(data: Any) -> Iterator[str]:
    """Every `file.py:Class` that data names."""
    return (text for text in _texts(data) if is_file_spec(text))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False

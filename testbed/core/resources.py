"""Finds the models, scenarios and benchmarks that come with the package, and those of the user.

They lie in ``models/``, ``scenarios/`` and ``benchmarks/`` of a checkout, and in
``testbed/_data`` of an installed wheel. A checkout wins: an editable install leaves copies behind
that go stale.
"""

import difflib
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from testbed.core.errors import BadInput

MODEL_SUFFIXES = (".xml", ".mjcf", ".urdf")
SCENARIO_SUFFIXES = (".toml",)

_PACKAGE = Path(__file__).resolve().parents[1]
_OUR_PYPROJECT = re.compile(r"""^name\s*=\s*["']inertia-testbed["']""", re.MULTILINE)


def models_dir() -> Path:
    """Returns the folder of the shipped models."""
    return _shipped("models")


def scenarios_dir() -> Path:
    """Returns the folder of the shipped scenarios."""
    return _shipped("scenarios")


def benchmarks_dir() -> Path:
    """Returns the folder of the benchmarks: a package, importable from the folder it is in."""
    return _shipped("benchmarks")


def model_names() -> list[str]:
    """Returns the names of the shipped models, sorted: ``models/a/b.xml`` is ``a/b``."""
    return _names(models_dir(), MODEL_SUFFIXES)


def scenario_names() -> list[str]:
    """Returns the names of the shipped scenarios, sorted: ``scenarios/a/b.toml`` is ``a/b``."""
    return _names(scenarios_dir(), SCENARIO_SUFFIXES)


def find_model(name_or_path: str | Path, relative_to: Path | None = None) -> Path:
    """Returns the model file that is meant.

    Args:
        name_or_path: name of a shipped model (``"staubli_arm"``) or path of an MJCF or URDF file.
        relative_to: where a relative path is looked for first: a folder, or a file (say, the
            scenario) whose folder is meant. Then follow the current folder and the shipped models.

    Raises:
        BadInput: there is no such file; the message lists the close matches and the valid names.
    """
    folders = [Path()]
    if relative_to is not None:
        folders.insert(0, relative_to.parent if _is_file(relative_to) else relative_to)
    return _find("model", str(name_or_path), folders, models_dir, MODEL_SUFFIXES)


def find_scenario(name_or_path: str | Path) -> Path:
    """Returns the scenario file that is meant.

    Args:
        name_or_path: name of a shipped scenario (``"arm_grasp"``), path of a TOML file, or the
            name of a TOML file in the current folder without its suffix.

    Raises:
        BadInput: there is no such file; the message lists the close matches and the valid names.
    """
    return _find("scenario", str(name_or_path), [Path()], scenarios_dir, SCENARIO_SUFFIXES)


def _shipped(kind: str) -> Path:
    """Folder ``kind`` of the checkout that holds the package, else of the installed package."""
    checkout = _PACKAGE.parent
    folder = (checkout if _is_checkout(checkout) else _PACKAGE / "_data") / kind
    if not folder.is_dir():
        raise BadInput(f"the installation is broken: no folder {str(folder)!r}; install it again")
    return folder


def _is_checkout(folder: Path) -> bool:
    if not (folder / "models").is_dir():
        return False
    try:
        text = (folder / "pyproject.toml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return _OUR_PYPROJECT.search(text) is not None


def _names(folder: Path, suffixes: Sequence[str]) -> list[str]:
    files = (f for f in folder.rglob("*") if f.suffix.lower() in suffixes and f.is_file())
    return sorted({f.relative_to(folder).with_suffix("").as_posix() for f in files})


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # name too long, no permission, a null character
        return False


def _is_dir(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _find(
    kind: str,
    text: str,
    folders: Sequence[Path],
    shipped: Callable[[], Path],
    suffixes: Sequence[str],
) -> Path:
    """First existing file among the candidates; a bare name means the shipped one first.

    So what ``arm_grasp`` means does not depend on the current folder, and ``arm_grasp.toml`` or
    ``./arm_grasp`` mean the user's own file if there is one.
    """
    if not text.strip():
        raise BadInput(f"the name of the {kind} is empty; {_valid(kind, shipped(), suffixes)}")
    try:
        path = Path(text).expanduser()
    except RuntimeError:  # ~nobody
        path = Path(text)
    has_suffix = path.suffix.lower() in suffixes
    forms = [path] if has_suffix else [path, *(Path(f"{path}{s}") for s in suffixes)]
    own = [folder / form for folder in folders for form in forms]

    def ours() -> list[Path]:
        if path.is_absolute() or ".." in path.parts:
            return []
        return [shipped() / form for form in (forms if has_suffix else forms[1:])]

    bare = not has_suffix and "/" not in text and "\\" not in text
    candidates = [*ours(), *own] if bare else own
    for candidate in candidates:
        if _is_file(candidate):
            return candidate.absolute()
    if not bare:
        for candidate in ours():
            if _is_file(candidate):
                return candidate.absolute()
    raise BadInput(_not_found(kind, text, folders, own, shipped(), suffixes))


def _not_found(
    kind: str,
    text: str,
    folders: Sequence[Path],
    own: Sequence[Path],
    shipped: Path,
    suffixes: Sequence[str],
) -> str:
    if any(_is_dir(candidate) for candidate in own):
        return f"{kind} {text!r} is a folder, not a file; {_valid(kind, shipped, suffixes)}"
    names = _names(shipped, suffixes)
    by_key = {_key(name): name for name in names}
    stem = text[: -len(Path(text).suffix)] if Path(text).suffix.lower() in suffixes else text
    close = difflib.get_close_matches(_key(stem), by_key, n=3, cutoff=0.6)
    if not close:
        close = difflib.get_close_matches(_key(Path(stem).name), by_key, n=3, cutoff=0.6)
    meant = f", did you mean {' or '.join(repr(by_key[key]) for key in close)}?" if close else ";"
    looked = ""
    if not Path(text).is_absolute():
        places = dict.fromkeys(str(folder.absolute()) for folder in folders)
        looked = f" (also not in {' or '.join(map(repr, places))})"
    return f"no {kind} {text!r}{looked}{meant} {_valid(kind, shipped, suffixes)}"


def _valid(kind: str, shipped: Path, suffixes: Sequence[str]) -> str:
    names = _names(shipped, suffixes)
    listed = f"one of {', '.join(names)}, or " if names else ""
    return f"valid is {listed}the path of a {kind} file ({', '.join(suffixes)})"


def _key(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_")

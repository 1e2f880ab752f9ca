"""What a plugin file declares, read from its syntax tree: nothing of the user's runs for it.

A class that is not there, or a parameter that it does not have, would fail in every run of a
study. Where the tree does not tell (names made at run time, inherited constructors, decorators)
nothing is refused: the runs will say.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from testbed.core.errors import BadInput, UnknownName


def check_declared(use: str, params: Iterable[str]) -> None:
    """Refuse a class that its file does not have, and parameters that the class does not take.

    Args:
        use: `file.py:Class`, or a function in its place.
        params: Keys that it is to be called with.
    """
    file, _, name = use.rpartition(":")
    try:
        there = Path(file).is_file()
    except (OSError, ValueError):
        there = False
    if not there:
        raise BadInput(f"the estimator file {file!r} does not exist")
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (SyntaxError, ValueError, RecursionError) as error:
        raise BadInput(
            f"the estimator file {file!r} cannot be imported: {type(error).__name__}: {error}"
        ) from None
    except OSError as error:
        raise BadInput(f"the estimator file {file!r} cannot be read: {error.strerror}") from None
    names = set(_bound(tree))
    if "*" in names or "__getattr__" in names:
        return
    if name not in names:
        classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
        raise UnknownName("class", name, classes, where=f"{file}: ")
    kinds = (ast.ClassDef, ast.FunctionDef)
    found = [node for node in tree.body if isinstance(node, kinds) and node.name == name]
    valid = _parameters(found[0]) if len(found) == 1 else None
    for key in params:
        if valid is not None and key not in valid:
            raise UnknownName(f"parameter of estimator {use!r}:", key, valid)


def _bound(tree: ast.AST) -> Iterator[str]:
    """Every name that is bound anywhere in the file; `*` where another file's are."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((a.asname or a.name).partition(".")[0] for a in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in _AT_RUN_TIME:
            yield "*"


_AT_RUN_TIME = ("globals", "setattr", "vars", "exec")


def _parameters(node: ast.ClassDef | ast.FunctionDef) -> list[str] | None:
    """Parameters of a class or function; None where the tree does not tell."""
    if node.decorator_list:
        return None
    if isinstance(node, ast.ClassDef):
        makers = ("__init__", "__new__", "__call__")
        own = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name in makers]
        if [n.name for n in own] != ["__init__"]:
            return [] if not own and not node.bases and not node.keywords else None
        if node.keywords or own[0].decorator_list:
            return None
        node = own[0]
        skip = 0 if node.args.posonlyargs else 1  # self
    else:
        skip = 0
    if node.args.kwarg is not None:
        return None
    return [a.arg for a in [*node.args.args[skip:], *node.args.kwonlyargs]]

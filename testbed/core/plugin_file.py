"""Load a class from a user's file: `my_rls.py:MyRLS`."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import Any

from testbed.core.errors import BadInput, UnknownName


def is_file_spec(name: str) -> bool:
    """Whether `name` points into a Python file rather than to a registered plugin."""
    return ".py:" in name


def load_class(spec: str, kind: str) -> Any:
    """The class or function `Class` of `path/to/file.py:Class`.

    The file's folder goes to the end of the import path, so that a plugin can import the
    modules beside it without shadowing anybody else's.
    """
    path_text, _, name = spec.rpartition(":")
    try:
        path = Path(path_text).expanduser().resolve()
        exists = path.is_file()
    except (OSError, RuntimeError, ValueError):  # no such user, too long, …
        exists = False
    if not exists:
        raise BadInput(f"the {kind} file {path_text!r} does not exist")
    module_name = "testbed_plugin_" + hashlib.sha256(str(path).encode()).hexdigest()[:16]
    module_spec = importlib.util.spec_from_file_location(module_name, path)
    if module_spec is None or module_spec.loader is None:
        raise BadInput(f"{path_text!r} is not a Python file")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[module_name] = module  # dataclasses look their module up by name
    try:
        module_spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plugin may even call exit() at import
        del sys.modules[module_name]
        raise BadInput(
            f"the {kind} file {path_text!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    found = getattr(module, name, None)
    if found is None:
        own = [
            n
            for n, value in vars(module).items()
            if inspect.isclass(value) and value.__module__ == module_name
        ]
        raise UnknownName("class", name, own, where=f"{path_text}: ")
    if not callable(found):
        raise BadInput(f"{spec!r} is not a class")
    return found

"""How much memory an estimator holds on to: an online one must not grow."""

from __future__ import annotations

import sys
from collections import deque
from contextlib import suppress
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

_MOST = 100_000  # objects looked at: what is larger than that is "at least"


def footprint(thing: Any) -> int:
    """Bytes of everything reachable from an object's attributes and containers, each once.

    Arrays count with the memory they view. Classes, modules and functions belong to the program,
    not to the state. Memory inside compiled objects is not seen.
    """
    seen: set[int] = set()
    todo: deque[Any] = deque([thing])
    total = 0
    while todo and len(seen) < _MOST:
        item = todo.popleft()
        if id(item) in seen or isinstance(item, type | ModuleType | FunctionType):
            continue
        seen.add(id(item))
        try:
            total += _open(item, todo)
        except KeyboardInterrupt:
            raise
        except BaseException:  # a plugin's own __sizeof__ or descriptor may do anything
            continue
    return total


def _open(item: Any, todo: deque[Any]) -> int:
    """Bytes of one object; what it holds goes to `todo`.

    Attributes are read past the object's own `__getattr__`, and of containers only Python's own
    are looked into: somebody else's mapping may be a file or a database.
    """
    if isinstance(item, np.ndarray):
        if isinstance(item.base, np.ndarray):
            todo.append(item.base)
            return 0
        return item.nbytes
    if isinstance(item, dict):
        todo.extend(item.keys())
        todo.extend(item.values())
    elif isinstance(item, list | tuple | set | frozenset | deque):
        todo.extend(item)
    for name in ("__dict__", *_slots(type(item))):
        with suppress(AttributeError):
            todo.append(object.__getattribute__(item, name))
    return sys.getsizeof(item, 0)


def _slots(cls: type) -> list[str]:
    names: list[str] = []
    for base in cls.__mro__:
        slots = base.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else list(slots)
    return [name for name in names if name not in ("__dict__", "__weakref__")]


class Growth:
    """Memory of an estimator at moments ever further apart.

    What it grew is counted from the last of these moments in the first half of the run: buffers and
    windows are full by then.
    """

    def __init__(self) -> None:
        self._marks: list[tuple[int, int]] = []  # (samples, bytes)

    def look(self, samples: int, thing: Any) -> None:
        """Measure, when the number of samples has doubled since the last time."""
        if not self._marks or samples >= 2 * self._marks[-1][0]:
            self._marks.append((samples, footprint(thing)))

    def growth_kb(self, samples: int, thing: Any) -> float | None:
        """kB that it has grown over the second half of the run; None for very short ones."""
        early = [size for at, size in self._marks if 0 < at <= samples // 2]
        return (footprint(thing) - early[-1]) / 1024.0 if early else None

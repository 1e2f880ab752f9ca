"""How much memory an estimator holds on to: an online one must not grow."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping
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
        if isinstance(item, np.ndarray):
            base = item.base
            if isinstance(base, np.ndarray):
                todo.append(base)
            else:
                total += item.nbytes
            continue
        total += sys.getsizeof(item, 0)
        if isinstance(item, Mapping):
            todo.extend(item.keys())
            todo.extend(item.values())
        elif isinstance(item, list | tuple | set | frozenset | deque):
            todo.extend(item)
        else:
            todo.extend(getattr(item, "__dict__", {}).values())
            for name in _slots(type(item)):
                todo.append(getattr(item, name, None))
    return total


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

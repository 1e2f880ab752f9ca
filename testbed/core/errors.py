"""One tree of errors, so that a caller can tell the user's mistake from ours.

The command line turns a `TestbedError` into one line on stderr and the exit code it carries;
anything else is a bug of this package and keeps its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TestbedError(Exception):
    """Anything this package raises on purpose. `exit_code` is what the command line returns."""

    __test__ = False  # its name starts like a test class: pytest must not collect it
    exit_code = 1


class BadInput(TestbedError):
    """The user gave something that cannot be run: the message names it and what would be right."""

    exit_code = 2


class UnknownName(BadInput):
    """A name that is not registered, or a key that does not exist; lists the close matches."""

    def __init__(self, kind: str, name: str, valid: Iterable[str], where: str = "") -> None:
        """Compose the message, e.g. `unknown plant 'staubli': did you mean 'staubli_arm'?`."""
        super().__init__(f"{where}unknown {kind} {name!r}{suggestion(name, valid)}")


class PluginFailed(TestbedError):
    """A plugin raised, hung or returned rubbish. The run goes on without it."""


class Diverged(TestbedError):
    """The simulation produced non-finite or absurd values; what came before is kept."""


def suggestion(name: str, valid: Iterable[str]) -> str:
    """The tail of an error message: close matches if there are any, else the valid names."""
    names = sorted(valid)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return ": did you mean " + " or ".join(repr(c) for c in close) + "?"
    return " (valid: " + ", ".join(names) + ")" if names else " (there are none)"

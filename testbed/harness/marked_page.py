"""Tables in a Markdown page that a command writes: all between two marker lines is its own."""

from __future__ import annotations

import re
from pathlib import Path

from testbed.core.errors import BadInput
from testbed.harness.result import write_whole


def check_page(page: Path, first: str, last: str) -> None:
    """Refuse a page without the two markers, before anything is computed."""
    try:
        text = page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise BadInput(f"--markdown {str(page)!r}: no text file that can be read") from None
    if not re.search(f"{re.escape(first)}.*{re.escape(last)}", text, re.DOTALL):
        raise BadInput(
            f"--markdown {str(page)!r}: it needs the lines {first!r} and {last!r} to put the table "
            "between"
        )


def rewrite_page(page: Path, first: str, last: str, table: str) -> None:
    """Put a table between the two markers; the rest of the page stays as it is."""
    check_page(page, first, last)
    before, _, rest = page.read_text(encoding="utf-8").partition(first)
    _, _, after = rest.partition(last)
    try:
        write_whole(page, f"{before}{first}\n{table}\n{last}{after}".encode())
    except OSError as error:
        raise BadInput(f"--markdown: cannot write {str(page)!r}: {error.strerror}") from None

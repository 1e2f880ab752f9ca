"""What every page is made of: files of a room, a template, and a policy against fetching."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from testbed.harness.result import plain


def asset(name: str, room: str = "testbed.report") -> str:
    """A text file of a room's assets."""
    text = files(room).joinpath("assets", name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")  # browsers hash what they parsed


def policy(*scripts: str) -> str:
    """Only these very scripts may run, and nothing may be fetched."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'"
        for s in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def embedded(data: Any) -> str:
    """Data as JSON that cannot end the script element it stands in."""
    text = json.dumps(plain(data), ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def fill(template: str, parts: Mapping[str, str]) -> str:
    """The template with its `{{name}}` filled in, in one pass: what is filled in is not read."""
    return re.sub(r"\{\{(\w+)\}\}", lambda m: parts[m.group(1)], template)


def version() -> str:
    """Of this package."""
    from testbed import __version__

    return str(__version__)

"""Edit the inertials of a URDF or MJCF file in place: every other character stays as it was.

The file is not parsed into a tree and written again, which would lose comments, order and layout:
an XML parser only tells where each element begins and ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.inertia import mass_com_inertia


@dataclass
class Element:
    """An element of the text, by byte offsets."""

    tag: str
    attributes: Mapping[str, str]
    start: int
    open_end: int = 0  # behind the opening tag
    end: int = 0  # behind the closing one
    children: list[Element] = field(default_factory=list)

    def child(self, tag: str) -> Element | None:
        """The first child of this kind."""
        return next((c for c in self.children if c.tag == tag), None)


def outline(text: bytes, name: str) -> Element:
    """The root element with all below it."""
    parser = expat.ParserCreate()
    stack: list[Element] = []
    roots: list[Element] = []

    def begin(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, dict(attributes), parser.CurrentByteIndex)
        element.open_end = _tag_end(text, element.start)
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def finish(tag: str) -> None:
        element = stack.pop()
        here = parser.CurrentByteIndex
        empty = text[element.start : element.open_end].endswith(b"/>")
        element.end = element.open_end if empty else _tag_end(text, here)

    parser.StartElementHandler, parser.EndElementHandler = begin, finish
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise BadInput(f"{name}: not well-formed XML: {error}") from None
    return roots[0]


def _tag_end(text: bytes, start: int) -> int:
    """Behind the `>` that closes the tag at `start`, quotes respected."""
    quote = 0
    for i in range(start, len(text)):
        c = text[i]
        if quote:
            quote = 0 if c == quote else quote
        elif c in b"\"'":
            quote = c
        elif c == ord(">"):
            return i + 1
    return len(text)


Edit = tuple[int, int, bytes]  # from, to, the new text


def apply(text: bytes, edits: list[Edit]) -> bytes:
    """The text with all edits done, from the end to the beginning."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def set_attributes(text: bytes, element: Element, values: Mapping[str, str | None]) -> Edit:
    """An opening tag with other values; None removes an attribute, new ones go to the end."""
    tag = text[element.start : element.open_end].decode("utf-8")
    for key, value in values.items():
        pattern = re.compile(rf"(\s{re.escape(key)}\s*=\s*)(\"[^\"]*\"|'[^']*')")
        if value is None:
            tag = pattern.sub("", tag, count=1)
        elif pattern.search(tag):
            tag = pattern.sub(lambda m, v=value: f'{m.group(1)}"{v}"', tag, count=1)  # type: ignore[misc]
        else:
            close = "/>" if tag.endswith("/>") else ">"
            tag = f'{tag[: -len(close)].rstrip()} {key}="{value}"{close}'
    return element.start, element.open_end, tag.encode("utf-8")


def indent_of(text: bytes, at: int) -> str:
    """The blanks before the element that begins at `at`."""
    line = text[:at].rpartition(b"\n")[2]
    return line.decode("utf-8") if not line.strip() else ""


def numbers(*values: float) -> str:
    """Numbers as text, exact to the last digit, no minus zero."""
    return " ".join(repr(float(v) + 0.0) for v in values)


def edit_urdf(text: bytes, bodies: Mapping[str, Array], name: str) -> bytes:
    """A URDF whose links have these parameters (10,) about their frames' origins."""
    links = {e.attributes.get("name"): e for e in outline(text, name).children if e.tag == "link"}
    edits: list[Edit] = []
    for body, phi in bodies.items():
        link = links.get(body)
        if link is None:
            raise BadInput(f"{name}: there is no link {body!r}")
        mass, com, I = mass_com_inertia(phi)
        new = {
            "mass": {"value": numbers(float(mass))},
            "origin": {"xyz": numbers(*com), "rpy": "0 0 0"},
            "inertia": {
                f"i{k}": numbers(I["xyz".index(k[0]), "xyz".index(k[1])])
                for k in ("xx", "xy", "xz", "yy", "yz", "zz")
            },
        }
        inertial = link.child("inertial")
        if inertial is None:
            edits.append(_new_inertial(text, link, new))
            continue
        lost = [_line(tag, v) for tag, v in new.items() if inertial.child(tag) is None]
        if text[inertial.start : inertial.open_end].endswith(b"/>"):
            whole = f"<inertial>{''.join(lost)}</inertial>".encode()
            edits.append((inertial.start, inertial.end, whole))
            continue
        edits.append((inertial.open_end, inertial.open_end, "".join(lost).encode()))
        for tag, values in new.items():
            part = inertial.child(tag)
            if part is not None:
                edits.append(set_attributes(text, part, values))
    return apply(text, edits)


def _line(tag: str, values: Mapping[str, str]) -> str:
    return f"<{tag} " + " ".join(f'{k}="{v}"' for k, v in values.items()) + "/>"


def _new_inertial(text: bytes, link: Element, new: Mapping[str, Mapping[str, str]]) -> Edit:
    """A link without inertial gets one as its first child."""
    outer = indent_of(text, link.start)
    inner, deep = f"\n{outer}  ", f"\n{outer}    "
    parts = "".join(deep + _line(tag, values) for tag, values in new.items())
    block = f"{inner}<inertial>{parts}{inner}</inertial>"
    opening = text[link.start : link.open_end]
    if opening.endswith(b"/>"):
        whole = opening[:-2].rstrip() + b">" + block.encode() + f"\n{outer}</link>".encode()
        return link.start, link.open_end, whole
    return link.open_end, link.open_end, block.encode()


def edit_mjcf(text: bytes, bodies: Mapping[str, Array], name: str) -> bytes:
    """An MJCF whose bodies have these parameters (10,) about their frames' origins."""
    found: dict[str, Element] = {}
    todo = [outline(text, name)]
    while todo:
        element = todo.pop()
        if element.tag == "body" and "name" in element.attributes:
            found[element.attributes["name"]] = element
        todo += element.children
    edits: list[Edit] = []
    for body, phi in bodies.items():
        if body not in found:
            raise BadInput(
                f"{name}: there is no body named {body!r} in this file (one that is included from "
                "another file, or has no name, cannot be edited)"
            )
        mass, com, I = mass_com_inertia(phi)
        values: dict[str, str | None] = {
            "pos": numbers(*com),
            "mass": numbers(float(mass)),
            "fullinertia": numbers(I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]),
        }
        element = found[body]
        inertial = element.child("inertial")
        if inertial is not None:
            gone = ("diaginertia", "quat", "axisangle", "xyaxes", "zaxis", "euler")
            edits.append(set_attributes(text, inertial, {**dict.fromkeys(gone), **values}))
            continue
        outer = indent_of(text, element.start)
        line = f"\n{outer}  " + _line("inertial", {k: str(v) for k, v in values.items()})
        opening = text[element.start : element.open_end]
        if opening.endswith(b"/>"):
            whole = opening[:-2].rstrip() + b">" + line.encode() + f"\n{outer}</body>".encode()
            edits.append((element.start, element.open_end, whole))
        else:
            edits.append((element.open_end, element.open_end, line.encode()))
    return apply(text, edits)

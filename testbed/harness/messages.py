"""From what is wrong with a scenario's data to one line that says so: key, wanted, given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel, ValidationError

from testbed.core.errors import BadInput, suggestion
from testbed.core.parameter_types import shown


@contextmanager
def located(where: str) -> Iterator[None]:
    """Put the file (and key) before the message of any bad input."""
    try:
        yield
    except BadInput as error:
        if str(error).startswith(f"{where}: "):  # somebody further in has said so
            raise
        raise BadInput(f"{where}: {error}") from None


def first_problem(error: ValidationError, schema: type[BaseModel]) -> str:
    """The first thing that is wrong, in words: key path, what it must be, what was given."""
    problems = error.errors(include_url=False)
    problem = problems[0]
    if problem["type"] == "missing":  # rather name the misspelt key than the one it stands for
        beside = (p for p in problems if p["loc"][:-1] == problem["loc"][:-1])
        problem = next((p for p in beside if p["type"] == "extra_forbidden"), problem)
    path = [p for p in problem["loc"] if p != "from"]
    kind, given = problem["type"], problem.get("input")
    key = ".".join(str(p) for p in problem["loc"])
    if kind == "extra_forbidden":
        valid = _keys_at(schema, path[:-1])
        place = f"{'.'.join(str(p) for p in path[:-1])}: " if path[:-1] else ""
        return f"{place}unknown key {str(path[-1])!r}{suggestion(str(path[-1]), valid)}"
    if kind == "missing":
        return f"{key} is missing"
    if kind in _WANTED:
        wanted = _WANTED[kind]
        if kind == "list_type" and key in ("change", "estimator", "accept"):
            wanted += f": write [[{key}]]"
        return f"{key} must be {wanted}, got {shown(given)}"
    message = problem["msg"]
    message = message.removeprefix("Value error, ").removeprefix("Input should be ")
    message = message[:1].lower() + message[1:]
    if kind == "value_error":
        return f"{key}: {message}" if key else message
    return f"{key} must be {message}, got {shown(given)}"


_WANTED = {  # what pydantic calls the problem → what must be there
    "dict_type": "a table",
    "model_type": "a table",
    "list_type": "a list",
    "string_type": "a text in quotes",
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "finite_number": "a finite number",
    "too_short": "a list that is not empty",
    "string_too_short": "a text that is not empty",
}
DEEPEST = 12  # no table of a scenario goes deeper than six


def depth(data: Any) -> int:
    """How deeply tables and lists are nested; level by level, as the data may be deep."""
    found, level = 0, [data]
    while level and found <= DEEPEST:
        found += 1
        tables = [x.values() if isinstance(x, Mapping) else x for x in level]
        level = [x for t in tables for x in t if isinstance(x, Mapping | list | tuple)]
    return found


def refuse_huge(data: Any, key: str = "") -> None:
    """Refuse whole numbers of more than 64 bits: TOML has none, and they do not fit a float."""
    if isinstance(data, int) and not -(2**63) <= data < 2**63:
        raise BadInput(f"{key} must be a number of at most 64 bits, got {shown(data)}")
    inside = dict(enumerate(data)) if isinstance(data, list | tuple) else data
    for name, value in inside.items() if isinstance(inside, Mapping) else ():
        refuse_huge(value, f"{key}.{name}" if key else str(name))


def _keys_at(model: type[BaseModel], path: Sequence[Any]) -> list[str]:
    """Valid keys of the table at a path of the schema."""
    for step in path:
        field = model.model_fields.get(str(step)) if isinstance(step, str) else None
        if field is None:
            continue  # an index of a list of tables
        for candidate in _models_in(field.annotation):
            model = candidate
    return [f.alias or name for name, f in model.model_fields.items()]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for a in getattr(annotation, "__args__", ()) for m in _models_in(a)]

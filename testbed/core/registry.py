"""Every plugin kind by name: decorators for ours, entry points for installed ones, files for yours.

    @estimator("rls", claims={"batch_exact"})
    class RLS: ...

A SPEC is a registered name or `path/to/file.py:Class`, either followed by `:key=value,…`, with
dots for nested keys: `rls:forgetting.use=exponential,forgetting.rate=0.995`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, TypeVar

from testbed.core.errors import BadInput, TestbedError, UnknownName
from testbed.core.parameter_types import missing, type_problem
from testbed.core.plugin_file import is_file_spec, load_class
from testbed.core.spec import Spec, parse_spec

C = TypeVar("C", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered plugin. `make` is the class (or a function that returns an instance)."""

    name: str
    make: Callable[..., Any]
    summary: str
    claims: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    source: str = "testbed"

    def as_dict(self) -> dict[str, Any]:
        """The row of `testbed list`."""
        row: dict[str, Any] = {"name": self.name, "summary": self.summary, "source": self.source}
        if self.claims:
            row["claims"] = sorted(self.claims)
        if self.tags:
            row["tags"] = sorted(self.tags)
        return row


@dataclass
class Registry:
    """All plugins of one kind.

    Args:
        kind: Singular, as in messages: "estimator".
        group: Entry-point group of installed plugins, "testbed.estimators".
        package: The package whose import registers our own; imported on first use, because
            some rooms are slow to import.
    """

    kind: str
    group: str
    package: str
    entries: dict[str, Entry] = field(default_factory=dict)
    loaded: bool = False

    def __call__(
        self, name: str, *, claims: Iterable[str] = (), tags: Iterable[str] = (), summary: str = ""
    ) -> Callable[[C], C]:
        """Decorator that registers under `name`; the docstring's first line is the summary."""

        def register(make: C) -> C:
            first = (inspect.getdoc(make) or "").partition("\n")[0]
            self.add(Entry(name, make, summary or first, frozenset(claims), frozenset(tags)))
            if inspect.isclass(make):
                make.name = name  # type: ignore[attr-defined]
                make.claims = frozenset(claims)  # type: ignore[attr-defined]
                make.tags = frozenset(tags)  # type: ignore[attr-defined]
            return make

        return register

    def add(self, entry: Entry) -> None:
        """Register; a name taken by something else is refused rather than replaced."""
        old = self.entries.get(entry.name)
        if old is not None and _identity(old.make) != _identity(entry.make):
            raise BadInput(
                f"{self.kind} {entry.name!r} of {entry.source} is already taken by {old.source}"
            )
        self.entries[entry.name] = entry

    def all(self) -> Mapping[str, Entry]:
        """Every entry by name, ours and the installed ones."""
        if not self.loaded:
            self.loaded = True
            importlib.import_module(self.package)
            for point in entry_points(group=self.group):
                try:
                    make = point.load()
                except (Exception, SystemExit) as error:
                    self.loaded = False  # say so every time, not only the first
                    raise BadInput(
                        f"the installed {self.kind} {point.name!r} ({point.value}) "
                        f"cannot be imported: {type(error).__name__}: {error}"
                    ) from error
                self.add(_describe(point.name, make, point.value.partition(":")[0]))
        return self.entries

    def find(self, name: str) -> Entry:
        """The entry of a registered name or of `file.py:Class`."""
        if is_file_spec(name):
            return _describe(name, load_class(name, self.kind), name.rpartition(":")[0])
        try:
            return self.all()[name]
        except KeyError:
            raise UnknownName(self.kind, name, self.all()) from None

    def make(self, spec: str | Mapping[str, Any] | Spec, /, **params: Any) -> Any:
        """An instance from a SPEC string, a `{use = …, key = …}` table, or a parsed Spec."""
        spec = parse_spec(spec)
        return construct(self.kind, self.find(spec.use), {**spec.params, **params})

    def build(self, table: Mapping[str, Any], /, **given: Any) -> Any:
        """An instance from a scenario's table; what is `given` cannot be set in the table."""
        spec = parse_spec(table)
        entry = self.find(spec.use)
        check_parameters(self.kind, entry, spec.params, given)
        return construct(self.kind, entry, {**spec.params, **given})


def construct(kind: str, entry: Entry, params: Mapping[str, Any]) -> Any:
    """Call `entry.make(**params)`, with parameter names checked before and errors made readable."""
    check_parameters(kind, entry, params)
    problem = type_problem(entry.make, params)
    if problem is not None:
        raise BadInput(f"{kind} {entry.name!r}: {problem}")
    needed = missing(entry.make, params)
    if needed is not None:
        raise BadInput(f"{kind} {entry.name!r} needs {needed}: say {needed} = …")
    try:
        return entry.make(**params)
    except TestbedError:
        raise
    except (Exception, SystemExit) as error:  # a plugin may call exit()
        raise BadInput(
            f"{kind} {entry.name!r} cannot be made: {type(error).__name__}: {error}"
        ) from error


def check_parameters(
    kind: str, entry: Entry, params: Mapping[str, Any], given: Iterable[str] = ()
) -> None:
    """Refuse parameter names that the plugin does not have; `given` are passed by the caller."""
    try:
        signature = inspect.signature(entry.make)
    except (TypeError, ValueError):  # compiled classes may hide theirs
        return
    parameters = signature.parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    valid = [p.name for p in parameters if p.name not in set(given)]
    for key in params:
        if key not in valid:
            raise UnknownName(f"parameter of {kind} {entry.name!r}:", key, valid)


def _identity(make: Callable[..., Any]) -> tuple[str | None, str | None]:
    return getattr(make, "__module__", None), getattr(make, "__qualname__", None)


def _describe(name: str, make: Callable[..., Any], source: str) -> Entry:
    summary = (inspect.getdoc(make) or "").partition("\n")[0]
    claims = read_claims(make, name)
    return Entry(name, make, summary, claims, frozenset(getattr(make, "tags", ())), source)


def read_claims(thing: Any, name: str) -> frozenset[str]:
    """The `claims` of a plugin; a text would be taken for its letters, and is refused."""
    found = getattr(thing, "claims", ())
    if isinstance(found, property):  # of a class whose instances say it
        return frozenset()
    if not isinstance(found, set | frozenset | list | tuple) or not all(
        isinstance(claim, str) for claim in found
    ):
        raise BadInput(
            f'{name}: claims must be a set of names, e.g. {{"consistent"}}, got {found!r}'
        )
    return frozenset(found)


estimator = Registry("estimator", "testbed.estimators", "testbed.estimators")
regressor = Registry("regressor", "testbed.regressors", "testbed.regressors")
noise = Registry("noise", "testbed.noises", "testbed.sensors")
metric = Registry("metric", "testbed.metrics", "testbed.scores")
forgetting = Registry("forgetting rule", "testbed.forgetting", "testbed.estimators.forgetting")
excitation = Registry("excitation", "testbed.excitations", "testbed.plants.excitations")
controller = Registry("controller", "testbed.controllers", "testbed.plants.controllers")
plant = Registry("plant", "testbed.plants", "testbed.plants")

KINDS: dict[str, Registry] = {
    "plants": plant,
    "estimators": estimator,
    "regressors": regressor,
    "forgetting": forgetting,
    "noises": noise,
    "metrics": metric,
    "excitations": excitation,
    "controllers": controller,
}

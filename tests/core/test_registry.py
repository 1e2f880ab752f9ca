"""Plugins by name and by entry point, and the messages that mistakes get."""

from importlib.metadata import EntryPoint

import pytest

from testbed.core import registry as module
from testbed.core.errors import BadInput, UnknownName
from testbed.core.registry import KINDS, Registry


class Box:
    """A box of numbers.

    More about it.
    """

    def __init__(self, rate: float = 1.0, window: int = 3) -> None:
        if rate < 0:
            raise ValueError("rate is negative")
        self.rate, self.window = rate, window


class Open:
    """Takes anything."""

    def __init__(self, **params) -> None:
        self.params = params


class Picky:
    def __init__(self) -> None:
        raise BadInput("not today")


@pytest.fixture
def registry():
    made = Registry("estimator", "testbed.nothing", "testbed.core")
    made("box", claims={"exact"}, tags={"fast", "demo"})(Box)
    made("open", summary="Anything goes.")(Open)
    made("picky")(Picky)
    return made


def installed(monkeypatch, *points):
    points = [EntryPoint(name, value, "testbed.nothing") for name, value in points]
    monkeypatch.setattr(module, "entry_points", lambda group: points)


def test_a_registered_class_knows_its_name_and_shows_its_first_line(registry):
    assert Box.name == "box"
    assert registry.find("box").as_dict() == {
        "name": "box",
        "summary": "A box of numbers.",
        "source": "testbed",
        "claims": ["exact"],
        "tags": ["demo", "fast"],
    }
    assert registry.find("open").summary == "Anything goes."


@pytest.mark.parametrize(
    "spec", ["box:rate=0.5,window=7", {"use": "box", "rate": 0.5, "window": 7}]
)
def test_strings_and_tables_make_the_same(registry, spec):
    box = registry.make(spec)
    assert (box.rate, box.window) == (0.5, 7)
    assert registry.make(spec, window=9).window == 9


def test_an_unknown_name_gets_the_close_ones_or_all(registry):
    with pytest.raises(UnknownName, match=r"^unknown estimator 'bx': did you mean 'box'\?$"):
        registry.make("bx")
    with pytest.raises(UnknownName, match=r"'qqqq' \(valid: box, open, picky\)$"):
        registry.make("qqqq")


def test_an_unknown_parameter_gets_the_close_one(registry):
    with pytest.raises(UnknownName, match=r"estimator 'box'.*'rat': did you mean 'rate'"):
        registry.make("box:rat=1")
    assert registry.make("open:rat=1").params == {"rat": 1}


def test_a_constructor_that_fails_is_bad_input_in_its_own_words(registry):
    with pytest.raises(BadInput, match="'box' cannot be made: ValueError: rate is negative"):
        registry.make("box:rate=-1")
    with pytest.raises(BadInput, match=r"^not today$"):
        registry.make("picky")


def test_a_name_is_given_once(registry):
    with pytest.raises(BadInput, match="estimator 'box' of testbed is already taken by testbed"):
        registry("box")(Open)
    registry("box")(Box)  # the same class again, as a reload does, is no conflict


def test_installed_plugins_are_found(registry, monkeypatch):
    installed(monkeypatch, ("ordered", "collections:OrderedDict"))
    entry = registry.find("ordered")
    assert entry.source == "collections"
    assert list(registry.all()) == ["box", "open", "picky", "ordered"]


def test_an_installed_plugin_cannot_replace_ours(registry, monkeypatch):
    installed(monkeypatch, ("box", "collections:OrderedDict"))
    with pytest.raises(BadInput, match="'box' of collections is already taken by testbed"):
        registry.all()


@pytest.mark.parametrize("value", ["no_such_module_anywhere:A", "collections:Nothing"])
def test_a_broken_installed_plugin_is_named_every_time(registry, monkeypatch, value):
    installed(monkeypatch, ("bad", value), ("ordered", "collections:OrderedDict"))
    for _ in range(2):
        with pytest.raises(BadInput, match=f"installed estimator 'bad' \\({value}\\)"):
            registry.find("ordered")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_ours_loads_and_has_summaries(kind):
    for name, entry in KINDS[kind].all().items():
        assert entry.summary, f"{kind} {name} has no docstring"

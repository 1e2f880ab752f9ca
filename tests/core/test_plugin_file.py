"""Classes from a user's file, `my_rls.py:MyRLS`, and the messages that mistakes get."""

import sys

import pytest

from testbed.core.errors import BadInput, UnknownName
from testbed.core.registry import Registry

FILE = '''
"""A plugin."""
from collections import OrderedDict
from dataclasses import dataclass

@dataclass
class MyRLS:
    """Mine."""
    rate: float = 1.0

class Other:
    pass

NUMBER = 3
'''


@pytest.fixture
def registry():
    return Registry("estimator", "testbed.nothing", "testbed.core")


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / "my plugin.py"
    path.write_text(FILE)
    return path


def test_a_class_in_a_file_needs_no_registration(registry, plugin):
    made = registry.make(f"{plugin}:MyRLS:rate=2.5")
    assert (type(made).__name__, made.rate) == ("MyRLS", 2.5)
    entry = registry.find(f"{plugin}:MyRLS")
    assert (entry.summary, entry.source) == ("Mine.", str(plugin))
    with pytest.raises(UnknownName, match="did you mean 'rate'"):
        registry.make(f"{plugin}:MyRLS:rat=2")


def test_a_file_may_import_the_modules_beside_it(registry, plugin):
    (plugin.parent / "beside_the_plugin.py").write_text("RATE = 4.5")
    plugin.write_text("from beside_the_plugin import RATE\nclass A:\n    rate = RATE")
    assert registry.make(f"{plugin}:A").rate == 4.5


@pytest.mark.parametrize(
    "gone", ["gone.py", "~nobody-of-this-name/x.py", "x" * 5000 + ".py", "a\0.py"]
)
def test_a_missing_file_is_named(registry, gone):
    with pytest.raises(BadInput, match=r"^the estimator file '.*' does not exist$"):
        registry.make(f"{gone}:MyRLS")


def test_a_missing_class_gets_the_close_ones_or_the_files_own(registry, plugin):
    with pytest.raises(UnknownName, match="unknown class 'MyRSL': did you mean 'MyRLS'"):
        registry.make(f"{plugin}:MyRSL")
    with pytest.raises(UnknownName, match=r"\(valid: MyRLS, Other\)$"):
        registry.make(f"{plugin}:Zzzz")
    with pytest.raises(BadInput, match="is not a class"):
        registry.make(f"{plugin}:NUMBER")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("def broken(:", "SyntaxError"),
        ("import no_such_module_anywhere", "ModuleNotFoundError"),
        ("exit(3)", "SystemExit: 3"),
        ("raise BaseException('no')", "BaseException: no"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_file_that_cannot_be_imported_says_why(registry, plugin, content, told):
    plugin.write_text(content)
    before = set(sys.modules)
    with pytest.raises(BadInput, match=f"my plugin.py' cannot be imported: {told}"):
        registry.make(f"{plugin}:MyRLS")
    assert not {name for name in set(sys.modules) - before if name.startswith("testbed_plugin")}


def test_ctrl_c_during_an_import_still_stops(registry, plugin):
    plugin.write_text("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        registry.make(f"{plugin}:MyRLS")

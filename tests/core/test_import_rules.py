"""What may be imported without what."""

import subprocess
import sys

ROOMS = ("testbed.core", "testbed.inertia", "testbed.estimators", "testbed.scores")


def imported_by(*rooms):
    """Top-level modules in a fresh interpreter after importing all modules of these rooms."""
    code = (
        "import importlib, pkgutil, sys\n"
        f"for room in {rooms!r}:\n"
        "    package = importlib.import_module(room)\n"
        "    for m in pkgutil.walk_packages(package.__path__, room + '.'):\n"
        "        importlib.import_module(m.name)\n"
        "print(*{name.partition('.')[0] for name in sys.modules})\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_estimators_inertia_core_and_scores_never_import_mujoco():
    found = imported_by(*ROOMS)
    assert "testbed" in found
    assert "mujoco" not in found


def test_core_is_light():
    heavy = {"cvxpy", "gymnasium", "matplotlib", "mujoco", "pandas", "typer"}
    assert not imported_by("testbed.core") & heavy


def test_importing_the_package_imports_nothing_heavy():
    code = "import testbed, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = set(run.stdout.split())
    assert "testbed" in found
    heavy = {"cvxpy", "gymnasium", "mujoco", "numba", "numpy", "pydantic", "rich", "scipy", "typer"}
    assert not found & heavy  # `import testbed` takes some 15 ms

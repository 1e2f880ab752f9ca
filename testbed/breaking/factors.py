"""Factors: ways to lead a scenario away from its nominal case, in normalised coordinates.

A factor takes u from [low, high]: 0 leaves the scenario as it is, and 1 (or −1) is the limit of
the declared range. The distance of a scenario from the nominal one is ‖u‖ over all factors, so 1 is
as far as one factor alone at its limit: that is what *mild* is measured in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from testbed.core.signals import Array
from testbed.harness.paths import get_at, set_at
from testbed.harness.vary import load_table, split_load
from testbed.inertia import from_pseudo_inertia, pseudo_inertia
from testbed.inertia.symmetric import SYMMETRIC_BASIS, from_coordinates
from testbed.plants.loads import load_parameters

SHAPES = 9  # directions of a body besides its density


@dataclass(frozen=True)
class Factor:
    """One coordinate of the search space.

    Attributes:
        key: How it is called: the path of what it changes, with a word behind `/` where that is
            not one number.
        low: Least u: −1, or 0 where the nominal value is the least.
        high: Largest u: 1, or 0 where the nominal value is the largest.
        put: Changes scenario data in place to this u ≠ 0.
        value: What u means, in the units of the key.
        range: The declared range, in the same units.
    """

    key: str
    low: float
    high: float
    put: Callable[[dict[str, Any], float], None]
    value: Callable[[float], float]
    range: tuple[float, float]

    def row(self, u: float) -> dict[str, Any]:
        """What it is set to, as JSON-able data."""
        return {"key": self.key, "u": u, "nominal": self.value(0.0), "value": self.value(u)}


def scalar(path: str, nominal: float, low: float, high: float, log: bool = False) -> Factor:
    """A number at a path of the scenario, between low and high on either side of its value.

    Args:
        path: Where it is.
        nominal: Its value now; moved into the range where it lies outside.
        low: Least value.
        high: Largest value.
        log: Move on a log scale; all three must be positive.
    """
    nominal = min(max(nominal, low), high)

    def value(u: float) -> float:
        end = high if u > 0 else low
        if u == 0 or end == nominal:
            return nominal
        if log:
            return float(nominal * math.exp(abs(u) * math.log(end / nominal)))
        return nominal + abs(u) * (end - nominal)

    def put(data: dict[str, Any], u: float) -> None:
        set_at(data, path, value(u))

    return Factor(path, -1.0 * (low < nominal), 1.0 * (high > nominal), put, value, (low, high))


def rest(duration: float, longest: float) -> Factor:
    """Seconds at rest that the end of the excitation is replaced with; u in [0, 1]."""

    def put(data: dict[str, Any], u: float) -> None:
        seconds = longest * u
        moving = {**data["excitation"], "seconds": duration - seconds}
        parts = [moving, {"use": "rest", "seconds": seconds}]
        data["excitation"] = {"use": "sequence", "parts": parts}

    return Factor("excitation/rest", 0.0, 1.0, put, lambda u: longest * u, (0.0, longest))


def density(path: str, most: float) -> Factor:
    """A load of the same shape, up to `most` times as dense or as light."""

    def value(u: float) -> float:
        return float(most**u)

    def put(data: dict[str, Any], u: float) -> None:
        table = get_at(data, path)
        if "mass" in table and "inertia" not in table:
            new = {**table, "mass": table["mass"] * value(u)}  # the shape stays readable
        else:
            new = load_table(table, value(u) * _body(table, path))
        set_at(data, path, new)

    return Factor(f"{path}/density", -1.0, 1.0, put, value, (1 / most, most))


def shape(path: str, which: int, far: float) -> Factor:
    """A load deformed along a geodesic of possible bodies (Lee & Park 2018, eqs. 6 and 8).

    J ← C exp(far·u·E) Cᵀ with J = CCᵀ and E one of nine traceless unit matrices: every u gives a
    possible body, of the same det J.

    Args:
        path: Of the load's table.
        which: Which direction, 0 … 8.
        far: ‖X‖ at u = 1; with 0.5 a centre moves by a third of a radius of gyration, or so.
    """
    direction = from_coordinates(_TRACELESS[which])  # (4, 4)

    def put(data: dict[str, Any], u: float) -> None:
        table = get_at(data, path)
        C = np.linalg.cholesky(pseudo_inertia(_body(table, path)))
        values, V = np.linalg.eigh(far * u * direction)
        root = C @ (V * np.exp(0.5 * values))
        set_at(data, path, load_table(table, from_pseudo_inertia(root @ root.T)))

    name = f"{path}/shape{which + 1}"
    return Factor(name, -1.0, 1.0, put, lambda u: far * u, (-far, far))


def _body(table: Mapping[str, Any], path: str) -> Array:
    """φ (10,) of a load's table."""
    _, what = split_load(table)
    return load_parameters(what, path)


def _traceless_basis() -> Array:
    """Nine orthonormal coordinate vectors of Sym(4) beside the identity's (9, 10)."""
    trace = np.einsum("kii->k", SYMMETRIC_BASIS)[:, None]  # (10, 1)
    Q, _ = np.linalg.qr(np.hstack([trace, np.eye(10)]))
    return np.ascontiguousarray(Q[:, 1:].T)


_TRACELESS = _traceless_basis()

"""How heavy data weigh against the prior: W = weight · cov⁻¹.

With weight 1 the objective is the negative log-likelihood, and α says how many "unit rows" the
prior is worth. Every sample adds to the data term then, so the same α means less at a higher
sampling rate. `"normalised"` makes the data term a mean (a time integral of the mean square over
the rows) instead of a sum: without forgetting each row weighs dt/k, so a second of data weighs the
same at any rate (Cho 2024, Table I has 1/(N n_d) for the same reason). With forgetting by μ a
sample the sum saturates at 1/(1 − μ) samples, and each row weighs (1 − μ)/k: α keeps its meaning
whatever μ is.
"""

from __future__ import annotations

import math
from typing import Any

from testbed.core.errors import BadInput
from testbed.core.parameter_types import is_number, shown
from testbed.core.protocols import ForgettingRule
from testbed.core.types import Problem

NORMALISED = "normalised"


class Weight:
    """What cov⁻¹ of an equation is multiplied with.

    Args:
        value: A positive number, or None for the normalised weight.
    """

    def __init__(self, value: float | None) -> None:
        self.value = value
        self._share = 1.0  # of a sample, when normalised

    def reset(self, problem: Problem, rule: ForgettingRule) -> None:
        """Work out the share of a sample; `rule` must have been reset for this problem before."""
        if self.value is None:
            mu = _memory(rule)
            self._share = problem.dt if mu is None else 1.0 - mu

    def factor(self, k: int) -> float:
        """The weight of an equation of k rows."""
        return self._share / max(k, 1) if self.value is None else self.value


def make_weight(spec: Any = 1.0) -> Weight:
    """A weight from what a user writes: a positive number, "normalised", or a Weight itself."""
    if isinstance(spec, Weight):
        return spec
    if isinstance(spec, str) and spec == NORMALISED:
        return Weight(None)
    if is_number(spec) and 0 < spec < math.inf:
        return Weight(float(spec))
    raise BadInput(f'weight must be a positive number or "{NORMALISED}", got {shown(spec)}')


def check_positive(**values: float | None) -> None:
    """Refuse what is given and not a positive, finite number, by its name."""
    for name, value in values.items():
        if value is not None and not 0 < value < math.inf:
            raise BadInput(f"{name} must be positive, got {value}")


def _memory(rule: ForgettingRule) -> float | None:
    """μ, the share of the information that the rule keeps a sample; None where it keeps all.

    Rules that do not forget everything alike may say theirs by an attribute `mu`.
    """
    mu = rule.factor()
    if mu is None:
        mu = getattr(rule, "mu", None)
    if mu is None or mu == 1:
        return None
    if not is_number(mu) or not 0 <= mu < 1:
        raise BadInput(f"a normalised weight needs a forgetting rule with μ in [0, 1], got {mu!r}")
    return float(mu)

"""How an estimate wanders while nothing tells about it: windup, in validation output."""

from __future__ import annotations


class Drift:
    """Growth of the validation error over poor stretches.

    A second is poor where its motion told about less than half as many directions as the best
    second so far (`Excitation.look`). Poor seconds in a row are one stretch; a change ends it.
    """

    def __init__(self) -> None:
        self.worst: float | None = None
        self._start: float | None = None  # error when the stretch began
        self._first: float | None = None  # error when this second began
        self._largest = 0.0  # largest error of this second

    def add(self, error: float) -> None:
        """One look within a second."""
        if self._first is None:
            self._first = error
        self._largest = max(self._largest, error)

    def second(self, poor: bool, size: float) -> None:
        """A second is over.

        Args:
            poor: Whether it was.
            size: rms A_val θ, which the growth is relative to.
        """
        if not poor or self._first is None:
            self._start = None
        else:
            if self._start is None:
                self._start = self._first
            grown = max(0.0, self._largest - self._start) / size if size > 0 else 0.0
            self.worst = grown if self.worst is None else max(self.worst, grown)
        self._first, self._largest = None, 0.0

    def interrupt(self) -> None:
        """The truth changed: errors before and after are not the estimator's drift."""
        self._start, self._first, self._largest = None, None, 0.0

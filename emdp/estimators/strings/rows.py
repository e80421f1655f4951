"""The rows of a search for frequent strings: what is shown of what was found, with intervals that hold together."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from emdp.base.classes import dataclass
from emdp.estimators.strings.encoders import SHARE, VALUE, ShareEncoder
from emdp.questions.reading import TextBlock
from emdp.questions.shape import Shape
from emdp.spaces.base import Floats

__all__ = ["FoundRows", "StringShares"]

CERTAIN = "_is_certain"
"""Suffix of a column's name for the strings that surely are among the most frequent ones."""

MOST_ROWS = 2**22
"""Rows of shares after which equal strings are put together."""


class StringShares:
    """The exact frequencies of all strings: under the test switch alone."""

    def __init__(self, users: int) -> None:
        self._users = users
        self._frames: list[pl.DataFrame] = [pl.DataFrame(schema={VALUE: pl.String, SHARE: pl.Float64})]

    def add(self, block: TextBlock) -> None:
        """Add the shares of some users."""
        for frame in ShareEncoder().encode(block):
            self.add_sums(frame)

    def add_sums(self, frame: pl.DataFrame) -> None:
        """Add sums of shares, a row a string."""
        self._frames.append(frame.select(VALUE, SHARE))
        if sum(map(len, self._frames[1:])) > MOST_ROWS:
            self._frames = [self._summed()]

    def frame(self) -> pl.DataFrame:
        """Return one row a string, the most frequent first."""
        found = self._summed().with_columns(pl.col(SHARE) / self._users)
        return found.sort(SHARE, VALUE, descending=[True, False])

    def _summed(self) -> pl.DataFrame:
        return pl.concat(self._frames).group_by(VALUE).agg(pl.col(SHARE).sum())


@dataclass(frozen=True, eq=False)
class FoundRows:
    """Rows of strings that were found: the string, its frequency, the ends of its interval; most frequent first.

    All intervals hold together, since the strings are chosen by the estimates. With ``count`` there is a column
    ``<name>_is_certain``: but for the query's probability of failure the string is among the ``count`` most frequent
    ones of all. *Proof.* Let estimates be within ``w`` and every string of frequency at least ``threshold`` be found.
    If a listed string's estimate less ``w`` is at least ``threshold`` and above all estimates outside the list plus
    ``w``, no string outside the list is as frequent, found or not; so at most ``count - 1`` are.
    """

    name: str
    threshold: float  # Every string with at least that frequency is found, but for the query's probability of failure
    half_width: float  # `w`, but for that probability
    count: int | None  # How many rows, at most; None for all with estimates of at least `threshold - w`
    width_at: Callable[[float], float]  # From a probability to how far off all estimates are, at most, but for it

    @property
    def shape(self) -> Shape:
        """Values of the strings."""
        return Shape("values", (), (VALUE,))

    def frame(self, released: Any, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the strings with frequencies and intervals."""
        del together
        strings, given = self._listed(released)
        outside = float(given[len(strings) :].max(initial=-math.inf))
        estimates = given[: len(strings)]
        width = self.width_at(1.0 - level)
        columns = [
            pl.Series(VALUE, strings, dtype=pl.String),
            pl.Series(self.name, estimates),
            pl.Series(f"{self.name}_low", np.maximum(estimates - width, 0.0)),
            pl.Series(f"{self.name}_high", np.maximum(np.minimum(estimates + width, 1.0), estimates)),
        ]
        if self.count is not None:
            surely = estimates - self.half_width
            certain = (surely >= self.threshold) & (surely > outside + self.half_width)
            columns.append(pl.Series(self.name + CERTAIN, certain))
        return pl.DataFrame(columns)

    def diagnostics(self, released: Any) -> dict[str, Any]:
        """Return from which frequency every string was found, and how far off all estimates are at most."""
        return {"complete_above": self.threshold, "half_width": self.half_width, "found": len(released[0])}

    def remarks(self, released: Any) -> tuple[str, ...]:
        """Return why fewer strings are listed than were asked for, or none."""
        found = len(released[0])
        if self.count is None:
            if found:
                return ()
            return (f"no string was found, so none is as frequent as {self.threshold:.3g}, but for the stated failure",)
        if found >= self.count:
            return ()
        return (
            f"{found} of {self.count} strings were found: those below a frequency of {self.threshold:.3g} need not be, "
            "for so few users at this price",
        )

    def exact(self, statistics: Any) -> pl.DataFrame:
        """Return the exact frequencies of all strings that may be found: of at least ``threshold - 2 w``."""
        found: pl.DataFrame = statistics[0]
        kept = found.filter(pl.col(SHARE) >= self.threshold - 2.0 * self.half_width)
        return kept.select(VALUE, pl.col(SHARE).alias(self.name))

    def _listed(self, released: Any) -> tuple[list[str], Floats]:
        """Return the strings that are shown, and all estimates, those first."""
        strings, estimates = list(released[0]), np.array(released[1], dtype=np.float64)
        if self.count is not None:
            return strings[: self.count], estimates
        shown = int(np.count_nonzero(estimates >= self.threshold - self.half_width))
        return strings[:shown], estimates

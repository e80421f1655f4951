"""Public facts about a column of an answer, and the contract of what makes rows of released coordinates."""

from fractions import Fraction
from typing import Any, Protocol

import polars as pl

from emdp.base.classes import dataclass
from emdp.privacy import Guarantee
from emdp.questions.shape import Shape

__all__ = ["Finisher", "PlannedColumn", "PlannedStage", "Released", "TopItems", "unordered"]

Released = tuple[tuple[Fraction, ...], ...]
"""Released coordinates of each group of users, in the statistic's own units."""


@dataclass(frozen=True)
class PlannedColumn:
    """Public facts about one column of an answer.

    Parameters
    ----------
    expression : str
        What it is the mean (or total, frequency, quantile) of, as text.
    lipschitz : float
        Constant of that function of one record per unit of ``d_X`` (EMD 2); under ``epsilon`` the same number where
        it is finite, for information.
    low, high : float
        Public range of the column's exact value.
    noise_scale : float
        Scale of the noise in the column's unit (for a ratio: of its numerator over the share in ``note``).
    expected_error : float
        Expected absolute error by noise, in the column's unit.
    interval_95 : float
        Half-width of the 95 % interval (for a ratio or quantile: the expected one, under what ``note`` says).
    share : float
        Share of the statement's alpha.
    note : str
        What the two errors assume, if they depend on the data.
    written : str
        The column as the analyst wrote it, in SQL; empty where the expression is what was written.
    """

    name: str
    expression: str
    lipschitz: float
    low: float
    high: float
    noise_scale: float
    expected_error: float
    interval_95: float
    share: float = 1.0
    note: str = ""
    written: str = ""


@dataclass(frozen=True)
class PlannedStage:
    """Public facts about one stage of a statement.

    Parameters
    ----------
    columns : tuple of PlannedColumn
        Its columns, each with its share of the stage.
    """

    label: str
    guarantee: Guarantee
    share: float
    columns: tuple[PlannedColumn, ...]
    choice: str
    text: str


@dataclass(frozen=True, eq=False)
class TopItems:
    """The items with the largest estimated shares, and what holds of all of them together but for a probability.

    Parameters
    ----------
    frame : polars.DataFrame
        One row an item, largest estimate first: the item, its share with the ends of intervals that hold together, and
        ``<name>_is_certain``, whether it surely is one of the truly most frequent ones.
    complete_above : float
        Every item of a larger share is listed; ``-inf`` where all items are.
    none_below : float
        No listed item has a smaller share.
    failure : float
        The probability, at most, with which any of this fails.
    """

    frame: pl.DataFrame
    complete_above: float
    none_below: float
    failure: float

    def __str__(self) -> str:
        return (
            f"every item with a share above {self.complete_above:.4g} is listed and no listed one has less than "
            f"{self.none_below:.4g}, but for a probability of {self.failure:g}"
        )


class Finisher(Protocol):
    """Maker of an answer's rows from released coordinates: post-processing, of public and noisy numbers alone."""

    @property
    def shape(self) -> Shape:
        """Layout of the frame's columns."""

    def frame(self, released: Released, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the answer: key columns if any, then ``name``, ``name_low``, ``name_high`` for every column.

        Parameters
        ----------
        released : tuple of tuple of Fraction
            Coordinates of each group of users.
        level : float
            Coverage of the intervals, in (0, 1).
        together : bool
            Whether all intervals hold at once with that probability, or each alone.
        """

    def exact(self, statistics: Released) -> pl.DataFrame:
        """Return the same columns without the interval ends, from exact coordinates: for the test switch alone."""


def unordered(finisher: Any) -> Any:
    """Return the finisher of an answer's rows before they are ordered and cut, which may be itself."""
    return getattr(finisher, "finisher", finisher)

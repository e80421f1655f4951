"""What an answer to a question for a measure has besides its rows: all post-processing of what was released."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from emdp.answers.description import DEFAULT_LEVEL
from emdp.base.checks import check_unit_interval
from emdp.base.errors import UsageError
from emdp.privacy import UserDP

__all__ = ["Measured"]


class Measured:
    """Tables, samples and means of a released measure; other answers refuse them."""

    released: Any
    _rows: Any

    @property
    def measured(self) -> tuple[float, ...]:
        """Released shares of a measure's nodes, in their order; none of another answer."""
        return tuple(map(float, self.released[0])) if hasattr(self._rows, "fitted") else ()

    def _drawn(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return what a picture shows: of a measure the fit at the released nodes, where these are of one part."""
        found: pl.DataFrame = self._rows.drawn(self.released) if self.measured else frame
        return found

    def table(self) -> pl.DataFrame:
        """Return a measure's fitted table, at no cost: one row a place, with its ``weight``; weights add up to 1.

        The table is public: join it, group it, draw it. A weight is a share of the average user's records, no count.

        Raises
        ------
        UsageError
            If the answer is no measure.
        """
        found: pl.DataFrame = self._of_measure("table")(self.released)
        return found

    def joined(self, other: "Measured") -> pl.DataFrame:
        """Return this measure's fitted table with the further columns of another one, at no cost.

        Where the other one has this one's columns too, a place has its further columns as they are *given the zone*: as
        around the nearest of the other's nodes; where it has some of them, given those. Where it has none of them the
        two are taken as *independent*.

        Parameters
        ----------
        other : Answer
            A measure of the same table with further columns.

        Raises
        ------
        UsageError
            If one is no measure, or columns do not fit.
        """
        rows = self._of_measure("joined")
        if not isinstance(other, Measured) or not other.measured:
            raise UsageError("other must be a measure; ask session.measure() for one with further columns.")
        found: pl.DataFrame = rows(self.released, other._rows, other.released)
        return found

    def apart(self, within: Iterable[float] = ()) -> pl.DataFrame:
        """Return how far two records of one user are apart, of a measure of pairs: one row, at no cost.

        Not for naming pairs of places, such as home and work: those that are known are asked one by one.

        Parameters
        ----------
        within : iterable of float
            Distances in the natural unit.

        Returns
        -------
        polars.DataFrame
            ``mean`` of the distance, and for each of ``within`` the share of pairs that are no farther apart.

        Raises
        ------
        UsageError
            If the answer is no measure of pairs, or a distance is not finite.
        """
        if not hasattr(self._rows, "apart"):
            raise UsageError("apart is for a measure of pairs; ask session.measure(pairs=True) first.")
        return pl.DataFrame([self._rows.apart(self.released, tuple(within))])

    def synthetic_users(self, n: int, *, sizes: "int | Mapping[int, float] | Measured") -> pl.DataFrame:
        """Return records of ``n`` users who are nobody, of a measure of pairs: users of types, at no cost.

        How far apart the records of one of them are is as in the measure, and no finer; they name no pair of places of
        anybody. Nothing is drawn at random.

        Parameters
        ----------
        n : int
            How many users.
        sizes : int, mapping of int to float, or Answer
            How many records a user has, which no measure knows: a public number for all, a public law (shares of users
            by number of records), or an answer under ``USER_PRIVACY`` with the numbers of people by the column
            ``octave`` (whole part of the base-2 logarithm of their records) or ``records``. Sizes have nothing to do
            with places here.

        Returns
        -------
        polars.DataFrame
            ``synthetic_user``, a number, and the columns of a record; at most ten million rows.

        Raises
        ------
        UsageError
            If the answer is no measure of pairs, or ``sizes`` are no such law.
        """
        if not hasattr(self._rows, "synthetic_users"):
            raise UsageError("synthetic_users is for a measure of pairs; ask session.measure(pairs=True) first.")
        found: pl.DataFrame = self._rows.synthetic_users(self.released, n, _paid_sizes(sizes))
        return found

    def sample(self, n: int) -> pl.DataFrame:
        """Return ``n`` records that stand for a measure: equal steps of mass along a curve through all places, free.

        Nothing is drawn at random: it is the same each time. No row is a person, and their number says nothing.

        Parameters
        ----------
        n : int
            How many, at most ten million.

        Raises
        ------
        UsageError
            If the answer is no measure, or ``n`` is out of its range.
        """
        found: pl.DataFrame = self._of_measure("sample")(self.released, n)
        return found

    def density(self) -> pl.DataFrame:
        """Return a measure's fitted shares at the released nodes: what to draw, since places are finer than known."""
        found: pl.DataFrame = self._of_measure("density")(self.released)
        return found

    def mean(self, function: Any, *, raw: bool = False, level: float = DEFAULT_LEVEL) -> pl.DataFrame:
        """Return the mean of a function of a record over a measure: one row, at no cost.

        Parameters
        ----------
        function : Expression
            With a Lipschitz constant ``L``.
        raw : bool
            Whether it is made of the released nodes: ``mean``, and ``low`` and ``high`` of its exact interval, which is
            for the smoothed distribution: how far smoothing moves the mean is not in it, up to what the function
            changes over half a pitch along each axis. By default of the fitted measure: ``mean``, and ``towns`` and
            ``scattered``: ``L`` times the distance to the truth that is expected at two public priors, mostly far
            too large. Where records may be elsewhere both are missing, and ``reason`` says why.
        level : float
            Coverage of the interval in (0, 1).

        Raises
        ------
        UsageError
            If the answer is no measure, or the function has no Lipschitz constant.
        """
        level = check_unit_interval("level", level)
        return pl.DataFrame([self._of_measure("mean")(self.released, function, level=level, raw=raw)])

    def _of_measure(self, what: str) -> Any:
        if not hasattr(self._rows, "fitted"):
            raise UsageError(f"{what} is for a measure; ask session.measure() first.")
        return getattr(self._rows, what)


def _paid_sizes(sizes: Any) -> Any:
    """Return a public law as it is, and the frame of an answer at user level; no other answer tells sizes."""
    if isinstance(sizes, pl.DataFrame | pl.LazyFrame):
        raise UsageError(
            "sizes were given as a frame, of which nobody knows whether it was paid for; pass the answer under "
            "USER_PRIVACY itself, or a public law such as {1: 0.5, 10: 0.5}."
        )
    answer: Any = sizes if isinstance(sizes, Measured) else None
    if answer is None:
        return sizes
    if not isinstance(answer.guarantee, UserDP):
        raise UsageError("sizes are told by no answer under alpha; pass a public law, or an answer under USER_PRIVACY.")
    return answer.frame

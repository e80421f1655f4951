"""Means of single users, drawn towards a private common mean on the users' own side."""

import math
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from emdp.answers import Answer
from emdp.base.checks import check_count, check_finite
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.expressions import analyse, col
from emdp.privacy import Guarantee
from emdp.sessions.asking import Asking

if TYPE_CHECKING:
    from emdp.questions.names import Names

__all__ = ["Personal", "PersonalMeans"]

LEAST_ROOM = 0.05
"""Part of users' records, at least, that is not their first one, where the spread of a user's records can be told."""


@dataclass(frozen=True, eq=False, repr=False)
class PersonalMeans:
    """What a user needs to know of all others to make the own mean better: three private numbers.

    A user's own mean ``m`` of ``k`` records is off by about ``within/sqrt(k)``. With ``weight(k) = between^2/(between^2
    + within^2/k)``, ``mean + weight (m - mean)`` has the least expected squared error among all such estimates (for
    users drawn at random), and it is computed where ``m`` is: on the user's side, so that it costs nothing.

    Parameters
    ----------
    answer : Answer
        The release: four moments in one row, charged together.
    low, high : float
        What records are clipped to.

    Attributes
    ----------
    mean : float
        Mean over the users who have records of their own means.
    between : float
        Standard deviation of users' true means; 0 where noise hides it, and then everybody is drawn to ``mean``.
    within : float
        Standard deviation of a record around the mean of its user.
    guarantee : Guarantee
        What holds for the release.
    """

    answer: Answer
    low: float
    high: float

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of the release."""
        return self.answer.guarantee

    @property
    def mean(self) -> float:
        """Mean over users of the users' own means."""
        centre, half = self._scale
        return min(max(centre + half * self._moment("mean"), self.low), self.high)

    @property
    def within(self) -> float:
        """Standard deviation of a record around the mean of its user."""
        # A user of k records has a mean square within of s^2 (1 - 1/k).
        room = max(1.0 - self._moment("inverse"), LEAST_ROOM)
        return self._scale[1] * math.sqrt(max(self._moment("records") - self._moment("square"), 0.0) / room)

    @property
    def between(self) -> float:
        """Standard deviation of users' true means."""
        half = self._scale[1]
        own = (self.within / half) ** 2 * min(max(self._moment("inverse"), 0.0), 1.0)
        return half * math.sqrt(max(self._moment("square") - self._moment("mean") ** 2 - own, 0.0))

    def weight(self, records: int) -> float:
        """Return how much of the own mean counts, from 0 to 1, for a user of so many records."""
        count = check_count("records", records, minimum=0)
        if count == 0:
            return 0.0
        noise = self.within**2 / count
        whole = self.between**2 + noise
        return self.between**2 / whole if whole > 0 else 1.0

    def shrink(self, own: float, records: int) -> float:
        """Return a user's mean drawn towards the common one: on the user's side, and for nobody else.

        Parameters
        ----------
        own : float
            The user's mean; whatever it is for a user without records, the common mean is returned.
        records : int
            How many records it is of.
        """
        weight = self.weight(records)
        if weight == 0.0:
            return self.mean
        clipped = min(max(check_finite("own", own), self.low), self.high)
        return self.mean + weight * (clipped - self.mean)

    @property
    def frame(self) -> pl.DataFrame:
        """One row: mean, between, within."""
        return pl.DataFrame({"mean": [self.mean], "between": [self.between], "within": [self.within]})

    def __repr__(self) -> str:
        return f"PersonalMeans(mean={self.mean:.6g}, between={self.between:.6g}, within={self.within:.6g})"

    def explain(self) -> str:
        """Return the whole derivation of the release."""
        return self.answer.explain()

    @property
    def _scale(self) -> tuple[float, float]:
        return (self.low + self.high) / 2, (self.high - self.low) / 2

    @cached_property
    def _moments(self) -> dict[str, float | None]:
        return self.answer.frame.row(0, named=True)

    def _moment(self, name: str) -> float:
        value = self._moments[name]
        return 0.0 if value is None or not math.isfinite(value) else float(value)


class Personal(Asking):
    """Users' own means of a session."""

    def personal_means(
        self,
        column: str,
        *,
        epsilon: float,
        delta: float = 0.0,
        bounds: tuple[float, float] | None = None,
    ) -> PersonalMeans:
        """Release what every user needs to make the mean of the own records better, and no user's mean.

        One statement under ``WITH USER_PRIVACY`` releases four moments of users' own means: their mean, how far users
        are apart, how far records lie from their user's mean. A user then draws the own mean towards the common one by
        :meth:`PersonalMeans.shrink`, on the own device: a person with few records gains most. All moments are over the
        users who have records, by those that the space does not send elsewhere: whoever has none counts in none.

        Parameters
        ----------
        column : str
            A column of numbers.
        epsilon, delta : float
            Price at user level.
        bounds : (float, float), optional
            What records are clipped to; by default the column's range in the space. The narrower, the less noise.

        Raises
        ------
        UsageError
            If the column is unknown or has no range, or bounds are no interval.
        EmdpError
            As :meth:`emdp.Session.sql`.

        Guarantee
        ---------
        ``(epsilon, delta)`` central user-level, for any records: that of the statement
        (:mod:`emdp.estimators.owned`). Users' shrunk means are computed from this answer and the user's own records.
        """
        low, high = _bounds(column, bounds, self._names)
        (planned,) = self._planned(
            personal_statement(column, self._table.name, self._table.user, low, high, epsilon, delta)
        )
        return PersonalMeans(self._run((planned,))[0], low, high)


def personal_statement(
    column: str, table: str, user: str, low: float, high: float, epsilon: float, delta: float
) -> str:
    """Return the SQL of :meth:`Personal.personal_means`."""
    price = f"epsilon = {epsilon!r}" + (f", delta = {delta!r}" if delta else "")
    centre, half = (low + high) / 2, (high - low) / 2
    scaled = f"CLAMP(({_name(column)} - {centre!r}) / {half!r}, -1, 1)"
    own = (
        f"SELECT {_name(user)} AS who, AVG({scaled}) AS m, AVG({scaled} * {scaled}) AS s, 1.0 / COUNT(*) AS r "
        f"FROM {_name(table)} GROUP BY {_name(user)}"
    )
    kept = "CLAMP(m, -1, 1)"
    return (
        f"SELECT WITH USER_PRIVACY OPTIONS ({price}) AVG({kept}) AS mean, AVG({kept} * {kept}) AS square, "
        f"AVG(CLAMP(s, 0, 1)) AS records, AVG(CLAMP(r, 0, 1)) AS inverse FROM ({own}) people"
    )


def _bounds(column: str, bounds: tuple[float, float] | None, names: "Names") -> tuple[float, float]:
    if not isinstance(column, str) or not column:
        raise UsageError(f"column must be a name, not {type(column).__name__}; pass the name of a column of numbers.")
    if bounds is None:
        found = analyse(col(column), names.space)
        low, high = found.low, found.high
    else:
        try:
            low, high = bounds
        except (TypeError, ValueError):
            raise UsageError("bounds must be two numbers, low and high; pass such as (0, 10).") from None
    low, high = check_finite("bounds", low), check_finite("bounds", high)
    if not low < high:
        raise UsageError(f"bounds must be low and high, low below high, got ({low:g}, {high:g}); turn them round.")
    return low, high


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

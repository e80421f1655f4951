"""One scan of the records for several statements: those of a batch, and the entries of a report.

Statements that group the same rows alike, and differ in what is averaged or added up, are one statement of all their
values. The first that is computed takes those along that are expected after it; they are held here, hidden, until each
is asked for.

**Claim.** Whether a statement is refused, in which words, what it is charged and what its answer is depends on the
records as it would with a scan of its own.

**Proof.** A plan asks for its statistic after its own charge, whoever computed it; :class:`SharedScans` opens nothing,
and gives nothing but a :class:`~emdp.base.statistic.Statistic`. What is charged, and whether the budgets cover it, is
settled by public numbers. The values are the same: each has its own columns and its own sums of integers, in units that
depend on its expression and the space, over the same users and cells, and such sums depend on nothing beside them. They
are of the same data: what was read under one version is given under that version alone. It is compared before a
statement is computed, after the scan of several, which is let go if it is another one then, and before an answer is
shown. A scan of several that fails is as if it had not been tried:
the statement has its own. What a crash leaves is what it left, since nothing here is written. What is left is time:
that of the first statement depends on public facts of the others.

Statements over users that were chosen, over pairs of records, and over rows with owners have scans of their own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from emdp.base.statistic import Statistic
from emdp.estimators.plan import Plan
from emdp.expressions import Expression
from emdp.expressions.cells.aggregation import Aggregation
from emdp.questions.owned.totals import OwnedTotals
from emdp.sessions.planning import Planned

__all__ = ["MOST_SUMS", "MOST_VALUES", "SharedScans"]

MOST_VALUES = 32
"""Values of one statement: each is a column or more of every row and user."""

MOST_SUMS = 2**24
"""Sums of users that one statement of several may hold: some hundred megabytes."""


class SharedScans:
    """Hidden statistics by what was asked, of one version of the data; see the module."""

    def __init__(self) -> None:
        self._coming: list[Aggregation | OwnedTotals] = []
        self._found: dict[object, tuple[tuple[Expression, ...], tuple[Statistic, ...]]] = {}
        self.version = ""

    def __repr__(self) -> str:
        return f"SharedScans(expected={len(self._coming)})"

    def expect(self, aggregation: Aggregation | OwnedTotals) -> None:
        """Take a statement for one that will be computed, unless a like one is expected."""
        if not any(_is_alike(aggregation, one) for one in self._coming):
            self._coming.append(aggregation)

    def expect_all(self, planned: Iterable[Planned]) -> None:
        """Take those statements for expected whose statistics others may be computed with."""
        for plan in (one.plan for one in planned):
            if isinstance(plan, Plan) and not plan.is_constant:
                self.expect(plan.aggregation)

    def begin(self, version: str) -> None:
        """Forget what was computed of other data."""
        if version != self.version:
            self._found.clear()
        self.version = version

    def widened(self, aggregation: Aggregation | OwnedTotals, users: int | None) -> Aggregation | OwnedTotals:
        """Return the statement of an aggregation and of those expected that can be computed with it.

        Parameters
        ----------
        aggregation : Aggregation or OwnedTotals
            What is asked now.
        users : int or None
            The public number of users; None where there is none, and nothing is computed together.
        """
        if isinstance(aggregation, OwnedTotals) or aggregation.pairs or users is None:
            return aggregation
        most = min(MOST_VALUES, MOST_SUMS // max(1, users * aggregation.cells))
        values = dict.fromkeys(aggregation.values)
        for other in self._coming:
            if isinstance(other, Aggregation) and _family(other) == _family(aggregation):
                more = values | dict.fromkeys(other.values)
                values = more if len(more) <= most else values
        return aggregation if len(values) == len(aggregation.values) else replace(aggregation, values=tuple(values))

    def keep(self, aggregation: Aggregation | OwnedTotals, found: tuple[Statistic, ...]) -> None:
        """Hold what was computed until it is asked for."""
        values = aggregation.values if isinstance(aggregation, Aggregation) else ()
        self._found[_family(aggregation)] = values, found

    def take(self, aggregation: Aggregation | OwnedTotals) -> tuple[Statistic, ...] | None:
        """Return a statement's statistics, once, if they are held; None if they are not."""
        family = _family(aggregation)
        self._coming = [one for one in self._coming if not _is_alike(one, aggregation)]
        values, found = self._found.get(family, ((), ()))
        if not any(_family(one) == family for one in self._coming):
            self._found.pop(family, None)
        if not isinstance(aggregation, Aggregation):
            return found or None
        if not found or not set(aggregation.values) <= set(values):
            return None
        return tuple(one.part(_places(aggregation, values)) for one in found)


def _family(aggregation: Aggregation | OwnedTotals) -> object:
    """Return what statements have alike that one scan computes: all but the values, where that can be compared."""
    if isinstance(aggregation, OwnedTotals) or aggregation.users is not None or aggregation.pairs:
        return aggregation
    return aggregation.axes, aggregation.cap, aggregation.chosen


def _is_alike(one: Aggregation | OwnedTotals, other: Aggregation | OwnedTotals) -> bool:
    return _family(one) == _family(other) and getattr(one, "values", ()) == getattr(other, "values", ())


def _places(aggregation: Aggregation, values: Sequence[Expression]) -> list[int]:
    """Return where the coordinates of an aggregation are in those of one with all of its values."""
    starts = (values.index(value) * aggregation.cells for value in aggregation.values)
    return [start + cell for start in starts for cell in range(aggregation.cells)]

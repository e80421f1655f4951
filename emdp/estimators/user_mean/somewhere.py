"""Users' own means where records may be elsewhere: what an engine reads of them, and a number for each who has one.

An engine's means are over all of a user's records, and every value is 0 elsewhere. So it reads ``E[(e - m) 1]`` and
``E[1]`` of each user, ``m`` the middle of the public range, and the own mean is ``m`` plus their quotient. Who has less
than ``LEAST_SHARE`` of own records somewhere counts as elsewhere: the quotient of fixed-point numbers is then near.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from emdp.base.errors import InternalError, UsageError
from emdp.expressions import analyse
from emdp.expressions.nodes.arithmetic import Subtract
from emdp.expressions.nodes.base import Constant, Expression
from emdp.expressions.numbers.fixed_point import fixed_point_error, fixed_point_exponent
from emdp.mechanisms.crowd import Groups, Sums
from emdp.mechanisms.local.noise import exact_sums
from emdp.mechanisms.user_mean.range_bins import ABSENT
from emdp.questions.reading import MeanBlock
from emdp.spaces import Space

__all__ = ["LEAST_SHARE", "SOMEWHERE", "OwnMeans", "PresentSums", "own_means"]

Integers = npt.NDArray[np.int64]

LEAST_SHARE = 2.0**-20
"""Least share of own records that are somewhere of a user who has a mean."""

SOMEWHERE = (
    "the mean is over the users who have a record somewhere, each by own records that are; errors that are stated "
    "suppose that all users have one"
)
"""Note where records may be elsewhere."""

ONE = Constant(1.0)


@dataclass(frozen=True, eq=False)
class OwnMeans:
    """Users' own means; see :class:`emdp.estimators.crowds.UserValues`.

    Parameters
    ----------
    expressions : tuple of Expression
        What is read: ``e - m`` and 1.
    exponents : tuple of int
        Fixed-point exponents of their means.
    middle : float
        ``m``.
    ends : (float, float)
        Public range of ``e``.
    exponent : int
        Of the own means.
    error : float
        Bound on |computed - exact| of an own mean.
    """

    expressions: tuple[Expression, Expression]
    exponents: tuple[int, int]
    middle: float
    ends: tuple[float, float]
    exponent: int
    error: float

    def of_block(self, block: MeanBlock, asked: Integers | None) -> Integers:
        """Return own means, shape (rows, 1), ``ABSENT`` of those who are elsewhere."""
        if tuple(block.exponents) != self.exponents:
            raise InternalError("the engine's means have another unit than was planned; please report it.")
        means = block.means if asked is None else block.means[asked]
        above, share = (np.ldexp(means[:, one].astype(np.float64), -self.exponents[one]) for one in (0, 1))
        known = share >= LEAST_SHARE
        own = np.clip(self.middle + above[known] / share[known], *self.ends)
        found = np.full((len(means), 1), ABSENT, dtype=np.int64)
        found[known, 0] = np.rint(np.ldexp(own, self.exponent)).astype(np.int64)
        return found

    def of_nobody(self) -> Sequence[int]:
        """Return what a user without records has."""
        return (ABSENT,)


class PresentSums:
    """Adds up own means, and counts the users who have one: for exact statistics under the test switch."""

    @property
    def size(self) -> int:
        """The sum and the number."""
        return 2

    def sums(self, values: Integers, groups: Groups | None) -> Sums:
        """Return both, over the users of all groups."""
        asked = values if groups is None else values[np.concatenate(groups)]
        known = asked[asked[:, 0] != ABSENT]
        return np.array([int(exact_sums(known)[0]) if len(known) else 0, len(known)], dtype=object)


def own_means(expressions: Sequence[Expression], space: Space) -> OwnMeans:
    """Return what is read of a table whose records may be elsewhere.

    Raises
    ------
    UsageError
        If there is more than one expression.

    >>> from emdp.expressions import col
    >>> from emdp.spaces import Interval
    >>> from emdp.spaces.combined.elsewhere import Elsewhere
    >>> own = own_means([col("x")], Elsewhere(Interval("x", 0, 8)))
    >>> own.middle, own.ends, own.exponents[1], own.of_nobody() == (ABSENT,)
    (4.0, (0.0, 8.0), 51, True)
    """
    if len(expressions) > 1:
        raise UsageError(
            "a vector of means whose ranges are found first is not made for a table whose records may be elsewhere; "
            "ask for one mean at a time."
        )
    (expression,) = expressions
    known = analyse(expression, space)
    middle = 0.5 * known.low + 0.5 * known.high
    centred = Subtract(expression, Constant(middle)) if middle else expression
    read = (centred, ONE)
    entries = [analyse(one, space) for one in read]
    half = max(known.high - middle, middle - known.low)
    # Numerator and share are off by so much each; besides, a few roundings of the quotient and of its sum with m.
    error = (fixed_point_error(entries[0]) + half * fixed_point_error(entries[1])) / LEAST_SHARE
    error += 2.0**-48 * max(abs(known.low), abs(known.high))
    exponents = fixed_point_exponent(entries[0]), fixed_point_exponent(entries[1])
    return OwnMeans(read, exponents, middle, (known.low, known.high), fixed_point_exponent(known), error)

"""Users' own means where records may be elsewhere: what an engine reads of them, and a number for each who has one.

An engine's means are over all of a user's records, and every value is 0 elsewhere. So it reads ``E[(e - m) 1]`` of
each expression and ``E[1]`` of each user, ``m`` the middle of the public range; the own mean is ``m`` plus their
quotient, which slots, dividing both by the same number, leave as it is. Who has less
than ``LEAST_SHARE`` of own records somewhere counts as elsewhere: the quotient of fixed-point numbers is then near.
"""

from collections.abc import Sequence

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.expressions import analyse
from emdp.expressions.nodes.arithmetic import Subtract
from emdp.expressions.nodes.base import Constant, Expression
from emdp.expressions.numbers.fixed_point import fixed_point_error, fixed_point_exponent
from emdp.mechanisms.crowd import Groups, Sums
from emdp.mechanisms.local.noise import exact_sums
from emdp.mechanisms.user_mean.range_bins import ABSENT
from emdp.questions.reading import MeanBlock
from emdp.spaces import Space

__all__ = ["LEAST_SHARE", "SOMEWHERE", "UNSLOTTED", "OwnMeans", "PresentSums", "own_means"]

LEAST_SHARE = 2.0**-20
"""Least share of own records that are somewhere of a user who has a mean."""

SOMEWHERE = (
    "the mean is over the users who have a record somewhere, each by own records that are; errors that are stated "
    "suppose that all users have one"
)
"""Note where records may be elsewhere."""

UNSLOTTED = "users weigh alike here, each by the mean of own records, however many slots these fill"
"""Note where the table has slots: numerator and share of a user are divided by the same number, so it cancels."""

ONE = Constant(1.0)


@dataclass(frozen=True, eq=False)
class OwnMeans:
    """Users' own means; see :class:`emdp.estimators.crowds.UserValues`."""

    expressions: tuple[Expression, ...]  # What is read: each `e - m`, and 1
    exponents: tuple[int, ...]  # Fixed-point exponents of their means
    middles: tuple[float, ...]  # Each `m`
    ends: tuple[tuple[float, float], ...]  # Public range of each `e`
    units: tuple[int, ...]  # Fixed-point exponents of the own means
    error: float  # Bound on |computed - exact| of an own mean

    def of_block(self, block: MeanBlock, asked: Integers | None) -> Integers:
        """Return own means, a column each, all of them ``ABSENT`` of those who are elsewhere."""
        if tuple(block.exponents) != self.exponents:
            raise InternalError("the engine's means have another unit than was planned; please report it.")
        means = block.means if asked is None else block.means[asked]
        *above, share = (np.ldexp(means[:, one].astype(np.float64), -own) for one, own in enumerate(self.exponents))
        known = share >= LEAST_SHARE
        found = np.full((len(means), len(above)), ABSENT, dtype=np.int64)
        for place, (middle, ends, unit) in enumerate(zip(self.middles, self.ends, self.units, strict=True)):
            own = np.clip(middle + above[place][known] / share[known], *ends)
            found[known, place] = np.rint(np.ldexp(own, unit)).astype(np.int64)
        return found

    def of_nobody(self) -> Sequence[int]:
        """Return what a user without records has."""
        return (ABSENT,) * len(self.units)


@dataclass(frozen=True)
class PresentSums:
    """Adds up own means, and counts the users who have some: for exact statistics under the test switch."""

    means: int  # Own means of a user

    @property
    def size(self) -> int:
        """The sums and the number."""
        return self.means + 1

    def sums(self, values: Integers, groups: Groups | None) -> Sums:
        """Return all, over the users of all groups."""
        asked = values if groups is None else values[np.concatenate(groups)]
        known = asked[asked[:, 0] != ABSENT]
        added = exact_sums(known) if len(known) else [0] * self.means
        return np.array([*added, len(known)], dtype=object)


def own_means(expressions: Sequence[Expression], space: Space) -> OwnMeans:
    """Return what is read of a table whose records may be elsewhere.

    >>> from emdp.expressions import col
    >>> from emdp.spaces import Interval
    >>> from emdp.spaces.combined.elsewhere import Elsewhere
    >>> own = own_means([col("x")], Elsewhere(Interval("x", 0, 8)))
    >>> own.middles, own.ends, own.exponents[1], own.of_nobody() == (ABSENT,)
    ((4.0,), ((0.0, 8.0),), 51, True)
    """
    known = [analyse(expression, space) for expression in expressions]
    middles = [0.5 * own.low + 0.5 * own.high for own in known]
    centred = [Subtract(one, Constant(m)) if m else one for one, m in zip(expressions, middles, strict=True)]
    read = (*centred, ONE)
    *entries, share = (analyse(one, space) for one in read)
    errors = []
    for own, entry, middle in zip(known, entries, middles, strict=True):
        half = max(own.high - middle, middle - own.low)
        # Numerator and share are off by so much each; besides, a few roundings of the quotient and of its sum with m.
        errors.append((fixed_point_error(entry) + half * fixed_point_error(share)) / LEAST_SHARE)
        errors[-1] += 2.0**-48 * max(abs(own.low), abs(own.high))
    return OwnMeans(
        read,
        tuple(map(fixed_point_exponent, (*entries, share))),
        tuple(middles),
        tuple((own.low, own.high) for own in known),
        tuple(map(fixed_point_exponent, known)),
        max(errors),
    )

"""Numbers of different values by group, with noise: the greedy assignment and how many values a user may be given.

Setting. A *value* is a pair of a group and a value of the column, and the assignment of
:mod:`emdp.mechanisms.records.distinct` is made over all pairs at once: each user takes the first ``l`` free ones. What
is released is, for each of ``G`` public groups, how many of its values are taken.

**Theorem** (user-level-sql.md 2.7 for ``G = 1``). With ``r`` 1 by removal and 2 by replacement, one user moves the
vector of the groups' counts by at most ``l`` in the 1-norm if ``G = 1`` or by removal, and by at most ``r l`` else.
*Proof.* By the theorem of that module the free pairs at the end are ``A`` without and ``A'`` with the user, ``A'`` part
of ``A`` and at most ``l`` pairs of ``A`` not in it. So each group's count is no less with the user, and all counts
together are higher by at most ``l``: the vector moves by a nonnegative vector of 1-norm at most ``l``. Between ``u``
and ``u'`` lies the table without both, so replacement moves by a difference of two such vectors: at most ``2 l``, and
in one dimension at most ``l``. ∎ Counts are whole numbers, so discrete Laplace noise of scale ``S/epsilon`` is exact.

**Choice of l.** Where ``l`` is not given, a fifth of the price chooses it by
:class:`emdp.mechanisms.records.generalised.GeneralisedChoice`: ``Q_l = c l - f_l``, ``f_l`` all taken pairs, ``c l``
the noise's mean size in all groups. One user moves ``f_l`` by at most ``l`` in either relation. Then the rest pays for
the counts: adaptive composition.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, check_positive
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.contribution.moves import check_kind, moved_users
from emdp.mechanisms.records.distinct import assign_for_caps
from emdp.mechanisms.records.generalised import GeneralisedChoice
from emdp.noise.arrays import check_integer_array
from emdp.noise.discrete_laplace import (
    discrete_laplace_quantile,
    discrete_laplace_standard_deviation,
    draw_discrete_laplace,
)
from emdp.privacy.calibration import laplace_scale
from emdp.privacy.events.table import Event, GuaranteeEvent
from emdp.privacy.guarantees.kinds import Guarantee, Neighbours
from emdp.privacy.rounding import split

__all__ = ["CANDIDATES", "DistinctCounts", "DistinctRelease"]

CANDIDATES = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500, 800)
"""Numbers of values of a user to choose from where none is given: steps of a half or more."""

_CHOICE_SHARE = 0.2


class DistinctRelease(NamedTuple):
    """Released number of different values.

    Attributes
    ----------
    counts : tuple of int
        Noisy number of values of each group.
    cap : int
        ``l``: given, or chosen.
    """

    counts: tuple[int, ...]
    cap: int


@dataclass(frozen=True)
class DistinctCounts:
    """Noisy numbers of different values by group.

    Parameters
    ----------
    neighbours : {"replace", "remove"}

    Guarantee
    ---------
    ``epsilon``-DP at user level: the module's theorem.

    >>> counts = DistinctCounts(100.0, "replace", 2, 1)
    >>> counts.release([0, 1, 1, 2], [0, 0, 7, 9], [0, 0, 1, 1])
    DistinctRelease(counts=(1, 2), cap=1)
    """

    epsilon: float  # Price, in (0, 1000]
    neighbours: Neighbours
    groups: int  # `G`, public
    cap: int | None = None  # `l`, the most values of a user; None to choose it
    slack_epsilon: ClassVar[float] = 0.0
    slack_delta: ClassVar[float] = 0.0
    is_exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))
        if self.epsilon > 1000:
            raise UsageError(f"epsilon must be at most 1000, got {self.epsilon:g}; pass a smaller one.")
        moved_users(self.neighbours)
        check_count("groups", self.groups)
        if self.cap is not None and check_count("cap", self.cap) > 2**31:
            raise UsageError(f"cap must be at most 2^31, got {self.cap}; pass a smaller one.")

    @property
    def theorem(self) -> str:
        how = "a chosen number of" if self.cap is None else f"at most {self.cap}"
        return f"greedy assignment of {how} values to each user, discrete Laplace noise (user-level-sql.md 2.7)"

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        if self.cap is None:
            return (("noise", f"a fifth of the price chooses from {CANDIDATES} how many values of a user count"),)
        return (("noise", f"scale {self.scale(self.cap):.6g} on whole numbers, {self.cap} values a {unit}"),)

    def event(self, kind: Guarantee | None = None) -> Event:
        """Return the event to charge before the release."""
        found = check_kind(kind, self.neighbours)
        return GuaranteeEvent(found.at_level(self.epsilon, 0.0), mechanism=self.theorem)

    def scale(self, cap: int) -> float:
        """Return the scale of the noise of a count for an ``l``, rounded up."""
        price = self.epsilon if self.cap is not None else self._shares[1]
        moved = moved_users(self.neighbours) if self.groups > 1 else 1
        return laplace_scale(price, float(moved * cap))

    def standard_deviation(self, cap: int) -> float:
        """Return the standard deviation of a count for an ``l``."""
        return discrete_laplace_standard_deviation(self.scale(cap))

    def half_width(self, cap: int, level: float) -> float:
        """Return ``h`` such that the noise of a count is within ``h`` of 0 with probability ``level``."""
        return float(discrete_laplace_quantile(math.nextafter(1.0 - level, 0.0), self.scale(cap)))

    def release(self, users: npt.ArrayLike, values: npt.ArrayLike, groups: npt.ArrayLike) -> DistinctRelease:
        """Return noisy counts: this spends.

        Parameters
        ----------
        users, values : array-like of int, shape (pairs,)
            As of :func:`emdp.mechanisms.records.distinct.assign_distinct`; a value is one of one group.
        groups : array-like of int, shape (pairs,)
            Group of each pair's value, below the number of groups.
        """
        places = check_integer_array("groups", groups, low=0, high=self.groups - 1)
        caps = (self.cap,) if self.cap is not None else CANDIDATES
        taken = assign_for_caps(users, values, caps)
        place = 0 if self.cap is not None else self._choice.release(self._scores([len(own) for own in taken]))
        counts = np.bincount(places[taken[place]], minlength=self.groups).tolist()
        noise = draw_discrete_laplace(self.scale(caps[place]), self.groups)
        return DistinctRelease(tuple(count + draw for count, draw in zip(counts, noise, strict=True)), caps[place])

    @cached_property
    def _shares(self) -> tuple[float, float]:
        first, second = split(self.epsilon, (_CHOICE_SHARE, 1.0 - _CHOICE_SHARE))
        return first, second

    @cached_property
    def _choice(self) -> GeneralisedChoice:
        return GeneralisedChoice(CANDIDATES, self._shares[0], self.neighbours)

    def _scores(self, taken: Sequence[int]) -> list[int]:
        costs = [math.ceil(self.groups * self.scale(cap)) for cap in CANDIDATES]
        return [cost - count for cost, count in zip(costs, taken, strict=True)]

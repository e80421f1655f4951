"""Strategies of a stream: which sums of the periods' statistics get noise, as rows of integers, and their norms.

A stream releases for each period ``t = 1, 2, ..`` the numbers ``(C X)_t + Z_t``: ``X_s`` is the statistic of period
``s``, ``C`` a matrix of blocks, each lower triangular and Toeplitz, with entries that are not negative. Row ``t`` of a
block reads periods up to ``t`` alone, and does not depend on how many will follow, so that a stream can be prolonged.
Blocks:

- *days*: a multiple of the identity;
- *totals*: the square root of the matrix of ones below the diagonal, ``c_0 = 1``, ``c_j = c_(j-1) (2 j - 1)/(2 j)``,
  hence ``c_j = binomial(2 j, j)/4^j``: the series of ``(1 - x)^(-1/2)``, whose square is that of ``1/(1 - x)``.

Entries are ``round(2^12 c_j)``; all norms are those of these integers, exact.

**Theorem (sensitivity).** Let ``Δ_s`` be how the statistic of period ``s`` (a vector) differs between two histories of
a user, ``v_s >= ‖Δ_s‖_2`` a bound, ``v`` their vector. Then ``‖C Δ‖_F <= ‖C v‖_2``. *Proof.* Row ``t`` of ``C Δ`` is
``sum_s C_ts Δ_s``, of norm at most ``sum_s C_ts v_s = (C v)_t``, since ``C_ts >= 0``. ∎ Hence, with ``v_s <= l d_s``:

- *unit period*, one period ``s`` differs: ``l d_s ‖C e_s‖ <= l d_s ‖C‖``, the largest column, which is the first. If
  several differ, at most ``l ‖C‖ sum_s d_s``.
- *unit history*, of ``T`` periods: by ``d~ = sum_s d_s/T`` at most ``l ‖C‖ T d~``, whatever number of them differ.
- *unit user*, any periods may differ, each by ``d_s <= D``: ``l D ‖C 1‖``.

All are attained: by one-dimensional ``Δ`` of one sign. The columns of a Toeplitz block lose entries as they move
right, so the first is largest, in all blocks together too.

**Theorem (at most k periods of a user count).** Let the statistic of period ``s`` be a sum over users, ``g_s`` what one
user adds to it in one world and ``g'_s`` in the other, each 0 outside of at most ``k`` periods, ``S`` and ``S'``; the
two sets need have nothing in common. Let every ``g_s`` and ``g'_s`` be in the convex hull of 0 and of some ``F``, with
``‖x‖ <= r``, ``<x, y> >= -rho``, ``‖x - y‖ <= v`` and ``‖x‖ <= v`` for all ``x, y`` in ``F``, ``rho >= 0``. Then
``‖C (g - g')‖_F`` is at most

- ``sqrt(2 r^2 + 2 rho) max_(#R = k) ‖C 1_R‖``, and at most
- ``v max_(#R = 2 k) ‖C 1_R‖``;

if one world has nothing of the user (removal), at most ``r max_(#R = k) ‖C 1_R‖``. The largest ``R`` are the first
``k``, or ``2 k``, periods in a row. *Proof.* Let ``G = C^T C``, whose entries are not negative. The three bounds of
``F`` hold in its hull with 0, since they are convex in each of ``x`` and ``y``. ``‖C g‖^2`` is the sum over ``S x S``
of ``G_tu <g_t, g_u>``, hence at most ``r^2 ‖C 1_S‖^2``, and so is that of ``g'``. The sum of ``-G_tu <g_t, g'_u>`` over
``S x S'`` is at most ``rho <C 1_S, C 1_S'> <= rho max ‖C 1_R‖^2``. Together ``‖C g‖^2 + ‖C g'‖^2 - 2 <C g, C g'>`` is
at most ``(2 r^2 + 2 rho) max ‖C 1_R‖^2``. The second bound is the first theorem with ``v`` on the union of ``S`` and
``S'``. For ``i < j`` a block has ``<C e_i, C e_j> = sum_(u <= T - j) c_u c_(u + j - i)``, which falls as ``j`` or
``j - i`` grows; the ``j``-th of ``k`` periods in order is at least ``j``, and the ``j``-th and the ``i``-th are at
least ``j - i`` apart. ∎

Of ``((e - m), s)`` with ``|e - m| <= h`` it is ``r^2 = h^2 + s^2``, ``rho = max(0, h^2 - s^2)``: ``2 h`` for every
``s <= h``, the share is free. Of what is never negative, such as counts, ``rho = 0``: ``sqrt(2) r``, and no less, since
the periods of the two worlds may be others.

*References.* Fichtenberger, Henzinger, Upadhyay 2023 and Henzinger, Upadhyay, Upadhyay 2023 (the square root; its first
column has the square ``(ln T + 3.35)/pi``); Denisov, McMahan, Rush, Smith, Thakurta 2022;
elsewhere-periods-continual.md C1; Kalinin and Lampert 2024 (periods that are apart).
"""

from functools import cache
from itertools import accumulate
from math import comb, isqrt
from typing import Literal

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_choice, check_count
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError

__all__ = ["MOST_PERIODS", "PLANS", "SCALE", "Plan", "Strategy", "crossing"]

Plan = Literal["days", "totals", "both"]
PLANS: tuple[Plan, ...] = ("days", "totals", "both")
"""Figures that a stream is good for: single periods, sums of all periods so far, or both."""

SCALE = 2**12
"""Entries are integers over this number: the square root's norm is off by 2e-5 of itself at 365 periods."""

MOST_PERIODS = 4096
"""Longest stream: eleven years of days."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Strategy:
    """Blocks of a stream's rows.

    Parameters
    ----------
    days : int
        Entry of the block of days on its diagonal, over ``SCALE``; 0: there is no such block.
    has_totals : bool
        Whether there is a block of totals.

    >>> Strategy.of("days", 7).period_square(7) == Strategy.of("days", 365).period_square(365) == SCALE**2
    True
    >>> [round(Strategy.of("totals", count).period_square(count) / SCALE**2, 3) for count in (7, 52, 365, 730)]
    [1.675, 2.323, 2.944, 3.165]
    """

    days: int
    has_totals: bool

    def __post_init__(self) -> None:
        check_count("days", self.days, minimum=0)
        if not self.days and not self.has_totals:
            raise UsageError("days must be above 0 where there are no totals; a stream has at least one block.")

    @classmethod
    def of(cls, plan: Plan, periods: int) -> "Strategy":
        """Return the strategy of a plan: of both, days have as large a part of a period's ``mu^2`` as totals."""
        check_choice("plan", plan, PLANS)
        _check_periods(periods)
        if plan == "days":
            return cls(SCALE, False)
        return cls(0 if plan == "totals" else isqrt(cls(0, True).period_square(periods)), True)

    @property
    def blocks(self) -> int:
        """Number of blocks: rows of a period."""
        return bool(self.days) + self.has_totals

    def rows(self, period: int) -> tuple[tuple[int, ...], ...]:
        """Return the entries of a period's rows, one row a block, for the periods up to it; counted from 1.

        >>> Strategy(5, True).rows(3)
        ((0, 0, 5), (1536, 2048, 4096))
        """
        rows = []
        if self.days:
            rows.append((*(0,) * (period - 1), self.days))
        if self.has_totals:
            rows.append(_root(period)[::-1])
        return tuple(rows)

    def period_square(self, periods: int) -> int:
        """Return the square of the largest column's norm, in units of ``SCALE``: what one period changes."""
        totals = sum(entry * entry for entry in _root(periods)) if self.has_totals else 0
        return int(self.days**2 + totals)

    def user_square(self, periods: int) -> int:
        """Return the square of the norm of ``C 1``, in units of ``SCALE``: what all periods together change.

        >>> Strategy.of("days", 365).user_square(365) == 365 * SCALE**2
        True
        """
        totals = sum(own * own for own in accumulate(_root(periods))) if self.has_totals else 0
        return int(periods * self.days**2 + totals)

    def active_square(self, periods: int, active: int) -> int:
        """Return the square of the norm of ``C 1_R``, in units of ``SCALE``, for the worst periods of a number of them.

        Parameters
        ----------
        active : int
            Periods in which a user counts; beyond all of them as for all.

        >>> totals = Strategy.of("totals", 365)
        >>> [round((totals.active_square(365, active) / SCALE**2) ** 0.5, 1) for active in (7, 30, 100)]
        [10.3, 39.1, 113.3]
        """
        count = min(check_count("active", active), periods)
        if not self.has_totals:
            return count * self.days**2
        sums = (0, *accumulate(_root(periods)))
        totals = sum((sums[place] - sums[max(place - count, 0)]) ** 2 for place in range(1, periods + 1))
        return int(count * self.days**2 + totals)

    def matrix(self, released: tuple[int, ...]) -> Floats:
        """Return the rows of some periods, with the columns of the same ones, over ``SCALE``; a block after another.

        Parameters
        ----------
        released : tuple of int
            The periods, rising, from 1; all others are known to be 0.
        """
        places = np.asarray(released, dtype=np.int64)
        parts = []
        if self.days:
            parts.append(np.eye(len(released)) * self.days)
        if self.has_totals:
            apart = places[:, None] - places[None, :]
            root = np.array(_root(released[-1] if released else 1), dtype=np.float64)
            parts.append(np.where(apart >= 0, root[np.maximum(apart, 0)], 0.0))
        return np.concatenate(parts) / SCALE


def crossing(periods: int) -> int:
    """Return the least number of active periods from which sums of days are as exact as totals at the last period.

    With at most ``k`` periods of a user, days have the deviation ``sqrt(T k)`` there, totals ``‖C‖ ‖C 1_R‖``.

    >>> [crossing(periods) for periods in (7, 52, 365)]
    [5, 20, 96]
    """
    totals = Strategy(0, True)
    column = totals.period_square(periods)
    return next(
        active
        for active in range(1, periods + 1)
        if column * totals.active_square(periods, active) >= SCALE**4 * periods * active
    )


def _check_periods(periods: int) -> None:
    if check_count("periods", periods) > MOST_PERIODS:
        raise UsageError(f"periods must be at most {MOST_PERIODS}, got {periods}; open another stream for the rest.")


@cache
def _root(count: int) -> tuple[int, ...]:
    """Return the first ``count`` entries of the square root, times ``SCALE``, each rounded to nearest.

    >>> _root(4)
    (4096, 2048, 1536, 1280)
    """
    return tuple((2 * SCALE * comb(2 * j, j) + 4**j) // (2 * 4**j) for j in range(count))

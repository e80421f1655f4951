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

*References.* Fichtenberger, Henzinger, Upadhyay 2023 and Henzinger, Upadhyay, Upadhyay 2023 (the square root; its first
column has the square ``(ln T + 3.35)/pi``); Denisov, McMahan, Rush, Smith, Thakurta 2022;
elsewhere-periods-continual.md C1.
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

__all__ = ["MOST_PERIODS", "PLANS", "SCALE", "Plan", "Strategy"]

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

"""Quantiles of records on a public grid: a choice among its cells, with integer weights and exact coins.

Setting. A user adds nonnegative integers ``c_i`` to the weights ``w_i`` of the cells, together at most ``C``. With
``W_i`` the weight below cell ``i``, ``W`` all of it, and a level ``p = P/Q``, the *cost* of a cell is how far its ranks
are from the target: ``cost_i = max(0, A_i, -B_i)``, ``A_i = Q W_i - P W``, ``B_i = A_i + Q w_i``.

**Lemma.** One user moves a cost by at most ``max(P, Q - P) C`` by removal, and by ``Q C`` by replacement. *Proof.* What
a user adds to ``A_i`` or ``B_i`` is ``(Q - P)`` times its weight on one side less ``P`` times that on the other, a
number in ``[-P C, (Q - P) C]``, an interval of length ``Q C`` that holds 0. The cost is the distance of 0 from ``[A_i,
B_i]``, which moves by no more than the ends do. ∎

**Theorem 1.** Permute-and-flip (:mod:`emdp.noise.flips`) at the rate ``epsilon/(2 D)``, ``D`` the bound of the lemma,
is ``epsilon``-DP; a cell whose cost is more than ``(2 D/epsilon)(ln cells + s)`` above the least is taken with
probability at most ``e^-s``. *Proof.* :mod:`emdp.mechanisms.user_mean.range_stage`: costs that move by ``v`` cost ``2
rate v``. A cell is taken only if its own coin falls, so with probability at most ``e^(-rate excess)``; there are
``cells`` of them. ∎ The exponential mechanism (user-level-sql.md 2.6) has the same two bounds; its normaliser would
have to be rounded.

**Theorem 2 (several levels).** Levels are found by halves (Kaplan, Schnapp and Stemmer 2022): first the middle one,
then in the part below and in the part above, where levels count from the levels of the part's ends. ``ceil(log2(m +
1))`` rounds of equal price. Let a round's parts have ``n`` targets ``P_j/Q_j``, and let ``D_j = max(P_j, Q_j - P_j)
C'``, with ``C' = C`` by removal and ``2 C`` by replacement. At rates ``epsilon/(2 D_j)`` the round is ``epsilon``-DP in
all. *Proof.* A user with weight ``c_j`` in part ``j``, and ``c_j'`` after replacement, moves costs there by at most
``max(P_j, Q_j - P_j)(c_j + c_j')``, so the loss is at most ``epsilon sum_j (c_j + c_j')/C' <= epsilon``: by removal
``c_j' = 0``, and parts share a user's weight, at most ``C``. ∎ Disjoint parts alone would not do: a user has records in
many of them.

*Splitting a cell.* A cell may hold many records of one value, and a level on either side of the split may lie in it. So
the cell that was found is divided: a second choice, among ``f = 0, ..., 64``, costs ``|64 A_i + f Q w_i|``, a fourth of
the round's price; the part below takes ``f/64`` of *everybody's* weight in the cell. Weights are kept in units 64 times
finer from round to round, so they stay integers, and a user's weights in all parts still add up to ``64^round C``. The
bound of the lemma holds, ``64 A_i + f Q w_i`` being a mixture of ``64 A_i`` and ``64 B_i``. Of several groups of
records each begins as a part of its own: a user's weights in all of them add up to at most ``C``.

*Resolution.* Costs are divided by a power of two that depends on ``D_j`` alone, such that ``D_j/2^s >= 2^20``, rounded
down and capped at 2^52. That adds at most 1 to a move, so rates are divided by ``1 + sum_j 2^s/D_j``.

**Theorem 3 (interval).** Let ``R >= rank error * Q``. With an extra cell of rank ``R`` in front, the target ``P W -
R``, and a draw whose excess is at most ``R``, the lower edge of the cell (or the domain's end, if the extra cell is
taken) is at or below the quantile. *Proof.* The extra cell and the others cover all ranks from ``-R`` on, so the least
cost is 0. Then ``Q W_i - P W + R <= R``: not more than ``p W`` lies below cell ``i``. ∎ Likewise above. No estimate of
``W`` is needed. The interval is for the quantile of the *weighted* records.

*Cells of an end.* A union bound over all cells of the grid is loose, and tight where none above the quantile holds
anything. So an end is chosen among few: adjacent cells make one, ``1, 2, 3, 4, 5, 6, ...`` and then growing by a
quarter away from the released quantile, and all on its other side one more. They follow from what was released, so
that the price is that of a choice among fixed cells (composition), and theorem 3 is about any cells: an end is at most
a quarter further away than it need be, among 46 cells where there were 65,537. And of permute-and-flip the bound of
theorem 1 is twice what it need be: a cell is taken only if it also comes before the cheapest one in the order, which is
taken for certain; that is so with probability 1/2, whatever the coins. ``R`` is ``(2 D/epsilon)(ln cells + s - ln 2)``:
less than half of what it was, and so are intervals.

**Theorem 4 (groups).** Quantiles and intervals of ``n`` groups of records, each at the rate of ``D = max(P, Q - P) C'``
of theorem 2, are ``epsilon``-DP together, if a user's weights in all groups add up to at most ``C``. *Proof.* That of
theorem 2 for each of the three choices, with groups in place of parts: a user moves the costs in group ``j`` by at most
``max(P, Q - P)(c_j + c_j')`` (those of theorem 3 too: what a user adds to their ends lies in the same interval). ∎
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, check_positive, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.contribution.moves import check_kind, moved_users
from emdp.mechanisms.records.parts import SPLITS, Part, Weights, cost_bound, end_steps, ends_of, interval_costs
from emdp.noise.arrays import check_integer_array
from emdp.noise.flips import draw_permute_and_flip
from emdp.privacy.events.table import Event, GuaranteeEvent
from emdp.privacy.guarantees.kinds import Guarantee, Neighbours
from emdp.privacy.rounding import as_decimal

__all__ = ["QuantileInterval", "RecordQuantiles"]

_SPLIT_SHARE = Fraction(1, 4)
# Of a round's price, for the split.

_RESOLUTION = 20
_LARGEST_COST = 2**52
_LARGEST_WEIGHT = 2**62
_LARGEST_CAP = 2**60


@dataclass(frozen=True)
class RecordQuantiles:
    """Quantiles of records at several levels.

    Parameters
    ----------
    neighbours : {"replace", "remove"}

    Guarantee
    ---------
    ``epsilon``-DP at user level: theorems 1 and 2 of the module.

    >>> RecordQuantiles((0.25, 0.5, 0.75), 1.0, "remove", 50).rounds
    2
    >>> RecordQuantiles((0.5,), 100.0, "remove", 1).release([1000, 1000, 1, 1000, 1000])
    (2,)
    """

    levels: tuple[float, ...]  # In (0, 1), rising; each means the decimal that it prints as
    epsilon: float  # Price of all of them, in (0, 1000]
    neighbours: Neighbours
    cap: int  # `C`: the most weight of a user, in the unit of the weights, from 1 to 2^60
    groups: int = 1  # Groups of records that are released together

    def __post_init__(self) -> None:
        check_count("groups", self.groups)
        if not isinstance(self.levels, tuple) or not self.levels:
            raise UsageError("levels must be a tuple of at least one number; pass (0.5,) for the median.")
        for level in self.levels:
            check_unit_interval("level", level)
        if any(one >= other for one, other in zip(self.levels, self.levels[1:], strict=False)):
            raise UsageError("levels must rise; sort them and leave out what is twice there.")
        _check_price(self)

    @property
    def rounds(self) -> int:
        """Number of passes over all records."""
        return len(self.levels).bit_length()

    @property
    def theorem(self) -> str:
        """The guarantee's source, in one line."""
        return f"choice of a cell by rank, {self.rounds} rounds by halves (user-level-sql.md 2.6)"

    def event(self, kind: Guarantee | None = None) -> Event:
        """Return the event to charge before the release."""
        found = check_kind(kind, self.neighbours)
        return GuaranteeEvent(found.at_level(self.epsilon, 0.0), mechanism=self.theorem)

    def release(self, weights: npt.ArrayLike) -> tuple[int, ...]:
        """Return the cell of each level, of one group: this spends.

        Parameters
        ----------
        weights : array-like of int, shape (cells,)
            ``w_i``, not negative, in the order of the cells: users' weights together, each at most ``cap`` in all.

        Returns
        -------
        tuple of int
            Places of cells, not falling.
        """
        (found,) = self.release_groups([weights])
        return found

    def release_groups(self, weights: Sequence[npt.ArrayLike]) -> tuple[tuple[int, ...], ...]:
        """Return the cells of each group: this spends.

        Parameters
        ----------
        weights : sequence of array-like of int
            Those of each group, as many as ``groups``; a user's weights in all of them are at most ``cap``.
        """
        if len(weights) != self.groups:
            raise UsageError(f"weights must be those of {self.groups} groups, got {len(weights)}; pass one of each.")
        levels = [as_decimal(level) for level in self.levels]
        found = [[0] * len(levels) for _ in weights]
        price = as_decimal(self.epsilon) / self.rounds
        parts = [
            Part(0, len(levels), Fraction(0), Fraction(1), 0, _check_weights(own), group)
            for group, own in enumerate(weights)
        ]
        for turn in range(self.rounds):
            is_last = turn == self.rounds - 1
            share = Fraction(1) if is_last else 1 - _SPLIT_SHARE
            bounds = [part.bound(levels, self._moved(turn) * SPLITS**turn) for part in parts]
            cells = [
                _choose(part.costs(levels), bound, price * share, bounds)
                for part, bound in zip(parts, bounds, strict=True)
            ]
            following: list[Part] = []
            for part, cell, bound in zip(parts, cells, bounds, strict=True):
                found[part.group][part.middle] = part.start + cell
                if not is_last:
                    finer = [SPLITS * one for one in bounds]
                    split = _choose(part.split_costs(levels, cell), SPLITS * bound, price * _SPLIT_SHARE, finer)
                    following += part.halves(levels, cell, split)
            parts = following
        return tuple(map(tuple, found))

    def rank_error(self, cells: int, failure: float) -> float:
        """Return how far the ranks of a released cell are from the level, for one level, but for ``failure``; weight.

        Parameters
        ----------
        cells : int
            Of the grid.
        failure : float
            In (0, 1).

        >>> round(RecordQuantiles((0.5,), 1.0, "remove", 50).rank_error(2**16, 0.05))
        705
        """
        if len(self.levels) > 1 or self.groups > 1:
            raise UsageError("levels must be one level for a bound of its error; ask for each alone.")
        level = as_decimal(self.levels[0])
        bound = cost_bound(level, self._moved(0))
        return float(_reach(bound, as_decimal(self.epsilon), cells, failure) / level.denominator)

    def _moved(self, turn: int) -> int:
        """Return ``C'`` of theorem 2; by replacement in the first round of one group, one part, ``-C``: the lemma."""
        if turn == 0 and self.groups == 1 and self.neighbours == "replace":
            return -self.cap
        return moved_users(self.neighbours) * self.cap


@dataclass(frozen=True)
class QuantileInterval:
    """A quantile of records and an interval that holds it.

    Half of the price is for the quantile, a quarter for each end.

    Parameters
    ----------
    level, epsilon, neighbours, cap
        As of :class:`RecordQuantiles`, with one level.

    >>> QuantileInterval(0.5, 100.0, "remove", 1, 0.05).release([1000, 1000, 1, 1000, 1000])
    (2, 1, 3)
    """

    theorem: ClassVar[str] = "choice of a cell by rank, and of two more for an interval (user-level-sql.md 2.6)"

    level: float
    epsilon: float
    neighbours: Neighbours
    cap: int
    failure: float  # In (0, 1): the interval misses the quantile of the weighted records with at most this probability
    groups: int = 1  # Groups of records that are released for this price together, a call of `release` each: theorem 4
    slack_epsilon: ClassVar[float] = 0.0
    slack_delta: ClassVar[float] = 0.0
    is_exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_unit_interval("level", self.level)
        check_unit_interval("failure", self.failure)
        check_count("groups", self.groups)
        _check_price(self)

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        del unit
        return (("quantile", f"level {self.level:g}, half of the price for it and a quarter for each end"),)

    def event(self, kind: Guarantee | None = None) -> Event:
        """Return the event to charge before the release."""
        found = check_kind(kind, self.neighbours)
        return GuaranteeEvent(found.at_level(self.epsilon, 0.0), mechanism=self.theorem)

    def release(self, weights: npt.ArrayLike) -> tuple[int, int | None, int | None]:
        """Return the cell of the quantile, and the cells at whose outer edges the interval ends: this spends.

        Parameters
        ----------
        weights : array-like of int, shape (cells,)
            As of :meth:`RecordQuantiles.release`.

        Returns
        -------
        tuple
            An end is None where the interval goes on to the end of the domain.
        """
        array, level = _check_weights(weights), as_decimal(self.level)
        bounds = [self._bound] * self.groups
        middle = _choose(interval_costs(*ends_of(array, level)), self._bound, as_decimal(self.epsilon) / 2, bounds)
        low, high = self.release_ends(weights, middle)
        return middle, low, high

    def release_ends(self, weights: npt.ArrayLike, middle: int) -> tuple[int | None, int | None]:
        """Return the ends of the interval alone, as :meth:`release` does: this spends half of the price.

        Parameters
        ----------
        weights : array-like of int
        middle : int
            The cell that was released: ends are chosen more finely near to it.
        """
        array = _check_weights(weights)
        downwards = [0, *(middle - step for step in reversed(end_steps(array.size)) if middle > step), middle]
        upwards = [0, *(middle + step for step in end_steps(array.size) if middle + step < array.size)]
        low = self._end(array, list(dict.fromkeys(downwards)), is_low=True)
        high = self._end(array, upwards, is_low=False)
        return low, None if high is None else ([*upwards[1:], array.size][high] - 1)

    def _end(self, array: Weights, starts: list[int], *, is_low: bool) -> int | None:
        """Return an end among cells that begin at some places: the first place of a low one, the number of a high."""
        level, reach = as_decimal(self.level), self._reach(array.size)
        first, last = ends_of(np.add.reduceat(array, starts), level)
        front = -level.numerator * int(array.sum())
        back = level.denominator * int(array.sum()) + front
        if is_low:
            costs = interval_costs(np.append(first + reach, front), np.append(last + reach, front + reach))
        else:
            costs = interval_costs(np.append(first - reach, back - reach), np.append(last - reach, back))
        found = _choose(costs, self._bound, as_decimal(self.epsilon) / 4, [self._bound] * self.groups)
        if found == len(starts):
            return None
        return starts[found] if is_low else found

    def rank_error(self, cells: int) -> float:
        """Return how far the ranks of an end of the interval may be from the level, but for the failure; in weight.

        Parameters
        ----------
        cells : int
            Of the grid.
        """
        return float(Fraction(self._reach(cells), as_decimal(self.level).denominator))

    @property
    def _bound(self) -> int:
        """``D``: by replacement and of one group that of the lemma, which is less."""
        is_one = self.groups == 1 and self.neighbours == "replace"
        return cost_bound(as_decimal(self.level), -self.cap if is_one else moved_users(self.neighbours) * self.cap)

    def _reach(self, cells: int) -> int:
        slack = 1 + Fraction(self.groups, 2**18)
        # An end has half of the failure, and a union bound is twice what it need be.
        count = len(end_steps(cells)) + 2
        return math.ceil(_reach(self._bound, as_decimal(self.epsilon) / 4, count + 1, self.failure) * slack)


def _check_price(asked: RecordQuantiles | QuantileInterval) -> None:
    object.__setattr__(asked, "epsilon", check_positive("epsilon", asked.epsilon))
    if asked.epsilon > 1000:
        raise UsageError(f"epsilon must be at most 1000, got {asked.epsilon:g}; pass a smaller one.")
    if check_count("cap", asked.cap) > _LARGEST_CAP:
        raise UsageError(f"cap must be at most 2^60, got {asked.cap}; weigh in a coarser unit.")
    moved_users(asked.neighbours)


def _check_weights(weights: npt.ArrayLike) -> Weights:
    array = check_integer_array("weights", weights, low=0, high=_LARGEST_WEIGHT)
    if not array.size:
        raise UsageError("weights must hold a number for each cell of the grid; pass at least one.")
    return np.asarray(array.astype(object), dtype=object)


def _shift(bound: int) -> int:
    return max(0, bound.bit_length() - 1 - _RESOLUTION)


def _choose(costs: Weights, bound: int, price: Fraction, bounds: Sequence[int]) -> int:
    """Return a place of small cost, by permute-and-flip.

    Parameters
    ----------
    costs : ndarray of int
    bound : int
        ``D_j``.
    price : Fraction
        What the choices in all parts of the round cost together.
    bounds : sequence of int
        ``D_k`` of all parts.
    """
    rounding = sum((Fraction(2 ** _shift(one), one) for one in bounds if _shift(one)), Fraction(0))
    shift = _shift(bound)
    coarse = np.minimum(costs >> shift, _LARGEST_COST).astype(np.int64)
    return draw_permute_and_flip(coarse, price * 2**shift / (2 * bound * (1 + rounding)))


def _reach(bound: int, price: Fraction, cells: int, failure: float) -> Fraction:
    """Return the excess cost of a choice but for ``failure``, resolution included, rounded up."""
    steps = math.log(check_count("cells", cells)) - math.log(check_unit_interval("failure", failure))
    return Fraction(2 * bound) / price * Fraction(steps * (1.0 + 2.0**-18)) + (1 << _shift(bound))

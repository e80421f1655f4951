"""How often messages of a kind come among all that are mixed: the exact law of these counts, from one user's messages.

Draws of mixed releases show events of a thousandth at best, while what mixing promises is about events of ``delta``.
But the law of counts follows from that of one user's message, which can be drawn millions of times: of ``n`` users
mixed the binomial law says the rest, however small ``delta`` is and however many they are.

Theorem. Let ``n`` users send ``T`` messages each, independent given their records, every one mixed by itself. Let a
message lie in a set with probability ``p``, but for one user on the second table, whose messages do with ``q >= p``.
The number ``N`` of messages in the set has the law of ``B + Z`` on the first table, ``B + Y`` on the second, ``B ~
Bin((n - 1) T, p)``, ``Z ~ Bin(T, p)``, ``Y ~ Bin(T, q)``. For every ``k``

    R = P(B + Y >= k)/P(B + Z >= k)    and    G = P(B + Z <= k)/P(B + Y <= k)

grow in ``q``; ``R`` falls in ``p``, and ``G`` grows in that of ``B`` and falls in that of ``Z``. So with ``p`` in
``[p1, p2]``, ``q`` in ``[q1, q2]`` and ``p2 <= q1``

    (P2(N >= k) - delta)/P1(N >= k) >= R(p2, q1) - delta/P1(N >= k; p1),
    (P1(N <= k) - delta)/P2(N <= k) >= G(p1 for B, p2 for Z, q1) - delta/P2(N <= k; p2, q2),

bounds of ``e^epsilon``. Several kinds of messages, whose counts are independent, have the products of these ratios and
probabilities for the event that each reaches its own ``k``. Where the one user is among those who send with
probability ``f`` alone, in secret, ``R`` is ``1 - f + f R``, and ``1/G`` is ``1 - f + f/G``.

Proof. ``Y`` is above ``Z`` in the order of likelihood ratios, so that ``P(Y >= t)/P(Z >= t)`` and ``P(Y <= t)/P(Z <=
t)`` grow in ``t``. ``R`` is the mean of the first at ``t = k - B`` under the law of ``B`` weighted by ``P(Z >= k -
B)``, which moves up in that order as the ``p`` of ``B`` grows, and ``1/G`` likewise the mean of the second weighted by
``P(Z <= k - B)``: both fall. The rest is that tails of ``Z`` and ``Y`` grow or fall in their own chances. A set is
chosen on draws that are not counted, and ``p1, p2, q1, q2`` are bounds of Clopper and Pearson
(:mod:`emdp.audit.bounds`): all hold together but for the failure asked for.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from emdp.audit.bounds import clopper_pearson_lower, clopper_pearson_upper
from emdp.audit.tester import CAREFUL, Finding
from emdp.base.classes import dataclass

__all__ = ["COUNTS", "CountedMessages", "CountedSet", "above", "best_levels", "counted_sets"]

Floats = npt.NDArray[np.float64]
Bounds = tuple[float, float, float, float]
"""Of ``p`` and of ``q``, from below and from above."""

COUNTS = "number of messages of a kind, by the law of one"
"""The test, as a finding calls it."""

LEVELS = (1.0, 1.05, 1.25, 2.0, 4.0, 8.0, 16.0)
"""Ratios of both laws above which a message may be in the set that is counted."""

SPREADS, STEPS, SWEEPS = 14.0, 400, 12
"""Standard deviations from the mean up to which a number is looked for, how many numbers, and how often each kind's is
chosen anew."""

MARGIN = 1e-9
"""Taken off a bound: above the rounding of its evaluation."""

LEAST = -690.0
"""Logarithm of the least probability that is looked at."""


@dataclass(frozen=True)
class CountedSet:
    """A kind of messages, and how many draws of one user's were in the set, on each table."""

    each: int  # `T`: how many a user sends
    # chosen, judged: Messages in the set on the first and on the second table, among the draws that choose, and those
    # that judge.
    chosen: tuple[int, int]
    judged: tuple[int, int]
    trials: tuple[int, int]  # Messages of each table among the draws that choose, and among those that judge


@dataclass(frozen=True)
class CountedMessages:
    """Counts of messages of all users.

    >>> own = CountedSet(1, (250, 750), (2500, 7500), (1000, 10_000))
    >>> finding, = CountedMessages(1, (own,), 11_000).losses([0.0], 1e-6)
    >>> 0.95 < finding.epsilon < 1.0987
    True
    """

    users: int  # `n`, who send
    sets: tuple[CountedSet, ...]  # One for each kind of messages
    draws: int  # Users whose messages were drawn for each table
    share: float = 1.0  # `f`: with what probability the one who changes is among those who send

    @property
    def trials(self) -> int:
        """Users whose messages were drawn for each table."""
        return self.draws

    def losses(self, deltas: Sequence[float], failure: float) -> tuple[Finding, ...]:
        """Return a lower bound of epsilon for each delta, each wrong with probability at most ``failure``."""
        return tuple(self._loss(delta, failure) for delta in deltas)

    def _loss(self, delta: float, failure: float) -> Finding:
        each = failure / (4 * len(self.sets))
        guessed = [_bounds(own.chosen, own.trials[0], min(each, CAREFUL)) for own in self.sets]
        found, numbers, is_below = max(
            (self._wanted(guessed, delta, is_below) for is_below in (False, True)), key=lambda one: one[0]
        )
        if found <= 0.0:
            return Finding(delta, 0.0, "no event stood out")
        rise, least = 0.0, 0.0
        for own, number in zip(self.sets, numbers, strict=True):
            if number is not None:
                bounds = _bounds(own.judged, own.trials[1], each)
                tails = _tails(self.users, own.each, bounds, np.array([number]), is_below=is_below)
                rise, least = rise + float(tails[0][0]), least + float(tails[1][0])
        bound = float(self._bound(np.array(rise), np.array(least), delta, is_below))
        return Finding(delta, max(bound, 0.0), COUNTS)

    def _wanted(self, bounds: Sequence[Bounds], delta: float, is_below: bool) -> tuple[float, list[int | None], bool]:
        """Return about the bound, and the number that each kind is to reach, None of those that tell nothing: a choice,
        found kind by kind."""
        numbers, tails = [], []
        for own, one in zip(self.sets, bounds, strict=True):
            grid = _grid(self.users * own.each, one[0] if is_below else one[1], is_below)
            numbers.append([None, *grid.tolist()])
            found = _tails(self.users, own.each, one, grid, is_below=is_below)
            tails.append([np.concatenate([[0.0], part]) for part in found])
        places, value = [0] * len(tails), 0.0
        for _ in range(SWEEPS if len(tails) > 1 else 1):
            before = list(places)
            for kind, (rises, leasts) in enumerate(tails):
                others = [(one, at) for other, (one, at) in enumerate(zip(tails, places, strict=True)) if other != kind]
                rise, least = (math.fsum(float(one[part][at]) for one, at in others) for part in (0, 1))
                values = self._bound(rises + rise, leasts + least, delta, is_below)
                places[kind] = int(np.argmax(values))
                value = float(values[places[kind]])
            if places == before:
                break
        return value, [own[place] for own, place in zip(numbers, places, strict=True)], is_below

    def _bound(self, rise: Floats, least: Floats, delta: float, is_below: bool) -> Floats:
        share = self.share
        ratio = 1.0 / (1.0 - share + share * np.exp(-rise)) if is_below else 1.0 - share + share * np.exp(rise)
        return np.log(np.maximum(ratio - delta * np.exp(-least), 1e-300)) - MARGIN


def best_levels(ratios: Sequence[Floats], kinds: Sequence[int]) -> list[float]:
    """Return for each kind the ratio above which messages are counted: the one that tells most.

    Parameters
    ----------
    ratios : sequence of numpy.ndarray
        Ratios of messages on each table, shape (users, messages of each).
    kinds : sequence of int
        Kind of each column, from 0.
    """
    best = []
    for kind in range(max(kinds) + 1):
        own = [found[:, np.array(kinds) == kind] for found in ratios]
        chances = [[float((values > level).mean()) for values in own] for level in LEVELS]
        told = [(q - p) ** 2 / max(p * (1.0 - p), 1e-9) if q > p else 0.0 for p, q in chances]
        best.append(LEVELS[int(np.argmax(told))])
    return best


def above(ratios: Floats, kinds: Sequence[int], levels: Sequence[float]) -> list[int]:
    """Return how many messages of each kind have a ratio above its level.

    >>> above(np.array([[2.0, 0.5], [3.0, 2.0]]), (0, 1), [1.0, 1.0])
    [2, 1]
    """
    return [int((ratios[:, np.array(kinds) == kind] > level).sum()) for kind, level in enumerate(levels)]


def counted_sets(hits: Callable[[int, int], Sequence[int]], kinds: Sequence[int], draws: int) -> tuple[CountedSet, ...]:
    """Return the counts of each kind, of half of the draws to choose by and of the others to judge.

    Parameters
    ----------
    hits : callable
        From the table and a number of users to how many of their messages are in the set of each kind, drawn afresh.
    kinds : sequence of int
        Kind of each message of a user.
    draws : int
        Users whose messages are drawn for each table.
    """
    parts = draws - draws // 2, draws // 2
    found = [(hits(0, own), hits(1, own)) for own in parts]
    sets = []
    for kind in range(max(kinds) + 1):
        each = tuple(kinds).count(kind)
        chosen, judged = ((own[0][kind], own[1][kind]) for own in found)
        sets.append(CountedSet(each, chosen, judged, (parts[0] * each, parts[1] * each)))
    return tuple(sets)


def _bounds(hits: tuple[int, int], trials: int, failure: float) -> Bounds:
    """Return bounds of ``p`` and of ``q``, from below and from above."""
    ends = [float(end(own, trials, failure)) for own in hits for end in (clopper_pearson_lower, clopper_pearson_upper)]
    return ends[0], ends[1], ends[2], ends[3]


def _grid(count: int, chance: float, is_below: bool) -> npt.NDArray[np.int64]:
    """Return numbers from about the mean of a binomial law on, away from it."""
    mean, spread = count * chance, np.sqrt(count * chance * (1.0 - chance))
    if is_below:
        ends = max(int(mean - SPREADS * spread), 0), min(int(mean + spread) + 1, count)
    else:
        ends = max(int(mean - spread), 1), max(min(int(mean + SPREADS * spread) + 40, count), 1)
    return np.unique(np.linspace(*ends, STEPS).astype(np.int64))


def _tails(
    users: int, each: int, bounds: Bounds, numbers: npt.NDArray[np.int64], *, is_below: bool = False
) -> tuple[Floats, Floats]:
    """Return lower bounds of the ratio's and of the smaller probability's logarithm, for each number."""
    low, high, second, most = bounds
    if second <= high:
        # the theorem needs q >= p: as if nothing were seen, and that hardly ever
        return np.zeros(len(numbers)), np.full(len(numbers), LEAST)
    others, own = (users - 1) * each, np.arange(each + 1)

    def joint(chance: float, weights: Floats) -> Floats:
        """Return the probability that ``B``, of this chance, and a number of these weights together are there."""
        reached = [_reached(others, chance, numbers - one, is_below=is_below) for one in own.tolist()]
        return np.asarray(weights @ np.stack(reached))

    at = low if is_below else high
    same, other = joint(at, _chances(each, high)), joint(at, _chances(each, second))
    smaller = joint(high, _chances(each, most)) if is_below else joint(low, _chances(each, low))
    with np.errstate(divide="ignore", invalid="ignore"):
        rise = np.log(same / other) if is_below else np.log(other / same)
        least = np.log(smaller)
    is_rare = ~np.isfinite(rise) | (least < LEAST)
    return np.where(is_rare, 0.0, rise), np.where(is_rare, LEAST, least)


def _reached(count: int, chance: float, numbers: npt.NDArray[np.int64], *, is_below: bool) -> Floats:
    """Return the probability that a binomial number is at least each of these, or at most."""
    from scipy.special import betainc, betaincc

    least = numbers + 1 if is_below else numbers
    inside = np.clip(least, 1, max(count, 1))
    found = (betaincc if is_below else betainc)(inside, np.maximum(count - inside + 1, 1), chance)
    ends = (0.0, 1.0) if is_below else (1.0, 0.0)
    return np.asarray(np.where(least <= 0, ends[0], np.where(least > count, ends[1], found)), dtype=np.float64)


def _chances(count: int, chance: float) -> Floats:
    """Return the probabilities of a binomial number."""
    from scipy.special import gammaln, xlog1py, xlogy

    places = np.arange(count + 1)
    log = gammaln(count + 1) - gammaln(places + 1) - gammaln(count - places + 1)
    return np.asarray(np.exp(log + xlogy(places, chance) + xlog1py(count - places, -chance)), dtype=np.float64)

"""Messages of users, alone or mixed, drawn in bulk by the code that encodes them, and seen through a likelihood ratio.

Whoever is trusted with nothing but mixing sees how often each message came; that is what the shuffle model promises
about, and an average of the messages shows less of it. In the local model it is one user's message. So it is beside
mixing: whoever mixes sees each message with its sender, and what it promises by itself is what mixing starts from. A
message with too little noise shows there, among however many it is mixed.

Theorem (score). Let all users but one send a message of law ``a``, and that one a message of law ``a`` on the first
table and ``b`` on the second. The likelihood ratio of the multiset of all ``n`` messages is then the mean of
``b(m)/a(m)`` over its messages ``m``. Proof: each of the ``n`` messages is equally likely that one's, and the others'
factors cancel. Of several messages of every user, each mixed apart, it is the product of these means; where they are
mixed together the mean over all is the ratio to first order. Of ``n`` users of whom ``K`` take part, in secret, all
others count as 1: the ratio given ``K`` is ``(n - K + sum b(m)/a(m))/n``. ``a`` and ``b`` are learnt from draws of
their own, so that the score is a function of the messages, and a bound on it a bound of the loss whatever the score is
worth.

Messages of one user that are mixed apart are looked at unmixed as many together as promise :data:`SEEN` at most: what
more of them promise shows in events that are too rare for any number of draws.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from emdp.audit.tester import DIGITS, LEAST_TRIALS, Scores
from emdp.base.classes import dataclass
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.scalar.one_bit import OneBitScalar, Signs
from emdp.mechanisms.scalar.randomizer import ScalarRandomizer
from emdp.mechanisms.user_mean.base import UserMeanMechanism, UserMeanRelease
from emdp.mechanisms.user_mean.local import BudgetSplit
from emdp.privacy.rounding import as_decimal, float_up

__all__ = ["LEARNT", "LearntRatio", "MixedMessages", "RangeMessages", "sent_apart"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Messages = npt.NDArray[Any]

LEARNT = 200_000
"""Messages of each law from which a ratio is learnt."""

LEARNT_WINDOW = 20_000
"""The same where there is a law for each range that may be found."""

MOST_CELLS = 4096
"""Different messages up to which each has a ratio of its own."""

BINS = 256
"""Ranges of numbers that have one ratio each, where there are more."""

MOST_MESSAGES = 2 * 10**8
"""Messages drawn for one table, about a minute's work: of more users, or more messages of each, fewer releases."""

AT_ONCE = 2**22
"""Messages that are in memory together."""

SEEN = 4.0
"""Epsilon up to which a user's own messages are looked at together: a bound of half of it needs some thousand draws."""

SCORE, BOTH = "likelihood ratio of the messages", "likelihood ratio of both rounds' messages"


class LearntRatio:
    """``b/a`` of messages, from draws of both laws, with half a draw more of each so that it is finite.

    Parameters
    ----------
    first, second : numpy.ndarray
        Numbers that stand for messages of the two laws.

    >>> ratio = LearntRatio(np.array([0, 0, 0, 1]), np.array([0, 1, 1, 1]))
    >>> ratio.of(np.array([[0, 1], [1, 1]])).round(3).tolist()
    [[0.429, 2.333], [2.333, 2.333]]
    """

    def __init__(self, first: Messages, second: Messages) -> None:
        pooled = np.sort(np.concatenate([first.ravel(), second.ravel()]))
        edges = np.unique(pooled)
        if len(edges) > MOST_CELLS:
            edges = np.unique(pooled[np.linspace(0, len(pooled) - 1, BINS + 1).astype(np.int64)])
        # The least value needs no edge: everything below the first one has a cell too.
        self._edges = edges[1:]
        a, b = (self._counts(own) / own.size for own in (first, second))
        self._ratio = b / a

    def _counts(self, values: Messages) -> Floats:
        counts = np.bincount(self._cells(values.ravel()), minlength=len(self._edges) + 1)
        return np.asarray(counts + 0.5, dtype=np.float64)

    def _cells(self, values: Messages) -> Integers:
        return np.asarray(np.searchsorted(self._edges, values, side="right"), dtype=np.int64)

    def of(self, values: Messages) -> Floats:
        """Return the ratio of each."""
        return np.asarray(self._ratio[self._cells(values)], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class MixedMessages:
    """Messages of one round: those of ``users`` users are mixed, all of whom but one have the same records.

    Parameters
    ----------
    users : int
        How many.
    draw : callable
        From the table (0 or 1) and a number to as many messages of the user who changes, a row each; on the first table
        those of all others have the same law.
    symbols : callable
        From messages to the numbers that they are looked at as, shape (messages, numbers of each).
    release : callable or None
        What is released of the messages of all users; None where that is not made from one round.
    width : int
        Messages that each user sends.
    epsilon0 : float or None
        What one user's messages promise about the two tables for whoever sees them alone; None where it is not known.
    is_apart : bool
        Whether each of a user's messages is mixed by itself, all of them alike in what they promise.
    strengths : tuple of float
        What each of them promises, where they are not alike.
    joining : callable or None
        From a number of releases to how many users take part in each, and whether the one who changes is among them;
        None where all do.
    """

    users: int
    draw: Callable[[int, int], Messages]
    symbols: Callable[[Messages], Messages]
    release: Callable[[Messages], Any] | None = None
    width: int = 1
    epsilon0: float | None = None
    is_apart: bool = False
    joining: Callable[[int], tuple[Integers, Integers]] | None = None
    strengths: tuple[float, ...] = ()

    def alone(self) -> "MixedMessages | None":
        """Return the messages of the user who changes, unmixed; None where that is this, or nothing is known of it."""
        if self.users == 1 or self.epsilon0 is None:
            return None
        width, epsilon0, draw = self.width, self.epsilon0, self.draw
        if self.strengths:
            sums = np.cumsum(self.strengths)
            width = max(int((sums <= SEEN).sum()), 1)
            epsilon0 = float_up(sum(map(as_decimal, self.strengths[:width]), Fraction(0)))
        elif self.is_apart and width > 1:
            width = min(max(int(SEEN * width / epsilon0), 1), width)
            epsilon0 = float_up(as_decimal(epsilon0) * width / self.width)
        return replace(
            self,
            users=1,
            draw=lambda table, count: draw(table, count)[:, :width] if width < self.width else draw(table, count),
            release=None,
            width=width,
            epsilon0=epsilon0,
            joining=None,
            strengths=(),
        )

    @cached_property
    def ratio(self) -> LearntRatio:
        """The ratio of one user's message."""
        count = max(LEARNT // self.width, 1)
        return LearntRatio(*(self.symbols(self.draw(table, count)) for table in (0, 1)))

    def scores(self, trials: int) -> Scores:
        """Return the scores of releases, at most so many; the others' messages serve both tables."""
        each = self.users * self.width
        trials = _affordable(trials, each)
        own = [np.empty(trials), np.empty(trials)]
        for start, count in _parts(trials, each):
            number, is_in = (None, 1) if self.joining is None else self.joining(count)
            others = self._others(count, None if number is None else number - is_in)
            for table in (0, 1):
                changed = self._ratios(table, count)
                if number is not None:
                    changed = np.where(np.asarray(is_in)[:, None] == 1, changed, 1.0)
                own[table][start : start + count] = np.log((others + changed) / self.users).sum(axis=1)
        return _rounded(own, SCORE)

    def releases(self, most: int) -> Iterator[Any]:
        if self.release is not None:
            for _ in range(most):
                yield self.release(self.draw(0, self.users))

    def _ratios(self, table: int, count: int) -> Floats:
        """Return the ratios of so many users' messages, a column each; their mean where they are mixed together."""
        found = self.ratio.of(self.symbols(self.draw(table, count))).reshape(count, -1)
        return found if self.is_apart else found.mean(axis=1, keepdims=True)

    def _others(self, releases: int, asked: Integers | None) -> Floats:
        """Return for each release the sums of all others' ratios, of whom so many are asked and the rest count as 1."""
        others = self.users - 1
        if others == 0:
            return np.zeros((releases, 1))
        found = self._ratios(0, releases * others).reshape(releases, others, -1)
        if asked is not None:
            found = np.where((np.arange(others) < asked[:, None])[:, :, None], found, 1.0)
        return np.asarray(found.sum(axis=1))


@dataclass(frozen=True, eq=False)
class RangeMessages:
    """Messages of both rounds of range-then-mean where every user is in both; the second asks about what the first
    found.

    Parameters
    ----------
    mechanism : UserMeanMechanism
        What is released for.
    way : BudgetSplit
        The rounds.
    users : int
        How many.
    values : (int, int)
        The mean of the user who changes on each table, that of the others being the first; in fixed point.
    exponent : int
        Of the fixed point.
    """

    mechanism: UserMeanMechanism
    way: BudgetSplit
    users: int
    values: tuple[int, int]
    exponent: int

    @property
    def epsilon0(self) -> float | None:
        """Epsilon of both messages of a user together."""
        return self.way.epsilon

    def alone(self) -> "RangeMessages | None":
        """Return both messages of the user who changes, the second about what the first finds; None if these are it."""
        if self.users == 1:
            return None
        way, signs = self.way, self.way.signs or 1
        if signs > 1:
            # those that are looked at together
            kept = min(max(int((SEEN - way.stage.epsilon) / way.second), 1), signs)
            way = replace(way, scalar=Signs(kept))
        return replace(self, users=1, way=way)

    def scores(self, trials: int) -> Scores:
        """Return the scores of releases, at most so many: the product of both rounds' ratios."""
        sent = 1 + (self.way.signs or 1)
        trials = _affordable(trials, sent * self.users)
        own = [np.empty(trials), np.empty(trials)]
        windows: dict[int, _SecondRound] = {}
        for start, count in _parts(trials, sent * self.users):
            others = self._bins_of(0, count * (self.users - 1)).reshape(count, -1)
            for table in (0, 1):
                bins = np.concatenate([others, self._bins_of(table, count).reshape(count, 1)], axis=1)
                score = np.log(self._ratio.of(bins).mean(axis=1))
                found = self._found(bins)
                for place in np.unique(found).tolist():
                    which = np.flatnonzero(found == place)
                    if place not in windows:
                        windows[place] = self._second(place)
                    score[which] += windows[place].mixed(table, len(which))
                own[table][start : start + count] = score
        return _rounded(own, BOTH)

    def releases(self, most: int) -> Iterator[Any]:
        sent = self._bins_of(0, most * self.users).reshape(most, self.users)
        for place in self._found(sent).tolist():
            scalar = self._scalar(place)
            total = scalar.total(scalar.encode(np.full(self.users, self.values[0], dtype=np.int64), self.exponent))
            window = self.way.stage.bins.window(place)
            yield UserMeanRelease(self.mechanism, scalar.estimate(total, self.users), window)

    @cached_property
    def _ratio(self) -> LearntRatio:
        return LearntRatio(self._bins_of(0, LEARNT), self._bins_of(1, LEARNT))

    def _bins_of(self, table: int, count: int) -> Messages:
        """Return messages of round one."""
        place = self.way.stage.bins.place(np.full(1, self.values[table], dtype=np.int64), self.exponent)
        return self.way.stage.oracle.encode(Bags.of_items(np.repeat(place, count)))

    @cached_property
    def _shares(self) -> Floats:
        """Decoder's estimates where all users send one symbol, a row each: it is linear in the tally."""
        oracle = self.way.stage.oracle
        return np.array([oracle.decode(oracle.users * one) for one in np.eye(oracle.outputs, dtype=np.int64)])

    def _found(self, sent: Messages) -> Integers:
        """Return the bin that each release finds, as :class:`HadamardRange` does: the first of equal estimates."""
        outputs = len(self._shares)
        places = (np.arange(len(sent))[:, None] * outputs + sent).ravel()
        tallies = np.bincount(places, minlength=len(sent) * outputs).reshape(len(sent), outputs)
        return np.asarray(np.argmax(np.round(tallies @ self._shares / self.users, DIGITS), axis=1), dtype=np.int64)

    def _scalar(self, place: int) -> Any:
        return self.way.scalar(*self.way.stage.bins.window(place), self.way.second)

    def _second(self, place: int) -> "_SecondRound":
        scalar = self._scalar(place)

        def draw(table: int, count: int) -> Messages:
            return sent_apart(scalar, np.full(count, self.values[table], dtype=np.int64), self.exponent)

        return _SecondRound(self.users, draw)


@dataclass(frozen=True, eq=False)
class _SecondRound:
    """Round two, about one range: of each user a message, or signs that are mixed apart, a column each."""

    users: int
    draw: Callable[[int, int], Messages]

    @cached_property
    def _ratio(self) -> LearntRatio:
        return LearntRatio(self.draw(0, LEARNT_WINDOW), self.draw(1, LEARNT_WINDOW))

    def mixed(self, table: int, releases: int) -> Floats:
        """Return the ratios' logarithms of so many releases."""
        own = self._ratio.of(self.draw(table, releases)).reshape(releases, -1)
        others = self._ratio.of(self.draw(0, releases * (self.users - 1)))
        mixed = own + others.reshape(releases, self.users - 1, own.shape[1]).sum(axis=1)
        return np.asarray(np.log(mixed / self.users).sum(axis=1), dtype=np.float64)


def sent_apart(scalar: ScalarRandomizer, values: Integers, exponent: int) -> Messages:
    """Return what each user sends: signs that are mixed apart, a column each, or one message.

    >>> from emdp.mechanisms.scalar.one_bit import OneBitScalar
    >>> sent_apart(OneBitScalar(0.0, 1.0, 1.0, messages=3), np.array([0, 1]), 0).shape
    (2, 3)
    """
    if isinstance(scalar, OneBitScalar) and scalar.messages > 1:
        return scalar.signs(values, exponent)
    return np.asarray(scalar.encode(values, exponent))


def _rounded(own: Sequence[Floats], name: str) -> Scores:
    first, second = (np.asarray(np.round(one, DIGITS), dtype=np.float64)[:, None] for one in own)
    return Scores(first, second, (name,))


def _affordable(trials: int, each: int) -> int:
    return min(trials, max(MOST_MESSAGES // each, LEAST_TRIALS))


def _parts(trials: int, each: int) -> Iterator[tuple[int, int]]:
    step = max(AT_ONCE // each, 1)
    for start in range(0, trials, step):
        yield start, min(step, trials - start)

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
worth. The exact law of counts, for a binary score, is :mod:`emdp.audit.counts`.

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

from emdp.audit.counts import CountedMessages, above, best_levels, counted_sets
from emdp.audit.tester import DIGITS, LEAST_TRIALS, Scores
from emdp.base.classes import dataclass
from emdp.mechanisms.scalar.one_bit import OneBitScalar
from emdp.mechanisms.scalar.randomizer import ScalarRandomizer
from emdp.privacy.rounding import as_decimal, float_up

__all__ = [
    "AT_ONCE",
    "LEARNT",
    "SEEN",
    "LearntRatio",
    "MixedMessages",
    "affordable",
    "parts_of",
    "rounded",
    "sent_apart",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Messages = npt.NDArray[Any]

LEARNT = 200_000
"""Messages of each law from which a ratio is learnt."""

MOST_CELLS = 4096
"""Different messages up to which each has a ratio of its own."""

BINS = 256
"""Ranges of numbers that have one ratio each, where there are more."""

MOST_MESSAGES = 2 * 10**8
"""Messages drawn for one table, about a minute's work: of more users, or more messages of each, fewer releases."""

AT_ONCE = 2**22
"""Messages that are in memory together."""

COUNTED, MOST_COUNTED = 10, 2 * 10**7
"""Users whose messages are counted for each release that is drawn, and messages of them at most."""

SEEN = 4.0
"""Epsilon up to which a user's own messages are looked at together: a bound of half of it needs some thousand draws."""

SCORE = "likelihood ratio of the messages"


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
    """Messages of one round: those of ``users`` users are mixed, all of whom but one have the same records."""

    users: int
    # From the table (0 or 1) and a number to as many messages of the user who changes, a row each; on the first table
    # those of all others have the same law.
    draw: Callable[[int, int], Messages]
    # From messages to the numbers that they are looked at as, shape (messages, numbers of each).
    symbols: Callable[[Messages], Messages]
    # What is released of the messages of all users; None where that is not made from one round.
    release: Callable[[Messages], Any] | None = None
    width: int = 1  # Messages that each user sends
    # What one user's messages promise about the two tables for whoever sees them alone; None where it is not known.
    epsilon0: float | None = None
    # Whether each of a user's messages is mixed by itself, all of them alike in what they promise.
    is_apart: bool = False
    # From a number of releases to how many users take part in each, and whether the one who changes is among them; None
    # where all do.
    joining: Callable[[int], tuple[Integers, Integers]] | None = None
    strengths: tuple[float, ...] = ()  # What each of them promises, where they are not alike
    # Kind of each of a user's messages, those of a kind alike in law; all are of one kind where it is empty.
    kinds: tuple[int, ...] = ()
    sampled: int | None = None  # How many users take part, where it is the same number always

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
            sampled=None,
            strengths=(),
        )

    def counted(self, trials: int) -> CountedMessages | None:
        """Return counts of single users' messages; None of one user, of messages together, or of senders by chance."""
        is_by_chance = self.joining is not None and self.sampled is None
        if self.users == 1 or is_by_chance or (self.width > 1 and not self.is_apart):
            return None
        draws = max(min(COUNTED * trials, MOST_COUNTED // self.width), LEAST_TRIALS)
        kinds = self.kinds or (0,) * self.width
        learnt = [self._told(table, max(LEARNT // self.width, 1)) for table in (0, 1)]
        if learnt[0].shape[1] != len(kinds):
            # a message of several numbers
            return None
        levels = best_levels(learnt, kinds)

        def hits(table: int, count: int) -> list[int]:
            each = [above(self._told(table, own), kinds, levels) for _, own in parts_of(count, self.width)]
            return [int(one) for one in np.sum(each, axis=0)]

        senders = self.sampled or self.users
        return CountedMessages(senders, counted_sets(hits, kinds, draws), draws, senders / self.users)

    def _told(self, table: int, count: int) -> Floats:
        """Return the ratio of each message of so many users, a row each."""
        return self.ratio.of(self.symbols(self.draw(table, count))).reshape(count, -1)

    @cached_property
    def ratio(self) -> LearntRatio:
        """The ratio of one user's message."""
        count = max(LEARNT // self.width, 1)
        return LearntRatio(*(self.symbols(self.draw(table, count)) for table in (0, 1)))

    def scores(self, trials: int) -> Scores:
        """Return the scores of releases, at most so many; the others' messages serve both tables."""
        each = self.users * self.width
        trials = affordable(trials, each)
        own = [np.empty(trials), np.empty(trials)]
        for start, count in parts_of(trials, each):
            number, is_in = (None, 1) if self.joining is None else self.joining(count)
            others = self._others(count, None if number is None else number - is_in)
            for table in (0, 1):
                changed = self._ratios(table, count)
                if number is not None:
                    changed = np.where(np.asarray(is_in)[:, None] == 1, changed, 1.0)
                own[table][start : start + count] = np.log((others + changed) / self.users).sum(axis=1)
        return rounded(own, SCORE)

    def releases(self, most: int) -> Iterator[Any]:
        if self.release is not None:
            for _ in range(most):
                yield self.release(self.draw(0, self.users))

    def _ratios(self, table: int, count: int) -> Floats:
        """Return the ratios of so many users' messages, a column each; their mean where they are mixed together."""
        found = self._told(table, count)
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


def sent_apart(scalar: ScalarRandomizer, values: Integers, exponent: int) -> Messages:
    """Return what each user sends: signs that are mixed apart, a column each, or one message.

    >>> from emdp.mechanisms.scalar.one_bit import OneBitScalar
    >>> sent_apart(OneBitScalar(0.0, 1.0, 1.0, messages=3), np.array([0, 1]), 0).shape
    (2, 3)
    """
    if isinstance(scalar, OneBitScalar) and scalar.messages > 1:
        return scalar.signs(values, exponent)
    return np.asarray(scalar.encode(values, exponent))


def rounded(own: Sequence[Floats], name: str) -> Scores:
    """Return one score of both tables, with as many decimals as tell."""
    first, second = (np.asarray(np.round(one, DIGITS), dtype=np.float64)[:, None] for one in own)
    return Scores(first, second, (name,))


def affordable(trials: int, each: int) -> int:
    """Return how many releases of so many messages are drawn, at most as many as asked for."""
    return min(trials, max(MOST_MESSAGES // each, LEAST_TRIALS))


def parts_of(trials: int, each: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the number of releases that are in memory together."""
    step = max(AT_ONCE // each, 1)
    for start in range(0, trials, step):
        yield start, min(step, trials - start)

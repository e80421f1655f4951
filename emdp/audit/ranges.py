"""Bulk draws of releases in two rounds, the second of which asks about what the first has found.

Of a number, and of vectors. The score is the product of both rounds' likelihood ratios: given what the first round
found, which is a function of its messages, those of the second have a law of their own. Where users are divided, a
share ``f`` of them in round one, it is unknown where the one who changes is: the ratio is ``f L1 + (1 - f) L2``, ``L1``
and ``L2`` the means over the messages of each round.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from emdp.audit.mixed import LEARNT, SEEN, LearntRatio, MixedMessages, affordable, parts_of, rounded, sent_apart
from emdp.audit.tester import DIGITS, Scores
from emdp.base.classes import dataclass
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.scalar.one_bit import Signs
from emdp.mechanisms.user_mean.base import UserMeanMechanism, UserMeanRelease
from emdp.mechanisms.user_mean.local import BudgetSplit
from emdp.mechanisms.user_mean.range_stage import HadamardRange
from emdp.mechanisms.user_vector.local import LocalUserVector
from emdp.noise.choices import draw_below
from emdp.privacy.rounding import as_decimal, float_up

__all__ = ["RangeMessages", "VectorRanges"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Messages = npt.NDArray[Any]

LEARNT_WINDOW = 20_000
"""Messages of each law from which a ratio is learnt, where there is a law for each range that may be found."""

LEARNT_BIT = 4000
"""The same of a message about one of several coordinates."""

BOTH = "likelihood ratio of both rounds' messages"


@dataclass(frozen=True, eq=False)
class RangeMessages:
    """Messages of both rounds of range-then-mean where every user is in both; the second asks about what the first
    found.
    """

    mechanism: UserMeanMechanism
    way: BudgetSplit
    users: int
    # The mean of the user who changes on each table, that of the others being the first; in fixed point.
    values: tuple[int, int]
    exponent: int  # Of the fixed point

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
        trials = affordable(trials, sent * self.users)
        own = [np.empty(trials), np.empty(trials)]
        windows: dict[int, _SecondRound] = {}
        for start, count in parts_of(trials, sent * self.users):
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
        return rounded(own, BOTH)

    def releases(self, most: int) -> Iterator[Any]:
        """Yield what is released of draws on the first table."""
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
    learnt: int = LEARNT_WINDOW

    @cached_property
    def _ratio(self) -> LearntRatio:
        return LearntRatio(self.draw(0, self.learnt), self.draw(1, self.learnt))

    def mixed(self, table: int, releases: int) -> Floats:
        """Return the ratios' logarithms of so many releases."""
        own = self._ratio.of(self.draw(table, releases)).reshape(releases, -1)
        others = self._ratio.of(self.draw(0, releases * (self.users - 1)))
        mixed = own + others.reshape(releases, self.users - 1, own.shape[1]).sum(axis=1)
        return np.asarray(np.log(mixed / self.users).sum(axis=1), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Bins:
    """Round one about a coordinate: its messages, and the bin that is found from their tally."""

    stage: HadamardRange
    values: tuple[int, int]
    exponent: int

    @cached_property
    def places(self) -> tuple[int, int]:
        first, second = self.stage.bins.place(np.array(self.values, dtype=np.int64), self.exponent).tolist()
        return first, second

    @cached_property
    def ratio(self) -> LearntRatio:
        return LearntRatio(self.sent(np.zeros(LEARNT, dtype=np.int64)), self.sent(np.ones(LEARNT, dtype=np.int64)))

    @cached_property
    def shares(self) -> Floats:
        """Decoder's estimates where a user sends one symbol, a row each: they are linear in the tally."""
        oracle = self.stage.oracle
        return np.array([oracle.decode(oracle.users * one) for one in np.eye(oracle.outputs, dtype=np.int64)])

    def sent(self, tables: Integers) -> Messages:
        """Return a message of the user who changes on each of these tables."""
        return self.stage.oracle.encode(Bags.of_items(np.array(self.places)[tables]))

    def found(self, rows: Integers, sent: Messages, count: int) -> Integers:
        """Return the bin that each of so many releases finds of the messages of its row; -1 of none."""
        outputs = len(self.shares)
        tallies = np.bincount(rows * outputs + sent, minlength=count * outputs).reshape(count, -1)
        heard = tallies.sum(axis=1)
        estimates = (tallies @ self.shares)[:, : self.stage.bins.count] / np.maximum(heard, 1)[:, None]
        return np.where(heard > 0, np.argmax(np.round(estimates, DIGITS), axis=1), -1)


@dataclass(frozen=True, eq=False)
class VectorRanges:
    """Messages of both rounds about vectors: ranges of the coordinates, then the means inside them."""

    way: LocalUserVector  # In two rounds, or in two groups of users
    users: int  # How many are mixed; 1 for what one user in both rounds sends
    # The numbers of the user who changes on each table, those of all others being the first; in fixed point.
    rows: Sequence[Sequence[int]]
    exponents: Sequence[int]  # Of the fixed point
    kept: int  # Coordinates whose messages are looked at, the first ones, where a user reports all

    @property
    def epsilon0(self) -> float:
        """Epsilon of all messages of a user that are looked at."""
        first, second = map(as_decimal, self.way.message_epsilons)
        counts = (1, 1) if self.way.is_sampled else (len(self._bins), self.kept)
        return float_up(first * counts[0] + second * counts[1])

    def alone(self) -> "MixedMessages | VectorRanges | None":
        """Return all messages of the user who changes, unmixed; those of the stronger round where a user is in one."""
        if self.users == 1:
            return None
        first, second = self.way.message_epsilons
        if self.way.rounds == "two rounds":
            return replace(self, users=1, kept=self._together(first + second))
        is_first = first * self.way.reported[0] >= second * self.way.reported[1]
        own = replace(self, kept=self._together(max(first, second)))
        columns = list(own._bins) if is_first else list(range(own.kept))

        def draw(table: int, count: int) -> Messages:
            given = np.full(count, table, dtype=np.int64)
            if is_first:
                sent = [own._bins[place].sent(given) for place in columns]
            else:
                sent = [own._second(place, own._planned[place]).draw(table, count) for place in columns]
            # what is sent about each coordinate is told from what is sent about others
            told = np.stack([place + len(columns) * one for place, one in enumerate(sent)], axis=1)
            chosen = draw_below(np.full(count, len(columns), dtype=np.int64))
            return told[np.arange(count), chosen] if self.way.is_sampled else told

        width = 1 if self.way.is_sampled else len(columns)
        epsilon0 = float_up(as_decimal(first if is_first else second) * width)
        return MixedMessages(1, draw, _as_they_are, None, width, epsilon0, is_apart=width > 1)

    def scores(self, trials: int) -> Scores:
        """Return the scores of releases, at most so many."""
        sizes = self._sizes
        each = (sizes[0] + sizes[1]) * (1 if self.way.is_sampled else self.kept)
        trials = affordable(trials, each)
        largest = max(each, *(bins.stage.oracle.outputs for bins in self._bins.values()))
        own = [np.empty(trials), np.empty(trials)]
        for start, count in parts_of(trials, largest):
            for table in (0, 1):
                own[table][start : start + count] = self._score(np.full(count, table, dtype=np.int64))
        return rounded(own, BOTH)

    def releases(self, most: int) -> Iterator[Any]:
        """Yield nothing: what is released of these messages is made as a whole."""
        del most
        yield from ()

    @property
    def _sizes(self) -> tuple[int, int]:
        """Users of each round."""
        return (self.way.first, self.way.second) if self._is_split else (self.users, self.users)

    @property
    def _is_split(self) -> bool:
        return self.way.rounds == "two groups"

    @cached_property
    def _bins(self) -> dict[int, _Bins]:
        frame, strength = self.way.frame, self.way._shares[0]
        return {
            place: _Bins(HadamardRange(frame.bins[place], 1, strength), self._values(place), self.exponents[place])
            for place in frame.ranged
            if place < self.kept
        }

    @cached_property
    def _planned(self) -> tuple[int, ...]:
        """Bin of the first table's number in each coordinate, -1 where none is found."""
        return tuple(self._bins[place].places[0] if place in self._bins else -1 for place in range(self.kept))

    def _values(self, place: int) -> tuple[int, int]:
        return int(self.rows[0][place]), int(self.rows[1][place])

    def _together(self, each: float) -> int:
        """Return how many coordinates are looked at together, of which each promises so much."""
        width = self.way.frame.width
        return width if self.way.is_sampled else min(max(int(SEEN / each), 1), width)

    def _score(self, tables: Integers) -> Floats:
        """Return the logarithm of the likelihood ratio of releases in which the one user is on these tables."""
        sizes = self._sizes
        if not self._is_split:
            first, places = self._early(tables, sizes[0])
            return first + self._late(tables, sizes[1], places)
        # who is in round one is drawn without the data
        is_early = draw_below(np.full(len(tables), sizes[0] + sizes[1], dtype=np.int64)) < sizes[0]
        first, places = self._early(np.where(is_early, tables, 0), sizes[0])
        second = self._late(np.where(is_early, 0, tables), sizes[1], places)
        share = sizes[0] / (sizes[0] + sizes[1])
        return np.asarray(np.log(share * np.exp(first) + (1.0 - share) * np.exp(second)))

    def _early(self, tables: Integers, users: int) -> tuple[Floats, dict[int, Integers]]:
        """Return the ratios of round one, and the bins that it finds."""
        found: dict[int, Integers] = {}

        def ratios(place: int, rows: Integers, own: Integers) -> Floats:
            sent = self._bins[place].sent(own)
            found[place] = self._bins[place].found(rows, sent, len(tables))
            return self._bins[place].ratio.of(sent)

        return self._mixed(tables, users, list(self._bins), ratios), found

    def _late(self, tables: Integers, users: int, places: dict[int, Integers]) -> Floats:
        """Return the ratios of round two, given the bins."""

        def ratios(place: int, rows: Integers, own: Integers) -> Floats:
            found = np.empty(len(rows))
            windows = places[place][rows] if place in places else np.full(len(rows), -1)
            for window in np.unique(windows).tolist():
                law = self._second(place, window)
                for table in (0, 1):
                    which = np.flatnonzero((windows == window) & (own == table))
                    found[which] = law._ratio.of(law.draw(table, len(which)))
            return found

        return self._mixed(tables, users, list(range(self.kept)), ratios)

    def _mixed(
        self, tables: Integers, users: int, columns: Sequence[int], ratios: Callable[[int, Integers, Integers], Floats]
    ) -> Floats:
        """Return the logarithm of the mean ratio over users, the first of whom is the one who changes."""
        own = np.zeros((len(tables), users), dtype=np.int64)
        own[:, 0] = tables
        if not self.way.is_sampled:
            rows = np.repeat(np.arange(len(tables)), users)
            means = [ratios(place, rows, own.ravel()).reshape(own.shape).mean(axis=1) for place in columns]
            return np.asarray(np.log(means).sum(axis=0), dtype=np.float64)
        found = np.ones(own.shape)
        chosen = draw_below(np.full(own.size, len(columns), dtype=np.int64)).reshape(own.shape)
        for number, place in enumerate(columns):
            which = np.nonzero(chosen == number)
            found[which] = ratios(place, which[0], own[which])
        return np.asarray(np.log(found.mean(axis=1)), dtype=np.float64)

    def _second(self, place: int, window: int) -> _SecondRound:
        if (place, window) not in self._windows:
            bins, make = self.way.frame.bins[place], self.way._makers[place]
            ends = (bins.low, bins.high) if window < 0 else bins.window(window)
            scalar, values, exponent = make(*ends, self.way._shares[1]), self._values(place), self.exponents[place]

            def draw(table: int, count: int) -> Messages:
                return np.asarray(scalar.encode(np.full(count, values[table], dtype=np.int64), exponent))

            self._windows[place, window] = _SecondRound(self.users, draw, LEARNT_BIT)
        return self._windows[place, window]

    @cached_property
    def _windows(self) -> dict[tuple[int, int], _SecondRound]:
        return {}


def _as_they_are(sent: Messages) -> Messages:
    return sent if sent.ndim > 1 else sent[:, None]

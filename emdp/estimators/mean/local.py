"""Means in the local model: every user sends noise on the own mean, or one bit, whichever estimates better.

Each user's message is private by itself (EMD 2 with ``n = 1``, EMD 4), for any number of records, so nobody need be
trusted; here the table's owner draws the messages as the users' devices would. The average over users of what the
messages estimate is the answer. Which randomizer is best follows from public numbers alone: noise of scale ``w`` has
variance ``2 w^2`` (Laplace), a bit ``(B + l/alpha)^2`` at most, ``B`` half the range (EMD 4).
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from fractions import Fraction
from itertools import chain, repeat
from typing import Any

import numpy as np
import polars as pl

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.estimators.crowds import OTHER_USERS, neutral_units
from emdp.estimators.mean.encoders import ASKED, EXACT, MESSAGES, USERS, MeanEncoder, added_up
from emdp.estimators.mean.linear import LinearNeeds, LinearQuery, OneRow, linear_needs, noise_for, plan_linear
from emdp.estimators.messages import SIMULATED, WEIGHING, MessagePlan, WrappedRelease
from emdp.estimators.plan import Plan
from emdp.expressions import evaluate
from emdp.expressions.numbers.bounds import Analysis
from emdp.expressions.numbers.fixed_point import fixed_point_error, fixed_point_exponent
from emdp.mechanisms.local.noise import LocalNoise, exact_sums
from emdp.mechanisms.local.one_bit import LocalOneBit, OneBitCoordinate
from emdp.privacy import EmdDP, Guarantee, GuaranteeEvent
from emdp.questions.columns import PlannedColumn, Released
from emdp.questions.reading import MeanBlock, Reading, RepeatedBlocks
from emdp.spaces import Space

__all__ = [
    "LocalMeans",
    "LocalRow",
    "bit_coordinates",
    "called",
    "message_columns",
    "neutral_means",
    "one_bit_coordinate",
    "one_bits",
    "plan_local_means",
]

AT_ONCE = 2**16
"""Users without records whose messages are drawn at once."""

LARGEST_EPSILON = 30.0
"""Beyond it a bit is as good as certain."""


@dataclass(frozen=True, eq=False)
class LocalMeans(WrappedRelease):
    """Draws every user's message and averages them."""

    mechanism: LocalNoise | LocalOneBit
    neutral: tuple[float, ...]
    exponents: tuple[int, ...]

    @classmethod
    def of(cls, mechanism: LocalNoise | LocalOneBit, needs: LinearNeeds, space: Space) -> "LocalMeans":
        """Return what releases a query's means on a space."""
        return cls(mechanism, neutral_means(needs, space), tuple(map(fixed_point_exponent, needs.analysis.entries)))

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of one released mean."""
        return math.sqrt(self.mechanism.variance)

    def encoder(self, *, keep_exact: bool) -> MeanEncoder | None:
        """Return the encoder of a block's messages; None where coordinates are dealt out among all users."""
        if isinstance(self.mechanism, LocalOneBit) and self.mechanism.is_dealt:
            return None
        return MeanEncoder(self.mechanism, self.exponents, keep_exact)

    def release(
        self, read: Iterator[MeanBlock], *, users: int, keep_exact: bool
    ) -> tuple[tuple[tuple[Fraction, ...], ...], Released | None]:
        """Draw the messages of all users and average them: this spends."""
        encoder = self.encoder(keep_exact=keep_exact)
        if encoder is not None:
            return self.merge(chain.from_iterable(map(encoder.encode, read)), users=users, keep_exact=keep_exact)
        return self._dealt(read, users, keep_exact=keep_exact)

    def merge(
        self, frames: Iterator[pl.DataFrame], *, users: int, keep_exact: bool
    ) -> tuple[tuple[tuple[Fraction, ...], ...], Released | None]:
        """Return the release, made from the sums of all blocks in any order: this spends.

        Users without records send their message here.
        """
        encoder = self.encoder(keep_exact=keep_exact)
        if encoder is None:
            raise InternalError("messages were added up of coordinates that are dealt out; please report it.")
        return self._merged(encoder, frames, None, users)

    def _merged(
        self, encoder: MeanEncoder, frames: Iterator[pl.DataFrame], dealt: Integers | None, users: int
    ) -> tuple[tuple[tuple[Fraction, ...], ...], Released | None]:
        """Add the messages of users without records, and decode: this spends."""
        width = self.mechanism.width if isinstance(self.mechanism, LocalOneBit) else None
        sums = added_up(frames, len(self.neutral), width)
        (present,) = sums[USERS]
        if present > users:
            raise InternalError(OTHER_USERS)
        parts = repeat(None) if dealt is None else (dealt[start : start + AT_ONCE] for start in _starts(present, users))
        rest = added_up(map(encoder.summed, self._absent_means(present, users), parts), len(self.neutral), width)
        sums = {what: _added(own, rest[what]) for what, own in sums.items()}
        released = (
            self.mechanism.decode(sums[MESSAGES], sums[ASKED])
            if isinstance(self.mechanism, LocalOneBit)
            else self.mechanism.decode(sums[MESSAGES])
        )
        return (released,), (self._exact(sums[EXACT], users),) if encoder.keep_exact else None

    def _dealt(
        self, read: Iterator[MeanBlock], users: int, *, keep_exact: bool
    ) -> tuple[tuple[tuple[Fraction, ...], ...], Released | None]:
        """Draw the bits of users among whom the coordinates are dealt out, as many each as can be."""
        if not isinstance(self.mechanism, LocalOneBit):
            raise InternalError("noise was dealt out among users; please report it.")
        dealt = self.mechanism.deal()
        if isinstance(read, RepeatedBlocks):
            with closing(read):
                if (present := read.present()) > users:
                    raise InternalError(OTHER_USERS)
                encoder = MeanEncoder(self.mechanism, self.exponents, keep_exact)
                frames = read.encode(encoder, dealt[:present], is_last=True)
                return self._merged(encoder, frames, dealt, users)
        sums, counts, exact = [0] * len(self.neutral), [0] * len(self.neutral), [0] * len(self.neutral)
        first = 0
        for means in self._all_means(read, users):
            signs = self.mechanism.encode(means, self.exponents, dealt[first : first + len(means)])
            ones, asked = self.mechanism.tally(signs)
            sums, counts = _added(sums, ones), _added(counts, asked)
            if keep_exact:
                exact = _added(exact, exact_sums(means))
            first += len(means)
        if first != users:
            raise InternalError(OTHER_USERS)
        return (self.mechanism.decode(sums, counts),), (self._exact(exact, users),) if keep_exact else None

    def _exact(self, sums: Sequence[int], users: int) -> tuple[Fraction, ...]:
        return tuple(
            Fraction(total) / Fraction(2) ** exponent / users
            for total, exponent in zip(sums, self.exponents, strict=True)
        )

    def _all_means(self, read: Iterator[MeanBlock], users: int) -> Iterator[Integers]:
        present = 0
        for block in read:
            if tuple(block.exponents) != self.exponents:
                raise InternalError("the engine's means have another unit than was planned; please report it.")
            present += len(block.means)
            yield block.means
        yield from self._absent_means(present, users)

    def _absent_means(self, present: int, users: int) -> Iterator[Integers]:
        """Yield the means of whoever has no records: such a user sends a message too (EMD 8.1)."""
        row = np.array([neutral_units(self.neutral, self.exponents)], dtype=np.int64)
        for start in _starts(present, users):
            yield np.repeat(row, min(AT_ONCE, users - start), axis=0)


@dataclass(frozen=True, eq=False)
class LocalRow(OneRow):
    """An answer of one row: estimated means, each with an interval from the law of the messages."""

    mechanism: LocalNoise | LocalOneBit

    def frame(self, released: Any, level: float, *, together: bool = False) -> pl.DataFrame:
        own = 1.0 - (1.0 - level) / len(self.names) if together else level
        data: dict[str, list[float]] = {}
        for place, (name, value) in enumerate(zip(self.names, map(float, released[0]), strict=True)):
            low, high = self.mechanism.interval(place, value, own)
            data |= {name: [value], f"{name}_low": [low], f"{name}_high": [high]}
        return pl.DataFrame(data)


def plan_local_means(query: LinearQuery, *, space: Space, users: int) -> Plan | MessagePlan:
    """Return the plan of a linear query in the local model.

    Parameters
    ----------
    query : Mean or VectorMean
        The query; ``noise="auto"`` takes the randomizer with the smallest variance, bits among them.

    Raises
    ------
    NotLipschitzError
        If an expression has no finite constant.
    UsageError
        If an expression does not fit the space, or the noise does not fit the parameters.

    Guarantee
    ---------
    ``(alpha, delta)`` unbounded local d_EM-DP or ``(epsilon, delta)`` local user-level: EMD 2 and 4.

    >>> from emdp.expressions import col
    >>> from emdp.questions import mean
    >>> from emdp.spaces import Interval
    >>> plan = plan_local_means(mean(col("x"), alpha=0.5), space=Interval("x", 0, 1), users=100)
    >>> plan.guarantee.kind_name, type(plan.mechanisms[0].mechanism).__name__
    ('unbounded local EmdDP', 'LocalOneBit')
    """
    needs = linear_needs(query, space, 1)
    if needs.change_1 == 0:
        return plan_linear(query, space=space, users=users)
    noise, why = noise_for(needs)
    kind = query.price.promise("local")
    found: list[LocalNoise | LocalOneBit] = [LocalNoise(noise, users)]
    if needs.wanted == "auto":
        found += one_bits(needs, users)
    best = min(found, key=lambda mechanism: mechanism.variance)
    event = noise.event(kind)
    if isinstance(best, LocalOneBit):
        event = GuaranteeEvent(kind.at_level(needs.alpha, 0.0), "one bit a user", best.slack_epsilon)
    return MessagePlan(
        reading=Reading("means", by_user=True, expressions=needs.expressions),
        releaser=LocalMeans.of(best, needs, space),
        event=event,
        columns=message_columns(needs, best),
        choice=_choice(best, found, why),
        finisher=LocalRow(needs.names, best),
        weighing=WEIGHING,
        notes=(SIMULATED,),
    )


def neutral_means(needs: LinearNeeds, space: Space) -> tuple[float, ...]:
    """Return the means of a user without records."""
    return tuple(float(evaluate(expression, space, space.neutral_item)[0]) for expression in needs.expressions)


def message_columns(needs: LinearNeeds, mechanism: LocalNoise | LocalOneBit) -> tuple[PlannedColumn, ...]:
    """Return the answer's columns, with errors and interval at the middle of each mean's range."""
    places, entries = range(len(needs.names)), needs.analysis.entries
    ends = [mechanism.interval(place, 0.5 * own.low + 0.5 * own.high, 0.95) for place, own in enumerate(entries)]
    return needs.columns(
        noise_scale=mechanism.noise_scale,
        errors=tuple(map(mechanism.expected_absolute_error, places)),
        halves=tuple(0.5 * (high - low) for low, high in ends),
    )


def bit_coordinates(needs: LinearNeeds, alpha: float) -> tuple[OneBitCoordinate, ...]:
    """Return the bit of each mean that is ``alpha`` per unit of ``d_em``, or at user level, by itself."""
    both = zip(needs.analysis.entries, needs.singles, strict=True)
    return tuple(one_bit_coordinate(alpha, entry, single, needs.kind) for entry, single in both)


def one_bits(needs: LinearNeeds, users: int) -> list[LocalOneBit]:
    """Return the ways of sending bits: of every coordinate, or of one that is dealt out."""
    entries = needs.analysis.entries
    if any(entry.spread == 0 for entry in entries):
        return []
    found = []
    for is_dealt in (False, True) if len(entries) > 1 else (False,):
        alpha = needs.alpha if is_dealt else needs.alpha / len(entries) * (1.0 - 2.0**-50)
        if not is_dealt or users >= len(entries):
            found.append(LocalOneBit(bit_coordinates(needs, alpha), users, is_dealt))
    return found


def one_bit_coordinate(alpha: float, entry: Analysis, lipschitz: float, kind: Guarantee) -> OneBitCoordinate:
    """Return the bit of a mean that is ``alpha`` per unit of ``d_em``, or at user level, by itself."""
    # Rates are rounded down by more than the roundings of the quotient.
    error = fixed_point_error(entry)
    if isinstance(kind, EmdDP):
        return OneBitCoordinate(entry.low, entry.high, alpha / lipschitz * (1.0 - 2.0**-48), error)
    # At user level the rate follows from B as the message has it, not from the range that B is rounded up from.
    half = OneBitCoordinate(entry.low, entry.high, 1.0).half
    rate = math.expm1(min(alpha, LARGEST_EPSILON)) / (2.0 * half) * (1.0 - 2.0**-48)
    return OneBitCoordinate(entry.low, entry.high, rate, error)


def _choice(best: LocalNoise | LocalOneBit, found: list[LocalNoise | LocalOneBit], why: str) -> str:
    deviations = [f"{math.sqrt(one.variance):.3g} by {called(one)}" for one in found]
    if len(found) == 1:
        return f"local model; {why}"
    return f"local model, {called(best)}: standard deviation {', '.join(deviations)}."


def called(mechanism: LocalNoise | LocalOneBit) -> str:
    """Return what users send, in words."""
    if isinstance(mechanism, LocalNoise):
        return f"{mechanism.mechanism.name} noise on every user's mean"
    return "one bit a user, of a coordinate dealt out" if mechanism.is_dealt else "one bit a user and coordinate"


def _added(totals: Sequence[int], more: Sequence[int]) -> list[int]:
    return [total + other for total, other in zip(totals, more, strict=True)]


def _starts(present: int, users: int) -> range:
    return range(present, users, AT_ONCE)

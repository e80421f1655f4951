"""Bulk draws of messages: releases that allow them, from the records of one user on two tables.

Bulk draws need everybody else to be alike, as in the tables that an audit makes (:mod:`emdp.audit.neighbours`); where
they are not, or a release is of another kind, it is run again and again as a whole (:mod:`emdp.audit.releases`).
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from emdp.audit.mixed import MixedMessages, sent_apart
from emdp.audit.neighbours import Neighbours
from emdp.audit.noisy import DescentRounds, NoisyHistogram, NoisyStrings
from emdp.audit.ranges import RangeMessages
from emdp.audit.tester import Scores
from emdp.audit.vectors import vector_messages
from emdp.estimators import MessagePlan
from emdp.estimators.fit.linear_fit import LinearFitMessages
from emdp.estimators.frequency.histograms import HistogramRelease, OracleRelease
from emdp.estimators.itemwise.release import ItemwiseRelease
from emdp.estimators.mean.facts import FactMessages
from emdp.estimators.mean.local import LocalMeans
from emdp.estimators.strings.search import PrefixRelease, StringCounts
from emdp.estimators.user_mean.user_means import UserMeanMessages
from emdp.mechanisms.descent.central import CentralDescent
from emdp.mechanisms.descent.loss import user_gradients
from emdp.mechanisms.descent.messages import MessageDescent
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.local.shuffled_bits import ShuffledOneBit
from emdp.mechanisms.local.shuffled_planes import ShuffledPlanes
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.mechanisms.oracles.symbol import SymbolOracle
from emdp.mechanisms.oracles.unary import BitsOracle
from emdp.mechanisms.user_mean.base import UserMeanMechanism, UserMeanRelease
from emdp.mechanisms.user_mean.local import BudgetSplit, LocalUserMean, OneRound
from emdp.mechanisms.user_mean.shuffle import ShuffledUserMean
from emdp.mechanisms.user_vector.base import UserVectorMechanism
from emdp.mechanisms.vector.direction import VectorDirection, directions_of
from emdp.mechanisms.vector.mixed_bits import MixedBits
from emdp.mechanisms.vector.randomizer import VectorRandomizer
from emdp.noise.choices import draw_sample_counts
from emdp.spaces.rounding import product_up
from emdp.tables.readings import read_items

__all__ = ["Bulk", "bulk_of", "read_blocks"]

Integers = npt.NDArray[np.int64]
Bag = tuple[tuple[int, int], ...]
"""Codes and how many records have each, in order, without a common divisor."""

Symbols = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]

One = TypeVar("One", bound=Hashable)


class Bulk(Protocol):
    """Draws of a release in bulk."""

    def scores(self, trials: int) -> Scores:
        """Return the scores of so many draws on each table."""

    def releases(self, most: int) -> Iterator[Any]:
        """Yield so many releases of the first table; none where what is drawn is not all that one is made of."""


def read_blocks(plan: MessagePlan, table: Any) -> Any:
    """Return what the engine reads for a plan, opened: an array, or a tuple of blocks."""
    read = read_items(table, plan.reading).open()
    return read if isinstance(read, np.ndarray) else tuple(read)


def bulk_of(plan: MessagePlan, tables: Neighbours) -> Bulk | None:
    """Return the draws of a plan's release in bulk, or None where it has to be run as a whole."""
    releaser, users = plan.releaser, tables.first.n
    blocks = read_blocks(plan, tables.first), read_blocks(plan, tables.second)
    if isinstance(releaser, HistogramRelease):
        return NoisyHistogram(releaser, blocks, users)
    if isinstance(releaser, StringCounts):
        strings, first, second = _strings(blocks)
        return NoisyStrings(releaser.histogram, strings, first, second)
    if isinstance(releaser, LinearFitMessages):
        return _of_descent(releaser, blocks, users)
    if isinstance(releaser, UserMeanMessages) and isinstance(releaser.mechanism, UserMeanMechanism):
        return _of_user_mean(releaser.mechanism, blocks, users)
    if isinstance(releaser, UserMeanMessages) and isinstance(releaser.mechanism, UserVectorMechanism):
        return _of_user_vector(releaser, blocks, users)
    if isinstance(releaser, OracleRelease):
        bags = _two_bags(blocks, users)
        return None if bags is None else _of_oracle(releaser, bags, users)
    if isinstance(releaser, ItemwiseRelease) and isinstance(releaser.randomizer, FiniteRandomizer):
        counted = isinstance(blocks[0], np.ndarray)
        bags = _counted_bags(blocks, users) if counted else _two_bags(blocks, users)
        return None if bags is None else _of_items(releaser, releaser.randomizer, bags, tables)
    if isinstance(releaser, PrefixRelease):
        return _of_prefixes(releaser, blocks)
    if isinstance(releaser, FactMessages):
        return _of_facts(releaser, blocks, users)
    if isinstance(releaser, LocalMeans) and isinstance(releaser.mechanism, ShuffledOneBit | ShuffledPlanes):
        return _of_bits(releaser, releaser.mechanism, blocks, tables)
    return None


def _of_oracle(releaser: OracleRelease, bags: tuple[Bag, Bag], users: int) -> MixedMessages:
    oracle, messages = releaser.oracle, releaser.messages

    def draw(table: int, count: int) -> npt.NDArray[Any]:
        sent = oracle.encode(_many(bags[table], count * messages))
        return sent if messages == 1 else sent.reshape(count, messages)

    seen = _symbols_of(oracle, _codes(bags))
    return MixedMessages(
        users,
        draw,
        seen if messages == 1 else lambda sent: seen(sent.ravel()).reshape(sent.shape),
        lambda sent: (oracle.decode(oracle.tally(sent.ravel() if messages > 1 else sent)),),
        messages,
        releaser.epsilon0,
        is_apart=messages > 1,
    )


def _of_items(
    releaser: ItemwiseRelease, randomizer: FiniteRandomizer, bags: tuple[Bag, Bag], tables: Neighbours
) -> MixedMessages | None:
    size, users = releaser.size, tables.first.n
    if releaser.is_local and users > 1:
        # Each user's outputs stay apart, so that one user's alone tell most.
        return None

    def draw(table: int, count: int) -> npt.NDArray[Any]:
        bag = _many(bags[table], count)
        if releaser.is_sampled:
            counts = draw_sample_counts(bag.counts, bag.offsets, size)
        else:
            counts = bag.counts * (size // sum(number for _, number in bags[table]))
        return randomizer.draw(np.repeat(bag.codes, counts)).reshape(count, size)

    def release(sent: npt.NDArray[Any]) -> Any:
        counts = np.bincount(sent.ravel(), minlength=randomizer.weights.shape[1])
        return (tuple(map(Fraction, counts.tolist())),)

    # A bag of one record is that item; of several the score is none of a single user's outputs.
    epsilon0 = product_up(randomizer.alpha0, tables.distance) if size == 1 and not releaser.is_sampled else None
    return MixedMessages(users, draw, _as_they_are, None if releaser.is_local else release, size, epsilon0)


def _of_user_mean(mechanism: UserMeanMechanism, blocks: tuple[Any, Any], users: int) -> Bulk | None:
    way = mechanism.inner if isinstance(mechanism, ShuffledUserMean) else mechanism
    if not isinstance(way, LocalUserMean):
        return None
    means = [[int(value) for block in own for value in block.means[:, 0]] for own in blocks]
    own = _changed(means[0], means[1], users)
    exponents = {int(block.exponents[0]) for one in blocks for block in one}
    if own is None or len(exponents) != 1:
        return None
    (exponent,) = exponents
    if isinstance(way, BudgetSplit):
        return RangeMessages(mechanism, way, users, own, exponent)
    if not isinstance(way, OneRound):
        return None
    scalar, window = way.scalar(*way.nominal, way.second), way.nominal

    def draw(table: int, count: int) -> npt.NDArray[Any]:
        return sent_apart(scalar, np.full(count, own[table], dtype=np.int64), exponent)

    def release(sent: npt.NDArray[Any]) -> UserMeanRelease:
        return UserMeanRelease(mechanism, scalar.estimate(scalar.total(sent), users), window)

    signs = way.signs or 1
    return MixedMessages(users, draw, _as_they_are, release, signs, way.epsilon, is_apart=signs > 1)


def _of_user_vector(releaser: UserMeanMessages, blocks: tuple[Any, Any], users: int) -> Bulk | None:
    rows = [[tuple(row) for block in own for row in block.means.tolist()] for own in blocks]
    own = _changed(rows[0], rows[1], users)
    if own is None or not isinstance(releaser.mechanism, UserVectorMechanism):
        return None
    return vector_messages(releaser.mechanism, own, users, releaser.exponents)


def _of_facts(releaser: FactMessages, blocks: tuple[Any, Any], users: int) -> MixedMessages | None:
    law = releaser.law
    rows = [[tuple(row) for block in own for row in (block.means > 0).tolist()] for own in blocks]
    own = _changed(rows[0], rows[1], users)
    if own is None:
        return None

    def draw(table: int, count: int) -> npt.NDArray[Any]:
        return law.encode(np.tile(np.array([own[table]], dtype=np.float64), (count, 1)))

    def release(sent: npt.NDArray[Any]) -> Any:
        return (tuple(law.decode(law.tally(sent), users).tolist()),)

    # In the local model one user's message is all that is seen of that user.
    mixed = users if isinstance(law, MixedBits) else 1
    made = release if mixed == users else None
    more: dict[str, Any] = {"is_apart": mixed == users, "kinds": tuple(range(law.reports))}
    return MixedMessages(mixed, draw, _as_they_are, made, law.reports, law.epsilon, **more)


def _of_bits(
    releaser: LocalMeans, bits: ShuffledOneBit | ShuffledPlanes, blocks: tuple[Any, Any], tables: Neighbours
) -> MixedMessages | None:
    users, places = tables.first.n, np.arange(bits.width)
    rows = [[tuple(row) for block in own for row in block.means.tolist()] for own in blocks]
    own = _changed(rows[0], rows[1], users)
    if own is None:
        return None

    def draw(table: int, count: int) -> npt.NDArray[Any]:
        means = np.tile(np.array([own[table]], dtype=np.int64), (count, 1))
        if isinstance(bits, ShuffledPlanes):
            # The weakest planes come first, so that a user's own messages that are looked at together are many.
            return np.hstack([bits.sent(means, releaser.exponents)[:, ::-1] for _ in range(bits.draws)])
        asked = np.zeros(count, dtype=np.int64)
        drawn = [bits.encode(means, releaser.exponents, asked) > 0 for _ in range(bits.draws)]
        return np.hstack([2 * places + signs for signs in drawn])

    def release(sent: npt.NDArray[Any]) -> Any:
        ones, others = ([int((sent == 2 * place + sign).sum()) for place in places] for sign in (1, 0))
        return (bits.decode(ones, [one + other for one, other in zip(ones, others, strict=True)]),)

    if isinstance(bits, ShuffledPlanes):
        each = tuple(own for own in reversed(bits.strengths) for _ in range(bits.reported)) * bits.draws
        mixed, made = (users, release) if bits.is_mixed else (1, None)
        kinds = tuple(range(len(each) // bits.draws)) * bits.draws
        more: dict[str, Any] = {"is_apart": True, "strengths": each, "kinds": kinds}
        return MixedMessages(mixed, draw, _as_they_are, made, len(each), bits.epsilon0, **more)
    per = tables.distance if bits.level == "alpha0" else 1.0
    epsilon0 = product_up(bits.unmixed * bits.bits_per_user, per) + bits.slack_epsilon
    kinds = tuple(places.tolist()) * bits.draws
    return MixedMessages(users, draw, _as_they_are, release, bits.bits_per_user, epsilon0, is_apart=True, kinds=kinds)


def _of_descent(releaser: LinearFitMessages, blocks: tuple[Any, Any], users: int) -> Bulk | None:
    records = [releaser._gathered(iter(own), users) for own in blocks]
    descent = releaser.mechanism
    if isinstance(descent, CentralDescent):
        return DescentRounds(descent, records[0], records[1])
    law = getattr(descent, "law", None)
    if not isinstance(descent, MessageDescent) or not isinstance(law, VectorRandomizer):
        return None
    setting, start = descent.setting, np.zeros(descent.setting.dimension)
    gradients = [
        user_gradients(one, start, loss=setting.loss, clip=setting.clip, exponent=setting.exponent) for one in records
    ]
    rows = [[tuple(row) for row in one.tolist()] for one in gradients]
    own = _changed(rows[0], rows[1], users)
    if own is None:
        return None
    vectors = [np.ldexp(np.array(one, dtype=np.float64), -setting.exponent) for one in own]

    def draw(table: int, count: int) -> npt.NDArray[Any]:
        return law.encode(np.tile(vectors[table], (count, 1)))

    def sides(sent: npt.NDArray[Any]) -> npt.NDArray[Any]:
        # A side of a random direction tells by where the direction points, and by nothing else.
        away = directions_of(sent.ravel() >> 1, law.dimension) @ (vectors[1] - vectors[0])
        return np.asarray((away * (1 - 2 * (sent.ravel() & 1))).reshape(sent.shape))

    def joining(releases: int) -> tuple[Integers, Integers]:
        # as the descent itself draws who is in a round; the first user is the one who changes
        groups = [np.asarray(descent._dealt()[0]) for _ in range(releases)]
        return np.array([len(one) for one in groups]), np.array([int((one == 0).any()) for one in groups])

    # The messages of round one, by those who are in it: of users who are drawn in secret, any.
    is_drawn = descent.sampled is not None or descent.participation is not None
    mixed = 1 if setting.model == "local" else users if is_drawn else descent.users_a_round
    symbols, apart = (sides, law.reports) if isinstance(law, VectorDirection) else (_as_they_are, 1)
    drawn: dict[str, Any] = {"joining": joining if is_drawn else None, "sampled": descent.sampled}
    return MixedMessages(mixed, draw, symbols, None, apart, law.epsilon, is_apart=apart > 1, **drawn)


def _of_prefixes(releaser: PrefixRelease, blocks: tuple[Any, Any]) -> MixedMessages | None:
    """Return the messages of the first level; in the local model that of one user, who is in it.

    Users for whom the audit made no records are taken to have the others': that is a table too.
    """
    search = releaser.search
    strings, first, second = _strings(blocks)
    bags = _changed([_bag(*own) for own in first], [_bag(*own) for own in second], len(first))
    if bags is None or len(first) > search.users:
        return None
    words = np.array([text.encode() for text in strings] + [b""], dtype=f"S{search.length}")
    candidates = search.extend([b""], 0)
    codes = search.codes(words, candidates)
    oracle = search.level_oracle(candidates, search.level_users)

    def draw(table: int, count: int) -> npt.NDArray[Any]:
        bag = _many(bags[table], count)
        return oracle.encode(Bags(bag.offsets, codes[bag.codes], bag.counts))

    symbols = _symbols_of(oracle, sorted({int(codes[code]) for code in _codes(bags)}))
    # Given who was dealt where, it is the users of one level whose messages are mixed.
    mixed = search.level_users if releaser.accounted else 1
    return MixedMessages(mixed, draw, symbols, epsilon0=search.epsilon)


def _strings(blocks: tuple[Any, Any]) -> tuple[tuple[str, ...], list[Any], list[Any]]:
    """Return all strings in order, and for both tables each user's strings as codes with their counts."""
    texts = sorted({text for own in blocks for block in own for text in block.texts.to_list() if text is not None})
    place = {text: number for number, text in enumerate(texts)} | {None: -1}
    found: list[list[Any]] = []
    for own in blocks:
        users = []
        for block in own:
            codes = np.array([place[text] for text in block.texts.to_list()], dtype=np.int64)
            counts = np.asarray(block.counts, dtype=np.int64)
            for start, end in zip(block.offsets[:-1].tolist(), block.offsets[1:].tolist(), strict=True):
                users.append((codes[start:end], counts[start:end]))
        found.append(users)
    return tuple(texts), found[0], found[1]


def _two_bags(blocks: tuple[Any, Any], users: int) -> tuple[Bag, Bag] | None:
    found = [
        [
            _bag(block.codes[start:end], block.counts[start:end])
            for block in own
            for start, end in zip(block.offsets[:-1].tolist(), block.offsets[1:].tolist(), strict=True)
        ]
        for own in blocks
    ]
    return _changed(found[0], found[1], users)


def _counted_bags(blocks: tuple[Integers, Integers], users: int) -> tuple[Bag, Bag] | None:
    """Return the bags of the user who changes from all users' counts, where all others' records are alike."""
    first, rest = np.divmod(blocks[0], users)
    second = first + blocks[1] - blocks[0]
    if rest.any() or np.count_nonzero(first) != 1 or (second < 0).any():
        return None
    codes = np.arange(len(first))
    return _bag(codes, first), _bag(codes, second)


def _bag(codes: Integers, counts: Integers) -> Bag:
    kept = sorted((int(code), int(count)) for code, count in zip(codes, counts, strict=True) if count)
    divisor = math.gcd(*(count for _, count in kept))
    return tuple((code, count // divisor) for code, count in kept)


def _changed(first: Sequence[One], second: Sequence[One], users: int) -> tuple[One, One] | None:
    """Return what one user has on both tables; None unless all users are there, and alike but for that one."""
    if not len(first) == len(second) == users:
        return None
    if users == 1:
        return first[0], second[0]
    ((common, often),) = Counter(first).most_common(1)
    others = [one for one in second if one != common]
    if often < users or len(others) > 1:
        return None
    return common, others[0] if others else common


def _many(bag: Bag, count: int) -> Bags:
    codes, counts = (np.array(column, dtype=np.int64) for column in zip(*bag, strict=True))
    return Bags(np.arange(count + 1, dtype=np.int64) * len(codes), np.tile(codes, count), np.tile(counts, count))


def _codes(bags: tuple[Bag, Bag]) -> list[int]:
    return sorted({code for bag in bags for code, _ in bag})


def _symbols_of(oracle: FrequencyOracle, items: Sequence[int]) -> Symbols:
    """Return what tells some items apart in a message: which of them it supports; nothing else depends on them."""
    powers = 1 << np.arange(len(items))
    if isinstance(oracle, BitsOracle):

        def bits(sent: npt.NDArray[Any]) -> npt.NDArray[Any]:
            own = np.unpackbits(sent, axis=1, count=oracle.items, bitorder="little")[:, items]
            return np.asarray(own @ powers)[:, None]

        return bits
    if not isinstance(oracle, SymbolOracle):
        return _as_they_are
    held = np.zeros((oracle.outputs, len(items)), dtype=np.int64)
    places = np.arange(int(oracle._place_limits(np.ones(1, dtype=np.bool_))[0]))
    for column, item in enumerate(items):
        held[oracle._inside_symbols(np.full(len(places), item), places), column] = 1
    supported = held @ powers
    return lambda sent: supported[sent][:, None]


def _as_they_are(sent: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return sent if sent.ndim > 1 else sent[:, None]

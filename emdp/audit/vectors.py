"""Bulk draws of the messages of users' vectors: in coordinates, turned ones, or directions, of one round or of two.

A turn is public and drawn from no data, so that what holds of a release holds given the turn: one is drawn, and all
draws are of messages about vectors that were turned by it. A bit of a coordinate is seen as its coordinate and sign; a
side of a direction by where the direction points, along what tells the two tables apart.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from emdp.audit.mixed import MixedMessages
from emdp.audit.ranges import VectorRanges
from emdp.mechanisms.scalar.one_bit import OneBitScalar
from emdp.mechanisms.user_vector.base import UserVectorMechanism, UserVectorRelease
from emdp.mechanisms.user_vector.directions import DirectionUserVector
from emdp.mechanisms.user_vector.local import LocalUserVector
from emdp.mechanisms.user_vector.rotation import draw_rotation
from emdp.mechanisms.vector.direction import directions_of
from emdp.noise.choices import draw_below

__all__ = ["vector_messages"]

Integers = npt.NDArray[np.int64]


def vector_messages(
    mechanism: UserVectorMechanism, rows: Sequence[Sequence[int]], users: int, exponents: Sequence[int]
) -> MixedMessages | VectorRanges | None:
    """Return the messages of one round or of both; None where a single round's are numbers.

    Parameters
    ----------
    rows : sequence of sequence of int
        The means of the user who changes on each table, in fixed point.
    exponents : sequence of int
        Of the fixed point.
    """
    mixed = users if mechanism.setting.model == "shuffle" else 1
    if isinstance(mechanism, DirectionUserVector):
        return _of_directions(mechanism, rows, mixed, exponents)
    if not isinstance(mechanism, LocalUserVector):
        return None
    values, exponents = _in_frame(mechanism, rows, exponents)
    if mechanism.rounds == "one round":
        return _of_coordinates(mechanism, values, mixed, exponents)
    both = VectorRanges(mechanism, mechanism.setting.users, values, exponents, mechanism.frame.width)
    return both if mixed > 1 else both.alone()


def _of_directions(
    way: DirectionUserVector, rows: Sequence[Sequence[int]], mixed: int, exponents: Sequence[int]
) -> MixedMessages:
    law, centres = way.law, np.array(way.setting.centres)
    vectors = [np.ldexp(np.array(one, dtype=np.float64), -np.array(exponents)) - centres for one in rows]
    away = vectors[1] - vectors[0]

    def draw(table: int, count: int) -> npt.NDArray[Any]:
        return law.encode(np.tile(vectors[table], (count, 1)))

    def sides(sent: npt.NDArray[Any]) -> npt.NDArray[Any]:
        along = directions_of(sent.ravel() >> 1, law.dimension) @ away
        return np.asarray((along * (1 - 2 * (sent.ravel() & 1))).reshape(sent.shape))

    def release(sent: npt.NDArray[Any]) -> UserVectorRelease:
        told = law.decode(law.tally(sent), len(sent)) + centres
        return UserVectorRelease(tuple(told.tolist()), way.frame.windows, way)

    made = release if mixed > 1 else None
    return MixedMessages(mixed, draw, sides, made, law.reports, way.epsilon0, is_apart=way.is_apart)


def _of_coordinates(
    way: LocalUserVector, rows: Sequence[Sequence[int]], mixed: int, exponents: Sequence[int]
) -> MixedMessages | None:
    if set(way._makers) != {OneBitScalar}:
        return None
    values, width = [np.array([one], dtype=np.int64) for one in rows], way.frame.width
    laws = [OneBitScalar(*window, way._shares[1]) for window in way.frame.windows]
    draw = _sampled(laws, values, exponents) if way.is_sampled else _all_of(laws, values, exponents)
    sent = 1 if way.is_sampled else width
    # all coordinates of a user are mixed apart, each of a law of its own
    kinds = tuple(range(sent))
    return MixedMessages(mixed, draw, _as_they_are, None, sent, way.epsilon0, is_apart=way.is_apart, kinds=kinds)


def _in_frame(
    way: LocalUserVector, rows: Sequence[Sequence[int]], exponents: Sequence[int]
) -> tuple[list[list[int]], Sequence[int]]:
    """Return numbers in the coordinates that messages are about, turned if these are, and their exponents."""
    values, setting = [np.array([one], dtype=np.int64) for one in rows], way.setting
    if way.frame.is_turned and setting.radius is not None:
        rotation = draw_rotation(way.frame.width, setting.centres, setting.radius)
        values = [rotation.turn(one, tuple(exponents)) for one in values]
        exponents = (rotation.exponent,) * way.frame.width
    return [one[0].tolist() for one in values], exponents


def _all_of(
    laws: Sequence[OneBitScalar], values: Sequence[Integers], exponents: Sequence[int]
) -> Callable[[int, int], Integers]:
    def draw(table: int, count: int) -> Integers:
        columns = [
            2 * place + (law.encode(np.full(count, values[table][0, place]), exponents[place]) > 0)
            for place, law in enumerate(laws)
        ]
        return np.stack(columns, axis=1)

    return draw


def _sampled(
    laws: Sequence[OneBitScalar], values: Sequence[Integers], exponents: Sequence[int]
) -> Callable[[int, int], Integers]:
    def draw(table: int, count: int) -> Integers:
        places = draw_below(np.full(count, len(laws), dtype=np.int64))
        sent = np.empty(count, dtype=np.int64)
        for place, law in enumerate(laws):
            chosen = np.flatnonzero(places == place)
            asked = np.full(len(chosen), values[table][0, place])
            sent[chosen] = 2 * place + (law.encode(asked, exponents[place]) > 0)
        return sent

    return draw


def _as_they_are(sent: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return sent if sent.ndim > 1 else sent[:, None]

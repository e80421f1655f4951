"""What both generators share: seeded streams, chunks, who writes a record and when, and which rows are dirty.

A table is made chunk by chunk, each a slice of one year with a random generator of its own, so that memory
holds one chunk and the rows depend on the seed, the sizes and the chunk length alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, check_finite, check_range

__all__ = [
    "DIRTY_MAX",
    "FIRST_DAY",
    "UTC_OFFSET",
    "WEEKS",
    "Dirt",
    "Span",
    "Weights",
    "check_sizes",
    "dirt",
    "draw_users",
    "generator",
    "lookup",
    "seconds",
    "spans",
    "week",
]

Weights = npt.NDArray[np.float64]

FIRST_DAY = np.datetime64("2025-01-06T00:00:00", "ms")
"""Local midnight at which every table begins, a Monday."""

WEEKS = 52
"""Length of every table, in weeks."""

UTC_OFFSET = -5
"""Hours from UTC to local time (New York's standard time, kept all year)."""

DIRTY_MAX = 0.4
"""Largest share of dirty rows: each needs a clean row before it, of which an exact duplicate is made."""

CHUNK_MIN = 1000
"""Fewest rows in a chunk, so that per-chunk rounding of the dirty share stays below the rows there are."""

USERS_MAX = 2**31 - 2
"""Largest number of users: their ids are 32-bit integers from 1."""

WEEK_SECONDS = 7 * 86_400


@dataclass(frozen=True)
class Span:
    """One chunk, number ``index``: rows ``start`` to ``stop`` (excluded) of a table of ``records`` rows."""

    index: int
    start: int
    stop: int
    records: int

    @property
    def rows(self) -> int:
        """Number of rows in the chunk."""
        return self.stop - self.start


@dataclass(frozen=True)
class Dirt:
    """The dirty rows of one chunk: positions (odd, so that the row before is clean) and kinds, by number."""

    positions: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.int64]

    def of(self, kind: int) -> npt.NDArray[np.int64]:
        """Return the positions of one kind."""
        chosen: npt.NDArray[np.int64] = self.positions[self.kinds == kind]
        return chosen


def check_sizes(users: int, records: int, seed: int, dirty: float, chunk: int) -> None:
    """Raise ``UsageError`` naming the first of a generator's common arguments that is out of its range.

    >>> check_sizes(10, 100, 0, 0.0, 1000)
    """
    check_count("users", users)
    check_range("users", users, 1, USERS_MAX)
    check_count("records", records)
    check_count("seed", seed, minimum=0)
    check_finite("dirty", dirty)
    check_range("dirty", dirty, 0.0, DIRTY_MAX)
    check_count("chunk", chunk, minimum=CHUNK_MIN)


def generator(seed: int, *key: int) -> np.random.Generator:
    """Return the random generator of one part of a table: ``key`` names the part, say its chunk.

    >>> generator(0, 1, 2).random() == generator(0, 1, 2).random()
    True
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def spans(records: int, chunk: int) -> list[Span]:
    """Cut ``records`` rows into chunks of nearly equal length, none above ``chunk``.

    >>> [span.rows for span in spans(10, 4)]
    [3, 3, 4]
    """
    parts = -(-records // chunk)
    edges = [records * part // parts for part in range(parts + 1)]
    return [Span(part, edges[part], edges[part + 1], records) for part in range(parts)]


def week(weekday: Sequence[float], weekend: Sequence[float]) -> Weights:
    """Return how busy each hour of a week is, from the 24 hours of a weekday and of a weekend day.

    >>> week([1.0] * 24, [2.0] * 24).shape
    (168,)
    """
    return np.concatenate([np.tile(weekday, 5), np.tile(weekend, 2)])


def seconds(rng: np.random.Generator, span: Span, hours: Weights) -> npt.NDArray[np.int64]:
    """Draw the times of a chunk's rows, in whole local seconds since :data:`FIRST_DAY`, ascending.

    Row ``i`` falls into the ``i``-th of ``records`` equally likely slices of the year, so that chunks follow
    one another.

    >>> seconds(generator(0), Span(0, 0, 4, 4), week([1.0] * 24, [1.0] * 24)) // (WEEKS * WEEK_SECONDS // 4)
    array([0, 1, 2, 3])
    """
    edges = np.concatenate([[0.0], np.cumsum(np.tile(hours, WEEKS))])
    quantiles = (np.arange(span.start, span.stop) + rng.random(span.rows)) / span.records
    year = WEEKS * WEEK_SECONDS
    exact = np.interp(quantiles * edges[-1], edges, np.linspace(0.0, year, len(edges)))
    whole: npt.NDArray[np.int64] = np.minimum(exact.astype(np.int64), year - 1)
    return whole


def draw_users(rng: np.random.Generator, span: Span, weights: Weights) -> npt.NDArray[np.int32]:
    """Draw the position of the user of each row of a chunk, independently and in proportion to ``weights``.

    >>> draw_users(generator(0), Span(0, 0, 4, 4), np.array([0.0, 1.0])).tolist()
    [1, 1, 1, 1]
    """
    counts = rng.multinomial(span.rows, weights / weights.sum())
    users = np.repeat(np.arange(len(weights), dtype=np.int32), counts)
    rng.shuffle(users)
    return users


def lookup(weights: Weights, size: int = 1 << 16) -> npt.NDArray[np.int32]:
    """Return a table in which position ``i`` fills a share of the entries close to ``weights[i]``'s share.

    A uniform entry of the table is then a draw by weight, at the cost of one integer.

    >>> lookup(np.array([1.0, 3.0]), 4).tolist()
    [0, 1, 1, 1]
    """
    edges = np.cumsum(weights)
    marks = (np.arange(size) + 0.5) / size * edges[-1]
    table: npt.NDArray[np.int32] = np.searchsorted(edges, marks, side="right").astype(np.int32)
    return table


def dirt(rng: np.random.Generator, span: Span, share: float, kinds: int) -> Dirt:
    """Choose the dirty rows of a chunk: in a table exactly ``floor(share * records)``, the kinds in turn.

    >>> dirt(generator(0), Span(0, 0, 10, 10), 0.2, 2).kinds.tolist()
    [0, 1]
    """
    first, last = math.floor(share * span.start), math.floor(share * span.stop)
    halves = rng.choice(span.rows // 2, size=last - first, replace=False)
    return Dirt(2 * halves.astype(np.int64) + 1, np.arange(first, last, dtype=np.int64) % kinds)

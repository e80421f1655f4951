"""Ratings of items by people: tastes for genres, popular and good items, generous and severe people, dirty rows."""

import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from emdp.base.checks import check_count

from .streams import (
    FIRST_DAY,
    UTC_OFFSET,
    Dirt,
    Span,
    Weights,
    check_sizes,
    dirt,
    draw_users,
    generator,
    lookup,
    seconds,
    spans,
    week,
)
from .writing import Progress, Written, check_out, size_of, table_writer

__all__ = ["CHUNK", "DIRTY_KINDS", "GENRES", "SCHEMA", "rating_users", "silent_raters", "write_ratings"]

CHUNK = 500_000
"""Rows made at a time, and rows of a Parquet row group."""

SCHEMA = pa.schema(
    [
        ("user_id", pa.int32()),
        ("item", pa.int32()),
        ("genre", pa.string()),
        ("stars", pa.int8()),
        ("ts", pa.timestamp("ms", "UTC")),
    ]
)
"""Columns; ``stars`` is 1 to 5."""

DIRTY_KINDS = ("null", "zero", "ten", "no genre", "duplicate")
"""The dirty rows, in turn: stars NULL, 0, 10 (another scale), genre NULL; a copy of the row before."""

_KINDS: tuple[tuple[str, float, float], ...] = (
    ("Action", 15.0, -0.15),
    ("Animation", 6.0, 0.15),
    ("Comedy", 20.0, -0.10),
    ("Crime", 8.0, 0.15),
    ("Documentary", 4.0, 0.40),
    ("Drama", 24.0, 0.20),
    ("Horror", 7.0, -0.40),
    ("Romance", 8.0, 0.00),
    ("Science Fiction", 8.0, 0.00),
)
"""Genre of an item, its share of the items, and how much better than others it is rated, in stars."""

GENRES = tuple(name for name, _, _ in _KINDS)
"""All genres."""

DEFAULT_ITEMS = 5000
"""Items that are rated."""

SILENT_ONE_IN = 50
"""One listed user in so many has no record at all."""

ACTIVITY_SPREAD = 1.3
"""Standard deviation of the logarithm of a user's expected number of ratings (99 % point / median = 21)."""

POPULARITY_SHIFT = 12.0
"""The item of rank r = 0, 1, ... is rated in proportion to ``1 / (r + POPULARITY_SHIFT)``."""

MEAN_STARS = 3.5
"""What an average user gives an average item."""

USER_SPREAD = 0.45
ITEM_SPREAD = 0.5
TASTE_SPREAD = 0.35
NOISE_SPREAD = 0.8
"""Standard deviations, in stars, of users' generosity, items' quality, a user's taste for a genre, and the rest."""

POPULAR_IS_GOOD = 0.35
"""Stars by which the most popular item is better than the least popular one."""

CANDIDATES = 3
"""Items among which a user chooses the one of the genre that they like most."""

_HOURS = week(
    weekday=(
        3,
        2,
        1.2,
        0.8,
        0.6,
        0.6,
        0.8,
        1.2,
        1.8,
        2.2,
        2.6,
        3,
        3.4,
        3.4,
        3.2,
        3.2,
        3.6,
        4.2,
        5,
        6.5,
        8,
        8.5,
        7.5,
        5,
    ),
    weekend=(5, 3.5, 2.2, 1.4, 1, 0.8, 0.9, 1.4, 2.4, 3.6, 4.4, 5, 5.4, 5.6, 5.8, 6, 6, 6, 6.2, 7, 8, 8, 7, 5.5),
)
"""How busy each hour of the week is."""


@dataclass(frozen=True)
class _World:
    """Items and users: genre and quality of each item, items by popularity; activity, bias and tastes of each user."""

    genre: npt.NDArray[np.int8]
    quality: Weights
    popular: npt.NDArray[np.int32]
    activity: Weights
    bias: Weights
    taste: npt.NDArray[np.float32]


def rating_users(users: int) -> npt.NDArray[np.int32]:
    """Return the public list of user ids of a table made for so many users, silent ones included.

    >>> rating_users(3).tolist()
    [1, 2, 3]
    """
    return np.arange(1, users + 1, dtype=np.int32)


def silent_raters(users: int, *, seed: int = 0) -> npt.NDArray[np.int32]:
    """Return the ids of the users who have no record whatever the table's length, ascending.

    >>> len(silent_raters(100))
    2
    """
    return rating_users(users)[_silent(seed, users)]


def write_ratings(
    out: str | os.PathLike[str],
    *,
    users: int,
    records: int,
    seed: int = 0,
    dirty: float = 0.002,
    items: int = DEFAULT_ITEMS,
    chunk: int = CHUNK,
    progress: Progress | None = None,
) -> Written:
    """Write a table of ratings, holding one chunk of it in memory at a time.

    Parameters
    ----------
    out : path
        A ``.parquet`` or ``.csv`` file, or (no suffix) a folder of ``part-0000.parquet`` and so on. What
        stands there is replaced, at the end and at once.
    users : int
        Size of the public list of users, with ids 1 to ``users``; one in 50 has no record.
    records : int
        Ratings, exactly.
    seed : int
        The same seed, sizes, ``dirty``, ``items`` and ``chunk`` give the same rows, on any
        machine with the same numpy.
    dirty : float
        Share of rows that are wrong (:data:`DIRTY_KINDS`), in [0, 0.4]: ``floor(dirty * records)`` rows.
    items : int
        How many items there are, at least 10.
    chunk : int
        Rows made at a time and rows of a Parquet row group, at least 1000.
    progress : callable, optional
        Called with the number of rows written so far, after each chunk.

    Returns
    -------
    Written
        Rows, users and bytes.

    Raises
    ------
    UsageError
        If a number is out of its range or ``out`` cannot be such a path.
    """
    check_sizes(users, records, seed, dirty, chunk)
    check_count("items", items, minimum=10)
    path = check_out("out", out)
    world = _build(seed, users, items)
    with table_writer(path, SCHEMA, dictionary=("genre", "item")) as append:
        for span in spans(records, chunk):
            append(_chunk(seed, span, world, dirty))
            if progress is not None:
                progress(span.stop)
    return Written(records, users, size_of(path))


def _silent(seed: int, users: int) -> npt.NDArray[np.int64]:
    return np.sort(generator(seed, 1).choice(users, size=users // SILENT_ONE_IN, replace=False))


def _build(seed: int, users: int, items: int) -> _World:
    rng = generator(seed, 0)
    shares = np.array([share for _, share, _ in _KINDS])
    genre = rng.choice(len(_KINDS), size=items, p=shares / shares.sum()).astype(np.int8)
    # Items are numbered by popularity.
    better = POPULAR_IS_GOOD * np.linspace(0.5, -0.5, items)
    quality = better + np.array([offset for _, _, offset in _KINDS])[genre] + ITEM_SPREAD * rng.standard_normal(items)
    rng = generator(seed, 2)
    activity = np.exp(ACTIVITY_SPREAD * rng.standard_normal(users))
    activity[_silent(seed, users)] = 0.0
    return _World(
        genre=genre,
        quality=quality,
        popular=lookup(1 / (np.arange(items) + POPULARITY_SHIFT), max(1 << 16, 16 * items)),
        activity=activity,
        bias=USER_SPREAD * rng.standard_normal(users),
        taste=rng.standard_normal((users, len(GENRES)), dtype=np.float32),
    )


def _chunk(seed: int, span: Span, world: _World, dirty: float) -> pa.Table:
    rng = generator(seed, 3, span.index)
    moment = seconds(rng, span, _HOURS)
    user = draw_users(rng, span, world.activity)
    drawn = world.popular[rng.integers(len(world.popular), size=(span.rows, CANDIDATES))]
    liking = world.taste[user[:, None], world.genre[drawn]] + rng.standard_normal(drawn.shape, dtype=np.float32)
    item = drawn[np.arange(span.rows), liking.argmax(axis=1)]
    felt = MEAN_STARS + world.bias[user] + world.quality[item] + TASTE_SPREAD * world.taste[user, world.genre[item]]
    stars = np.clip(np.rint(felt + NOISE_SPREAD * rng.standard_normal(span.rows)), 1, 5).astype(np.int8)
    return _table(world, user, moment, item, stars, dirt(rng, span, dirty, len(DIRTY_KINDS)))


def _table(
    world: _World,
    user: npt.NDArray[np.int32],
    moment: npt.NDArray[np.int64],
    item: npt.NDArray[np.int32],
    stars: npt.NDArray[np.int8],
    wrong: Dirt,
) -> pa.Table:
    rows = {kind: wrong.of(number) for number, kind in enumerate(DIRTY_KINDS)}
    stars[rows["zero"]] = 0
    stars[rows["ten"]] = 10
    copies = rows["duplicate"]
    for column in (user, moment, item, stars):
        column[copies] = column[copies - 1]
    no_stars, no_genre = np.zeros(len(stars), bool), np.zeros(len(stars), bool)
    no_stars[rows["null"]] = True
    no_genre[rows["no genre"]] = True
    utc = FIRST_DAY.astype(np.int64) + 1000 * (moment - 3600 * UTC_OFFSET)
    return pa.Table.from_arrays(
        [
            pa.array(user + np.int32(1)),
            pa.array(item + np.int32(1)),
            pa.array(GENRES, pa.string()).take(pa.array(world.genre[item], mask=no_genre)),
            pa.array(stars, mask=no_stars),
            pa.array(utc).cast(SCHEMA.field("ts").type),
        ],
        schema=SCHEMA,
    )

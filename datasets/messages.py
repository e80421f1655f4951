"""Messages of people in a chat, and vectors of their words.

People have topics, some flood, counts are long-tailed, a tenth of the words have no vector, some rows dirty.
"""

import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .streams import (
    FIRST_DAY,
    UTC_OFFSET,
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
from .vocabulary import DIMENSION, FORMS, TOPICS, Vocabulary, build_vocabulary, nicks, word_vectors
from .writing import Progress, Written, check_out, size_of, table_writer

__all__ = [
    "CHUNK",
    "DIRTY_KINDS",
    "SCHEMA",
    "VECTORS_SCHEMA",
    "message_users",
    "silent_nicks",
    "write_messages",
]

CHUNK = 200_000
"""Messages made at a time, and rows of a Parquet row group."""

SCHEMA = pa.schema([("user_id", pa.string()), ("ts", pa.timestamp("ms", "UTC")), ("text", pa.string())])
"""Columns of the messages."""

VECTORS_SCHEMA = pa.schema([("word", pa.string()), ("vector", pa.list_(pa.float32(), DIMENSION))])
"""Columns of the vectors."""

DIRTY_KINDS = ("null", "empty", "no word", "duplicate")
"""What is wrong with the dirty rows, in turn: text NULL, empty, of marks alone; a copy of the row before."""

SILENT_ONE_IN = 50
"""One listed user in so many has no record at all."""

ACTIVITY_SPREAD = 1.5
"""Standard deviation of the logarithm of a user's expected number of messages (99 % point / median = 33)."""

FLOODERS_ONE_IN = 500
FLOOD_SHARE = 0.08
FLOOD_REPEATS = 0.6
"""One user in so many floods (from 20 users on); their share of all messages; how often they repeat."""

USER_TOPICS = 3
TOPIC_EDGES = np.array([0.6, 0.85])
"""Topics of a user, and the cumulated shares of the first two."""

RARE_SHARE = 0.10
COMMON_SHARE = 0.42
"""Shares of the words without a vector and of those without a topic, among all words written."""

WORDS_SHAPE = 1.5
WORDS_MEAN = 9.0
WORDS_MAX = 60
"""Words of a message: one and a negative binomial number of this shape, with this mean in all; the most."""

_HOURS = week(
    weekday=(3, 2.5, 2, 1.8, 1.8, 2, 2.5, 3, 4, 5, 5.5, 5.5, 5, 5.5, 6, 6, 5.5, 5.5, 5.5, 6, 6.5, 6, 5, 4),
    weekend=(4, 3, 2.5, 2, 1.8, 1.8, 2, 2.3, 3, 3.8, 4.5, 5, 5, 5, 5, 5, 5, 4.8, 4.8, 5, 5.2, 5.2, 4.8, 4.2),
)
"""How busy each hour of the week is."""

_NO_FLOOD = -1


@dataclass(frozen=True)
class _Chatters:
    """All users, one entry each: name, how active, topics, the number of the line they repeat (or -1)."""

    nicks: pa.Array
    activity: Weights
    topics: npt.NDArray[np.int8]
    flood: npt.NDArray[np.int32]
    lines: pa.Array


def message_users(users: int) -> list[str]:
    """Return the public list of user ids of a table made for so many users, silent ones included.

    >>> message_users(2)
    ['baba', 'bebe2']
    """
    return nicks(users)


def silent_nicks(users: int, *, seed: int = 0) -> list[str]:
    """Return the ids of the users who have no message whatever the table's length.

    >>> len(silent_nicks(100))
    2
    """
    names = nicks(users)
    return [names[number] for number in _silent(seed, users)]


def write_messages(
    out: str | os.PathLike[str],
    vectors_out: str | os.PathLike[str],
    *,
    users: int,
    records: int,
    seed: int = 0,
    dirty: float = 0.004,
    chunk: int = CHUNK,
    progress: Progress | None = None,
) -> Written:
    """Write a table of messages and one of word vectors, holding one chunk in memory at a time.

    Parameters
    ----------
    out : path
        The messages: a ``.parquet`` or ``.csv`` file, or (no suffix) a folder of ``part-0000.parquet`` and so
        on. What stands there is replaced, at the end and at once.
    vectors_out : path
        The vectors, a ``.parquet`` file: 2,000 words in lower case with 25 numbers each. About a tenth of the
        words written are not among them.
    users : int
        Size of the public list of users (:func:`message_users`); one in 50 has no message.
    records : int
        Messages, exactly.
    seed : int
        The same seed, sizes, ``dirty`` and ``chunk`` give the same rows, on any
        machine with the same numpy.
    dirty : float
        Share of rows that are wrong (:data:`DIRTY_KINDS`), in [0, 0.4]: ``floor(dirty * records)`` rows.
    chunk : int
        Messages made at a time and rows of a Parquet row group, at least 1000.
    progress : callable, optional
        Called with the number of messages written so far, after each chunk.

    Returns
    -------
    Written
        Messages, users, and bytes of both tables.

    Raises
    ------
    UsageError
        If a number is out of its range or a path cannot be such a path.
    """
    check_sizes(users, records, seed, dirty, chunk)
    path = check_out("out", out)
    vectors_path = check_out("vectors_out", vectors_out, folder=False, csv=False)
    vocabulary = build_vocabulary(seed)
    forms = pa.array(vocabulary.forms, pa.string())
    chatters = _chatters(seed, users, vocabulary, forms)
    with table_writer(path, SCHEMA, dictionary=("user_id",)) as append:
        for span in spans(records, chunk):
            append(_chunk(seed, span, chatters, vocabulary, forms, dirty))
            if progress is not None:
                progress(span.stop)
        # Inside the block: where the vectors fail, the messages do not appear either.
        _write_vectors(vectors_path, seed, vocabulary)
    return Written(records, users, size_of(path) + size_of(vectors_path))


def _silent(seed: int, users: int) -> npt.NDArray[np.int64]:
    return np.sort(generator(seed, 1).choice(users, size=users // SILENT_ONE_IN, replace=False))


def _chatters(seed: int, users: int, vocabulary: Vocabulary, forms: pa.Array) -> _Chatters:
    rng = generator(seed, 2)
    activity = np.exp(ACTIVITY_SPREAD * rng.standard_normal(users))
    silent = _silent(seed, users)
    activity[silent] = 0.0
    favoured = lookup(np.power(np.arange(3.0, 3.0 + TOPICS), -1.0), 1 << 10)
    topics = favoured[rng.integers(len(favoured), size=(users, USER_TOPICS))].astype(np.int8)
    flood = np.full(users, _NO_FLOOD, np.int32)
    count = max(1, users // FLOODERS_ONE_IN) if users >= 20 else 0
    flooders = rng.choice(np.setdiff1d(np.arange(users), silent), size=count, replace=False)
    flood[flooders] = np.arange(count)
    activity[flooders] = 0.0
    activity[flooders] = activity.sum() * FLOOD_SHARE / (1 - FLOOD_SHARE) / max(count, 1)
    lines = _texts(rng, topics[flooders, 0], vocabulary, forms)
    return _Chatters(pa.array(nicks(users), pa.string()), activity, topics, flood, lines)


def _chunk(
    seed: int, span: Span, chatters: _Chatters, vocabulary: Vocabulary, forms: pa.Array, dirty: float
) -> pa.Table:
    rng = generator(seed, 3, span.index)
    moment = seconds(rng, span, _HOURS)
    user = draw_users(rng, span, chatters.activity)
    rank = np.searchsorted(TOPIC_EDGES, rng.random(span.rows), side="right")
    texts = _texts(rng, chatters.topics[user, rank], vocabulary, forms)

    repeats = (chatters.flood[user] != _NO_FLOOD) & (rng.random(span.rows) < FLOOD_REPEATS)
    texts = pc.replace_with_mask(texts, repeats, chatters.lines.take(pa.array(chatters.flood[user[repeats]])))

    wrong = dirt(rng, span, dirty, len(DIRTY_KINDS))
    for kind, text in enumerate((None, "", "...")):
        mask = np.zeros(span.rows, bool)
        mask[wrong.of(kind)] = True
        texts = pc.if_else(mask, pa.scalar(text, pa.string()), texts)
    utc = FIRST_DAY.astype(np.int64) + 1000 * (moment - 3600 * UTC_OFFSET)
    columns = [chatters.nicks.take(pa.array(user)), pa.array(utc).cast(SCHEMA.field("ts").type), texts]
    source = np.arange(span.rows)
    source[wrong.of(DIRTY_KINDS.index("duplicate"))] -= 1
    return pa.Table.from_arrays(columns, schema=SCHEMA).take(pa.array(source))


def _texts(rng: np.random.Generator, topic: npt.NDArray[np.int8], vocabulary: Vocabulary, forms: pa.Array) -> pa.Array:
    """Return a message for each topic."""
    chance = WORDS_SHAPE / (WORDS_SHAPE + WORDS_MEAN - 1)
    lengths = np.minimum(1 + rng.negative_binomial(WORDS_SHAPE, chance, size=len(topic)), WORDS_MAX)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    total = int(offsets[-1])
    of_word = np.repeat(topic, lengths)
    entry = rng.integers(vocabulary.topics.shape[1], size=total)
    group = rng.random(total)
    word = vocabulary.topics[of_word, entry]
    word = np.where(group < RARE_SHARE + COMMON_SHARE, vocabulary.common[entry], word)
    word = np.where(group < RARE_SHARE, vocabulary.rare[entry], word)
    spelled = word.astype(np.int64) * len(FORMS) + _forms(rng, offsets)
    strings = forms.take(pa.array(spelled))
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), strings), " ")


def _forms(rng: np.random.Generator, offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return each word's form: capitals at some beginnings, marks at most ends, a few commas and shouts."""
    first, last = offsets[:-1], offsets[1:] - 1
    form = np.zeros(int(offsets[-1]), np.int64)
    middle = rng.random(len(form))
    form[middle < 0.05] = FORMS.index("{0},")
    form[middle > 0.995] = FORMS.index("{2}")
    end = np.array([FORMS.index(shape) for shape in ("{0}", "{0}", "{0}.", "{0}.", "{0}?", "{0}!")])
    form[last] = end[rng.integers(len(end), size=len(last))]
    opens = (rng.random(len(first)) < 0.4) & (first != last)
    form[first[opens]] = FORMS.index("{1}")
    return form


def _write_vectors(path: os.PathLike[str], seed: int, vocabulary: Vocabulary) -> None:
    flat = pa.array(word_vectors(seed, vocabulary).ravel())
    words = pa.array(vocabulary.words[: vocabulary.known], pa.string())
    table = pa.Table.from_arrays([words, pa.FixedSizeListArray.from_arrays(flat, DIMENSION)], schema=VECTORS_SCHEMA)
    with table_writer(check_out("vectors_out", path), VECTORS_SCHEMA, dictionary=()) as append:
        append(table)

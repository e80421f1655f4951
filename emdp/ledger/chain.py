"""The hash chain: what is hashed, how one link follows another, and the check that it does.

Independent of where the entries are stored, so that a ledger can be copied from one store to another with its
hashes intact.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from emdp.base.errors import LedgerError, UsageError
from emdp.ledger.base import Entry

__all__ = [
    "FIRST_PREVIOUS_HASH",
    "REMEDY",
    "Link",
    "canonical_json",
    "check_alone",
    "check_links",
    "check_texts",
    "checked_text",
    "content_digest",
    "entry_of",
    "is_hash",
    "link_of",
    "next_link",
    "next_links",
]

FIRST_PREVIOUS_HASH = "0" * 64
"""Hash before the first entry."""

REMEDY = "put back the last good copy, and compare its head hash with one kept elsewhere."
"""Last words of the message about a damaged ledger."""

_quoted = json.encoder.encode_basestring_ascii
"""What an encoder of JSON calls for a text."""

_DOMAIN = "emdp ledger 1"
"""Leads what is hashed, so that no other use of SHA-256 can give the hash of an entry."""


class Link(NamedTuple):
    """One entry as it is stored and hashed: the payload is canonical JSON text."""

    sequence: int
    time: str
    kind: str
    table: str
    payload: str
    previous_hash: str
    hash: str


def canonical_json(value: object) -> str:
    """Return the one JSON text of ``value``: sorted keys, no spaces, ASCII only, shortest decimals.

    Parameters
    ----------
    value : object
        Strings, finite numbers, booleans, None, lists, tuples (stored as lists) and dicts with string keys.

    Raises
    ------
    UsageError
        If it holds anything else.

    >>> canonical_json({"b": [1, 0.1], "a": None})
    '{"a":null,"b":[1,0.1]}'
    """
    try:
        _check_keys(value)
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"payload must hold JSON values only ({error}); pass finite numbers, text, lists, dicts."
        ) from error


def next_link(last: Link | None, time: str, kind: str, table: str, payload: str) -> Link:
    """Return the link that follows ``last``, or the first one.

    >>> first = next_link(None, "2026-11-20T09:00:00.000000+00:00", "created", "", "{}")
    >>> first.sequence, first.previous_hash == FIRST_PREVIOUS_HASH, len(first.hash)
    (1, True, 64)
    """
    sequence, previous = _next(last)
    return Link(sequence, time, kind, table, payload, previous, _hash(sequence, time, kind, table, payload, previous))


def next_links(last: Link, clock: Callable[[], str], table: str, events: Iterable[tuple[str, str]]) -> list[Link]:
    """Return the links of events of a table, each with its kind and payload, that follow ``last`` one after the other.

    >>> time = "2026-11-20T09:00:00.000000+00:00"
    >>> first = next_link(None, time, "created", "", "{}")
    >>> events = [("validated", "{}"), ("charge", "{}")]
    >>> [(link.sequence, link.kind) for link in next_links(first, lambda: time, "t", events)]
    [(2, 'validated'), (3, 'charge')]
    """
    links = []
    for kind, payload in events:
        last = next_link(last, clock(), kind, table, payload)
        links.append(last)
    return links


def check_links(last: Link | None, records: Iterable[tuple[Any, ...]]) -> list[Link]:
    """Return the records that follow ``last`` as links, or raise at the first that does not.

    Parameters
    ----------
    last : Link or None
        The last link known to be good; None to start at the first.
    records : iterable of tuples
        What the store holds after ``last``, in order of sequence: the seven fields of a :class:`Link`.

    Raises
    ------
    LedgerError
        If a record has another type, a gap before it, or a hash that its content does not give.

    >>> first = next_link(None, "2026-11-20T09:00:00.000000+00:00", "created", "", "{}")
    >>> check_links(None, [tuple(first)]) == [first]
    True
    """
    links = []
    for record in records:
        link = _typed(record, 0 if last is None else last.sequence)
        if (link.sequence, link.previous_hash) != _next(last) or link.hash != _hash(*link[:-1]):
            raise LedgerError(
                f"the chain breaks after entry {0 if last is None else last.sequence}: "
                f"an entry was changed, left out or put in; {REMEDY}"
            )
        links.append(link)
        last = link
    return links


def check_alone(record: tuple[Any, ...]) -> Link:
    """Return a record as a link whose hash its content gives, whatever stands before it, or raise ``LedgerError``.

    >>> first = next_link(None, "2026-11-20T09:00:00.000000+00:00", "created", "", "{}")
    >>> check_alone(tuple(first)) == first
    True
    """
    link = _typed(record, 0)
    if link.hash != _hash(*link[:-1]):
        raise LedgerError(f"ledger entry {link.sequence} was changed; {REMEDY}")
    return link


def entry_of(link: Link) -> Entry:
    """Return a checked link as an entry.

    Raises
    ------
    LedgerError
        If the payload is not a JSON object or the kind is unknown.

    >>> entry_of(next_link(None, "2026-11-20T09:00:00.000000+00:00", "created", "", '{"test":false}')).payload
    {'test': False}
    """
    try:
        is_object = _is_object(link.payload)
    except (ValueError, RecursionError) as error:
        raise LedgerError(f"ledger entry {link.sequence} holds no JSON; {REMEDY}") from error
    if not is_object:
        raise LedgerError(f"ledger entry {link.sequence} holds no JSON object; {REMEDY}")
    return Entry(*link)


def link_of(entry: Entry) -> Link:
    """Return the link that an entry was made of.

    >>> first = next_link(None, "2026-11-20T09:00:00.000000+00:00", "created", "", '{"test":false}')
    >>> link_of(entry_of(first)) == first
    True
    """
    return Link(entry.sequence, entry.time, entry.kind, entry.table, entry.text, entry.previous_hash, entry.hash)


def content_digest(text: str) -> str:
    """Return the digest under which a text is kept beside the chain.

    >>> content_digest("")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def checked_text(shown: str, digest: object, text: object) -> str:
    """Return a text that is kept beside the chain of a ledger, or raise ``LedgerError`` if its digest is another.

    >>> checked_text("city.ledger", content_digest("noise"), "noise")
    'noise'
    """
    if not isinstance(text, str) or content_digest(text) != digest:
        raise LedgerError(f"ledger {shown} keeps a text that is not the one its entry names; {REMEDY}")
    return text


def check_texts(shown: str, named: Collection[object], texts: Iterable[tuple[Any, ...]]) -> tuple[tuple[str, str], ...]:
    """Return the texts that are kept beside the chain of a ledger, with their digests, in order.

    Raises
    ------
    LedgerError
        If the digest of one is another, or none of those that entries name.

    >>> check_texts("city.ledger", (), [])
    ()
    """
    found = []
    for digest, text in texts:
        found.append((digest, checked_text(shown, digest, text)))
        if digest not in named:
            raise LedgerError(f"ledger {shown} keeps a text that no entry names; {REMEDY}")
    # Stores give rows in orders of their own.
    return tuple(sorted(found))


def is_hash(text: str) -> bool:
    """Say whether ``text`` is a SHA-256 in lower-case hexadecimal.

    >>> is_hash("0" * 64), is_hash("0" * 63)
    (True, False)
    """
    return len(text) == 64 and set(text) <= set("0123456789abcdef")


def _typed(record: tuple[Any, ...], last: int) -> Link:
    if tuple(map(type, record)) != (int, str, str, str, str, str, str):
        raise LedgerError(f"ledger entry after {last} is damaged; {REMEDY}")
    return Link(*record)


def _next(last: Link | None) -> tuple[int, str]:
    """Return sequence and previous hash of the link that follows."""
    return (1, FIRST_PREVIOUS_HASH) if last is None else (last.sequence + 1, last.hash)


@lru_cache(maxsize=1024)
def _is_object(payload: str) -> bool:
    return isinstance(json.loads(payload), dict)


def _check_keys(value: object) -> None:
    # json.dumps turns other keys into text without a word, so that two keys could become one.
    if isinstance(value, dict):
        if any(not isinstance(key, str) for key in value):
            raise TypeError("a key is not a string")
        for item in value.values():
            _check_keys(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_keys(item)


def _hash(sequence: int, time: str, kind: str, table: str, payload: str, previous: str) -> str:
    # An array of JSON values, the payload as one string: no two contents share a text. Of texts and a whole number it
    # is written here as json.dumps writes it, which makes an encoder for each link of a long chain.
    texts = [_quoted(_DOMAIN), str(sequence), *map(_quoted, (time, kind, table, payload, previous))]
    return hashlib.sha256(f"[{','.join(texts)}]".encode("ascii")).hexdigest()

"""The start of a ledger: its first link, and its reading from the newest entry that states totals.

**What is read and checked.** Every entry from the totals on, link by link; before them every entry of the kinds
:data:`~emdp.ledger.entries.READ`, whose hashes, in order, have the digest that the totals state; and how many entries
there are. So what a table is held to, and whatever was written since, stand under the hash of the last entry as they
do after a walk.

**What is believed.** That the totals are the sums of the entries before them, and that the charges, answers and rows
there are as they were written: each is in the chain, which nobody walks here. A charge that was changed or taken out
still counts, since the totals have it. Whoever can write a ledger file can forge totals, as they could always forge
the whole chain: both show in ``emdp ledger verify``, which adds everything up, beside a head hash kept elsewhere. On
a server only an owner of the ledger can write them.
"""

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from emdp.base.errors import LedgerError
from emdp.ledger.base import Entry
from emdp.ledger.chain import Link, canonical_json, check_alone, entry_of, next_link
from emdp.ledger.entries import EntryIndex

__all__ = ["MovedOnError", "condition", "first_link", "kept_digest", "now", "start_at"]


class MovedOnError(Exception):
    """Somebody else has appended since totals were made; raised inside a transaction, so that nothing is written."""


def now() -> str:
    """Return the time as an entry holds it.

    >>> len(now())
    32
    """
    return datetime.now(UTC).isoformat(timespec="microseconds")


def first_link(*, test: bool) -> Link:
    """Return the first link of a new ledger, with a name of its own.

    >>> first_link(test=False).sequence
    1
    """
    # The id is a name, not a draw. From the operating system even under the test switch: its seeded stream
    # must not depend on whether a ledger existed.
    payload = canonical_json({"ledger_id": uuid.uuid4().hex, "test": test})
    return next_link(None, now(), "created", "", payload)


def kept_digest(entries: Iterable[Entry]) -> str:
    """Return a digest of entries, in the order of their sequence, by their hashes.

    >>> kept_digest([])[:8]
    'e3b0c442'
    """
    ordered = sorted(entries, key=lambda entry: entry.sequence)
    return hashlib.sha256("".join(entry.hash for entry in ordered).encode("ascii")).hexdigest()


def condition(
    mark: str,
    place_of: str,
    kinds: Sequence[str],
    *,
    newest: bool = False,
    table: str | None = None,
    words: str | None = None,
    sequence: int | None = None,
) -> tuple[str, list[object]]:
    """Return the end of a statement that selects entries, and its values.

    Parameters
    ----------
    mark, place_of : str
        What stands for a value, and the store's function that finds a text in another one.
    newest : bool
        Whether the newest one alone is wanted.
    table, words, sequence : optional
        The table's name, a part of the payload's text, the sequence.

    >>> condition("?", "instr", ["totals"], newest=True)
    ('WHERE kind IN (?) ORDER BY sequence DESC LIMIT 1', ['totals'])
    """
    values: list[object] = [*kinds]
    terms = [f"kind IN ({', '.join([mark] * len(kinds))})"]
    for term, value in (
        (f'"table" = {mark}', table),
        (f"{place_of}(payload, {mark}) > 0", words),
        (f"sequence = {mark}", sequence),
    ):
        if value is not None:
            terms.append(term)
            values.append(value)
    return f"WHERE {' AND '.join(terms)} ORDER BY sequence{' DESC LIMIT 1' if newest else ''}", values


def start_at(record: tuple[Any, ...], early: Iterable[tuple[Any, ...]]) -> EntryIndex | None:
    """Return the index that begins at an entry that states totals; None if it, or what it states, does not hold.

    Parameters
    ----------
    early : iterable of tuples
        All entries of the kinds ``READ``, in order.
    """
    try:
        totals = entry_of(check_alone(record))
        before = [entry_of(check_alone(own)) for own in early if own[0] < totals.sequence]
    except (LedgerError, TypeError):
        return None
    stated = totals.payload
    is_whole = stated.get("carried") == totals.sequence - 1 and isinstance(stated.get("tables"), dict)
    if not is_whole or not before or before[0].sequence != 1 or stated.get("kept") != kept_digest(before):
        return None
    index = EntryIndex()
    index.begin(before, totals)
    return index

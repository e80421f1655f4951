"""The cap on active periods of a stream: a user counts in the first so many periods in which records of the user are.

A stream with a cap ``k`` keeps, with each row, who counted in it: the row's *diary* (:mod:`emdp.ledger.state`). When a
period is read, whoever has a record in it counts, and is written down, but for those who stand in ``k`` diaries of rows
already drawn: they count as users without records, who are elsewhere, or of counts and sums add nothing.

**Theorem.** Let the data of two worlds differ in one user, in any periods, also where later data depend on rows that
were shown, and where files are corrected between periods. Let them be answered alike up to a row. Then the two
statistics of its period differ by what that user adds to each, which in either world is 0 but for at most ``k`` periods
of all rows; nobody else's contribution differs. *Proof.* Whether somebody counts in a row is decided by two things: a
record of that user in the period's data as they are read for it, and in how many diaries of rows so far the user
stands. Both are about that user alone. So by induction over the rows everybody else stands in the same diaries in both
worlds and adds the same. A user who counts is in the row's diary, and one who stands in ``k`` of them does not count,
so that ``k`` is never passed, whatever the data of periods say later: what counts is what was written when a row was
drawn. Rows name the digest of their diary, which was on the disk before; a draft that no row names is in no diary, and
nobody has seen anything made of it. ∎ What the rows are worth then is the theorem on active periods of
:mod:`emdp.mechanisms.streams.strategy`.

A cap that is read off earlier periods' files breaks as soon as one of these is corrected; this one does not look at
them. It knows a user by the key: whoever has another key in every period is another user to it, and is not capped. So
a person's key must have the same text in all periods, which the table's owner vouches for.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from emdp.tables import Table
from emdp.tables.facts import UserList

__all__ = ["cap_in_words", "capped"]


def capped(table: Table, active: int, diaries: Iterable[Sequence[str]]) -> tuple[Table, tuple[str, ...]]:
    """Return a table in which those who have counted often enough have no records, and who counts in it: private.

    Parameters
    ----------
    active : int
        Most periods in which one user counts, at least 1.
    diaries : iterable of sequence of str
        Keys of who counted in each row so far.
    """
    before = Counter(key for diary in diaries for key in diary)
    present: list[str] = table.engine.fetch_users(table).open().to_list()
    counted = sorted(key for key in present if before[key] < active)
    users = UserList(table.users.count, pl.Series(counted, dtype=pl.String))
    return replace(table, users=users), tuple(counted)


def cap_in_words(active: int) -> str:
    """Return what a cap means.

    >>> cap_in_words(30)
    'at most 30 periods of a user count, the first with records; in others the user is as if without records'
    """
    periods = "1 period of a user counts" if active == 1 else f"{active} periods of a user count"
    return f"at most {periods}, the first with records; in others the user is as if without records"

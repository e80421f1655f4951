"""Parts of a statement that are used more than once: taken out and kept, since Spark would compute them again."""

import re
from contextlib import suppress
from typing import Any

from sqlglot import exp

from emdp.tables.engines.spark.errors import uninterrupted
from emdp.tables.statements.fragments import Sql

__all__ = ["in_few_parts", "let_go", "payload_of", "rename_table", "take_shared"]

PRIVATE = re.compile(r"_(source_rows|linked_\d+)$")
"""End of the name of a view of private rows."""

USERS_TOGETHER = 2**12
"""Public users for each partition of what is kept of a statement, about."""


def take_shared(query: Sql) -> list[exp.CTE]:
    """Take the parts of a statement that read the records and are used more than once out of it."""
    shared = query.args.get("with_")
    if shared is None:
        return []
    taken = []
    for part in list(shared.expressions):
        part.set("materialized", None)
        uses = sum(found.name == part.alias for found in query.find_all(exp.Table))
        reads = any(PRIVATE.search(found.name) for found in part.find_all(exp.Table))
        if uses > 1 and reads:
            taken.append(part)
            part.pop()
    if not shared.expressions:
        query.set("with_", None)
    return taken


def in_few_parts(frame: Any, users: int | None) -> Any:
    """Return what is kept of a statement in no more partitions than its users need; as it is, where nobody knows them.

    Spark leaves it in as many as it shuffles into, 200 unless it is told otherwise, however small they are. Shuffled
    again, by user, from 200 into 200, that is 40,000 files for each part that reads it.
    """
    if users is None:
        return frame
    session = frame.sparkSession
    return frame.coalesce(max(session.sparkContext.defaultParallelism, -(-users // USERS_TOGETHER)))


def rename_table(query: Sql, name: str, view: str) -> None:
    """Have a statement read a view where it reads a part of that name."""
    for found in query.find_all(exp.Table):
        if found.name == name:
            found.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
            found.set("this", exp.to_identifier(view, quoted=True))


def payload_of(row: Any) -> bytes:
    """Return the payload of a row of one binary column."""
    return bytes(row[0])


def let_go(kept: Any) -> None:
    """Have the workers let go of an RDD that they keep."""
    with uninterrupted(), suppress(Exception):
        kept.unpersist()

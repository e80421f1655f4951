"""Items of one user, for a table's owner; and what a check of the declared rules asks of a record, too."""

from collections.abc import Iterable, Mapping

import polars as pl
from sqlglot import exp

from emdp.spaces import Space
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.compile import (
    USER,
    clean_names,
    elsewhere_parts,
    is_somewhere,
    item_rows,
    label_table,
    label_text,
    lookup_join,
    name_in_items,
)
from emdp.tables.statements.fragments import Sql

__all__ = [
    "BREACH",
    "BROKEN",
    "DIGEST",
    "ELSEWHERE",
    "bag_statement",
    "broken_test",
    "finite_parts",
    "is_invalid",
    "label_tables",
    "record_digest",
    "record_hash",
    "strict_parts",
    "unusable_tests",
]

BREACH = "breaks the rule of emdp"
"""Name of the column of a bag that is no item's: nobody's own column is called so."""

ELSEWHERE = "is elsewhere, says emdp"
"""Name of the column of a bag that says which records are elsewhere."""

BROKEN, DIGEST = "broken", "digest"
"""Names of columns: whether a record breaks a rule, or how many do, and a hash, which means nothing."""


def bag_statement(table: TableFacts, user: str) -> tuple[Sql, Mapping[str, pl.DataFrame]]:
    """Return the statement for one user's items after the rule, and the public tables it joins.

    A grid's item is the number of its cell, under the name of its first column. The last column, ``BREACH``, says
    whether the item breaks a rule ``"error"``; one before it, where the space has the point elsewhere, whether the
    record is there.
    """
    every = range(len(table.space.parts))
    finite = finite_parts(table.space, every)
    columns: list[Sql] = []
    for index, part in enumerate(table.space.parts):
        if index in finite:
            neutral = part.decode(part.neutral_item)[part.columns[0]][0]
            label = sql.column("label", f"lookup_{index}")
            found = sql.call("COALESCE", label, exp.Null() if neutral is None else sql.text(label_text(neutral)))
            columns.append(exp.alias_(found, part.columns[0], quoted=True))
        else:
            for name in clean_names(part):
                columns.append(exp.alias_(sql.column(name_in_items(index, name, part)), name, quoted=True))
    if table.space.elsewhere is not None:
        gone = exp.not_(is_somewhere(table.space)) if elsewhere_parts(table.space) else exp.false()
        columns.append(exp.alias_(gone, ELSEWHERE, quoted=True))
    strict = [is_invalid(index, finite) for index in strict_parts(table.space)]
    columns.append(exp.alias_(sql.either(strict) if strict else exp.false(), BREACH, quoted=True))
    query = exp.select(*columns).from_(item_rows(table, every, flags=True).subquery("items"))
    for index in finite:
        query = query.join(lookup_join(index))
    own = exp.EQ(this=sql.cast(sql.column(USER), "TEXT"), expression=sql.text(user))
    return query.where(own), label_tables(table.space, finite)


def finite_parts(space: Space, indexes: Iterable[int]) -> list[int]:
    """Return those of some parts of a space whose values are listed."""
    return [index for index in indexes if space.parts[index].labels is not None]


def strict_parts(space: Space) -> list[int]:
    """Return the parts of a space in which an invalid value breaks a rule."""
    return [index for index, part in enumerate(space.parts) if part.on_invalid == "error"]


def is_invalid(index: int, finite: list[int]) -> Sql:
    """Return the test that a record's item is invalid in a part, on the items joined to the labels of finite parts."""
    if index in finite:
        return sql.is_null(sql.column("label", f"lookup_{index}"))
    return exp.Not(this=sql.column(f"valid_{index}"))


def label_tables(space: Space, finite: list[int]) -> dict[str, pl.DataFrame]:
    """Return the public tables of the labels of finite parts, which their records are joined to."""
    return {f"lookup_{index}": label_table(space.parts[index]) for index in finite}


def broken_test(space: Space) -> Sql:
    """Return the test that a record breaks any rule about records."""
    finite = finite_parts(space, range(len(space.parts)))
    tests = [*(is_invalid(index, finite) for index in strict_parts(space)), *unusable_tests(space)]
    return sql.either(tests)


def record_digest(space: Space) -> Sql:
    """Return a hash of every column of every part, which makes the engine read and convert each."""
    # Smallest and largest values in a file's footer may answer every test; a hash needs each value itself.
    return exp.Anonymous(this="bit_xor", expressions=[record_hash(space)])


def record_hash(space: Space) -> Sql:
    """Return the hash of a record."""
    names = [name_in_items(index, name, part) for index, part in enumerate(space.parts) for name in clean_names(part)]
    return exp.Anonymous(this="hash", expressions=[sql.column(name) for name in names])


def unusable_tests(space: Space) -> list[Sql]:
    """Return tests that no cleaned item meets; they make the engine compute every cleaned column."""
    tests: list[Sql] = []
    for index, part in enumerate(space.parts):
        if part.labels is not None:
            nothing = exp.EQ(this=sql.column(f"part_{index}_0"), expression=sql.text("\0"))
            tests.append(nothing)
            continue
        for name in clean_names(part):
            value = sql.column(name_in_items(index, name, part))
            tests += [sql.is_null(value), sql.call("ISNAN", value)]
    return tests

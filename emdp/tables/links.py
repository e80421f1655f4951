"""Private tables that belong to a declared one: whose each of their rows is follows from links.

A link is a column of a table whose value names rows of another one, its target, by a column of that, the key: of
``lineitem`` the order, of ``orders`` the customer. The user of a row is the user of the row that its link names; where
the key is the user column, it is the link's value itself. All of a user's rows, in all of these tables together, are
what one guarantee is about, and one budget.

That a row has one owner rests on the keys: in a key that is no user column each value must stand once and none may be
missing, and each link must name a row. Both are declared rules, checked with all others before the first charge on a
state of the data (:mod:`emdp.tables.statements.link_rules`).

Neighbours are tables in which one user's rows are others, in all tables, *such that the rules hold in both*. So the
owner of each row of another user is the same in both: it is found through rows of that user alone.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from emdp.base.checks import check_table_name, table_key
from emdp.base.errors import UsageError
from emdp.base.frames import find_component
from emdp.questions.owned.relations import OF_USERS
from emdp.spaces import Space, Words
from emdp.tables.base import type_name
from emdp.tables.column_types import parsed_columns
from emdp.tables.facts import LinkedTable, TableFacts, UserList
from emdp.tables.public import is_same_source
from emdp.tables.registry import ENGINES
from emdp.tables.source import CsvSource, DuckDBSource, open_source
from emdp.tables.space_types import WHOLE_TYPES, check_space_types, extended_space

__all__ = ["LINK_KEYS", "linked_tables"]

LINK_KEYS = ("source", "column", "table", "key", "space")
"""What each linked table says."""

MORE_KEYS = ("columns", "header")
"""What it may say besides, as a table of its own does."""


def linked_tables(
    table: TableFacts, links: Mapping[str, Mapping[str, object]], wait: float
) -> Mapping[str, LinkedTable]:
    """Return the tables that are linked to one, by name.

    Parameters
    ----------
    links : mapping of str to mapping
        As of :func:`emdp.read`.

    Raises
    ------
    UsageError
        If a link is malformed, names no column, or leads to no user.
    """
    if not isinstance(links, Mapping) or not all(isinstance(own, Mapping) for own in links.values()):
        raise UsageError("links must map names of tables to {source, column, table, key, space}; pass such a mapping.")
    found: dict[str, LinkedTable] = {}
    for place, (name, entry) in enumerate(links.items()):
        if not isinstance(name, str) or table_key(name) in {table_key(own) for own in (table.name, *found)}:
            raise UsageError(f"links has a table named {name!r}, which is no name or taken; name it otherwise.")
        found[check_table_name(name)] = _linked(name, entry, f"linked_{place}", wait)
    _check_sources(table, found)
    whole = replace(table, linked=found)
    for name in found:
        _check_target(whole, name)
    # Of users that are listed each table's own column says who they are; others follow from the rows of their target.
    return MappingProxyType({name: _with_users(whole, own) for name, own in found.items()})


def _linked(name: str, entry: Mapping[str, object], view: str, wait: float) -> LinkedTable:
    unknown = [str(key) for key in entry if key not in (*LINK_KEYS, *MORE_KEYS)]
    missing = [key for key in LINK_KEYS if key not in entry]
    if unknown or missing:
        problem = f"lacks {missing[0]!r}" if missing else f"has an unknown key {unknown[0]!r}"
        raise UsageError(f"links of {name!r} {problem}; write {', '.join((*LINK_KEYS, *MORE_KEYS))}.")
    column, space, header = entry["column"], entry["space"], entry.get("header")
    if not all(isinstance(entry[key], str) and entry[key] for key in ("column", "table", "key")):
        raise UsageError(f"links of {name!r} must name column, table and key by texts; write them.")
    if not isinstance(space, Space) or any(isinstance(part, Words) for part in space.parts):
        raise UsageError(f"links of {name!r} must have a space of numbers, places or categories; pass one.")
    if space.elsewhere is not None:
        raise UsageError(f"links of {name!r} must have a space without the point elsewhere; pass that of its items.")
    extended_space(space, None)
    opened = open_source(entry["source"], wait=wait, header=header)  # type: ignore[arg-type]
    columns = entry.get("columns")
    schema = parsed_columns(columns) if isinstance(columns, Mapping) else opened.schema()
    if isinstance(opened, CsvSource):
        opened.check_names((str(column), *space.columns, *schema), where="in column, then space, then columns")
    for own in (str(column), *space.columns):
        if own not in schema and (own == column or find_component(own, schema) is None):
            raise UsageError(f"linked table {name!r} has no column {own!r}; name one of {', '.join(schema)}.")
    check_space_types(schema, str(column), space, is_text=opened.is_text)
    return LinkedTable(
        name=name,
        user=str(column),
        space=space,
        users=UserList(None),
        source=opened,
        schema=schema,
        view=view,
        target=str(entry["table"]),
        key=str(entry["key"]),
    )


def _with_users(whole: TableFacts, own: LinkedTable) -> LinkedTable:
    is_listed = whole.users.keys is not None and whole.key_of(own.name, own.user) == OF_USERS
    return replace(own, users=UserList(whole.users.count, whole.users.keys)) if is_listed else own


def _check_sources(table: TableFacts, linked: Mapping[str, LinkedTable]) -> None:
    """Check that rows are read once: a row of two tables would belong to two users."""
    if ENGINES[table.source.engine].broken_links is None:
        raise UsageError("links are of tables that DuckDB or Spark reads, and the source is none; write Parquet files.")
    other = next((name for name, own in linked.items() if own.source.engine != table.source.engine), None)
    if other is not None:
        raise UsageError(
            f"linked table {other!r} is read by another engine than {table.name!r}, and one engine joins them; write "
            "all of them as Parquet files, or as tables of Spark."
        )
    sources = [(table.name, table.source), *((name, own.source) for name, own in linked.items())]
    files = {own.path for _, own in sources if isinstance(own, DuckDBSource)}
    if len(files) > 1:
        raise UsageError("links name tables of several DuckDB files; put them into one file, or write Parquet files.")
    for place, (name, source) in enumerate(sources):
        same = next((other for other, own in sources[:place] if is_same_source(own, source)), None)
        if same is not None:
            raise UsageError(
                f"linked table {name!r} reads the source of {same!r}, so that a row would belong to two users; leave "
                "one out."
            )


def _check_target(table: TableFacts, name: str) -> None:
    """Check that a link's target is there and leads to the table whose users are declared."""
    passed, tables = [name], table.private_tables()
    while passed[-1] != table.name:
        own = table.linked[passed[-1]]
        if own.target not in tables or own.key not in tables[own.target].schema:
            raise UsageError(f"linked table {own.name!r} has no target {own.target}.{own.key}; name a column of one.")
        if own.target in passed:
            raise UsageError(f"linked table {name!r} leads back to itself, and to no user; link it to {table.name!r}.")
        kinds = own.schema[own.user], tables[own.target].schema[own.key]
        if own.user in own.space.columns or own.key in tables[own.target].space.columns:
            raise UsageError(
                f"linked table {own.name!r} has its link or its key among the columns of a space, whose rule may "
                "change values; leave it out of the space."
            )
        if type_name(kinds[0]) != type_name(kinds[1]) and not all(type_name(kind) in WHOLE_TYPES for kind in kinds):
            raise UsageError(
                f"linked table {own.name!r} has a link {own.user!r} of type {type_name(kinds[0])} to a key of type "
                f"{type_name(kinds[1])}; write both in one type."
            )
        passed.append(own.target)

"""Check of linked tables by DuckDB: keys, links, and the number of users over all of them."""

from emdp.tables.base import check_types, quote_name
from emdp.tables.engines.duckdb.execution import opened, run
from emdp.tables.facts import TableFacts
from emdp.tables.statements.fragments import written
from emdp.tables.statements.link_rules import key_columns, link_breaches, links_statement
from emdp.tables.statements.rules import Breach

__all__ = ["broken_links", "check_linked"]


def broken_links(table: TableFacts) -> tuple[Breach, ...]:
    """Return the broken rules of links, with the numbers of rows or users: for the owner, who alone is told them.

    Raises
    ------
    DataRuleError
        If a source has other columns than were declared, or cannot be read to its end.
    """
    sources = {own.view: own.source for own in table.linked.values()}
    statement = written(links_statement(table))
    with opened(table.source, {}, table.users.keys, linked=sources) as connection:
        for name, own in table.private_tables().items():
            found = {row[0]: row[1] for row in run(connection, f"DESCRIBE {quote_name(own.view)}")}
            check_types(found, own.schema, key_columns(table, name))
        return link_breaches(table, run(connection, statement)[0])


def check_linked(table: TableFacts, used: dict[str, tuple[str, ...]]) -> None:
    """Check that linked tables still have the columns that a statement reads, of their types.

    Raises
    ------
    DataRuleError
        Naming the first column that differs.
    """
    sources = {own.view: own.source for own in table.linked.values()}
    with opened(table.source, {}, None, linked=sources) as connection:
        for name, columns in used.items():
            own = table.linked[name]
            read = tuple(dict.fromkeys((*key_columns(table, name), *own.source_columns, *columns)))
            own.source.check_files(read)
            found = {row[0]: row[1] for row in run(connection, f"DESCRIBE {quote_name(own.view)}")}
            check_types(found, own.schema, read)

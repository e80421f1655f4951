"""Check of tables that Spark joins: columns, keys, links, and the number of users over all of them."""

from emdp.base.errors import InternalError
from emdp.questions.owned.grids import OwnedFrame
from emdp.questions.owned.totals import OwnedTotals
from emdp.tables.engines.spark.execution import spark_rows
from emdp.tables.engines.spark.wait import waited
from emdp.tables.facts import TableFacts
from emdp.tables.statements.link_rules import key_columns, link_breaches, links_statement
from emdp.tables.statements.owned import linked_columns, private_columns
from emdp.tables.statements.rules import Breach

__all__ = ["broken_links", "check_columns"]


def broken_links(table: TableFacts) -> tuple[Breach, ...]:
    """Return the broken rules of links, as :func:`emdp.tables.engines.duckdb.links.broken_links` does.

    Each rule is a statement of its own here. Rows that were the same for all rules are what is counted, as ever, for
    as long as the owner keeps the tables as they are.

    Raises
    ------
    DataRuleError
        If a source has other columns than were declared, or cannot be read to its end.
    """
    for name, own in table.private_tables().items():
        own.source.check_schema(own.schema, key_columns(table, name))
    found = []
    for rule in links_statement(table).expressions:
        with spark_rows(table, rule.this, {}, None) as frame:
            rows = waited(frame.sparkSession, frame.collect)
        if len(rows) != 1:
            raise InternalError("a statement for one row gave another number of rows.")
        found.append(rows[0][0])
    return link_breaches(table, found)


def check_columns(table: TableFacts, wanted: OwnedTotals | OwnedFrame) -> None:
    """Check that the sources still have the columns that a statement reads, of their types.

    Raises
    ------
    DataRuleError
        Naming the first column that differs.
    """
    table.source.check_schema(table.schema, private_columns(wanted))
    for name, columns in linked_columns(wanted).items():
        own = table.linked[name]
        own.source.check_schema(own.schema, tuple(dict.fromkeys((*key_columns(table, name), *columns))))

"""The statement behind a search for frequent strings: which strings of a column each user has, and how many of each.

Any column of text is asked about, whether the space has it or not. A row is one record or, with words, every token is,
as :class:`emdp.Words` makes them; a missing text is a record without a string, so is a string that is empty, too long
or holds other characters than the declared ones; a text without words is no record at all. The rules of the space say
nothing here: a record counts whatever they make of its item.
"""

from dataclasses import replace

from sqlglot import exp

from emdp.errors import DataRuleError
from emdp.expressions.reading import TextColumn
from emdp.spaces import Categories, Words
from emdp.tables import fragments as sql
from emdp.tables.compile import USER
from emdp.tables.duckdb import DIALECT, _connection, check_on_no_rows, hidden_errors
from emdp.tables.fragments import Sql
from emdp.tables.items import RECORDS, ItemStatement, of_users
from emdp.tables.table import Table
from emdp.tables.waiting import stoppable

__all__ = ["TEXT", "check_texts", "texts_statement"]

TEXT = "text_value"
"""Name of the column of strings."""

RAW = "text_raw"


def texts_statement(table: Table, column: TextColumn) -> ItemStatement:
    """Return the statement of one row a user and string: the user, the string or NULL, how many records it is.

    >>> from emdp.spaces import Interval
    >>> from emdp.tables.table import read
    >>> rows = {"user": [1], "x": [0.5], "message": ["hello world"]}
    >>> table = read(rows, user="user", space=Interval("x", 0, 1), users=1)
    >>> texts_statement(table, TextColumn("message")).query.named_selects
    ['number', 'text_value', 'records']
    """
    value = sql.cast(sql.column(column.name), "TEXT")
    if column.words:
        tokens = exp.Anonymous(
            this="regexp_extract_all", expressions=[_lowered(value), sql.text(Words.PATTERNS["words"])]
        )
        none = exp.Array(expressions=[exp.Null()])
        made: Sql = exp.Explode(this=sql.case([(sql.is_null(sql.column(column.name)), none)], tokens))
    else:
        made = _lowered(value) if column.lower else value
    raw = exp.select(exp.alias_(sql.column(table.user), USER, quoted=True), exp.alias_(made, RAW, quoted=True)).from_(
        "source_rows"
    )
    rows = sql.select({USER: sql.column(USER), TEXT: _kept(column)}, raw.subquery("raw", copy=False))
    columns = {USER: sql.column(USER), TEXT: sql.column(TEXT), RECORDS: exp.Count(this=exp.Star())}
    bags = sql.select(columns, rows.subquery("kept", copy=False))
    bags = bags.group_by(sql.column(USER), sql.column(TEXT), copy=False)
    return of_users(table, bags, {}, (TEXT, RECORDS), order=())


def check_texts(table: Table, column: TextColumn) -> None:
    """Check what a search needs of a column: that the engine can compute the statement, and every text is text.

    Bytes of a file that are no text would be an error in the middle of a release, so they are looked for before the
    charge. As :meth:`Table.validate` this is the owner's act.

    Raises
    ------
    UsageError
        If the engine cannot compute the statement.
    DataRuleError
        If the column has another type in the source, or holds bytes that are no text.
    """
    # The same rows, of which the space has that column.
    view = replace(table, space=Categories(column.name, ("a", "b")))

    def compiled() -> tuple[ItemStatement, str]:
        statement = texts_statement(table, column)
        return statement, statement.query.sql(DIALECT, identify=True)

    check_on_no_rows(view, compiled)
    table.source.check_schema(table.schema, view.source_columns)
    # Every value is decoded for it, as a length or a count would not have it.
    every = exp.select(exp.Max(this=sql.cast(sql.column(column.name), "TEXT"))).from_("source_rows")
    try:
        with _connection(table.source, {}, None) as connection, hidden_errors():
            stoppable(connection, lambda: connection.execute(every.sql(DIALECT, identify=True)).fetchall())
    except DataRuleError:
        raise DataRuleError(
            f"column {column.name!r} of table {table.name!r} cannot be read as text to its end; write the file with "
            "text in UTF-8."
        ) from None


def _lowered(value: Sql) -> Sql:
    return exp.Translate(this=value, from_=sql.text(Words.CAPITALS), to=sql.text(Words.SMALL))


def _kept(column: TextColumn) -> Sql:
    """Return the string where it is one that counts, NULL otherwise."""
    raw = sql.column(RAW)
    tests: list[Sql] = [exp.NEQ(this=raw, expression=sql.text(""))]
    if column.length is not None:
        size = exp.Anonymous(this="strlen", expressions=[raw.copy()])
        tests.append(exp.LTE(this=size, expression=sql.integer(column.length)))
    if column.alphabet is not None:
        rest = exp.Translate(this=raw.copy(), from_=sql.text(column.alphabet), to=sql.text(""))
        tests.append(exp.EQ(this=rest, expression=sql.text("")))
    return sql.case([(exp.and_(*tests), sql.column(RAW))], exp.Null())

"""The statement behind a search for frequent strings: which strings of a column each user has, and how many of each.

Any column of text is asked about, whether the space has it or not. A row is one record or, with words, every token is,
as :class:`emdp.Words` makes them; a missing text is a record without a string, so is a string that is empty, too long
or holds other characters than the declared ones; a text without words is no record at all. The rules of the space say
nothing here: a record counts whatever they make of its item.
"""

from sqlglot import exp

from emdp.questions.reading import TextColumn
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.compile import USER
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.items import RECORDS, ItemStatement, of_users
from emdp.tables.statements.tokens import lowered, tokens

__all__ = ["TEXT", "texts_statement"]

TEXT = "text_value"
"""Name of the column of strings."""

RAW = "text_raw"


def texts_statement(table: TableFacts, column: TextColumn) -> ItemStatement:
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
        none = exp.Array(expressions=[exp.Null()])
        found = tokens(column.tokenizer, value)
        made: Sql = exp.Explode(this=sql.case([(sql.is_null(sql.column(column.name)), none)], found))
    else:
        made = lowered(value) if column.lower else value
    raw = exp.select(exp.alias_(sql.column(table.user), USER, quoted=True), exp.alias_(made, RAW, quoted=True)).from_(
        "source_rows"
    )
    rows = sql.select({USER: sql.column(USER), TEXT: _kept(column)}, raw.subquery("raw", copy=False))
    columns = {USER: sql.column(USER), TEXT: sql.column(TEXT), RECORDS: exp.Count(this=exp.Star())}
    bags = sql.select(columns, rows.subquery("kept", copy=False))
    bags = bags.group_by(sql.column(USER), sql.column(TEXT), copy=False)
    return of_users(table, bags, {}, (TEXT, RECORDS), order=())


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

"""``FROM MEASURE(name)``: one SELECT over released measures and public tables. It is free, and so has no header."""

from collections.abc import Mapping

import polars as pl
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from emdp.base.classes import dataclass
from emdp.base.errors import SqlError
from emdp.questions.names import Names
from emdp.sql.context import Context, identifier, near, one_by_name
from emdp.sql.owned.functions import check_functions
from emdp.sql.reader import parse_plain
from emdp.sql.text.dialect import marked_text
from emdp.sql.text.tokens import read_tokens
from emdp.sql.text.verbs import find_select

__all__ = ["MeasuredSelect", "measured_select", "measures_named", "reads_measures"]

MEASURE = "MEASURE"
FORM = "FROM MEASURE(name), with the name that the measure was released under"
SOURCES = (TokenType.FROM, TokenType.JOIN, TokenType.COMMA)


@dataclass(frozen=True, eq=False)
class MeasuredSelect:
    """A SELECT over measures and public tables."""

    sql: str  # In DuckDB's words
    measures: Mapping[str, str]  # For each name of a table in it the name of the measure that it stands for
    public: Mapping[str, pl.DataFrame]  # Public tables that it reads
    context: Context


def reads_measures(text: str) -> bool:
    """Say whether a text has no header and names a measure after FROM or JOIN; what is no SQL does not.

    >>> reads_measures("SELECT SUM(weight) FROM MEASURE(nyc)")
    True
    >>> reads_measures("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) MEASURE(*) FROM visits")
    False
    """
    if not isinstance(text, str) or MEASURE not in text.upper():
        return False
    try:
        tokens = read_tokens(text)
        main = find_select(text, tokens)
    except (SqlError, IndexError):
        return False
    if main + 1 < len(tokens) and tokens[main + 1].token_type == TokenType.WITH:
        return False
    return any(_is_source(tokens, place) for place in range(1, len(tokens) - 3))


def _is_source(tokens: list[Token], place: int) -> bool:
    before, word, opening = tokens[place - 1 : place + 2]
    is_word = word.token_type not in (TokenType.STRING, TokenType.IDENTIFIER) and word.text.upper() == MEASURE
    return is_word and before.token_type in SOURCES and opening.token_type == TokenType.L_PAREN


def measures_named(text: str) -> tuple[str, ...]:
    """Return the names of the measures that a text without a header reads, each once.

    >>> measures_named("SELECT SUM(weight) FROM MEASURE(nyc) AS a, MEASURE(nyc) AS b")
    ('nyc',)
    """
    calls = [table.this for table in parse_plain(text).tree.find_all(exp.Table)]
    found = [call.expressions[0].name for call in calls if isinstance(call, exp.Anonymous) and call.expressions]
    return tuple(dict.fromkeys(str(name) for name in found))


def measured_select(text: str, names: Names) -> MeasuredSelect:
    """Return a SELECT over measures and public tables, in which tables stand for the measures.

    Raises
    ------
    SqlError
        If it is no SELECT, reads another table, or has a function that is none of the list for what is public.
    """
    statement = parse_plain(text)
    context = Context(statement, names)
    tree = statement.tree.copy()
    inner = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    measures: dict[str, str] = {}
    public: dict[str, pl.DataFrame] = {}
    taken = {*inner, *(name.lower() for name in names.public)}
    for table in list(tree.find_all(exp.Table)):
        if isinstance(table.this, exp.Identifier):
            if table.args.get("db") is None and table.name.lower() in inner:
                continue
            name = _public_name(context, table)
            public[name] = names.public[name]
            own = name
        else:
            own = _own_name(_measure_name(context, table), measures, taken)
        if table.args.get("alias") is None and not isinstance(table.this, exp.Identifier):
            table.set("alias", exp.TableAlias(this=exp.to_identifier(measures[own], quoted=True)))
        table.set("this", exp.to_identifier(own, quoted=True))
    check_functions(context, tree)
    return MeasuredSelect(marked_text(tree), measures, public, context)


def _measure_name(context: Context, table: exp.Table) -> str:
    call = table.this
    given = call.expressions if isinstance(call, exp.Anonymous) else []
    if isinstance(call, exp.Anonymous) and call.name.upper() == MEASURE and len(given) == 1:
        (only,) = given
        if isinstance(only, exp.Column) and isinstance(only.this, exp.Identifier) and not only.table:
            return str(only.name)
    raise context.refusal(
        table, f"`{context.text(table)}` names no measure and no table", remedy=f"write {FORM}", code="measure-source"
    )


def _own_name(name: str, measures: dict[str, str], taken: set[str]) -> str:
    for own, other in measures.items():
        if other.lower() == name.lower():
            return own
    number = next(n for n in range(len(measures), len(measures) + len(taken) + 1) if f"measure_{n}" not in taken)
    measures[f"measure_{number}"] = name
    return f"measure_{number}"


def _public_name(context: Context, table: exp.Table) -> str:
    names = context.names
    found = one_by_name(table.name, names.public) if table.args.get("db") is None else ()
    if len(found) == 1:
        return found[0]
    if one_by_name(table.name, names.private):
        raise context.refusal(
            table,
            "a statement over measures reads no private records",
            remedy="ask the private table in a statement of its own, with a header",
            code="measure-source",
        )
    alike = near(table.name, names.public)
    raise context.refusal(
        table,
        f"there is no public table {table.name}",
        remedy=f"write {' or '.join(map(identifier, alike))}" if alike else f"write {FORM}",
        code="measure-source",
    )

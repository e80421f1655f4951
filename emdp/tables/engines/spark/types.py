"""Kinds of values of all nodes of a checked statement, as DuckDB would compute them.

Spark's operators do other things on whole numbers than DuckDB's, so a rewrite has to know what it looks at. Statements
are built of few node classes; one that is not known here is refused as a bug, never passed on as it is.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from sqlglot import exp

from emdp.base.errors import InternalError
from emdp.tables.base import type_name
from emdp.tables.statements.formulas import called_function
from emdp.tables.statements.fragments import Sql

__all__ = ["BOOLEAN", "DECIMAL", "DOUBLE", "HUGE", "NOTHING", "TEXT", "WHOLE", "column_kind", "kinds_of", "written"]

DOUBLE, WHOLE, HUGE, DECIMAL = "double", "whole", "huge", "decimal"
TEXT, BOOLEAN, NOTHING, TIME = "text", "boolean", "nothing", "time"
"""Kinds of values: ``whole`` fits 64 bits, ``huge`` is a sum or product that may take 128, ``nothing`` is NULL, and
``time`` stands between functions of times alone."""

Kinds = Mapping[str, str]
"""Columns of a table or layer by name."""

WIDER = (NOTHING, WHOLE, HUGE, DECIMAL, DOUBLE)
"""Numbers from narrow to wide: an operation gives the wider one of its operands."""

BY_TYPE = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), WHOLE),
    **dict.fromkeys(("FLOAT", "DOUBLE"), DOUBLE),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "DATE"), WHOLE),
    "DECIMAL": DECIMAL,
    "VARCHAR": TEXT,
    "BOOLEAN": BOOLEAN,
}
"""By DuckDB type. Times are handed to statements as microseconds since 1970; see ``spark_source.py``."""

Type = exp.DataType.Type
BY_CAST = {
    **dict.fromkeys((Type.BIGINT, Type.INT, Type.UTINYINT, Type.USMALLINT, Type.UINT, Type.UBIGINT), WHOLE),
    Type.INT128: HUGE,
    Type.DOUBLE: DOUBLE,
    Type.TEXT: TEXT,
    Type.VARCHAR: TEXT,
    **dict.fromkeys((Type.TIMESTAMP, Type.TIMESTAMPTZ), WHOLE),
}

ALWAYS: Mapping[type[Sql], str] = {
    **dict.fromkeys((exp.Div, exp.Avg, exp.Floor, exp.Asin, exp.Pow, exp.Sign), DOUBLE),
    **dict.fromkeys((exp.Count, exp.CountIf, exp.IntDiv, exp.RowNumber), WHOLE),
    **dict.fromkeys(
        (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.NullSafeEQ, exp.NEQ, exp.And, exp.Or, exp.Not, exp.Is), BOOLEAN
    ),
    **dict.fromkeys((exp.In, exp.IsNan, exp.Boolean, exp.NullSafeEQ, exp.Exists), BOOLEAN),
    **dict.fromkeys((exp.Translate, exp.Explode, exp.Array), TEXT),
    exp.Null: NOTHING,
}
"""Kinds of nodes whatever their operands are; functions of numbers, which give doubles, are in their own table."""

BY_NAME = {
    **dict.fromkeys(("hash", "bit_xor", "strlen", "epoch_us", "epoch_ns", "date_part", "dense_rank"), WHOLE),
    "make_timestamp": TIME,
    "quantile_cont": DOUBLE,
    **dict.fromkeys(("regexp_extract_all", "list_reduce", "string_split", "split_part", "replace"), TEXT),
    **dict.fromkeys(("concat_ws", "md5"), TEXT),
    **dict.fromkeys(("regexp_matches", "bool_and", "bool_or"), BOOLEAN),
    **dict.fromkeys(("row_number", "rank"), WHOLE),
}
"""Kinds of functions that sqlglot does not know."""

OF_OTHER_ROWS = ("lag", "lead", "first_value", "last_value", "quantile_disc")
"""Functions whose value is one of several rows: of the kind of their first operand."""


KIND = "emdp_kind"
"""What is known of a text that is Spark's already."""


def written(text: str, kind: str) -> Sql:
    """Return what is written for Spark already, of a known kind, as a part of a statement that is not.

    >>> from emdp.tables.engines.spark.types import WHOLE, written
    >>> written("length(`s`)", WHOLE).sql("spark")
    'length(`s`)'
    """
    found: Sql = exp.Var(this=text)
    found.meta[KIND] = kind
    return found


def column_kind(kind: str) -> str:
    """Return the kind of a column of a DuckDB type.

    >>> column_kind("BIGINT"), column_kind("DECIMAL(10,2)")
    ('whole', 'decimal')
    """
    found = BY_TYPE.get(type_name(kind))
    if found is None:
        raise InternalError(f"Spark has no column of type {type_name(kind)}; please report it.")
    return found


def kinds_of(query: Sql, tables: Mapping[str, Kinds]) -> dict[int, str]:
    """Return the kind of every value in a statement, by the identity of its node.

    Parameters
    ----------
    query : Sql
        A SELECT or UNION; it must live as long as the result.
    tables : mapping of str to mapping of str to str
        The kinds of the columns of the tables it reads.

    >>> query = exp.select("x").from_("t")
    >>> kinds_of(query, {"t": {"x": WHOLE}})[id(query.expressions[0])]
    'whole'
    """
    found: dict[int, str] = {}
    _query(query, tables, found)
    return found


Scope = Mapping[tuple[str, str], str]
"""Columns by table and name, and those whose table is not written by ``""`` and name."""


def _query(
    query: Sql, tables: Mapping[str, Kinds], found: dict[int, str], outer: Scope = MappingProxyType({})
) -> dict[str, str]:
    """Note the kinds in a query, and return those of its columns; ``outer`` has those of the rows around it."""
    for shared in query.args["with_"].expressions if query.args.get("with_") else ():
        tables = {**tables, shared.alias: _query(shared.this, tables, found)}
    if isinstance(query, exp.Union):
        left, right = _query(query.this, tables, found), _query(query.expression, tables, found)
        pairs = zip(left.items(), right.values(), strict=True)
        return {name: _widest((own, other)) for (name, own), other in pairs}
    if not isinstance(query, exp.Select):
        raise InternalError(f"Spark reads no {type(query).__name__}; please report it.")
    scope: dict[tuple[str, str], str] = dict(outer)
    relations = [query.args["from_"].this, *(join.this for join in query.args.get("joins") or ())]
    for relation in relations:
        for name, kind in _relation(relation, tables, found).items():
            scope[relation.alias_or_name, name] = scope["", name] = kind
    values = [*query.expressions, *(join.args["on"] for join in query.args.get("joins") or () if join.args.get("on"))]
    for clause in ("where", "having", "qualify"):
        values += [query.args[clause].this] if query.args.get(clause) else []
    for clause in ("group", "order"):
        for value in query.args[clause].expressions if query.args.get(clause) else ():
            values.append(value.this if isinstance(value, exp.Ordered) else value)
    for value in values:
        _value(value, scope, tables, found)
    return {value.alias_or_name: found[id(value)] for value in query.expressions}


def _relation(relation: Sql, tables: Mapping[str, Kinds], found: dict[int, str]) -> Kinds:
    if isinstance(relation, exp.Subquery):
        return _query(relation.this, tables, found)
    if isinstance(relation, exp.Table) and relation.name in tables:
        return tables[relation.name]
    raise InternalError("a statement reads a table that Spark was not given; please report it.")


def _value(node: Sql, scope: Mapping[tuple[str, str], str], tables: Mapping[str, Kinds], found: dict[int, str]) -> str:
    below: list[str] = []
    if isinstance(node, exp.Lambda):
        # Functions over lists are of texts here.
        scope = {**scope, **{("", own.name): TEXT for own in node.expressions}}
    for child in node.iter_expressions():
        if isinstance(child, exp.Select | exp.Union):
            _query(child, tables, found, scope)
        elif isinstance(child, exp.Subquery):
            _query(child.this, tables, found)
        elif not isinstance(child, exp.Identifier | exp.DataType | exp.TableAlias):
            below.append(_value(child, scope, tables, found))
    kind = found[id(node)] = _kind(node, below, scope, found)
    return kind


def _kind(node: Sql, below: list[str], scope: Mapping[tuple[str, str], str], found: Mapping[int, str]) -> str:
    kind = type(node)
    if kind in ALWAYS:
        return ALWAYS[kind]
    if isinstance(node, exp.Var) and KIND in node.meta:
        return str(node.meta[KIND])
    if isinstance(node, exp.Column):
        return _known(scope, (node.table, node.name))
    if isinstance(node, exp.Literal):
        return TEXT if node.is_string else WHOLE if node.name.isdigit() else DOUBLE
    if isinstance(node, exp.Cast):
        return _known(BY_CAST, node.to.this)
    if isinstance(node, exp.Sum):
        return HUGE if below[0] == WHOLE else below[0]
    if isinstance(node, exp.Case):
        chosen = [found[id(branch.args["true"])] for branch in node.args["ifs"]]
        return _widest([*chosen, found[id(node.args["default"])]])
    if isinstance(node, exp.If):
        return found[id(node.args["true"])]
    if isinstance(node, exp.Alias | exp.Paren | exp.Neg | exp.Abs | exp.Max | exp.Min | exp.Lambda | exp.Distinct):
        return below[0]
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Mod | exp.Coalesce | exp.Least | exp.Greatest):
        return _widest(below)
    if isinstance(node, exp.Star | exp.Tuple | exp.Order | exp.Ordered | exp.Window | exp.WindowSpec):
        return below[0] if below else NOTHING
    if called_function(node) is not None:
        return DOUBLE
    if isinstance(node, exp.Anonymous):
        if node.name.lower() in OF_OTHER_ROWS:
            return below[0]
        return _known(BY_NAME, node.name.lower())
    raise InternalError(f"Spark was given a {kind.__name__} that it does not know; please report it.")


def _known(kinds: Mapping[Any, str], name: object) -> str:
    if name not in kinds:
        raise InternalError(f"Spark was given {name!r}, which it does not know; please report it.")
    return kinds[name]


def _widest(kinds: Iterable[str]) -> str:
    names = set(kinds)
    others = names - set(WIDER)
    if others:
        if len(others) > 1 or names - others - {NOTHING}:
            raise InternalError("a statement mixes values of unlike kinds; please report it.")
        return others.pop()
    return max(names, key=WIDER.index)

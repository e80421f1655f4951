"""Statements written for DuckDB as Spark SQL that gives the same integers, whatever the session's settings are.

One rule an idea, from a node to the node that stands for it; ``RULES`` is the order. After a charge no error may depend
on records, and Spark 4 raises where DuckDB and Spark 3 do not (its ANSI mode), so what may fail is written as something
that cannot: ``TRY_CAST``, ``TRY_SUM``, a quotient by ``NULLIF(..., 0)``.

Whole numbers. Spark's cast of a double to an integer drops the fraction, where DuckDB rounds half to even: ``RINT``
first. Its sum of 64-bit integers overflows at 64 bits, and its average of them adds up doubles, in any order. So an
integer ``a`` is summed as its upper part ``floor(a/2**26)`` and its lower 26 bits, both in 64 bits: exact for up to
``2**37`` terms of up to ``2**51`` in size (``expressions/numbers/fixed_point.py``), and put together as DECIMAL(38,0).
``TRY_SUM`` carries a second column from task to task, of whether there was a term. So sums that the compilers note as
of such integers (:func:`emdp.tables.statements.fragments.bounded`) are ``SUM``, which is the same up to ``2**37``
terms. Only beyond, where ``TRY_SUM`` gives NULL, it raises, or goes round outside ANSI mode: no sum is exact there.

A user's mean is the two sums, each turned into a double, put together and divided by the number of records. Up to
``2**27`` records of a user both conversions are exact; sum and quotient round once each, and beyond the upper sum's
conversion rounds too, so the relative error is at most ``2**-52`` (then ``3 * 2**-53``) as the integers of
``fixed_point.py`` and ``cells.py`` allow with their margin.

Elementary functions. Java's ``StrictMath`` and the intrinsics for it promise 1 unit in the last place for sin, cos,
asin, atan, exp, log and pow, and 2.5 for tanh; ``spaces/continuous/sphere.py`` and ``emdp/expressions`` allow 4. Roots
are exact.

Text is written in hexadecimal where it holds more than letters, digits and spaces, since what a backslash means in it
is a setting; doubles carry a ``D``, since what a plain ``1e0`` is was one, too.
"""

from collections.abc import Callable, Mapping, MutableMapping
from functools import partial

from sqlglot import exp

from emdp.base.errors import InternalError
from emdp.base.frames import DAY_MICROSECONDS
from emdp.tables.engines.spark.text import operands_apart, operators_as_calls
from emdp.tables.engines.spark.types import DECIMAL, DOUBLE, HUGE, NOTHING, TEXT, WHOLE, Kinds, kinds_of
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.formulas import called_function
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.tokens import unguarded

__all__ = ["DIALECT", "to_spark"]

DIALECT = "spark"

LOW_BITS = 26
"""Bits of the lower part of a summed integer."""

SPLIT = 2.0**62
"""A double is made a DECIMAL in two parts of 64 bits, since Spark's own cast goes through its shortest digits."""

PLAIN_TEXT = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _.,:-")
LARGEST_WHOLE = 2**63 - 1

FIELDS = {
    "day": "DAY",
    "month": "MONTH",
    "quarter": "QUARTER",
    "year": "YEAR",
    "week": "WEEKOFYEAR",
    "doy": "DAYOFYEAR",
}
"""Spark's names of the fields of a date, which know no time zone."""

RANKS = ("row_number", "rank", "dense_rank")
"""Functions of windows that number rows."""

_Kinds = MutableMapping[int, str]


def to_spark(query: Sql, tables: Mapping[str, Kinds], names: Mapping[str, str]) -> Sql:
    """Return a statement for Spark.

    Parameters
    ----------
    query : Sql
        A statement as the compilers write it for DuckDB; it stays as it is.
    tables : mapping of str to mapping of str to str
        Kinds of the columns of each table that it reads.
    names : mapping of str to str
        What the tables are called in the Spark session.

    >>> from emdp.tables.statements.fragments import cast, column
    >>> query = exp.select(exp.Avg(this=cast(column("x"), "BIGINT"))).from_("t")
    >>> text = to_spark(query, {"t": {"x": DOUBLE}}, {"t": "v"}).sql("spark")
    >>> text.endswith("FROM (SELECT TRY_CAST(RINT(`x`) AS BIGINT) AS `operand_0` FROM `v` AS t) AS operands")
    True
    """
    query = query.copy()
    operands_apart(query)
    kinds = kinds_of(query, tables)
    # Children first: every rule finds its operands as Spark takes them.
    nodes = list(query.walk(bfs=True))
    for node in reversed(nodes):
        new = _rewritten(node, kinds, names)
        if new is not node:
            parent, key, index = node.parent, node.arg_key, node.index
            if parent is None or key is None:
                raise InternalError("a statement was about to become an expression; please report it.")
            parent.set(key, new, index)
            # Kept alive, so that no other node gets its identity.
            nodes.append(new)
    operators_as_calls(query)
    return query


def _rewritten(node: Sql, kinds: _Kinds, names: Mapping[str, str]) -> Sql:
    if isinstance(node, exp.Table):
        return exp.alias_(_view(names[node.name]), node.alias_or_name, table=True) if node.name in names else node
    function = called_function(node)
    rule = RULES.get(type(node))
    if function is not None:
        rule = partial(_renamed, function.spark) if function.spark is not None else None
    if rule is None or id(node) not in kinds:
        return node
    parent, key, index = node.parent, node.arg_key, node.index
    new = rule(node, kinds)
    # A node built from this one's operands has taken them along, and this one's place with them.
    node.parent, node.arg_key, node.index = parent, key, index
    kinds[id(new)] = kinds[id(node)]
    return new


def _view(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def _literal(node: Sql, kinds: _Kinds) -> Sql:
    if kinds[id(node)] == TEXT:
        if set(node.name) <= PLAIN_TEXT:
            return node
        return _cast(exp.Var(this=f"X'{node.name.encode().hex()}'"), "STRING")
    if kinds[id(node)] == DOUBLE:
        return exp.Var(this=f"{node.name}D")
    return _integer(int(node.name))


def _sum(node: Sql, kinds: _Kinds) -> Sql:
    value = node.this
    if kinds[id(value)] == HUGE:
        return _call("TRY_SUM", value)
    if kinds[id(value)] != WHOLE:
        raise InternalError("Spark was asked for a sum that depends on the order of rows; please report it.")
    high, low = _halves(node)
    unit = _cast(_integer(2**LOW_BITS), "DECIMAL(10, 0)")
    return exp.Paren(this=exp.Add(this=exp.Mul(this=_cast(high, "DECIMAL(20, 0)"), expression=unit), expression=low))


def _avg(node: Sql, kinds: _Kinds) -> Sql:
    value = node.this
    if kinds[id(value)] != WHOLE:
        raise InternalError("Spark was asked for a mean that depends on the order of rows; please report it.")
    high, low = _halves(node)
    unit = exp.Var(this=f"{2.0**LOW_BITS!r}D")
    total = exp.Add(this=exp.Mul(this=_cast(high, "DOUBLE"), expression=unit), expression=_cast(low, "DOUBLE"))
    records = _call("NULLIF", _call("COUNT", value.copy()), _integer(0))
    return exp.Paren(this=exp.Div(this=exp.Paren(this=total), expression=_cast(records, "DOUBLE")))


def _halves(node: Sql) -> tuple[Sql, Sql]:
    """Return the sums of the upper and of the lower parts of the integers that a sum or mean is of."""
    value: Sql = node.this
    function = "SUM" if sql.ABSENT in node.meta else "TRY_SUM"
    high = _call("SHIFTRIGHT", value.copy(), exp.Var(this=str(LOW_BITS)))
    mask = exp.Paren(this=exp.BitwiseAnd(this=exp.Paren(this=value.copy()), expression=_integer(2**LOW_BITS - 1)))
    return _call(function, high), _call(function, mask)


def _typed_cast(node: Sql, kinds: _Kinds) -> Sql:
    value: Sql = node.this
    have, want = kinds[id(value)], kinds[id(node)]
    if have == NOTHING:
        return _cast(value, {DOUBLE: "DOUBLE", WHOLE: "BIGINT", HUGE: "DECIMAL(38, 0)"}.get(want, "STRING"))
    if have == want and have != DOUBLE:
        return value
    if want == WHOLE:
        whole = _call("RINT", value) if have == DOUBLE else value
        return _call_as("TRY_CAST", whole, "BIGINT")
    if want == HUGE:
        return _huge(value) if have == DOUBLE else _cast(value, "DECIMAL(38, 0)")
    if want == DOUBLE:
        return _cast(value, "DOUBLE")
    # Of doubles that an ORDER BY has found equal the texts tell -0.0 from 0.0 alone, as DuckDB's do.
    if want == TEXT and have != DECIMAL and (have != DOUBLE or isinstance(node.parent, exp.Ordered)):
        return _cast(value, "STRING")
    raise InternalError(f"Spark has no cast from {have} to {want}; please report it.")


def _huge(value: Sql) -> Sql:
    """Return a double, rounded half to even, as an exact DECIMAL(38,0); NULL where it has more digits."""
    whole = _call("RINT", value)
    unit = exp.Var(this=f"{SPLIT!r}D")
    # Towards zero: the rest has the sign of the whole, and is exact.
    high = _call_as("TRY_CAST", exp.Div(this=whole, expression=unit), "BIGINT")
    low = exp.Sub(this=whole.copy(), expression=exp.Mul(this=_cast(high.copy(), "DOUBLE"), expression=unit.copy()))
    upper = _call("TRY_MULTIPLY", _cast(high, "DECIMAL(38, 0)"), _cast(_integer(int(SPLIT)), "DECIMAL(20, 0)"))
    return _call_as("TRY_CAST", _call("TRY_ADD", upper, _call_as("TRY_CAST", low, "BIGINT")), "DECIMAL(38, 0)")


def _divide(node: Sql, kinds: _Kinds) -> Sql:
    left, right = (_as_double(side, kinds) for side in (node.this, node.expression))
    if not _is_number(right):
        right = _call("NULLIF", right, exp.Var(this="0.0D"))
    return exp.Div(this=left, expression=right)


def _is_number(value: Sql) -> bool:
    while isinstance(value, exp.Paren | exp.Neg):
        value = value.this
    return isinstance(value, exp.Var)


def _arithmetic(function: str, node: Sql, kinds: _Kinds) -> Sql:
    sides = (node.this, node.expression)
    if kinds[id(node)] == HUGE:
        return _call(function, *sides)
    if kinds[id(node)] == DOUBLE:
        return type(node)(**dict(zip(("this", "expression"), (_as_double(side, kinds) for side in sides), strict=True)))
    return node


def _as_double(value: Sql, kinds: _Kinds) -> Sql:
    return value if kinds[id(value)] == DOUBLE else _cast(value, "DOUBLE")


def _floor(node: Sql, kinds: _Kinds) -> Sql:
    # Of a double Spark's is an integer of 64 bits.
    return _cast(_call("FLOOR", node.this), "DOUBLE")


def _renamed(name: str, node: Sql, kinds: _Kinds) -> Sql:
    return _call(name, *node.iter_expressions())


def _function(node: Sql, kinds: _Kinds) -> Sql:
    name = node.name.lower()
    arguments: list[Sql] = node.expressions
    if name == "regexp_extract_all":
        return _call("REGEXP_EXTRACT_ALL", *arguments, exp.Var(this="0"))
    if name == "list_reduce":
        values, step, first = arguments
        return _call("AGGREGATE", values, first, step)
    if name == "split_part":
        return _call("SPLIT_PART", *arguments[:2], _short(arguments[2]))
    if name == "epoch_us":
        # Times are microseconds already.
        return arguments[0]
    if name == "make_timestamp":
        return arguments[0]
    if name == "date_part":
        return _field(arguments[0].name, arguments[1])
    if name in ("quantile_disc", "quantile_cont"):
        return _quantile(*arguments, is_value=name == "quantile_disc")
    if name in ("lag", "lead"):
        return _call(name.upper(), arguments[0], _short(arguments[1]), *arguments[2:])
    renamed = {"hash": "XXHASH64", "bit_xor": "BIT_XOR", "strlen": "OCTET_LENGTH", "regexp_matches": "REGEXP_LIKE"}
    renamed |= {"string_split": "SPLIT", "replace": "REPLACE"}
    renamed |= {name: name.upper() for name in ("concat_ws", "md5", "bool_and", "bool_or", *RANKS, "first_value")}
    renamed |= {"last_value": "LAST_VALUE"}
    return _call(renamed[name], *arguments)


def _quantile(value: Sql, level: Sql, *, is_value: bool) -> Sql:
    """Return DuckDB's quantile of the values that are there, by its own arithmetic of places; NULL of none.

    Of ``n`` in order, numbered from 1, it is the one of number ``n - floor(n - n level)``, at least 1; or between the
    two around ``1 + (n - 1) level``, nearer to either by the fraction of that.
    """
    one, zero = exp.Var(this="1.0D"), exp.Var(this="0.0D")
    count = _cast(_call("COUNT", value), "DOUBLE")
    ordered = _call("SORT_ARRAY", _call("COLLECT_LIST", value.copy()))

    def at(place: Sql) -> Sql:
        return _call("TRY_ELEMENT_AT", ordered.copy(), _call_as("TRY_CAST", place, "INT"))

    if is_value:
        below = _call("FLOOR", exp.Sub(this=count, expression=exp.Mul(this=count.copy(), expression=level)))
        place = exp.Sub(this=count.copy(), expression=_cast(below, "DOUBLE"))
        return at(_call("GREATEST", place, one))
    last = exp.Paren(this=exp.Sub(this=count, expression=one))
    steps = _call("GREATEST", exp.Mul(this=last, expression=level), zero)
    low = _cast(_call("FLOOR", steps), "DOUBLE")
    part = exp.Paren(this=exp.Sub(this=steps.copy(), expression=low))
    lower = at(exp.Add(this=low.copy(), expression=one.copy()))
    upper = at(exp.Add(this=low.copy(), expression=exp.Var(this="2.0D")))
    rest = exp.Paren(this=exp.Sub(this=one.copy(), expression=part.copy()))
    between = exp.Add(
        this=exp.Mul(this=lower.copy(), expression=rest), expression=exp.Mul(this=upper, expression=part.copy())
    )
    return _call("IF", exp.GT(this=part, expression=zero.copy()), between, lower)


def _short(number: Sql) -> Sql:
    """Return a whole number as one of 32 bits, as Spark takes places and distances of rows."""
    return exp.Var(this=number.name.rstrip("L"))


def _window(node: Sql, kinds: _Kinds) -> Sql:
    """Return a window; what stands for a sum or mean is made of several aggregates, each of which is a window."""
    value: Sql = node.this
    parts = [found for found in value.walk() if isinstance(found, exp.Anonymous) and found.name in ("SUM", "TRY_SUM")]
    for found in parts if parts else [value]:
        over = {key: node.args[key] for key in ("order", "spec") if node.args.get(key) is not None}
        keys = [own.copy() for own in node.args.get("partition_by") or ()]
        copies = {key: own.copy() for key, own in over.items()}
        made = exp.Window(this=found.copy(), partition_by=keys, over="OVER", **copies)
        if found is value:
            # Ranks are numbers of 32 bits, which products would leave.
            return _cast(made, "BIGINT") if found.name.lower() in RANKS else made
        found.replace(made)
    return value


def _frame(node: Sql, kinds: _Kinds) -> Sql:
    ends = {key: node.args[key] for key in ("start", "end") if isinstance(node.args.get(key), exp.Var)}
    for key, end in ends.items():
        node.set(key, _short(end))
    return node


def _field(part: str, time: Sql) -> Sql:
    """Return a field of a time in microseconds since 1970, by arithmetic and by dates alone, which know no zone."""
    within = _call("PMOD", time.copy(), _integer(DAY_MICROSECONDS))
    if part == "hour":
        return _quotient(within, 3_600_000_000)
    if part == "minute":
        return _quotient(_call("PMOD", time.copy(), _integer(3_600_000_000)), 60_000_000)
    days = _quotient(exp.Paren(this=exp.Sub(this=time.copy(), expression=within)), DAY_MICROSECONDS)
    # 1970 began on a Thursday.
    if part == "dow":
        return _call("PMOD", exp.Add(this=days, expression=_integer(4)), _integer(7))
    if part == "isodow":
        place = _call("PMOD", exp.Add(this=days, expression=_integer(3)), _integer(7))
        return exp.Paren(this=exp.Add(this=place, expression=_integer(1)))
    date = _call("DATE_FROM_UNIX_DATE", _call_as("TRY_CAST", days, "INT"))
    return _cast(_call(FIELDS[part], date), "BIGINT")


def _quotient(value: Sql, unit: int) -> Sql:
    return exp.Paren(this=exp.IntDiv(this=value, expression=_integer(unit)))


def _translate(node: Sql, kinds: _Kinds) -> Sql:
    return unguarded(node) if isinstance(node, exp.Translate) else node


def _integer(value: int) -> Sql:
    return exp.Var(this=f"{value}L" if value <= LARGEST_WHOLE else f"{value}BD")


def _call(name: str, *arguments: Sql) -> Sql:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _cast(value: Sql, kind: str) -> Sql:
    return _call_as("CAST", value, kind)


def _call_as(name: str, value: Sql, kind: str) -> Sql:
    # Written out: sqlglot's own casts know more of types than is wanted here.
    return exp.Anonymous(this=name, expressions=[exp.Alias(this=value, alias=exp.Var(this=kind))])


Rule = Callable[[Sql, _Kinds], Sql]

RULES: Mapping[type[Sql], Rule] = {
    exp.Literal: _literal,
    exp.Cast: _typed_cast,
    exp.TryCast: _typed_cast,
    exp.Sum: _sum,
    exp.Avg: _avg,
    exp.Div: _divide,
    exp.Floor: _floor,
    exp.Anonymous: _function,
    exp.Translate: _translate,
    exp.Window: _window,
    exp.WindowSpec: _frame,
    exp.Add: partial(_arithmetic, "TRY_ADD"),
    exp.Sub: partial(_arithmetic, "TRY_SUBTRACT"),
    exp.Mul: partial(_arithmetic, "TRY_MULTIPLY"),
}

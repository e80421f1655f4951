"""Random conditions over hard columns, for the test that a row's value depends on nothing but the row."""

import datetime as dt
import random

from emdp.rows.building import call, case, in_list
from emdp.rows.nodes import Call, Cast, Column, Literal, Node
from emdp.rows.types import Kind

X, Y, T, D, TS = (
    Column("t", name, kind)
    for name, kind in (
        ("x", Kind.BIGINT),
        ("y", Kind.DOUBLE),
        ("s", Kind.TEXT),
        ("d", Kind.DATE),
        ("ts", Kind.TIMESTAMP),
    )
)
BIG = 2**63 - 1


def predicate(seed: int) -> Node:
    """Return a condition; the same one for the same seed."""
    return _boolean(random.Random(seed), 2)


def _whole(draw: random.Random, depth: int) -> Node:
    if depth == 0 or draw.random() < 0.2:
        return draw.choice([X, X, Cast(T, Kind.BIGINT), Cast(Y, Kind.BIGINT)])
    name = draw.choice(
        ["add", "subtract", "multiply", "divide_whole", "remainder", "abs", "negate", "date_part", "length"]
    )
    if name in {"abs", "negate"}:
        return call(name, _whole(draw, depth - 1))
    if name == "date_part":
        year = call("make_date", _whole(draw, depth - 1), _number(draw), _number(draw))
        return call(name, Literal("year", Kind.TEXT), draw.choice([TS, year]))
    if name == "length":
        return call(name, T)
    return call(name, _whole(draw, depth - 1), draw.choice([_number(draw), _whole(draw, depth - 1)]))


def _number(draw: random.Random) -> Literal:
    return Literal(draw.choice([0, 1, -1, 2, 5, 12, BIG, -BIG - 1]), Kind.BIGINT)


def _boolean(draw: random.Random, depth: int) -> Node:
    kind = draw.randrange(9)
    value = _whole(draw, depth)
    if kind == 0:
        return call("is_null", value)
    if kind == 1:
        return call("not", call("is_null", value))
    if kind == 2:
        return in_list(value, [Literal(number, Kind.BIGINT) for number in range(draw.choice([3, 8, 40]))])
    if kind == 3:
        low, high = call("at_least", value, _number(draw)), call("at_most", value, _number(draw))
        return call("and", low, high)
    if kind == 4 and depth:
        return call(draw.choice(["and", "or"]), _boolean(draw, depth - 1), _boolean(draw, depth - 1))
    if kind == 5:
        chosen = case([(call("is_null", value), Literal(0, Kind.BIGINT))], value)
        return call("greater", chosen, _number(draw))
    if kind == 6:
        return call("is_distinct", value, _whole(draw, depth - 1) if depth else X)
    if kind == 7:
        day = draw.choice([Cast(T, Kind.DATE), call("add", D, value), D])
        return call("less", day, Literal(dt.date(2020, 1, 5), Kind.DATE))
    return Call(draw.choice(["equal", "differs", "less", "at_least"]), (value, _number(draw)))

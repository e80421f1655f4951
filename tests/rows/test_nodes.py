"""Nodes of row expressions: what they take, their text, their columns."""

import datetime as dt
import math

import pytest

from emdp.base.errors import UsageError
from emdp.rows.building import as_kind, call, case, common_kind, in_list
from emdp.rows.nodes import Call, Case, Cast, Column, InList, Literal, columns, operands
from emdp.rows.types import Kind, check_value

X, Y, T = Column("t", "x", Kind.BIGINT), Column("u", "y", Kind.DOUBLE), Column("t", "s", Kind.TEXT)
ONE, HALF = Literal(1, Kind.BIGINT), Literal(0.5, Kind.DOUBLE)
NULL = Literal(None, Kind.TEXT)


def test_nodes_are_values() -> None:
    assert call("add", X, ONE) == call("add", X, ONE)
    assert len({call("add", X, ONE), call("add", X, ONE), call("add", X, Literal(2, Kind.BIGINT))}) == 2
    assert Literal(True, Kind.BOOLEAN) != ONE
    assert Literal(0.0, Kind.DOUBLE) != Literal(-0.0, Kind.DOUBLE)


def test_columns_are_found() -> None:
    node = case([(call("greater", X, Y), in_list(X, [ONE]))], Call("is_null", (T,)))
    assert columns(node) == {X, Y, T}
    assert operands(in_list(X, [ONE])) == (X, ONE)
    assert operands(Cast(X, Kind.DOUBLE)) == (X,)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1, Kind.BOOLEAN), (True, Kind.BIGINT), (1, Kind.DOUBLE), (math.nan, Kind.DOUBLE), (math.inf, Kind.DOUBLE),
        (2**63, Kind.BIGINT), ("\ud800", Kind.TEXT), (dt.datetime(2020, 1, 1), Kind.DATE),
        (dt.datetime(2020, 1, 1, tzinfo=dt.UTC), Kind.TIMESTAMP), (1, Kind.TEXT),
    ],
)  # fmt: skip
def test_values_of_other_kinds_are_refused(value: object, kind: Kind) -> None:
    with pytest.raises(UsageError, match="value must"):
        Literal(value, kind)  # type: ignore[arg-type]


def test_null_is_of_every_kind() -> None:
    for kind in Kind:
        check_value(None, kind)
        assert str(Literal(None, kind)) == f"CAST(NULL AS {kind.value})"


def test_calls_take_what_a_form_takes() -> None:
    with pytest.raises(UsageError, match="function must be one of the table"):
        Call("random", ())
    with pytest.raises(UsageError, match=r"fit a form of add, got \(BIGINT, DOUBLE\)"):
        Call("add", (X, HALF))
    with pytest.raises(UsageError, match="fit a form of like"):
        Call("like", (T, T))
    with pytest.raises(UsageError, match="a pattern that is known"):
        Call("regexp_matches", (T, Literal("(a+)+", Kind.TEXT)))
    with pytest.raises(UsageError, match="fit a form"):
        call("add", T, X)
    assert call("add", X, HALF).arguments[0] == Cast(X, Kind.DOUBLE)
    assert call("equal", X, NULL).arguments[1] == Literal(None, Kind.BIGINT)


def test_cases_have_conditions_and_one_kind() -> None:
    with pytest.raises(UsageError, match="pairs of a condition"):
        Case((), ONE)
    with pytest.raises(UsageError, match="pairs of a condition"):
        Case(((ONE, ONE),), ONE)
    with pytest.raises(UsageError, match="values of one kind"):
        Case(((Literal(True, Kind.BOOLEAN), HALF),), ONE)
    with pytest.raises(UsageError, match="must be of one kind"):
        case([(Call("is_null", (X,)), ONE)], T)
    with pytest.raises(UsageError, match="must be BOOLEAN"):
        case([(X, ONE)])
    assert case([(Call("is_null", (X,)), ONE)], HALF).kind is Kind.DOUBLE


def test_lists_hold_literals_of_one_kind() -> None:
    with pytest.raises(UsageError, match="one at least"):
        InList(X, ())
    with pytest.raises(UsageError, match="one at least"):
        InList(X, (HALF,))
    with pytest.raises(UsageError, match="must not hold NULL"):
        InList(X, (Literal(None, Kind.BIGINT),))
    with pytest.raises(UsageError, match="must be literals"):
        in_list(X, [X])
    assert in_list(X, [NULL]) == Literal(None, Kind.BOOLEAN)
    assert in_list(X, [ONE, ONE, NULL]).kind is Kind.BOOLEAN


def test_casts_that_lose_something_are_not_put_in() -> None:
    assert as_kind(Y, Kind.BIGINT) is None
    assert as_kind(Literal(2**53 + 1, Kind.BIGINT), Kind.DOUBLE) is None
    assert as_kind(Literal("2020-13-01", Kind.TEXT), Kind.DATE) is None
    assert as_kind(Literal("2020-01-01 00:00:00+02:00", Kind.TEXT), Kind.TIMESTAMP) is None
    assert as_kind(Literal(dt.date(2020, 1, 1), Kind.DATE), Kind.TIMESTAMP) == Literal(
        dt.datetime(2020, 1, 1), Kind.TIMESTAMP
    )
    assert common_kind([NULL, NULL]) is Kind.TEXT
    with pytest.raises(UsageError, match="cast to TEXT, got DOUBLE"):
        Cast(Y, Kind.TEXT)


def test_a_text_is_a_time_only_as_all_pythons_and_duckdb_read_it() -> None:
    for text in ("2020-01-05 24:00:00", "20200105T101112", "2020-W01-1", "2020-01-05 10:00+01:00", "2020-01-05 10"):
        assert as_kind(Literal(text, Kind.TEXT), Kind.TIMESTAMP) is None, text
    assert as_kind(Literal("20200105", Kind.TEXT), Kind.DATE) is None
    made = as_kind(Literal(" 2020-01-05T23:59:58.25 ", Kind.TEXT), Kind.TIMESTAMP)
    assert made == Literal(dt.datetime(2020, 1, 5, 23, 59, 58, 250000), Kind.TIMESTAMP)

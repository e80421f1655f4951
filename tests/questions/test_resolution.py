"""``by=`` and ``where=`` of Python, from names to public lists, and their refusals."""

from typing import Any

import polars as pl
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.questions.names import Names
from emdp.questions.resolution import describe, resolve_query
from emdp.questions.select import FrequencyQuery, Grid, QuantileQuery, Select

SPACE = emdp.Product(emdp.Interval("x", 0, 10), emdp.Categories("kind", ["a", "b"]))
USERS = pl.DataFrame({"user": ["1", "2", "3"], "plan": ["free", "pro", "pro"], "age": [20, 30, None]})
NAMES = Names("data", "user", SPACE, {"user": "BIGINT", "x": "DOUBLE", "kind": "VARCHAR"}, 3, USERS)
NUMBER_ONLY = Names("data", "user", SPACE, {"user": "BIGINT", "x": "DOUBLE", "kind": "VARCHAR"}, 3)
X = emdp.col("x")


def test_a_plain_mean_stays_as_it_is() -> None:
    query = emdp.mean(X, alpha=1)
    assert resolve_query(query, NAMES) is query


def test_groups_of_records_and_of_users_come_from_public_lists() -> None:
    query = resolve_query(emdp.mean(X, alpha=1, name="m", by=["kind", "plan"]), NAMES)
    assert isinstance(query, Select)
    assert [group.values for group in query.groups] == [("a", "b")]
    assert query.people is not None
    assert query.people.values == (("free",), ("pro",))
    assert query.people.groups.sizes == (1, 2)
    assert [item.name for item in query.items] == ["m"]


def test_where_weighs_records_and_chooses_users() -> None:
    where = [emdp.category_is("a"), emdp.ramp(X, 0, 1), {"plan": "pro", "age": [30, 40]}]
    query = resolve_query(emdp.vector_mean([X, X * X], alpha=1, where=where), NAMES)
    assert isinstance(query, Select)
    assert str(query.where) == "category_is('a') * ramp(x, 0, 1)"
    assert query.people is not None
    assert query.people.groups.keys.to_list() == ["2"]
    assert "age in (30, 40)" in query.text


def test_distributions_are_resolved_too() -> None:
    grid = resolve_query(emdp.frequencies(0.5, column="x", alpha=1), NAMES)
    assert isinstance(grid, FrequencyQuery)
    assert grid.cells == Grid(0.5, "x")
    labels = resolve_query(emdp.frequencies("kind", alpha=1, where={"plan": "pro"}), NAMES)
    assert isinstance(labels, FrequencyQuery)
    assert labels.people is not None
    levels = resolve_query(emdp.quantiles(X, 0.5, alpha=1, where=emdp.category_is("a")), NAMES)
    assert isinstance(levels, QuantileQuery)
    assert (levels.levels, str(levels.where)) == ((0.5,), "category_is('a')")
    assert describe(emdp.quantiles(X, [0.5, 0.9], alpha=1)) == "quantiles(x, [0.5, 0.9])"


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (NAMES, {"by": "x"}, "x"),
        (NAMES, {"by": "absent"}, "absent"),
        (NAMES, {"by": ["kind", "kind"]}, "each once"),
        (NAMES, {"by": 3}, "by must be"),
        (NAMES, {"where": X}, r"values in \[0, 1\]"),
        (NAMES, {"where": "plan"}, "not str"),
        (NAMES, {"where": {"absent": 1}}, "no public user column"),
        (NAMES, {"where": {"plan": []}}, "lists no value"),
        (NAMES, {"where": {"plan": "gold"}}, "no public user"),
        (NUMBER_ONLY, {"where": {"plan": "pro"}}, "pass users= as a table"),
        (NUMBER_ONLY, {"by": "plan"}, "plan"),
    ],
)
def test_refusals_name_the_argument(names: Names, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        resolve_query(emdp.mean(X, alpha=1, **options), names)


def test_frequencies_take_no_filter_of_records_and_no_groups_of_them() -> None:
    with pytest.raises(UsageError, match="where must name public user columns"):
        resolve_query(emdp.frequencies(0.5, column="x", alpha=1, where=emdp.category_is("a")), NAMES)
    with pytest.raises(UsageError, match="is no public user column"):
        resolve_query(emdp.frequencies(0.5, column="x", alpha=1, by="kind"), NAMES)


@pytest.mark.parametrize(
    "make",
    [
        lambda: emdp.frequencies(0, alpha=1),
        lambda: emdp.frequencies("", alpha=1),
        lambda: emdp.frequencies("kind", column="kind", alpha=1),
        lambda: emdp.frequencies(1, alpha=1, method="exact"),  # type: ignore[arg-type]
        lambda: emdp.frequencies(1),
        lambda: emdp.quantiles(X, [], alpha=1),
        lambda: emdp.quantiles(X, [0.5, 0.5], alpha=1),
        lambda: emdp.quantiles(X, [1.0], alpha=1),
        lambda: emdp.quantiles(X, 0.5, alpha=1, step=0),
        lambda: emdp.quantiles(X, 0.5, alpha=1, name=""),
        lambda: emdp.quantiles(X, 0.5, alpha=1, noise="uniform"),  # type: ignore[arg-type]
    ],
)
def test_malformed_distributions_are_refused(make: Any) -> None:
    with pytest.raises(UsageError):
        make()

"""Parameters become single literals: whatever a value holds, it changes nothing of the statement around it."""

import datetime
import math
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import emdp
from emdp.base.errors import EmdpError, SqlError, UsageError
from emdp.cli.sql import with_parameters
from emdp.sql.text.dialect import tokenise
from emdp.sql.text.parameters import filled_in

VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False),
    st.text(), st.dates(), st.datetimes(),
)  # fmt: skip


SLOW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""On a busy machine the first text takes long to draw."""


@SLOW
@given(VALUES)
def test_a_value_is_one_literal_between_what_stood_around_it(value: object) -> None:
    tokens = [token.text for token in tokenise(filled_in("a-?-b", [value]))]
    assert tokens[:2] == ["a", "-"]
    assert tokens[-2:] == ["-", "b"]
    inner = tokens[2:-2]
    if inner[0] == "(":
        inner = inner[2:-1]
    elif inner[0] in ("DATE", "TIMESTAMP"):
        inner = inner[1:]
    assert len(inner) == 1
    if isinstance(value, str):
        assert inner == [value]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        assert type(value)(inner[0]) == abs(value)


def test_marks_within_texts_names_and_comments_are_no_parameters() -> None:
    text = "a = ? AND b = '?' AND \"?\" = 1 -- ?\n AND c = ?"
    assert filled_in(text, [1, 2]) == "a = 1 AND b = '?' AND \"?\" = 1 -- ?\n AND c = 2"
    assert filled_in("a = $x AND b = '$x' AND c = $x", {"x": 5}) == "a = 5 AND b = '$x' AND c = 5"
    assert filled_in("a = ?", None) == "a = ?"


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("a = ?", []), ("a = ?", [1, 2]), ("a = $x", {}), ("a = $x", {"x": 1, "y": 2}), ("a = ?", ["a", 1]),
        ("a = ?", [math.nan]), ("a = ?", [math.inf]), ("a = ?", [2**63]), ("a = ?", [b"x"]), ("a = ?", [[1]]),
        ("a = ?", "x"), ("a = ?", 5), ("a = ?", [datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)]),
        ("a IN ?", [[]]), ("a IN ?", [[[1]]]), ("a IN (?, ?)", [[1], 2]), ("a IN ?", [[math.nan]]),
        ("a IN ?", [{1, 2}]),
        ("a = ?", {"x": 1}), ("a = $x", [1]), ("a = $1", {"1": 1}), ("a = $ x", {"x": 1}),
    ],
)  # fmt: skip
def test_values_that_do_not_fit_are_refused(text: str, parameters: object) -> None:
    with pytest.raises((UsageError, SqlError)):
        filled_in(text, parameters)  # type: ignore[arg-type]


@SLOW
@given(st.lists(VALUES, min_size=1, max_size=4), st.sampled_from(["a IN ?-b", "a IN (?)-b", "a in  ( ? )-b"]))
def test_a_list_is_as_many_literals_behind_in(values: list[object], text: str) -> None:
    (one, *others) = [filled_in("?", [value]) for value in values]
    expected = " ".join(token.text for token in tokenise(f"a IN ({', '.join([one, *others])})-b"))
    assert " ".join(token.text for token in tokenise(filled_in(text, [values]))).replace("in", "IN", 1) == expected
    assert filled_in("a IN $x", {"x": tuple(values)}) == filled_in("a IN ?", [values])


TEXT = (
    "SELECT WITH USER_PRIVACY OPTIONS (epsilon = ?, max_records_per_user = ?) COUNT(*) AS n FROM t "
    "WHERE name = ? OR (k > ? AND day <= ?)"
)


def test_a_session_answers_with_parameters_what_it_answers_with_literals(tmp_path: Path) -> None:
    days = [datetime.date(2026, 1, 1 + number) for number in range(6)]
    names = ["it's", "b", "?", "' OR 1 = 1 --", "$x", "b"]
    rows = pl.DataFrame({"u": range(6), "k": [0, -1, -2, 3, 4, 5], "name": names, "day": days})
    table = emdp.read(rows, user="u", space=emdp.Interval("k", -9, 9), users=6, name="t")
    with (
        emdp.testing.seeded(2),
        emdp.Session(table, budget=emdp.UserDP(1e9), ledger=tmp_path / "l") as session,
    ):
        for name in names:
            answer = session.sql(TEXT, parameters=[1.0, 50, name, -2, days[1]])
            expected = rows.filter((pl.col("name") == name) | ((pl.col("k") > -2) & (pl.col("day") <= days[1])))
            assert answer.exact["n"] == len(expected)
            assert "?" not in answer.query.replace("'?'", "")
        header = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 9)"
        named = f"{header} COUNT(*) AS n FROM t WHERE k > $k"
        assert session.sql(named, parameters={"k": 0}).exact["n"] == 3
        assert session.preview(named, parameters={"k": 0}).frame.height == 1
        assert len(session.sql_batch(f"{named}; {named}", parameters={"k": 3})) == 2
        with pytest.raises(EmdpError, match="parameter"):
            session.sql(named)


def test_the_command_fills_parameters_in() -> None:
    assert with_parameters("a = ? AND b = ?", '[3, "x=1"]') == "a = 3 AND b = 'x=1'"
    assert with_parameters("a = $n AND b = $word", '{"word": "it\'s", "n": -3}') == "a = (-3) AND b = 'it''s'"
    assert with_parameters("a = ?", None) == "a = ?"
    for given_ in ("3", "[3", "[[3]]", "[1e999]"):
        with pytest.raises(UsageError, match="parameters"):
            with_parameters("a = ?", given_)

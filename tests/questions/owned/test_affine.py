"""Sums of affine functions of one argument: what they are made of, and what that saves."""

from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import emdp
from emdp.questions.owned.affine import affine
from emdp.rows.building import call
from emdp.rows.nodes import Column, Literal, Node
from emdp.rows.types import Kind

W, X = Column("t", "w", Kind.BIGINT), Column("t", "x", Kind.DOUBLE)


def number(value: float) -> Literal:
    return Literal(value, Kind.BIGINT if isinstance(value, int) else Kind.DOUBLE)


@pytest.mark.parametrize(
    ("node", "base", "factor", "offset"),
    [
        (W, W, 1, 0),
        (call("add", number(3), W), W, 1, 3),
        (call("subtract", W, number(3)), W, 1, -3),
        (call("subtract", number(3), call("multiply", number(2), W)), W, -2, 3),
        (call("negate", call("add", call("multiply", X, number(0.5)), number(1.0))), X, -0.5, -1),
        (call("multiply", W, W), call("multiply", W, W), 1, 0),
        (call("multiply", W, number(0)), call("multiply", W, number(0)), 1, 0),
        (call("abs", W), call("abs", W), 1, 0),
    ],
)
def test_what_is_affine(node: Node, base: Node, factor: float, offset: float) -> None:
    assert affine(node) == (base, Fraction(factor), Fraction(offset))


HEADER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = {}, max_records_per_user = 5) "


def test_they_are_those_sums(tmp_path: Path) -> None:
    records = pl.DataFrame({"u": [1, 1, 2, 3, 3], "w": [4.0, 9.0, None, 30.0, 0.0], "c": ["a", "b", "a", "a", "b"]})
    space = emdp.Product(emdp.Interval("w", 0, 20, on_invalid="clamp"), emdp.Categories("c", ["a", "b"]))
    table = emdp.read(records, user="u", space=space, users=3, name="t")
    text = (
        "c, SUM(w) AS one, SUM(2 * w + 1) AS two, SUM(3 - w) AS three, SUM(w - 1) / COUNT(*) AS four, COUNT(*) AS n "
        "FROM t WHERE w IS NOT NULL GROUP BY c HAVING SUM(w) > 5 ORDER BY two DESC"
    )
    with emdp.testing.seeded(2), emdp.Session(table, budget=emdp.UserDP(1e9), ledger=tmp_path / "l") as session:
        answer = session.sql(HEADER.format("1e8") + text)
    values = [name for name in answer.frame.columns if not name.endswith(("_low", "_high"))]
    assert values == ["c", "one", "two", "three", "four", "n"]
    # The clamped values: 4, 20 of a; 9, 0 of b. NULL is clamped by the space, or left out by WHERE.
    rows = {row[0]: row[1:] for row in answer.frame.select(values).rows()}
    for key, own in rows.items():
        one, two, three, four, n = own
        assert two == pytest.approx(2 * one + n, abs=1e-2), key
        assert three == pytest.approx(3 * n - one, abs=1e-2)
        assert four == pytest.approx((one - n) / n, abs=1e-2)
    low, high = answer.interval(of="capped").filter(pl.col("query") == "two").select("low", "high").row(0)
    assert low < answer.frame["two"][0] < high


def test_ninety_sums_have_the_noise_of_two(tmp_path: Path) -> None:
    records = pl.DataFrame({"u": [1, 2, 3], "w": [1, 2, 3]})
    table = emdp.read(records, user="u", space=emdp.Interval("w", 0, 20), users=3, name="t")
    many = ", ".join(f"SUM(w + {add}) AS s{add}" for add in range(90))
    with emdp.Session(table, budget=emdp.UserDP(1e9), ledger=tmp_path / "l") as session:
        frame = session.preview(HEADER.format(1) + f"{many} FROM t WHERE w > -1").frame
        alone = session.preview(HEADER.format(1) + "SUM(w) AS s FROM t WHERE w > -1").frame
    errors = dict(zip(frame["query"], frame["expected_error"], strict=True))
    assert len(errors) == 90
    # One alone, times at most 4 beside a count; of its own each would be 90 times as much.
    assert errors["s0"] < 4 * alone["expected_error"][0]
    assert errors["s89"] < 90 * errors["s0"]

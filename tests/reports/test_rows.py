"""Tables of a page: rounding says what the interval says, and never more."""

import math
import re
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from made_runs import cells, grouped, listed, quantiles, single

from emdp.reports.rows import NO_VALUE, Cell, rounded, table_of

NUMBERS = st.floats(-1e12, 1e12, allow_nan=False)
HALF_WIDTHS = st.floats(1e-6, 1e12)


def _number(text: str) -> float:
    return float(text.replace(",", ""))


@given(NUMBERS, HALF_WIDTHS)
def test_ends_are_rounded_outward_by_at_most_a_tenth_of_the_half_width(value: float, half: float) -> None:
    low, high = value - half, value + half
    own = (high - low) / 2
    assume(own > 1e-9 * abs(value))
    cell = rounded(value, low, high)
    left, right = (_number(end) for end in cell.interval.split(" to "))
    dust = 1e-13 * max(abs(low), abs(high)) + 1e-15
    assert left <= low + dust
    assert right >= high - dust
    assert low - left <= 0.1 * own + dust
    assert right - high <= 0.1 * own + dust
    assert abs(_number(cell.text) - value) <= 0.05 * own + dust


@given(NUMBERS, HALF_WIDTHS)
def test_no_digit_is_below_a_hundredth_of_the_half_width(value: float, half: float) -> None:
    own = ((value + half) - (value - half)) / 2
    decimals = re.search(r"\.(\d+)$", rounded(value, value - half, value + half).text)
    if decimals is not None and own > 0:
        assert 10.0 ** -len(decimals[1]) > 0.00999 * own


@pytest.mark.parametrize(
    ("given_cell", "shown"),
    [
        ((7.2034, 6.9103, 7.4965), Cell("7.20", "6.91 to 7.50")),
        ((10.0, 9.3, 10.700000000000001), Cell("10.00", "9.30 to 10.70")),
        ((123456.0, 119999.0, 126913.0), Cell("123,500", "119,900 to 127,000")),
        ((-0.0001, -0.3, 0.3), Cell("0.00", "-0.30 to 0.30")),
        ((5.0, 5.0, 5.0), Cell("5", "5 to 5")),
        ((5.0, -math.inf, 6.0), Cell("5.0", "at most 6.0")),
        ((5.0, 4.0, math.inf), Cell("5.0", "at least 4.0")),
        ((5.0, -math.inf, math.inf), Cell("5", "no limits")),
        ((None, -math.inf, math.inf), Cell(NO_VALUE)),
        ((None, None, None), Cell(NO_VALUE)),
        ((3e300, 2e300, 4e300), Cell("3e+300", "2e+300 to 4e+300")),
        ((1e-300, 0.0, 2e-300), Cell("0.000000000000000", "0.000000000000000 to 0.000000000000001")),
    ],
)
def test_numbers_as_they_are_shown(given_cell: tuple[float | None, ...], shown: Cell) -> None:
    assert rounded(*given_cell) == shown  # type: ignore[arg-type]


def test_all_rows_are_shown_up_to_the_limit() -> None:
    table = table_of(grouped(12), 12)
    assert [head for head, _ in table.heads] == ["category", "km", "share"]
    assert (len(table.rows), table.total, table.which) == (12, 12, "")
    assert table.rows[0] == (Cell("café"), Cell("12.00", "11.60 to 12.40"), Cell("0.200", "0.187 to 0.213"))
    assert table.rows[4][1] == Cell(NO_VALUE)


def test_rows_beyond_the_limit_are_left_out_from_the_end() -> None:
    table = table_of(grouped(150), 100)
    assert (len(table.rows), table.total, table.which) == (100, 150, "the first 100 of 150 rows")


def test_cells_beyond_the_limit_are_left_out_from_the_smallest_on() -> None:
    answer = cells(20)
    table = table_of(answer, 30)
    assert table.which == "the 30 of 400 rows with the largest share"
    smallest = answer.frame["share"].top_k(30).min()
    kept = answer.frame.filter(pl.col("share") >= smallest)
    assert [row[0].text for row in table.rows] == [f"{lat:.3f}" for lat in kept["lat"]]
    assert table.heads == (("lat", False), ("lon", False), ("share", True))


def test_cells_without_a_value_are_left_out_first() -> None:
    answer = listed()
    frame = answer.frame.with_columns(share=pl.when(pl.col("stars") == "4 stars").then(None).otherwise(pl.col("share")))
    table = table_of(replace(answer, frame=frame), 4)
    assert [row[0].text for row in table.rows] == ["1 stars", "2 stars", "3 stars", "5 stars"]


def test_units_and_quantile_levels() -> None:
    assert table_of(single(), 5).heads == (("km", True),)
    named = quantiles()
    column = replace(named.columns[0], name="away")
    frame = named.frame.rename({"km": "away", "km_low": "away_low", "km_high": "away_high"})
    table = table_of(replace(named, frame=frame, columns=(column,)), 50)
    assert table.heads == (("q", False), ("away (km)", True))
    assert table.rows[0][0] == Cell("0.05")


def test_a_key_that_is_named_like_an_end_stays() -> None:
    answer = single()
    frame = answer.frame.with_columns(pl.lit("x").alias("floor_low")).select("floor_low", "km", "km_low", "km_high")
    assert [name for name, _ in table_of(replace(answer, frame=frame), 5).heads] == ["floor_low", "km"]

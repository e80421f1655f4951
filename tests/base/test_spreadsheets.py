"""CSV files that a spreadsheet opens: no text is run, no number is changed, and every text can be had again."""

import csv
import io
import re
from datetime import date, timedelta

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emdp.base.spreadsheets import csv_text

RUN = [
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "=cmd|' /C calc'!A0",
    "＝1+1",
    "-",
    "+",
    "-3.5 a",
    "=3",
]
KEPT = ["a=1", "-3.5", "+3", "1e5", "-1E-5", "'tis", "it's", "", " =1", "3-4", "é"]


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("text", RUN)
def test_a_text_that_is_a_formula_gets_a_quote_in_cells_and_names(text: str) -> None:
    frame = pl.DataFrame({text: [text, None]})
    assert cells(csv_text(frame))[:2] == [["'" + text], ["'" + text]]
    assert cells(csv_text(frame, raw=True))[:2] == [[text], [text]]


def test_other_texts_and_numbers_stay() -> None:
    frame = pl.DataFrame({"text": KEPT, "x": [-3.5 - place for place in range(len(KEPT))]})
    assert csv_text(frame) == csv_text(frame, raw=True) == frame.write_csv()


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(RUN)])
def test_texts_of_few_values_are_texts(kind: pl.DataType) -> None:
    frame = pl.DataFrame({"text": pl.Series(RUN).cast(kind)})
    assert [row[0] for row in cells(csv_text(frame))[1:]] == ["'" + text for text in RUN]


def test_types_that_csv_lacks_are_texts_and_days_stay_days() -> None:
    frame = pl.DataFrame(
        {
            "bytes": [b"=1", None],
            "long": [timedelta(days=-1), None],
            "day": [date(2026, 1, 1), None],
            "is": [True, None],
        }
    )
    assert cells(csv_text(frame))[1:] == [["3d31", "'-1 day, 0:00:00", "2026-01-01", "true"], ["", "", "", ""]]
    assert cells(csv_text(frame, raw=True))[1][1] == "-1 day, 0:00:00"


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.text(alphabet="'=+-@\t\r\n1a.,\";", min_size=1), min_size=1, unique=True))
def test_every_text_can_be_had_again_and_none_is_a_formula(texts: list[str]) -> None:
    found = [row[0] for row in cells(csv_text(pl.DataFrame({"text": texts})))[1:]]
    number = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
    assert all(text[0] not in "=+-@\t\r\n" or number.fullmatch(text) for text in found)
    assert [text[1:] if re.match(r"'+[=+\-@\t\r\n]", text) else text for text in found] == texts

"""Tables for notebooks: escaped, and rounded to what noise leaves."""

import math
import re
from pathlib import Path

import polars as pl

import emdp
from emdp.base.html import MOST_ROWS, frame_html, html_table
from emdp.expressions import col

HOSTILE = "<script>alert('x')</script>&\""


def test_texts_are_escaped_wherever_they_stand() -> None:
    text = html_table([HOSTILE], [[HOSTILE]], caption=HOSTILE)
    assert "<script" not in text
    assert text.count("&lt;script&gt;") == 3
    text = frame_html(pl.DataFrame({HOSTILE: [HOSTILE, None]}))
    assert "<script" not in text
    assert "<td></td>" in text


def test_only_values_with_intervals_are_rounded_and_the_frame_keeps_all() -> None:
    frame = pl.DataFrame(
        {"a": [1.23456789, None], "a_low": [1.0, None], "a_high": [1.5, None], "b": [2.0**0.5, math.inf]}
    )
    text = frame_html(frame)
    assert re.findall(r'right">([^<]*)<', text)[:4] == ["1.23", "1.00", "1.50", "1.41421"]
    assert frame["a"][0] == 1.23456789


def test_a_long_frame_is_cut_and_says_so() -> None:
    text = frame_html(pl.DataFrame({"a": range(MOST_ROWS + 1)}))
    assert text.count("<tr>") == MOST_ROWS + 1
    assert f"the first {MOST_ROWS} of {MOST_ROWS + 1} rows" in text


def test_what_a_notebook_shows_of_tables_sessions_previews_answers_and_consequences(tmp_path: Path) -> None:
    rows = {"who": [1, 1, 2], "<i>x": [0.123456, 0.4, 0.9]}
    table = emdp.read(rows, user="who", space=emdp.Interval("<i>x", 0, 1), users=2, name="t<b>")
    shown = [table._repr_html_()]
    with emdp.Session(table, budget=[emdp.EmdDP(10), emdp.UserDP(1)], ledger=tmp_path / "<u>.ledger") as session:
        query = emdp.mean(col("<i>x"), alpha=4, name="<s>")
        shown += [session.preview(query)._repr_html_(), session.answer(query)._repr_html_(), session._repr_html_()]
        shown.append(emdp.consequences(session, emdp.EmdDP(3))._repr_html_())
        assert [len(session.ledger.entries(None, "charge"))] == [1]
    assert all(not re.search(r"<[ibus]>", text) for text in shown)
    assert all("<table>" in text for text in shown)
    assert "0.123456" not in "".join(shown)
    assert "2 users" in shown[0]
    assert "no record was read" in shown[1]
    assert "alpha = 6.0" in shown[3]

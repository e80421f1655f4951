"""What has no value is elsewhere, a category of its own, or refused: never silently the first of a list."""

from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import emdp
from emdp.base.errors import DataRuleError, SqlError

EXACT = 1e9
WORDS = {"word": ["cat", "dog"], "vector": [[0.0, 1.0], [2.0, 0.5]]}


def session_of(folder: Path, space: emdp.Space, rows: dict[str, Any], **more: Any) -> emdp.Session:
    users = sorted(set(rows["user"]))
    table = emdp.read(pl.DataFrame(rows, strict=False), user="user", space=space, users=users, name="t", **more)
    budget = [emdp.EmdDP(alpha=1e13), emdp.UserDP(1e13)]
    public = {"zones": pl.DataFrame({"kind": ["a", "b"], "zone": ["north", "south"]})}
    return emdp.Session(table, budget=budget, ledger=folder / "a.ledger", public=public)


def ask(session: emdp.Session, items: str, clauses: str = "") -> list[tuple[Any, ...]]:
    frame = session.sql(f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = {EXACT}) {items} FROM t {clauses}").frame
    return frame.select(pl.selectors.exclude(pl.selectors.ends_with("_low", "_high"))).rows()


def test_a_label_without_a_row_of_a_joined_table_is_chosen_by_nothing(tmp_path: Path) -> None:
    rows = {"user": [1, 2, 3, 4], "kind": ["a", "b", "c", "c"]}
    session = session_of(tmp_path, emdp.Categories("kind", ["a", "b", "c"]), rows)
    joined = "JOIN zones USING (kind)"
    shares = dict(ask(session, "zone, SHARE() AS s", f"{joined} GROUP BY zone"))
    assert shares == pytest.approx({"north": 0.25, "south": 0.25}, abs=1e-6)
    for word, share in (("", 0.25), ("NOT", 0.25)):
        ((found,),) = ask(session, "SHARE() AS s", f"{joined} WHERE {word} zone = 'north'")
        assert found == pytest.approx(share, abs=1e-6)


@pytest.mark.quarter
@pytest.mark.parametrize("value", ["zoo", None, ""])
def test_a_category_that_is_not_listed_is_elsewhere_or_refused(tmp_path: Path, value: str | None) -> None:
    rows = {"user": [1, 2], "kind": ["b", value]}
    strict = session_of(tmp_path, emdp.Categories("kind", ["a", "b"]), rows)
    with pytest.raises(DataRuleError):
        ask(strict, "FREQUENCY(kind)")
    (tmp_path / "gone").mkdir()
    gone = emdp.Categories("kind", ["a", "b"], on_invalid="elsewhere")
    session = session_of(tmp_path / "gone", gone, rows, elsewhere=1)
    found = ask(session, "FREQUENCY(kind)")
    assert [row[0] for row in found] == ["a", "b", None]
    assert [row[-1] for row in found] == pytest.approx([0, 0.5, 0.5], abs=1e-6)
    for word in ("", "NOT"):
        ((share,),) = ask(session, "SHARE() AS s", f"WHERE {word} kind = 'a'")
        assert share == pytest.approx(0.5 if word else 0, abs=1e-6)
    (tmp_path / "own").mkdir()
    if value:
        own = session_of(tmp_path / "own", emdp.Categories("kind", ["a", "b", value]), rows)
        assert dict(ask(own, "kind, SHARE() AS s", "GROUP BY kind"))[value] == pytest.approx(0.5, abs=1e-6)


def test_a_word_without_a_vector_is_elsewhere_or_refused(tmp_path: Path) -> None:
    rows = {"user": [1, 2], "text": ["dog", "unicorn"]}
    strict = session_of(tmp_path, emdp.Embedding("text", WORDS), rows)
    with pytest.raises(DataRuleError):
        ask(strict, "AVG(DOT(text, VECTOR[1, 0])) AS m")
    (tmp_path / "gone").mkdir()
    session = session_of(tmp_path / "gone", emdp.Embedding("text", WORDS, on_invalid="elsewhere"), rows, elsewhere=1)
    ((mean,),) = ask(session, "AVG(DOT(text, VECTOR[1, 0])) AS m")
    assert mean == pytest.approx(2.0, abs=1e-5)
    assert ask(session, "SHARE(ELSEWHERE) AS s")[0][0] == pytest.approx(0.5, abs=1e-6)


def test_a_time_that_is_none_is_elsewhere_or_refused(tmp_path: Path) -> None:
    rows: dict[str, Any] = {"user": [1, 2], "ts": [datetime(2026, 11, 20, 13), None]}
    hours = emdp.Categories("hour(ts)", list(range(24)))
    strict = session_of(tmp_path, hours, rows)
    with pytest.raises(DataRuleError):
        ask(strict, "FREQUENCY(HOUR(ts))")
    (tmp_path / "gone").mkdir()
    gone = emdp.Categories("hour(ts)", list(range(24)), on_invalid="elsewhere")
    session = session_of(tmp_path / "gone", gone, rows, elsewhere=1)
    shares = ask(session, "HOUR(ts) AS h, SHARE() AS s", "GROUP BY h")
    assert [share for _, share in shares] == pytest.approx([float(hour == 13) / 2 for hour in range(24)], abs=1e-6)
    (tmp_path / "round").mkdir()
    cycle = emdp.Cycle("time(ts)", 24, on_invalid="elsewhere")
    turned = session_of(tmp_path / "round", cycle, rows, elsewhere=1)
    cells = ask(turned, "FREQUENCY(GRID(6))")
    assert cells[-1][-1] == pytest.approx(0.5, abs=1e-6)
    assert cells[0][-1] == pytest.approx(0, abs=1e-6)


def test_a_condition_on_what_is_not_listed_is_refused(tmp_path: Path) -> None:
    session = session_of(tmp_path, emdp.Categories("kind", ["a", "b"]), {"user": [1], "kind": ["a"]})
    with pytest.raises(SqlError):
        ask(session, "SHARE() AS s", "WHERE kind = 'zoo'")
    assert session.history().height == 0


def test_a_neutral_item_says_for_whom_it_may_stand(tmp_path: Path) -> None:
    rows = {"user": [1, 2], "x": [1.0, 2.0]}
    query = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS m FROM t"
    people = "people without records count with the neutral item, x = 1.5, and may be any share of all 2 people"
    said = {}
    declared: list[tuple[str, Any, dict[str, Any]]] = [
        ("plain", "error", {}),
        ("rule", "neutral", {"records": 1}),
        ("border", "clamp", {"records": 1}),
        ("both", "clamp", {}),
        ("none", "error", {"records": 1}),
        ("point", "elsewhere", {"elsewhere": 1}),
    ]
    for name, rule, more in declared:
        (tmp_path / name).mkdir()
        session = session_of(tmp_path / name, emdp.Interval("x", 0, 3, on_invalid=rule), rows, **more)
        answer = session.sql(query)
        said[name] = [note for note in answer.notes if "any share" in note]
        for text in (answer.explain(), session.preview(query).explain()):
            # Each once.
            assert text.count("any share") == len(said[name])
            assert all(f"note         {note}" in text for note in said[name])
    assert [note.partition(";")[0] for note in said["plain"]] == [people]
    assert "t without a value of x that the space takes count as x = 1.5 (on_invalid = 'neutral')" in said["rule"][0]
    assert (
        "records of t with a NULL or NaN in x count as x = 1.5, those with x below 0 as 0 and above 3 as 3 (on_"
        in said["border"][0]
    )
    assert len(said["both"]) == 2
    assert said["none"] == said["point"] == []


def test_who_has_no_records_counts_nowhere_under_a_cap(tmp_path: Path) -> None:
    rows = {"user": [1, 2], "x": [1.0, None]}
    session = session_of(tmp_path, emdp.Interval("x", 0, 3, on_invalid="clamp"), rows)
    header = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 2)"
    counted, summed = (session.preview(f"{header} {what} AS n FROM t").statements[0] for what in ("COUNT(*)", "SUM(x)"))
    assert "a public user without records counts nowhere" in counted.assumptions
    assert not any("any share" in note for note in counted.notes)
    # The sum reads the column, of which a NULL is the middle.
    assert sum("any share" in note for note in summed.notes) == 1

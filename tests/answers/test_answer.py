"""Answers as analysts meet them: names that clash, keys of every type, intervals of other levels, ordered rows."""

import datetime as dt
import math
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import emdp
from emdp.answers.stored import StoredAnswer

RECORDS = pl.DataFrame(
    {
        "user": [1, 1, 2, 3, 4],
        "x": [1.0, 2.0, 3.0, 4.0, 9.0],
        "kind": ["a", "b", "a", "c", "a"],
        "flag": [True, False, True, True, False],
    }
)
PEOPLE = pl.DataFrame(
    {
        "user": [1, 2, 3, 4],
        "value": ["u", "u", "v", None],
        "low": [1, 2, 1, 1],
        "query": [True, False, True, None],
        "day": [dt.date(2020, 1, 1), dt.date(2020, 1, 1), dt.date(2021, 1, 1), None],
        "größe": ["klein", "groß", "groß", "klein"],
    }
)
SPACE = emdp.Product(
    emdp.Interval("x", 0, 10), emdp.Categories("kind", ["a", "b", "c"]), emdp.Categories("flag", [True, False])
)
EMD = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 50)"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[emdp.Session]:
    with emdp.testing.seeded(3):
        table = emdp.read(RECORDS, user="user", space=SPACE, users=PEOPLE, name="t")
        budget = [emdp.EmdDP(1e6), emdp.UserDP(1e6)]
        with emdp.Session(table, budget=budget, ledger=tmp_path / "t.ledger") as opened:
            yield opened


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "dtype", "shown"),
    [
        ("value", pl.String, "key_value"),
        ("low", pl.Int64, "key_low"),
        ("query", pl.Boolean, "key_query"),
        ("day", pl.Date, "day"),
        ("größe", pl.String, "größe"),
        ("kind", pl.String, "kind"),
        ("flag", pl.Boolean, "flag"),
    ],
)
def test_keys_keep_their_type_and_never_clash_with_the_columns_of_intervals(
    session: emdp.Session, key: str, dtype: pl.DataType, shown: str
) -> None:
    answer = session.sql(f'{EMD} "{key}", AVG(x) AS m, SHARE() AS s FROM t WHERE kind <> \'b\' GROUP BY "{key}"')
    frame = answer.frame
    assert frame.schema[key] == dtype
    assert frame.columns == [key, "m", "m_low", "m_high", "s", "s_low", "s_high"]
    intervals = answer.interval(0.95)
    assert intervals.columns == [shown, "query", "value", "low", "high"]
    assert intervals.get_column(shown).to_list() == frame.get_column(key).to_list() * 2
    for name in ("m", "s"):
        block = intervals.filter(pl.Series(intervals["query"] == name))
        for own, end in (("", "value"), ("_low", "low"), ("_high", "high")):
            assert block.get_column(end).to_list() == frame.get_column(f"{name}{own}").to_list()


def test_two_keys_that_clash_stay_apart(session: emdp.Session) -> None:
    answer = session.sql(f"{EMD} value, low AS key_value, AVG(x) AS m FROM t GROUP BY value, low")
    assert answer.interval(0.5).columns == ["key_key_value", "key_value", "query", "value", "low", "high"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["*", "^m.*$", "^.*$", "größe", "日本", "a b", 'quo"te'])
def test_names_are_names_and_no_patterns(session: emdp.Session, name: str) -> None:
    quoted = name.replace('"', '""')
    text = f'{EMD} kind AS "{quoted}", AVG(x) AS m, SHARE() AS s FROM t GROUP BY kind ORDER BY "{quoted}" DESC'
    answer = session.sql(text)
    assert answer.frame.columns[0] == name
    assert answer.frame.get_column(name).to_list() == ["c", "b", "a"]
    assert answer.interval(0.9).columns == [name, "query", "value", "low", "high"]
    named = session.sql(f'{EMD} AVG(x) AS "{quoted}" FROM t')
    assert named.frame.columns == [name, f"{name}_low", f"{name}_high"]
    assert named.interval(0.9).get_column("query").to_list() == [name]
    assert name in repr(named)


@pytest.mark.slow
def test_intervals_of_every_level_are_of_the_rows_of_the_answer(session: emdp.Session) -> None:
    """At a lower level more quotients have a value, so a sort by them would choose other rows."""
    text = f"{EMD} kind, flag, AVG(x) AS m FROM t GROUP BY kind, flag ORDER BY m DESC LIMIT 3 OFFSET 1"
    changed = 0
    for _ in range(8):
        answer = session.sql(text)
        rows = answer.frame.select("kind", "flag").rows()
        for level in (0.05, 0.5, 0.95, 0.999):
            for coverage in ("each", "all"):
                intervals = answer.interval(level, coverage=coverage)
                assert intervals.select("kind", "flag").rows() == rows
        changed += answer.interval(0.05)["value"].null_count() < answer.frame["m"].null_count()
    assert changed > 0


def test_ordering_breaks_ties_by_the_next_key_and_puts_null_where_it_is_wanted(session: emdp.Session) -> None:
    text = f"{EMD} value, low, AVG(x) AS m FROM t GROUP BY value, low ORDER BY value"
    assert session.sql(f"{text} NULLS FIRST, low DESC").frame.select("value", "low").rows() == [
        (None, 1),
        ("u", 2),
        ("u", 1),
        ("v", 1),
    ]
    assert session.sql(f"{text} DESC NULLS LAST, low").frame.select("value", "low").rows() == [
        ("v", 1),
        ("u", 1),
        ("u", 2),
        (None, 1),
    ]
    frame = session.sql(f"{text} LIMIT 0").frame
    assert (frame.height, frame.schema["low"]) == (0, pl.Int64)


def test_an_interval_is_never_without_its_value_and_null_has_infinite_ends(session: emdp.Session) -> None:
    frame = session.sql(f"{EMD} kind, flag, AVG(x) AS m FROM t GROUP BY kind, flag").frame
    for value, low, high in frame.select("m", "m_low", "m_high").rows():
        assert (value is None and (low, high) == (-math.inf, math.inf)) or low <= value <= high
    assert frame["m"].null_count() > 0


def test_a_deviation_that_is_surely_0_has_no_width(session: emdp.Session) -> None:
    row = session.sql(f"{EMD} STDDEV(0.1) AS d FROM t WHERE kind = 'a'").frame.row(0)
    assert row == (0.0, 0.0, 0.0)


def test_derivations_have_a_line_a_fact_and_say_who_weighs_what(session: emdp.Session) -> None:
    answer = session.sql(f'{EMD}\n   AVG(x\n   + 1) AS "two\nlines" FROM t')
    (line,) = [line for line in answer.explain().splitlines() if line.startswith("column")]
    assert line.startswith("column       two lines = AVG(x + 1), from x + 1: lipschitz 30")
    assert "every user counts once" in answer.explain()
    capped = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 2) COUNT(*) AS n FROM t"
    assert "every user counts once" not in session.preview(capped).explain()
    assert "those of one user together as at most 2" in session.preview(capped).explain()


def test_previews_show_what_was_written(session: emdp.Session) -> None:
    text = (
        f"{EMD} WEIGHT(AVG(x\n * 2), 3) AS a, SHARE() AS s FROM t WHERE kind = 'a'; {EMD} QUANTILE(ABS(x), 0.5) FROM t"
    )
    assert session.preview(text).frame["expression"].to_list() == [
        "WEIGHT(AVG(x * 2), 3)",
        "SHARE()",
        "QUANTILE(ABS(x), 0.5)",
    ]
    assert session.preview(f"{EMD} FREQUENCY(kind) FROM t").frame["expression"].to_list() == ["FREQUENCY(kind)"]
    assert session.preview(emdp.mean(abs(emdp.col("x")), alpha=1)).frame["expression"].to_list() == ["abs(x)"]


def test_what_costs_nothing_is_unlimited_in_words(session: emdp.Session) -> None:
    preview = session.preview(f"{EMD} COUNT(DISTINCT user) AS n FROM t")
    assert preview.explain().endswith("affordable   any number of such queries")
    assert session.preview(f"{EMD} AVG(x) FROM t").explain().endswith("affordable   20000 such queries")


def test_shares_of_a_statement_add_up_to_one(session: emdp.Session) -> None:
    x = emdp.col("x")
    weighted = f"{EMD} WEIGHT(AVG(x), 3) AS a, AVG(x * x) AS b, COUNT(DISTINCT user) AS n, AVG(1) AS one FROM t"
    capped = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 2) COUNT(*), SUM(x), AVG(x) FROM t"
    for request in (weighted, capped, emdp.vector_mean([x, x * x, abs(x)], alpha=1), emdp.mean(x, alpha=1)):
        assert session.preview(request).frame["share"].sum() == pytest.approx(1.0)


def test_a_query_of_python_is_explained_without_repetition(session: emdp.Session) -> None:
    explained = session.preview(emdp.mean(emdp.col("x"), alpha=1, by="kind")).explain()
    assert "column       mean from x: lipschitz" in explained


def test_a_derivation_is_shown_as_lines_by_a_notebook(session: emdp.Session) -> None:
    """The last line of a cell shows its repr; a plain text would show one line with \\n in it."""
    answer = session.mean(emdp.col("x"), alpha=1)
    assert answer.receipt is not None
    stored = StoredAnswer.of(answer, period=None, data_version="1", receipt=answer.receipt)
    payload = {"period": None, "data_version": "1"}
    again = StoredAnswer.from_text(stored.to_text(), payload, answer.receipt, "")
    preview = session.preview(emdp.mean(emdp.col("x"), alpha=1))
    for text in (answer.explain(), preview.explain(), stored.explain(), again.explain()):
        assert isinstance(text, str)
        assert repr(text) == str(text)
        assert text.count("\n") > 5


@pytest.mark.parametrize(
    ("order", "is_noisy"),
    [
        ("ORDER BY kind", False),
        ("ORDER BY m", True),
        ("ORDER BY kind, m", False),
        ("ORDER BY m, kind", True),
        ("", False),
    ],
)
def test_a_limit_speaks_of_noise_where_noise_chooses_the_rows(
    session: emdp.Session, order: str, is_noisy: bool
) -> None:
    explained = session.preview(f"{EMD} kind, AVG(x) AS m FROM t GROUP BY kind {order} LIMIT 2").explain()
    assert ("LIMIT keeps rows by their noisy values" in explained) == is_noisy


def test_a_limit_on_public_numbers_of_users_speaks_of_no_noise(session: emdp.Session) -> None:
    query = f"{EMD} value, COUNT(DISTINCT user) AS n, AVG(x) AS m FROM t GROUP BY value ORDER BY n DESC, value LIMIT 2"
    assert "noisy values" not in session.preview(query).explain()

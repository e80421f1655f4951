"""Measures of a session: bought once, given again for nothing, read by SQL as public tables and by nothing else."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import SqlError, UsageError
from emdp.sessions.store import Store

USERS, EACH = 200, 5
PLANE = emdp.Vector(["x", "y"], box=[(0, 10), (0, 10)])
ZONES = pl.DataFrame({"zone": ["west", "east"], "low": [0.0, 5.0], "high": [5.0, 10.0]})
RELEASE = 'SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20.0) MEASURE(PITCH(2.0)) AS "nyc" FROM "visits"'


def rows(seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    places = rng.normal((6, 3), 1.0, (USERS * EACH, 2)).clip(0, 10)
    return pl.DataFrame({"user": np.repeat(np.arange(USERS), EACH), "x": places[:, 0], "y": places[:, 1]})


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Any]:
    rows().write_parquet(tmp_path / "visits.parquet")
    sessions = []

    def session(*, users: int = USERS, **options: Any) -> emdp.Session:
        table = emdp.read(tmp_path / "visits.parquet", user="user", space=PLANE, users=users)
        made = emdp.Session(
            table, budget=emdp.EmdDP(100.0), ledger=tmp_path / "m.ledger", public={"zones": ZONES}, **options
        )
        sessions.append(made)
        return made

    yield session
    for one in sessions:
        one.close()


@pytest.mark.slow
def test_the_same_measure_is_bought_once(opened: Any) -> None:
    session = opened()
    first = session.measure(alpha=20.0, pitch=2.0, name="nyc")
    again = opened().measure(alpha=20.0, pitch=2.0, name="nyc", resolution=0.25)
    written = session.sql(RELEASE)
    assert session.remaining().alpha == 80.0
    for other in (again, written):
        assert other.frame.equals(first.frame)
        assert other.receipt == first.receipt
        assert other.is_private
    assert written.table().equals(first.table())
    # how fine the fit is, is the reader's choice
    assert again.table().height > first.table().height
    (kept,) = Store(session).ask(session._planned(RELEASE))
    assert kept.is_reused
    assert kept.answer.measured == first.measured
    # another name, pitch or price is another release
    other = session.measure(alpha=20.0, pitch=2.0, name="other")
    assert session.remaining().alpha == 60.0
    assert other.measured != first.measured


@pytest.mark.slow
def test_sql_reads_a_measure_as_a_public_table(opened: Any) -> None:
    session = opened()
    measure = session.measure(alpha=20.0, pitch=2.0, name="nyc")
    table = measure.table()
    asked = session.sql("SELECT SUM(weight) AS east FROM MEASURE(nyc) WHERE x >= 5")
    assert asked.frame["east"][0] == pytest.approx(table.filter(pl.col("x") >= 5)["weight"].sum())
    assert (asked.spent.alpha, asked.guarantee.alpha) == (0.0, 20.0)
    assert asked.receipt == measure.receipt
    assert "from the private measure nyc, paid by entry" in asked.notes[0]
    assert "expected" in asked.notes[0]
    joined = session.sql(
        "SELECT zone, SUM(weight) AS s FROM MEASURE(nyc) m JOIN zones z ON m.x >= z.low AND m.x < z.high GROUP BY zone"
    ).frame
    assert joined["s"].sum() == pytest.approx(1.0)
    quantile = session.sql(
        "WITH a AS (SELECT x, SUM(weight) OVER (ORDER BY x, y) AS c FROM MEASURE(NYC)) "
        "SELECT MIN(x) AS median FROM a WHERE c >= 0.5"
    )
    assert 4 < quantile.frame["median"][0] < 8
    assert session.sql("SELECT COUNT(nyc.x) AS n FROM MEASURE(nyc)").frame["n"][0] == table.height
    shown = session.preview("SELECT SUM(weight) AS one FROM MEASURE(nyc)")
    assert "any number" in shown.explain()
    assert session.history().height == 1
    session.measure(alpha=5.0, pitch=2.0, name="later")
    both = session.sql("SELECT COUNT(*) AS n FROM MEASURE(nyc) a, MEASURE(later) b")
    assert both.guarantee.alpha == pytest.approx(25.0)
    assert len(both.notes) == 2


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("SELECT x FROM MEASURE(unknown)", "no measure unknown was released .*; write nyc, which was; or release it"),
        ("SELECT nyc.x FROM MEASURE(nyc) JOIN visits ON TRUE", "reads no private records"),
        ("SELECT x FROM MEASURE(nyc) WHERE x > (SELECT AVG(x) FROM visits)", "reads no private records"),
        ("SELECT x FROM MEASURE(nyc), nowhere", "no public table nowhere"),
        ("SELECT x FROM MEASURE(nyc), information_schema.tables", "no public table tables"),
        ("SELECT x FROM MEASURE(nyc), read_text('/etc/hosts')", "names no measure"),
        ("SELECT x FROM MEASURE(*)", "names no measure"),
        ("SELECT read_text('/etc/hosts') FROM MEASURE(nyc)", "READ_TEXT is no function"),
        ("SELECT absent FROM MEASURE(nyc)", "names what they lack"),
        ("SELECT x FROM MEASURE(nyc); SELECT y FROM MEASURE(nyc)", "several"),
        ("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) FROM MEASURE(nyc)", "leave the header out"),
    ],
)
def test_what_a_statement_over_measures_must_not_say(opened: Any, text: str, match: str) -> None:
    session = opened()
    session.measure(alpha=20.0, pitch=5.0, name="nyc")
    with pytest.raises(SqlError, match=match):
        session.sql(text)
    assert session.history().height == 1


def test_a_measure_belongs_to_its_period_rules_and_data(opened: Any, tmp_path: Path) -> None:
    first = opened(period="w1")
    first.measure(alpha=20.0, pitch=5.0, name="nyc")
    with pytest.raises(SqlError, match="period"):
        opened(period="w2").sql("SELECT SUM(weight) FROM MEASURE(nyc)")
    rows(2).write_parquet(tmp_path / "visits.parquet")
    session = opened(period="w1")
    # what was released of the older data stays readable, and new data are a new question
    assert session.sql("SELECT SUM(weight) AS w FROM MEASURE(nyc)").frame["w"][0] == pytest.approx(1.0)
    session.measure(alpha=20.0, pitch=5.0, name="nyc")
    assert session.remaining().alpha == 60.0


def test_a_batch_keeps_its_measures(opened: Any) -> None:
    session = opened()
    text = f"{RELEASE}; SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS m FROM visits"
    measure, mean = session.sql_batch(text)
    assert session.remaining().alpha == 79.0
    again, other = session.sql_batch(text)
    assert session.remaining().alpha == 78.0
    assert again.measured == measure.measured
    assert mean.frame.columns == other.frame.columns
    assert session.sql(RELEASE.replace('"visits"', "visits LIMIT 3")).frame.height == 3


def test_test_switch_answers_stay_marked(tmp_path: Path) -> None:
    with emdp.testing.seeded(1):
        table = emdp.read(rows(), user="user", space=PLANE, users=USERS)
        session = emdp.Session(table, budget=emdp.EmdDP(100.0), ledger=tmp_path / "t.ledger")
        assert not session.measure(alpha=20.0, pitch=5.0).is_private
        again = session.measure(alpha=20.0, pitch=5.0)
        assert not again.is_private
        assert not session.sql("SELECT SUM(weight) AS w FROM MEASURE(share)").is_private
        with pytest.raises(UsageError, match="another name"):
            _ = again.exact_frame


def test_a_reading_of_measures_has_no_charge_and_no_answer_of_its_own(opened: Any) -> None:
    session = opened()
    session.measure(alpha=20.0, pitch=2.0, name="nyc")
    text = "SELECT SUM(weight) AS east FROM MEASURE(nyc) WHERE x >= 5"
    store = Store(session)
    before = len(session.ledger.entries(session.table.account))
    (planned,) = session._planned(text)
    (first,) = store.ask([planned])
    assert first.is_reused
    assert store.is_paid(planned, fresh=True)
    assert store.ask([planned], fresh=True)[0].answer.frame.equals(first.answer.frame)
    assert first.answer.frame["east"][0] == session.sql(text).frame["east"][0]
    assert len(session.ledger.entries(session.table.account)) == before
    # of the same name released anew the words are the same, and the question is another one
    session.measure(alpha=5.0, pitch=2.0, name="nyc")
    (later,) = session._planned(text)
    version = session.table.data_version()
    assert later.reads > planned.reads
    assert store.question(later, version) != store.question(planned, version)
    (again,) = store.ask([later])
    assert again.answer.frame["east"][0] != first.answer.frame["east"][0]
    assert again.charge.sequence > first.charge.sequence

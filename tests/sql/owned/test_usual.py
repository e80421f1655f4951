"""Everyday statements in the words of other systems: one answer in both, and refusals that say what to write."""

import datetime as dt

import polars as pl
import pytest

import emdp
from emdp.sessions.planning import plan_request
from emdp.tables.statements.owned import owned_statement

ROWS = {
    "user_id": [1, 1, 2, 2, 3, 3],
    "ts": [dt.datetime(2024, 3, day, 12) for day in (1, 2, 9, 30, 31, 31)],
    "x": [1.0, 2.0, None, 4.0, float("nan"), 0.0],
    "kind": ["bar", None, "bar", "cafe", "a.b", "axb"],
}
PER_USER = "FROM (SELECT user_id, {inner} FROM trips GROUP BY user_id) q"

SAME = [
    ("COUNT_IF(kind = 'bar') AS n FROM trips", "COUNT(*) FILTER (WHERE kind = 'bar') AS n FROM trips"),
    ("COUNTIF(x > 1) AS n FROM trips", "COUNT(*) FILTER (WHERE x > 1) AS n FROM trips"),
    (
        "COUNT_IF(x > 1) FILTER (WHERE kind = 'bar') AS n FROM trips",
        "COUNT(*) FILTER (WHERE x > 1 AND kind = 'bar') AS n FROM trips",
    ),
    (
        "100 * COUNT_IF(kind IS NULL) / COUNT(*) AS n FROM trips",
        "100 * COUNT(*) FILTER (WHERE kind IS NULL) / COUNT(*) AS n FROM trips",
    ),
    (
        "AVG(CLAMP(b, 0, 5)) AS n " + PER_USER.format(inner="COUNT_IF(kind = 'bar') AS b"),
        "AVG(CLAMP(b, 0, 5)) AS n " + PER_USER.format(inner="COUNT(*) FILTER (WHERE kind = 'bar') AS b"),
    ),
    ("SUM(IFF(kind = 'bar', 1, 0)) AS n FROM trips", "SUM(IF(kind = 'bar', 1, 0)) AS n FROM trips"),
    ("AVG(ZEROIFNULL(x)) AS n FROM trips", "AVG(COALESCE(x, 0)) AS n FROM trips"),
    ("AVG(CLAMP(SAFE_DIVIDE(x, x), 0, 2)) AS n FROM trips", "AVG(CLAMP(x / x, 0, 2)) AS n FROM trips"),
    (
        "SAFE_DIVIDE(COUNT(*), COUNT(DISTINCT user_id)) AS n FROM trips",
        "COUNT(*) / COUNT(DISTINCT user_id) AS n FROM trips",
    ),
    (
        "COUNT(*) AS n FROM trips WHERE REGEXP_CONTAINS(kind, 'a.b')",
        "COUNT(*) AS n FROM trips WHERE REGEXP_MATCHES(kind, 'a.b')",
    ),
    (
        "DATE_TRUNC(ts, WEEK) AS w, COUNT(*) AS n FROM trips WHERE ts >= '2024-03-04' AND ts < '2024-03-18' GROUP BY w",
        "DATE_TRUNC('week', ts) AS w, COUNT(*) AS n FROM trips WHERE ts >= '2024-03-04' AND ts < '2024-03-18' "
        "GROUP BY w",
    ),
    (
        "COUNT(*) AS n FROM trips WHERE TIMESTAMP_TRUNC(ts, MONTH) = '2024-03-01'",
        "COUNT(*) AS n FROM trips WHERE DATE_TRUNC('month', ts) = '2024-03-01'",
    ),
    (
        "AVG(CLAMP(TIMESTAMP_DIFF(b, a, DAY), 0, 30)) AS n " + PER_USER.format(inner="MIN(ts) AS a, MAX(ts) AS b"),
        "AVG(CLAMP(DATE_DIFF('day', a, b), 0, 30)) AS n " + PER_USER.format(inner="MIN(ts) AS a, MAX(ts) AS b"),
    ),
    (
        "COUNT(*) AS n FROM trips WHERE ts < DATE_ADD(TIMESTAMP '2024-03-02 12:00:00', INTERVAL 7 DAY)",
        "COUNT(*) AS n FROM trips WHERE ts < TIMESTAMP '2024-03-09 12:00:00'",
    ),
    (
        "COUNT(*) AS n FROM trips WHERE ts >= DATE_SUB(DATE '2024-04-01', INTERVAL 3 DAY)",
        "COUNT(*) AS n FROM trips WHERE ts >= TIMESTAMP '2024-03-29 00:00:00'",
    ),
    (
        "COUNT(*) AS n FROM trips WHERE ts <= TIMESTAMP '2024-03-02 12:00:00' + INTERVAL 1 WEEK",
        "COUNT(*) AS n FROM trips WHERE ts <= TIMESTAMP '2024-03-09 12:00:00'",
    ),
]

REFUSED = [
    ("COUNT_IF(x) FROM trips", "this is no condition"),
    ("COUNT_IF(x > 1, x < 2) FROM trips", "COUNT_IF takes one condition, not 2"),
    ("DAYNAME(ts) AS d, COUNT(*) FROM trips GROUP BY d", "write DAYOFWEEK(ts)"),
    ("TO_CHAR(ts, 'YYYY-MM') AS m, COUNT(*) FROM trips GROUP BY m", "write STRFTIME(ts, '%Y-%m')"),
    ("APPROX_COUNT_DISTINCT(kind) FROM trips", "write COUNT(DISTINCT kind)"),
    ("FLOOR(x * 10) / 10 AS c, COUNT(*) FROM trips GROUP BY 1", "write CAST(FLOOR(FLOOR(x * 10) / 10) AS BIGINT)"),
    ("LOWER(kind) AS k, COUNT(*) FROM trips GROUP BY 1", "WHERE LOWER(kind) IN ('a', 'b')"),
    ("LOWER(kind) AS k, COUNT(*) FROM trips GROUP BY k", "WHERE LOWER(kind) IN ('a', 'b')"),
    (
        "user_id, COUNT(*) FROM trips GROUP BY user_id",
        "FROM (SELECT user_id, COUNT(*) AS n FROM trips GROUP BY user_id)",
    ),
    ("COUNT(*) FROM trips WHERE ts < INTERVAL 3 DAY", "an interval is no value"),
    ("COUNT(*) FROM trips WHERE DATE_TRUNC(ts, FORTNIGHT) = '2024-03-01'", "there is no column FORTNIGHT"),
]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> emdp.Session:
    table = emdp.read(ROWS, user="user_id", users=3, space=emdp.Interval("x", 0, 5, on_invalid="clamp"), name="trips")
    with emdp.testing.seeded(5):
        return emdp.Session(table, budget=emdp.UserDP(1e6, 1e-3), ledger=tmp_path_factory.mktemp("usual") / "l")


@pytest.mark.quarter
@pytest.mark.parametrize(("theirs", "ours"), SAME)
def test_both_words_have_one_answer(theirs: str, ours: str, asked: emdp.Session) -> None:
    found = []
    for text in (theirs, ours):
        with emdp.testing.seeded(5):
            found.append(asked.sql(_whole(text)))
    assert found[0].exact_frame.equals(found[1].exact_frame)
    assert found[0].frame.equals(found[1].frame)


@pytest.mark.parametrize(("text", "told"), REFUSED)
def test_a_refusal_says_what_to_write(text: str, told: str, asked: emdp.Session) -> None:
    with emdp.testing.seeded(5), pytest.raises(emdp.EmdpError) as caught:
        asked.preview(_whole(text))
    assert told in str(caught.value)


def test_a_local_time_is_written_once_however_often_it_is_named(asked: emdp.Session) -> None:
    """A nest of 236 transitions: named by a comparison, a range and each branch it would be half a million letters."""
    hour = "HOUR(ts AT TIME ZONE 'America/New_York')"
    text = f"SUM(CASE WHEN {hour} BETWEEN 7 AND 8 THEN {hour} ELSE 1 END) AS n FROM trips WHERE {hour} <> 5"
    with emdp.testing.seeded(5):
        answer = asked.sql(_whole(text))
    hours = pl.Series(ROWS["ts"]).dt.replace_time_zone("UTC").dt.convert_time_zone("America/New_York").dt.hour()
    expected = sum(hour if hour in (7, 8) else 1 for hour in hours)
    assert answer.exact_frame.item(0, "n") == pytest.approx(expected, abs=1e-4)
    table = emdp.read(ROWS, user="user_id", users=3, space=emdp.Interval("x", 0, 5, on_invalid="clamp"), name="trips")
    plan = plan_request(_whole(text), table.names())[0].plan
    assert len(owned_statement(table, plan.aggregation).query.sql()) < 50_000  # type: ignore[union-attr, arg-type]


def _whole(text: str) -> str:
    # Of rows that are one a user no cap is needed.
    cap = "" if "FROM (" in text else ", max_records_per_user = 9"
    return f"SELECT WITH USER_PRIVACY OPTIONS (epsilon = 100{cap}) {text}"

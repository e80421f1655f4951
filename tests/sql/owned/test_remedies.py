"""What has no answer at user level says what to write, and that is accepted as it stands."""

import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import emdp
from emdp.base.errors import SqlError

OPTIONS = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, delta = 1e-9{}) "
CAPS = (
    ", max_records_per_user = 9, max_groups_per_user = 2",
    ", max_records_per_user = 9",
    ", max_groups_per_user = 2",
    "",
)

REFUSED = [
    ("MIN(x) FROM t", "extreme", "QUANTILE(x, 0.05)"),
    ("MAX(stars) FROM t WHERE x > 1", "extreme", "QUANTILE(CLAMP(stars, 0, 100), 0.95)"),
    ("MAX(day) FROM t", "extreme", "QUANTILE(CLAMP(day - DATE '1970-01-01', 0, 40000), 0.95)"),
    ("MIN(at) FROM t", "extreme", "QUANTILE(CLAMP(EPOCH(at), 0, 4000000000), 0.05)"),
    ("MAX(title) FROM t", "extreme", "SELECT title, COUNT(*) AS n .. GROUP BY title ORDER BY n DESC LIMIT 1"),
    ("MODE(title) FROM t", "all-records", "SELECT title, COUNT(*) AS n .. GROUP BY title ORDER BY n DESC LIMIT 1"),
    ("STRING_AGG(title) FROM t", "all-records", "SELECT title, COUNT(*) AS n .. GROUP BY title"),
    ("ANY_VALUE(stars) FROM t", "one-record", "SELECT stars, COUNT(*) AS n .. GROUP BY stars"),
    ("APPROX_COUNT_DISTINCT(title) FROM t", "all-records", "COUNT(DISTINCT title)"),
    ("APPROX_QUANTILE(x, 0.25) FROM t", "quantile-function", "QUANTILE(x, 0.25)"),
    ("COUNT(DISTINCT title, stars) FROM t", "distinct-aggregate",
     "COUNT(DISTINCT CAST(title AS TEXT) || '|' || CAST(stars AS TEXT))"),
    ("title, stars FROM t WHERE x > 1", "no-aggregate", "SELECT title, stars, COUNT(*) .. GROUP BY title, stars"),
    ("u FROM t WHERE x > 1", "no-aggregate", "COUNT(*)"),
    ("u, COUNT(*) FROM t GROUP BY u", "group-user",
     "SELECT n, COUNT(*) .. FROM (SELECT u, COUNT(*) AS n FROM t GROUP BY u) q"),
    ("AVG(stars) FROM t", "range", "CLAMP(stars, 0, 100)"),
]  # fmt: skip


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[emdp.Session]:
    schema = {"u": pl.Int64, "x": pl.Float64, "stars": pl.Int64, "title": pl.String, "day": pl.Date,
              "at": pl.Datetime("us")}  # fmt: skip
    table = emdp.read(pl.DataFrame(schema=schema), user="u", space=emdp.Interval("x", 0, 10), users=9, name="t")
    folder: Path = tmp_path_factory.mktemp("remedies")
    with emdp.Session(table, budget=emdp.UserDP(1e9, 0.5), ledger=folder / "l") as made:
        yield made


def asked(session: emdp.Session, text: str) -> SqlError | None:
    """Return why a text is refused with the options that it has a use for; None if it is not."""
    found: SqlError | None = None
    for caps in CAPS:
        try:
            session.preview(OPTIONS.format(caps) + text)
        except SqlError as error:
            is_about_options = "has no use" in str(error) or error.code in ("unlisted-groups", "plan")
            found = error if found is None or not is_about_options else found
        else:
            return None
    return found


@pytest.mark.parametrize(("text", "code", "remedy"), REFUSED)
def test_what_a_refusal_says_can_be_pasted(session: emdp.Session, text: str, code: str, remedy: str) -> None:
    refused = asked(session, text)
    assert refused is not None
    assert refused.code == code
    assert remedy in refused.remedy
    pasted = refused.remedy.partition("write ")[2].partition(" with the range")[0].partition(" for them")[0]
    if pasted.startswith("SELECT "):
        rest = pasted.removeprefix("SELECT ")
        again = rest.replace(" .. FROM", " FROM") if " .. FROM" in rest else rest.replace(" ..", " FROM t")
    else:
        again = re.sub(r"^.*? FROM t", f"{pasted} FROM t", text) if pasted[-6:] != "stars)" else text
        again = text.replace("stars", pasted) if code == "range" else again
    assert asked(session, again) is None, again


BARE = [
    "AVG(stars) FROM t", "VARIANCE(stars) FROM t", "AVG(stars - 3) FROM t", "AVG(stars) FILTER (WHERE x > 1) FROM t",
    "SUM(stars * x) FROM t", "AVG(CASE WHEN x > 1 THEN stars END) FROM t WHERE x > 0", "AVG(day) FROM t",
    "AVG(at) FROM t", "SUM(title) FROM t", "AVG(x > 1) FROM t", "AVG(x) FROM t WHERE stars > 1",
    "AVG(stars), VARIANCE(stars + 1) FROM t", "AVG(a) FROM (SELECT stars AS a FROM t) q",
    "AVG(m) FROM (SELECT u, SUM(stars) AS m FROM t GROUP BY u) q",
    "QUANTILE(stars, 0.5) FROM t", "MEDIAN(stars) FROM t WHERE x > 1", "MEDIAN(CLAMP(stars, 0, 5)) FROM t",
    "QUANTILE(day, 0.9) FROM t", "title, QUANTILE(x, 0.5) FROM t GROUP BY title",
    "stars, MEDIAN(stars) FROM t GROUP BY stars",
    "title, COUNT(*) FROM t GROUP BY title", "title, AVG(x) FROM t GROUP BY title", "title FROM t GROUP BY title",
    "stars, SUM(stars) FROM t GROUP BY stars", "title, COUNT(DISTINCT u) FROM t GROUP BY title",
    "title, COUNT(DISTINCT u), COUNT(*) FROM t GROUP BY 1", "title, COUNT(DISTINCT day) FROM t GROUP BY title",
    "FLOOR(x / 2) AS b, COUNT(*) FROM t GROUP BY b", "x AS b, AVG(stars) FROM t GROUP BY 1",
    "DATE_TRUNC('month', at) AS m, COUNT(*) FROM t GROUP BY 1", "day, title, AVG(stars) FROM t GROUP BY day, title",
]  # fmt: skip
CONDITION = re.compile(r"add (WHERE |to WHERE: )(.*?) with the \w+ that you mean")
MORE = {"AVG(stars), VARIANCE": 1, "x AS b": 1, "stars, MEDIAN": 1}
"""Statements with a second part that lacks something of its own, which the next refusal is about."""


def pasted(text: str, refused: SqlError) -> str:
    """Return a statement with what a refusal says to write, at the place that it underlines, and to add."""
    remedy = refused.remedy
    written = re.search(r"write ((?:CLAMP|CAST|CASE)\b.*?)(?: with the range|,? and add|;|$)", remedy)
    if written:
        text = f"{text[: refused.start]}{written[1]}{text[refused.end :]}"
    listed = None if written or " to OPTIONS for groups" in remedy else CONDITION.search(remedy)
    if listed:
        text = text.replace(" GROUP BY", f" WHERE {listed[2]} GROUP BY", 1)
    options = re.search(r"add (max_[^W]*?|delta = [^W]*?) to OPTIONS", remedy)
    if options:
        text = text.replace("OPTIONS (", f"OPTIONS ({options[1]}, ", 1)
    assert written or listed or options, remedy
    return text


@pytest.mark.quarter
@pytest.mark.parametrize("text", BARE)
def test_one_remedy_says_all_that_a_statement_lacks(session: emdp.Session, text: str) -> None:
    statement = f"SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) {text}"
    more = next((own for start, own in MORE.items() if text.startswith(start)), 0)
    for _ in range(1 + more):
        with pytest.raises(SqlError) as refused:
            session.preview(statement)
        statement = pasted(statement, refused.value)
    session.preview(statement)


def test_a_cap_that_must_be_a_number_is_written_in_place_of_auto(session: emdp.Session) -> None:
    text = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, delta = 1e-9, {}) title, COUNT(*) FROM t GROUP BY title"
    with pytest.raises(SqlError, match="write max_records_per_user = 50 in OPTIONS"):
        session.preview(text.format("max_groups_per_user = 2, max_records_per_user = auto"))
    session.preview(text.format("max_groups_per_user = 2, max_records_per_user = 50"))


LISTS = [
    ("DATE_TRUNC('month', at)", "at >= DATE '2024-01-01' AND at < DATE '2025-01-01'"),
    ("CAST(at AT TIME ZONE 'Asia/Kolkata' AS DATE)", "at AT TIME ZONE 'Asia/Kolkata' >= DATE '2024-01-01'"),
    ("DATE_TRUNC('month', CAST(title AS TIMESTAMP))", "CAST(title AS TIMESTAMP) >= DATE '2024-01-01'"),
    ("YEAR(at)", "at >= DATE '2024-01-01'"),
    ("day", "day >= DATE '2024-01-01' AND day < DATE '2025-01-01'"),
    ("stars + 1", "stars + 1 BETWEEN 1 AND 10"),
    ("LOWER(title)", "LOWER(title) IN ('a', 'b')"),
    ("at", "at IN (TIMESTAMP '2024-01-31 00:00:00')"),
]


@pytest.mark.parametrize(("key", "condition"), LISTS)
@pytest.mark.parametrize("where", ["", " WHERE x > 1"])
def test_a_list_of_groups_can_be_pasted(session: emdp.Session, key: str, condition: str, where: str) -> None:
    text = (
        "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 9) {} AS k, COUNT(*) FROM t{} GROUP BY 1"
    )
    with pytest.raises(SqlError) as refused:
        session.preview(text.format(key, where))
    said = CONDITION.search(refused.value.remedy)
    assert said is not None
    assert condition in said[2]
    assert said[1] == ("to WHERE: " if where else "WHERE ")
    session.preview(text.format(key, f"{where} AND {said[2]}" if where else f" WHERE {said[2]}"))


ITEMS = emdp.Product(
    emdp.Geo("lat", "lon", (40.4, -74.3, 41.0, -73.6)), emdp.Interval("x", 0, 10), emdp.Cycle("hour(at)", 24),
    emdp.Categories("title", ["a", "b"]), emdp.Vector(["v", "w"], box=[(0, 3), (0, 4)]),
)  # fmt: skip
OF_ITEMS = [
    ("DISTANCE(x, 3) < 2", "ABS(x - 3)"),
    ("DISTANCE(POINT(40.7, -74.0)) < 2", "HAVERSINE(lat, lon, 40.7, -74.0)"),
    ("DISTANCE(POINT(lat, lon), POINT(40.7, -74), POINT(41, -74)) < 2",
     "LEAST(HAVERSINE(lat, lon, 40.7, -74), HAVERSINE(lat, lon, 41, -74))"),
    ('DISTANCE("hour(at)", 23) < 2', 'LEAST(ABS(HOUR("at") - 23), 24 - ABS(HOUR("at") - 23))'),
    ("RAMP(DISTANCE(x, 3), 2, 1) > 0.5", "CLAMP((ABS(x - 3) - 2) / (1 - 2), 0, 1)"),
    ("DISTANCE(title, 'a') < 1", "CASE WHEN title = 'a' THEN 0 ELSE 1 END"),
    ("DISTANCE(VECTOR[1, 2]) < 1", "SQRT(POW(v - 1, 2) + POW(w - 2, 2))"),
    ("DOT(VECTOR[-3, 4]) > 1", "(v * (-3) + w * 4)"),
]  # fmt: skip


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[emdp.Session]:
    numbers = dict.fromkeys(("lat", "lon", "x", "v", "w"), pl.Float64)
    frame = pl.DataFrame(
        schema={"u": pl.Int64, **numbers, "title": pl.String, "note": pl.String, "at": pl.Datetime("us")}
    )
    table = emdp.read(frame, user="u", space=ITEMS, users=9, name="t")
    budget = [emdp.UserDP(1e9, 0.5), emdp.EmdDP(1e9)]
    with emdp.Session(table, budget=budget, ledger=tmp_path_factory.mktemp("placed") / "l") as made:
        yield made


@pytest.mark.parametrize(("condition", "instead"), OF_ITEMS)
def test_a_function_of_items_is_written_with_those_of_rows(placed: emdp.Session, condition: str, instead: str) -> None:
    text = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 9) COUNT(*) FROM t WHERE {}"
    with pytest.raises(SqlError) as refused:
        placed.preview(text.format(condition))
    assert refused.value.code == "item-function"
    assert refused.value.remedy.startswith(f"write {instead}")
    whole = text.format(condition)
    placed.preview(whole[: refused.value.start] + instead + whole[refused.value.end :])


PEOPLE = [
    "COUNT(DISTINCT u) FROM t WHERE title = 'a'",
    "title AS k, COUNT(DISTINCT u) AS n, AVG(x) FROM t GROUP BY 1 ORDER BY n",
    "note, COUNT(DISTINCT q.u) FROM t AS q GROUP BY note",
    "COUNT(DISTINCT u) FROM t WHERE x > 3",
]


@pytest.mark.parametrize("text", PEOPLE)
def test_people_under_a_metric_have_the_statement_that_counts_them(placed: emdp.Session, text: str) -> None:
    with pytest.raises(SqlError) as refused:
        placed.preview(f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) {text}")
    _, _, other = refused.value.remedy.partition("people are counted by ")
    assert other.startswith("SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0")
    assert "people" in str(placed.preview(other))


def test_a_share_of_people_says_of_whom(session: emdp.Session) -> None:
    said = session.preview(
        "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1) AVG(ever) FROM (SELECT u, CASE WHEN BOOL_OR(x > 3) THEN 1 "
        "ELSE 0 END AS ever FROM t GROUP BY u) q"
    )
    assert "of the people who have a row here" in str(said)

"""Statements in stages, and those on public tables alone: what they mean, cost, see, and refuse."""

import itertools
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import EmdpError, InternalError, SqlError, UsageError
from emdp.estimators.owned.plan import SLACK_FACTOR
from emdp.estimators.owned.staged import StagedPlan
from emdp.estimators.owned.totals import plan_owned
from emdp.privacy import GuaranteeEvent
from emdp.questions.names import Names
from emdp.questions.owned.question import OwnedSelect
from emdp.questions.owned.stages import FreeSelect, StagedSelect, filled
from emdp.sessions.records import TableRecords
from emdp.sql import rows_instead
from emdp.sql.reader import parse
from emdp.tables.engines.duckdb.execution import DIALECT, opened, run
from emdp.tables.statements.owned import owned_coordinates, owned_statement

HEADER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 4e6, max_records_per_user = 1000) "
ZONES = pl.DataFrame({"cat": ["a", "b", "c", "a"], "zone": ["z1", "z2", "z1", "z3"], "size": [1, 2, None, 4]})
SPACE = emdp.Product(emdp.Categories("cat", ["a", "b", "c"]), emdp.Interval("x", 0, 10))
WORDS = "('bar', 'cafe', 'zoo')"

MEANINGS = [
    # Free around one stage.
    "{h} cat, n * 2 AS twice FROM (SELECT cat, COUNT(*) AS n FROM t GROUP BY cat) q WHERE n > 90 ORDER BY n DESC",
    "WITH top AS (SELECT cat, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY cat) {h} zone, SUM(n) AS n, MAX(s) AS most, "
    "ROW_NUMBER() OVER (ORDER BY zone DESC) AS place FROM top JOIN zones USING (cat) GROUP BY zone ORDER BY zone",
    "WITH r AS (SELECT cat AS c, SUM(x) AS s FROM t GROUP BY cat) {h} zone, s FROM zones, r WHERE cat = c AND "
    "s = (SELECT MAX(s) FROM r) ORDER BY zone",
    "WITH a AS (SELECT COUNT(*) AS n FROM t WHERE x > 5), b AS (SELECT COUNT(*) AS n FROM t) "
    "{h} 100.0 * a.n / b.n AS share FROM a CROSS JOIN b",
    "{h} cat, CASE WHEN n > 100 THEN 'many' ELSE 'few' END AS how FROM (SELECT cat, COUNT(*) AS n FROM t GROUP BY cat) "
    "q ORDER BY cat",
    "WITH g AS (SELECT cat, AVG(x) AS m FROM t GROUP BY cat UNION ALL SELECT 'all' AS cat, AVG(x) AS m FROM t) "
    "{h} cat, m FROM g ORDER BY cat",
    "{h} z.zone, COALESCE(q.n, 0) AS n FROM zones z LEFT JOIN (SELECT cat, COUNT(*) AS n FROM t WHERE cat <> 'b' "
    "GROUP BY cat) q ON q.cat = z.cat AND n > 10 ORDER BY z.zone, n",
    "{h} zone FROM zones WHERE cat IN (SELECT cat FROM t GROUP BY cat HAVING COUNT(*) > 95) ORDER BY zone",
    # Answers inside a later private stage.
    "{h} COUNT(*) AS n FROM t WHERE x > (SELECT AVG(x) FROM t WHERE cat = 'a')",
    "{h} SUM(CLAMP(x - (SELECT AVG(x) FROM t), -10, 10)) AS s FROM t WHERE rating > 2",
    "WITH top AS (SELECT cat, COUNT(*) AS n FROM t GROUP BY cat ORDER BY n DESC LIMIT 2) "
    "{h} cat, AVG(x) AS m FROM t WHERE cat IN (SELECT cat FROM top) GROUP BY cat ORDER BY cat",
    f"WITH top AS (SELECT title, COUNT(*) AS n FROM t WHERE title IN {WORDS} GROUP BY title), "
    "best AS (SELECT title FROM top WHERE n >= (SELECT MAX(n) FROM top)) "
    "{h} title, SUM(rating * 1.0) AS s FROM t WHERE title IN (SELECT title FROM best) GROUP BY title",
    "WITH m AS (SELECT cat AS c, AVG(x) AS mean FROM t GROUP BY cat) "
    "{h} COUNT(*) AS n FROM t JOIN m ON t.cat = m.c WHERE x > mean",
    "{h} COUNT(*) AS n FROM t WHERE x > (SELECT AVG(size) FROM zones)",
    "WITH v AS (SELECT u, COUNT(*) AS n FROM t GROUP BY u), k AS (SELECT AVG(CLAMP(n, 0, 100)) AS m FROM v) "
    "{h} COUNT(*) AS people FROM v WHERE n > (SELECT m FROM k) + 0.5",
    "WITH r (c, s) AS (SELECT cat, SUM(x) FROM t GROUP BY cat) {h} zone, s FROM zones, r WHERE cat = c ORDER BY 1, s",
    "WITH r (c, n, s) AS (SELECT cat, COUNT(*), AVG(x) FROM t GROUP BY cat) "
    "{h} COUNT(*) AS n FROM t JOIN r ON t.cat = r.c WHERE x > s AND n > 1",
    "WITH v AS (SELECT u, COUNT(*) AS n FROM t GROUP BY u), k AS (SELECT AVG(CLAMP(n, 0, 100)) AS m, COUNT(*) AS c "
    "FROM v) {h} m * c AS total FROM k",
    "WITH a (k, m) AS (SELECT cat, AVG(x) FROM t GROUP BY cat), b AS (SELECT COUNT(*) AS n FROM t JOIN a ON cat = k "
    "WHERE x > m) {h} n / 2 AS half, (SELECT COUNT(*) FROM a) AS groups FROM b",
    # Public tables alone.
    "{h} zone, SUM(size) AS s, COUNT(*) OVER () AS n FROM zones WHERE size > (SELECT MIN(size) FROM zones) "
    "GROUP BY zone ORDER BY zone",
]
"""Statements that DuckDB understands as they are, but for the header."""


@pytest.fixture(scope="module")
def records() -> pl.DataFrame:
    chance = random.Random(6)
    return pl.DataFrame(
        {
            "u": [chance.randrange(20) for _ in range(300)],
            "x": [chance.uniform(0, 10) for _ in range(300)],
            "cat": [chance.choice("aaabbc") for _ in range(300)],
            "rating": [chance.choice([1, 2, 3, 4, 5]) for _ in range(300)],
            "title": [chance.choice(["bar", "bar", "cafe", "zoo", None]) for _ in range(300)],
        },
        schema_overrides={"rating": pl.Int64},
    )


@pytest.fixture
def session(tmp_path: Path, records: pl.DataFrame) -> Iterator[emdp.Session]:
    table = emdp.read(records, user="u", space=SPACE, users=20, name="t")
    with (
        emdp.testing.seeded(3),
        emdp.Session(table, budget=emdp.UserDP(1e9, 0.5), ledger=tmp_path / "l", public={"zones": ZONES}) as made,
    ):
        yield made


def truth(text: str, records: pl.DataFrame) -> list[tuple[Any, ...]]:
    connection = duckdb.connect()
    for name, frame in (("t", records), ("zones", ZONES)):
        connection.register(name, frame)
    connection.execute("CREATE MACRO CLAMP(e, a, b) AS least(b, greatest(a, e))")
    plain = text.replace("{h}", "SELECT").replace("rating * 1.0", "CLAMP(rating * 1.0, 0, 5)")
    return sorted(connection.execute(plain).fetchall(), key=str)


@pytest.mark.quarter
@pytest.mark.parametrize("text", MEANINGS, ids=range(len(MEANINGS)))
def test_it_means_what_duckdb_makes_of_it(session: emdp.Session, records: pl.DataFrame, text: str) -> None:
    own = text.replace("{h}", HEADER).replace("rating * 1.0", "CLAMP(rating * 1.0, 0, 5)")
    answer = session.sql(own)
    columns = [name for name in answer.frame.columns if not name.endswith(("_low", "_high"))]
    rows = sorted(answer.frame.select(columns).rows(), key=str)
    expected = truth(text, records)
    assert len(rows) == len(expected) > 0
    for found, wanted in zip(rows, expected, strict=True):
        for one, other in zip(found, wanted, strict=True):
            assert one == (other if isinstance(other, str) or other is None else pytest.approx(float(other), rel=2e-3))
    if "FROM zones WHERE size" not in text.split("{h}")[1]:
        assert answer.guarantee.level == pytest.approx(4e6)
    assert session.preview(own).statements[0].guarantee == answer.guarantee


def test_stages_share_the_price_and_say_so(session: emdp.Session) -> None:
    text = MEANINGS[3].replace("{h}", "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0{more}) ")
    preview = session.preview(text.replace("{more}", ", stage_weights = '1, 3'"))
    frame = preview.frame
    assert frame["query"].to_list() == ["a.n", "b.n"]
    assert frame["share"].to_list() == pytest.approx([0.25, 0.75])
    assert all(error > 0 for error in frame["expected_error"])
    explained = preview.explain()
    assert "stage        a: epsilon = 0.25" in explained
    assert "stage        b: epsilon = 0.75" in explained
    answer = session.sql(text.replace("{more}", ""))
    assert [part.guarantee.level for part in answer.parts] == [0.5, 0.5]
    assert list(answer.stages) == ["a", "b"]
    assert answer.stages["a"].columns == ["n", "n_low", "n_high"]
    # Noisy: whole numbers are before noise alone.
    assert all(not float(frame["n"][0]).is_integer() for frame in answer.stages.values())
    assert answer.frame.item() == pytest.approx(100 * answer.stages["a"]["n"][0] / answer.stages["b"]["n"][0])
    assert session.history()["mechanism"][-1] == "stages of one statement: a 0.5, b 0.5"
    assert session.history()["alpha"][-1] == 1.0


@pytest.mark.parametrize("more", ["'1'", "'1, 2, 3'"])
def test_weights_are_one_for_each_stage(session: emdp.Session, more: str) -> None:
    text = MEANINGS[3].replace("{h}", f"SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, stage_weights = {more}) ")
    with pytest.raises(SqlError, match=r"2 stages read private rows \(a, b\)"):
        session.preview(text)


def test_all_stages_are_charged_before_the_first_is_computed(
    session: emdp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float] = []
    aggregate = TableRecords.aggregate

    def watched(self: TableRecords, aggregation: Any) -> Any:
        seen.append(session.spent().level)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return aggregate(self, aggregation)

    monkeypatch.setattr(TableRecords, "aggregate", watched)
    text = MEANINGS[3].replace("{h}", "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, max_records_per_user = 9) ")
    with pytest.raises(KeyboardInterrupt):
        session.sql(text)
    # Ended between the stages: both stay charged.
    assert seen == pytest.approx([1.0, 1.0])
    assert session.spent().level == pytest.approx(1.0)


def test_a_stage_that_nobody_reads_is_charged(session: emdp.Session) -> None:
    unused = "WITH a AS (SELECT COUNT(*) AS n FROM t WHERE x > 5), b AS (SELECT SUM(x) AS s FROM t) "
    for rest in ("n FROM a", "COUNT(*) AS n FROM t WHERE rating > 1"):
        answer = session.sql(unused + HEADER.replace("4e6", "1.0") + rest)
        assert [part.label for part in answer.parts][:2] == ["a", "b"]
        assert math.fsum(part.guarantee.level for part in answer.parts) == pytest.approx(answer.guarantee.level)
        assert answer.guarantee.level == pytest.approx(1.0)


def test_public_tables_alone_are_free(tmp_path: Path, records: pl.DataFrame) -> None:
    table = emdp.read(records, user="u", space=SPACE, users=20, name="t")
    with emdp.Session(table, budget=emdp.UserDP(1.0), ledger=tmp_path / "l", public={"zones": ZONES}) as session:
        session.sql("SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, max_records_per_user = 9) COUNT(*) AS n FROM t")
        text = HEADER + "zone, MAX(size) AS m FROM zones GROUP BY zone ORDER BY zone"
        preview = session.preview(text)
        assert "public tables alone: free" in preview.explain()
        assert "any number of such queries" in preview.explain()
        answer = session.sql(text)
        assert answer.frame.rows() == [("z1", 1), ("z2", 2), ("z3", 4)]
        assert answer.guarantee.level == 0.0
        assert session.spent().level == pytest.approx(1.0)
        with pytest.raises(SqlError):
            session.preview(HEADER + "x FROM t")


def test_what_is_around_stages_sees_released_values_and_public_tables_alone(
    tmp_path: Path, records: pl.DataFrame
) -> None:
    table = emdp.read(records, user="u", space=SPACE, users=20, name="t")
    seen: list[Mapping[str, pl.DataFrame]] = []
    with emdp.Session(table, budget=emdp.UserDP(1e9), ledger=tmp_path / "l", public={"zones": ZONES}) as session:
        found = session.names.compute_public
        assert found is not None

        def watched(text: str, tables: Mapping[str, pl.DataFrame]) -> Any:
            seen.append(tables)
            with pytest.raises(UsageError, match="fails on their values, or names what they lack"):
                found("SELECT COUNT(*) FROM t", tables)
            with pytest.raises(UsageError, match="fails on their values, or names what they lack"):
                found("SELECT COUNT(*) FROM source_rows", tables)
            return found(text, tables)

        object.__setattr__(session.names, "compute_public", watched)
        session.sql(MEANINGS[2].replace("{h}", HEADER))
    assert seen
    for tables in seen:
        assert set(tables) <= {"zones", "stage_1"}
        assert all(len(frame) <= len(ZONES) for frame in tables.values())


REFUSED = [
    ("zone, (SELECT COUNT(*) FROM t WHERE t.cat = zones.cat) AS n FROM zones", "correlated-answer", "JOIN a"),
    ("zone FROM zones WHERE cat IN (SELECT cat FROM t)", "raw-rows", "COUNT(*)"),
    ("SUM(x) / (SELECT SUM(x) FROM t) AS s FROM t WHERE rating > 1", "value-around", "CROSS JOIN"),
    ("COUNT(*) FROM t WHERE x > (SELECT x FROM t)", "scalar-subquery", "AVG(e)"),
    ("COUNT(*) FROM t WHERE x > (SELECT AVG(x), COUNT(*) FROM t)", "scalar-subquery", "one column"),
    ("COUNT(*) FROM t WHERE x > (SELECT MAX(x) FROM t)", "extreme", "QUANTILE(x"),
    (
        "n FROM (SELECT cat, COUNT(*) AS n, ROW_NUMBER() OVER (ORDER BY cat) AS r FROM t GROUP BY cat) q",
        "window-function",
        "",
    ),
    ("read_csv(zone) AS r FROM zones", "around-function", ""),
    ("current_date AS r FROM zones", "around-function", "constant"),
    ("zone FROM zones FULL JOIN t USING (cat)", "full-join", "LEFT JOIN"),
    ("n FROM (SELECT COUNT(*) AS n FROM t FULL JOIN zones USING (cat)) q", "full-join", "LEFT JOIN"),
    ("m FROM (SELECT COUNT(*) AS n FROM t) q", "around", "columns"),
    ("n FROM (SELECT COUNT(*) AS n FROM t) q, nowhere", "unknown-table", ""),
]


@pytest.mark.parametrize(("text", "code", "remedy"), REFUSED)
def test_what_is_no_stage_is_refused(session: emdp.Session, text: str, code: str, remedy: str) -> None:
    before = session.spent().level
    with pytest.raises(SqlError) as caught:
        session.sql(HEADER + text)
    assert caught.value.code == code
    assert remedy in caught.value.remedy
    assert session.spent().level == before


def test_options_are_for_the_stages_that_have_a_use_for_them(session: emdp.Session) -> None:
    head = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, max_records_per_user = 5, max_groups_per_user = 2) "
    text = (
        "WITH p AS (SELECT cat, COUNT(DISTINCT u) AS n FROM t WHERE x > 1 GROUP BY cat), "
        "s AS (SELECT SUM(x) AS s FROM t) "
    )
    assert session.sql(f"{text}{head}cat, n / s AS r FROM p CROSS JOIN s ORDER BY cat").frame.height == 3
    with pytest.raises(SqlError, match="max_records_per_user has no use"):
        session.preview(text.replace(", s AS (SELECT SUM(x) AS s FROM t)", "") + head + "cat, n FROM p")
    with pytest.raises(SqlError, match="rho is the price of one draw"):
        session.preview(text + head.replace("epsilon = 1.0", "rho = 0.5, delta = 1e-9") + "s FROM s")


def test_a_list_of_groups_that_a_stage_releases_costs_no_more_than_was_charged(session: emdp.Session) -> None:
    text = MEANINGS[10].replace("{h}", HEADER)
    answer = session.sql(text)
    (planned,) = session._planned(text)
    assert isinstance(planned.plan, StagedPlan)
    first, *_, last = planned.plan.finisher.steps
    own = planned.plan.finisher.planned(last, answer.finisher.tables(answer.released))  # type: ignore[attr-defined]
    assert own is not None
    assert own.event.guarantee.level <= last.event.guarantee.level == pytest.approx(2e6)
    assert own.event.slack_epsilon * SLACK_FACTOR <= last.event.slack_epsilon * 1.01
    assert planned.plan.event.slack_epsilon >= first.event.slack_epsilon + last.event.slack_epsilon
    assert "known after the charge" in session.preview(text).explain()


def test_a_stage_that_cost_more_than_was_charged_is_not_drawn(session: emdp.Session) -> None:
    (planned,) = session._planned(MEANINGS[3].replace("{h}", HEADER))
    assert isinstance(planned.plan, StagedPlan)
    rows = planned.plan.finisher
    less = replace(rows.steps[0], event=GuaranteeEvent(emdp.UserDP(1e6)))
    with pytest.raises(InternalError, match="costs more than was charged"):
        rows.planned(less, {})
    assert rows.planned(rows.steps[0], {}) is not None


def test_one_value_has_one_row(session: emdp.Session) -> None:
    last = staged(MEANINGS[8], session.names).stages[-1].question
    assert isinstance(last, OwnedSelect)
    frame = last.public["stage_1"]
    rows = [pl.DataFrame([[1.0] * count] * len(frame.columns), schema=frame.schema) for count in (1, 2)]
    assert filled(last, {"stage_1": rows[0]}) is not None
    # Two would pair each record with both, also where a user has one row and no cap.
    with pytest.raises(UsageError, match="several rows"):
        filled(last, {"stage_1": rows[1]})
    with pytest.raises(SqlError, match="several columns"):
        session.preview(HEADER + "COUNT(*) AS n FROM t WHERE x > (SELECT AVG(x) AS a, COUNT(*) AS n FROM t)")


def test_a_stage_that_leaves_no_group_leaves_no_row(session: emdp.Session) -> None:
    text = (
        "WITH top AS (SELECT cat, COUNT(*) AS n FROM t GROUP BY cat HAVING COUNT(*) > 1e9) "
        f"{HEADER}cat, AVG(x) AS m FROM t WHERE cat IN (SELECT cat FROM top) GROUP BY cat"
    )
    answer = session.sql(text)
    assert answer.frame.height == 0
    assert answer.frame.columns == ["cat", "m", "m_low", "m_high"]
    assert answer.guarantee.level == pytest.approx(4e6)


def test_parameters_and_stored_answers_know_stages(session: emdp.Session) -> None:
    from emdp.sessions.store import Store

    text = HEADER + "COUNT(*) AS n FROM t WHERE x > (SELECT AVG(x) FROM t WHERE rating > ?)"
    filled_in = text.replace("?", "2")
    assert session.sql(text, parameters=[2]).query == filled_in
    (planned,) = session._planned(filled_in)
    store = Store(session)
    first, second = store.ask([planned])[0], store.ask([planned])[0]
    assert second.is_reused
    assert first.answer.frame.equals(second.answer.frame)


# Neighbours: the last of three users has any of these bags, whatever an earlier stage released.
ROWS = [(0.0, "a", 5, "bar"), (9.0, "b", 1, None), (3.0, "a", 3, "zoo"), (9.0, "c", 4, "cafe")]
BAGS: list[list[Any]] = [[], ROWS[1:], ROWS[::-1] * 2, ROWS[:2] * 6]
OTHERS = [(1, row) for row in ROWS] + [(2, row) for row in ROWS[:3]]
SCHEMA = {"u": pl.Int64, "x": pl.Float64, "cat": pl.String, "rating": pl.Int64, "title": pl.String}
RELEASED: list[dict[str, list[Any]]] = [
    {"cat": ["a", "b"], "c": ["a", "b"], "title": ["bar", "zoo"], "number": [2.5, -1e300]},
    {"cat": ["c", "a", "a"], "c": ["a", "a", "a"], "title": ["bar", None, "zoo"], "number": [math.inf, 3.0, 3.0]},
    {"cat": ["b"], "c": ["b"], "title": ["none"], "number": [math.nan]},
    {"cat": [], "c": [], "title": [], "number": []},
]


def staged(text: str, names: Names) -> StagedSelect:
    own = text.replace("rating * 1.0", "CLAMP(rating * 1.0, 0, 5)")
    (statement,) = parse(own.replace("{h}", HEADER.replace("1000", "2").replace("4e6", "1.0")))
    found = rows_instead(statement, names, UsageError("not of this route; ask another."))
    assert isinstance(found, StagedSelect)
    return found


def released(question: OwnedSelect | FreeSelect, stages: StagedSelect, values: dict[str, list[Any]]) -> dict[str, Any]:
    """Return some table for each stage that a question reads: values that no noise makes are among them."""
    wanted = question.public if isinstance(question, OwnedSelect) else question.released
    names = {stage.name for stage in stages.stages}
    made = {}
    singles = {own.source for own in _publics(question) if own.is_single}
    for name, frame in wanted.items():
        if name in names:
            columns = {
                column: values.get(column, values["number"])[: 1 if name in singles else None]
                for column in frame.columns
            }
            length = min(map(len, columns.values()))
            made[name] = pl.DataFrame({own: column[:length] for own, column in columns.items()}, schema=frame.schema)
    return made


def _publics(question: Any) -> Iterator[Any]:
    from emdp.questions.owned.parts import relations
    from emdp.questions.owned.relations import Public

    return (own for own in relations(question.relation) if isinstance(own, Public))


LATER = [text for text in MEANINGS if text.split("{h}")[1].split(" FROM ")[1].startswith(("t ", "v "))]


@pytest.mark.quarter
@pytest.mark.parametrize("text", LATER, ids=range(len(LATER)))
def test_whatever_was_released_one_user_moves_a_later_stage_no_more_than_its_noise_hides(
    session: emdp.Session, text: str
) -> None:
    stages = staged(text, session.names)
    last = stages.stages[-1].question
    assert isinstance(last, OwnedSelect)
    moved = 0.0
    for values in RELEASED:
        own = filled(last, released(last, stages, values))
        if own is None:
            continue
        plan = plan_owned(own.plain, users=3)
        drawn = []
        for bag in BAGS:
            rows = [(3, row) for row in bag[: len(bag) // 2]] + OTHERS + [(3, row) for row in bag[len(bag) // 2 :]]
            frame = pl.DataFrame([(user, *row) for user, row in rows], schema=SCHEMA, orient="row")
            table = emdp.read(frame, user="u", space=SPACE, users=pl.DataFrame({"u": ["1", "2", "3"]}), name="t")
            statement = owned_statement(table, plan.aggregation)
            with opened(table.source, statement.lookups, table.users.keys) as connection:
                sums = run(connection, statement.query.sql(DIALECT, identify=True))
            drawn.append(plan.prepared(owned_coordinates(plan.aggregation, sums)))
        for one, other in itertools.combinations(drawn, 2):
            move = math.fsum(float(abs(a - b)) for a, b in zip(one, other, strict=True))
            assert move <= plan.mechanisms[0].sensitivity
            moved = max(moved, move / plan.mechanisms[0].sensitivity)
    # Power: some released table lets a user move it by a good part of what is allowed.
    assert moved > 0.4


def test_errors_of_the_free_part_hold_no_text_of_the_engine(session: emdp.Session) -> None:
    text = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) CAST(zone AS BIGINT) AS n FROM zones"
    with pytest.raises(EmdpError) as caught:
        session.sql(text).frame  # noqa: B018
    assert "TRY_CAST" in str(caught.value)
    assert "z1" not in str(caught.value)

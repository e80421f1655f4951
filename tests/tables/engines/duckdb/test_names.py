"""Nothing that lies in a source changes what a name in a statement means, and the owner's views keep what they mean.

Files hold a macro, of every number of arguments, under every name that a DuckDB function or operator has; all that is
asked of them is answered as without one, bit for bit. That the names of all statements are among those is read off the
statements themselves.
"""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
import sql_grammar as grammar
import sql_worlds as worlds

import emdp
import emdp.learn
from emdp.base.errors import EmdpError, UsageError
from emdp.estimators import MessagePlan, Plan
from emdp.questions.itemwise import Itemwise
from emdp.sessions.planning import plan_request
from emdp.tables import Table, aggregate, check_aggregation, mean_of_user_means, read
from emdp.tables.engines.duckdb import execution, instances

SEEDS = range(4)
"""Of the random statements on each world."""

ARGUMENTS = ["", "a", "a, b", "a, b, c", "a, b, c, d", "a, b, c, d, e"]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def functions(connection: Any) -> list[str]:
    query = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE database_name = 'system' ORDER BY 1"
    return [name for (name,) in connection.execute(query).fetchall()]


def shadowed(connection: Any) -> None:
    """Make a macro of every name that DuckDB has, and relations of the names that statements give to theirs."""
    for name in functions(connection):
        connection.execute(f"CREATE MACRO {quoted(name)}" + ", ".join(f"({own}) AS 77" for own in ARGUMENTS))
    for name in ("read_parquet", "unnest", "range", "repeat", "arrow_scan", "python_arrow_scan", "lookup_0"):
        connection.execute(f"CREATE MACRO {name}(a) AS TABLE SELECT 77 AS a")
    for name in ("source_rows", "listed_users", "chosen_users", "numbered_users", "lookup_0", "lookup_1", "users"):
        connection.execute(f"CREATE TABLE main.{name} AS SELECT 77 AS key, 77 AS label, 77 AS user_id, 77 AS value_0")
    for name in ("source_file", "memory", "temp", "system", "emdp"):
        place = f"shadowed.{name}"
        connection.execute(f"CREATE SCHEMA {place}; CREATE VIEW {place}.city AS SELECT 77 AS user_id")


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Keep the text of every statement that reads a source."""
    texts: list[str] = []

    class Recording:
        def __init__(self, connection: Any) -> None:
            self._connection = connection

        def execute(self, query: str, *values: Any) -> Any:
            texts.append(query)
            return self._connection.execute(query, *values)

        def sql(self, query: str) -> Any:
            texts.append(query)
            return self._connection.sql(query)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._connection, name)

    @contextmanager
    def taken(settings: instances.Settings) -> Iterator[Any]:
        with instances.taken(settings) as connection:
            yield Recording(connection)

    with monkeypatch.context() as patch:
        patch.setattr(execution, "taken", taken)
        yield texts


def called(texts: list[str]) -> set[str]:
    """Return the names of the functions in some statements, as DuckDB itself reads them."""
    found: set[str] = set()

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            if isinstance(node.get("function_name"), str):
                found.add(node["function_name"].lower())
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    with duckdb.connect() as connection:
        for text in texts:
            if text.startswith(("SELECT", "WITH")):
                (tree,) = connection.execute("SELECT json_serialize_sql(?)", [text]).fetchone() or ("",)
                walk(json.loads(tree))
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A file with the rows of every world, and one with macros and relations besides."""
    folder = tmp_path_factory.mktemp("names")
    for name in ("plain", "shadowed"):
        with duckdb.connect(str(folder / f"{name}.duckdb")) as connection:
            for table, world in worlds.WORLDS.items():
                connection.register("frame", world.rows(1).to_arrow())
                connection.execute(f"CREATE TABLE {table} AS SELECT * FROM frame")
                connection.unregister("frame")
            connection.register("frame", ROWS.to_arrow())
            connection.execute("CREATE TABLE visits AS SELECT * FROM frame")
            connection.unregister("frame")
            if name == "shadowed":
                shadowed(connection)
    return folder / "plain.duckdb", folder / "shadowed.duckdb"


def declared(path: Path, name: str) -> Table:
    world = worlds.WORLDS[name]
    users = worlds.USERS if world.users == "listed" else world.users
    return read(f"{path}::{name}", user="user_id", space=world.space, users=users, name=world.table)


def statistics(table: Table, name: str) -> list[Any]:
    """Return the exact statistics of accepted random statements on a world, means together."""
    means: dict[Any, None] = {}
    found: list[Any] = []
    for seed in SEEDS:
        text = grammar.Writer(random.Random(seed), worlds.WORLDS[name], 0, False).text()
        try:
            planned = plan_request(text, table.names(worlds.PUBLIC))
        except EmdpError:
            continue
        for plan in (one.plan for one in planned):
            if isinstance(plan, MessagePlan):
                continue
            if plan.aggregation.is_plain:
                means.update(dict.fromkeys(plan.aggregation.values))
            else:
                check_aggregation(table, plan.aggregation)
                found.append([one.open() for one in aggregate(table, plan.aggregation)])
    if means:
        found.append(mean_of_user_means(table, list(means)).open())
    if worlds.WORLDS[name].space.on_invalid != "error":
        table.validate()
    return found


@pytest.mark.seventh
@pytest.mark.parametrize("name", worlds.WORLDS)
def test_no_function_of_a_file_is_one_of_a_statement(
    files: tuple[Path, Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, full = files
    wanted = statistics(declared(plain, name), name)
    with recorded(monkeypatch) as texts:
        assert statistics(declared(full, name), name) == wanted
    with duckdb.connect() as connection:
        known = set(functions(connection))
    names = called(texts)
    assert {"+", "-", "*"} <= names or not wanted
    assert {found for found in names if found not in known} <= NO_FUNCTIONS


NO_FUNCTIONS = {"unnest", "count_star"}
"""Names that DuckDB reads as functions and has none of: the first is a clause, to which no macro is found."""


ROWS = pl.DataFrame(
    {
        "user": [number // 5 for number in range(1000)],
        "x": [0.05 + number % 10 / 11 for number in range(1000)],
        "kind": [("bar", "cafe", "park")[number % 3] for number in range(1000)],
        "message": [("Hello cat", "dog", "cat; the dog")[number % 3] for number in range(1000)],
        "at": pl.Series(range(0, 10**18, 10**15), dtype=pl.Datetime("ns")),
    }
)
"""Two hundred users of five records."""

UNIT = emdp.Interval("x", 0, 1)
KINDS = emdp.Categories("kind", ["bar", "cafe", "park"])
WORDS = emdp.Words("message", {"word": ["cat", "dog"], "a": [0.0, 1.0]}, on_invalid="neutral")
TIME = emdp.Cycle("time(at)", 24)
X = emdp.col("x")
EVERY_FUNCTION = [
    emdp.exp(X), emdp.log(X + 1), emdp.sqrt(X + 1), emdp.power(X, 2.5), emdp.sin(X), emdp.cos(X), emdp.tanh(X),
    abs(X - 0.5), emdp.ramp(X, 1, 0), emdp.minimum(X, 1 - X), emdp.maximum(X, 0.5), emdp.clamp(X, 0.2, 0.8),
]  # fmt: skip
STRINGS: dict[str, Any] = {"threshold": 0.2, "epsilon": 8.0, "delta": 1e-4}
QUESTIONS: dict[str, tuple[emdp.Space, Any]] = {
    "means": (UNIT, emdp.vector_mean(EVERY_FUNCTION, alpha=2.0)),
    "local means": (UNIT, emdp.mean(X, epsilon=2.0, model="local")),
    "quantiles": (UNIT, emdp.quantiles(X, [0.5], epsilon=2.0)),
    "user mean": (UNIT, emdp.user_mean("x", epsilon=2.0, delta=1e-6)),
    "words": (WORDS, emdp.frequencies(epsilon=2.0)),
    "times": (TIME, emdp.mean(emdp.distance_to(3.0), alpha=2.0)),
    "strings": (KINDS, emdp.heavy_hitters("message", words=True, **STRINGS)),
    "whole strings": (KINDS, emdp.heavy_hitters("message", lower=True, **STRINGS)),
    "items": (KINDS, emdp.itemwise(emdp.randomizers.KRR, alpha=2.0, delta=1e-9)),
    "local items": (KINDS, emdp.itemwise(emdp.randomizers.KRR, alpha=2.0, model="local")),
    "points": (UNIT, emdp.itemwise(emdp.randomizers.PlanarLaplace, alpha=4.0, delta=1e-9)),
    "frequencies of items": (KINDS, emdp.frequencies(epsilon=2.0, model="local")),
    "fit": (UNIT, emdp.learn.linear_fit_query([X], X * 0.5, epsilon=2.0, delta=1e-6)),
}
"""A question of every kind that reads records in a way of its own."""


def write(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", ROWS.to_arrow())
        connection.execute("CREATE TABLE visits AS SELECT * FROM frame")
        connection.unregister("frame")
        for statement in statements:
            connection.execute(statement)
    return path


def answered(path: Path, space: emdp.Space, query: Any, folder: Path) -> list[dict[str, Any]]:
    is_bounded = isinstance(query, Itemwise)
    budget = [emdp.EmdDP(100, 1e-3, sizes="bounded" if is_bounded else "unbounded"), emdp.UserDP(100, 1e-2)]
    with emdp.testing.seeded(5):
        table = read(f"{path}::visits", user="user", space=space, users=200, records=5 if is_bounded else None)
        with emdp.Session(table, budget=budget, ledger=folder / f"{path.stem}.ledger") as session:
            return session.answer(query).frame.to_dicts()


@pytest.mark.seventh
@pytest.mark.parametrize("kind", QUESTIONS)
def test_answers_of_every_kind_are_those_of_a_file_without_macros(
    files: tuple[Path, Path], kind: str, tmp_path: Path
) -> None:
    space, query = QUESTIONS[kind]
    found = [answered(path, space, query, tmp_path) for path in files]
    assert found[0]
    assert found[0] == found[1]


VIEWS = {
    "main.own_macro": 'SELECT "user", helper(x) AS x FROM visits',
    "main.own_sum": 'SELECT "user", sum(x) AS x FROM (SELECT "user", x FROM visits) GROUP BY ALL',
    "main.own_table_macro": "SELECT * FROM halves(2)",
    "main.own_tables": "SELECT * FROM listed_users UNION ALL SELECT * FROM source_rows UNION ALL FROM lookup_0",
    "main.own_common_name": "SELECT * FROM users",
    "other.macro_of_main": 'SELECT "user", helper(x) AS x FROM visits',
    "other.macro_of_its_own": 'SELECT "user", other.inner_helper(x) AS x FROM main.visits',
}
"""Views whose meaning the file's own names are part of."""


@pytest.mark.quarter
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_finds_the_names_of_its_file(view: str, tmp_path: Path) -> None:
    statements = [
        "CREATE MACRO helper(a) AS a * 0.5; CREATE MACRO sum(a) AS system.main.sum(a) * 0.125; CREATE SCHEMA other",
        "CREATE MACRO other.inner_helper(a) AS helper(a) * 0.5",
        'CREATE MACRO halves(part) AS TABLE SELECT "user", x / part AS x FROM visits',
    ]
    for number, name in enumerate(("listed_users", "source_rows", "lookup_0", "users"), start=1):
        statements.append(f'CREATE TABLE {name} AS SELECT "user", x * {number} / 10 AS x FROM visits')
    path = write(tmp_path / "city.duckdb", *statements, f"CREATE VIEW {view} AS {VIEWS[view]}")
    per = f'(SELECT avg(x) AS mean, system.main.sum(x) AS total, count(*) AS n FROM {view} GROUP BY "user")'
    table = read(f"{path}::{view}", user="user", space=UNIT, users=list(range(200)))
    table.validate()
    mean = float(mean_of_user_means(table, [X]).open()[0])
    assert mean == pytest.approx(answer_of(path, f"SELECT avg(mean) FROM {per}"))
    # A statement with a common table expression called users, over two public tables.
    listed = pl.DataFrame({"user": range(200), "plan": ["a", "b"] * 100})
    grouped = read(f"{path}::{view}", user="user", space=UNIT, users=listed, name="t")
    text = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 9) plan, SUM(x) FROM t GROUP BY plan"
    (planned,) = plan_request(text, grouped.names({}))
    assert isinstance(planned.plan, Plan)
    found = [float(one.open()[0]) for one in aggregate(grouped, planned.plan.aggregation)]
    assert sum(found) == pytest.approx(answer_of(path, f"SELECT system.main.sum(least(1, 9 / n) * total) FROM {per}"))


def answer_of(path: Path, query: str) -> float:
    with duckdb.connect(str(path)) as connection:
        (row,) = connection.execute(query).fetchall()
    return float(row[0])


def test_computed_columns_of_a_file_with_macros_are_refused(tmp_path: Path) -> None:
    made = 'CREATE TABLE t ("user" INTEGER, y DOUBLE DEFAULT 3, x AS (abs(y))); INSERT INTO t VALUES (1, 0.5)'
    plain = write(tmp_path / "plain.duckdb", made)
    path = write(tmp_path / "city.duckdb", "CREATE MACRO abs(a) AS 7", made, "CREATE VIEW v AS SELECT * FROM t")
    for source, wanted in ((f"{plain}::t", 0.5), (f"{path}::v", 7.0)):
        table = read(source, user="user", space=emdp.Interval("x", 0, 10), users=1)
        assert float(mean_of_user_means(table, [X]).open()[0]) == wanted
    with pytest.raises(UsageError, match=r"table 't' .* has computed columns, and its file has macros.*make a view"):
        read(f"{path}::t", user="user", space=UNIT, users=1)
    columns = {"user": "INTEGER", "x": "DOUBLE"}
    table = read(f"{path}::t", user="user", space=UNIT, users=1, columns=columns)
    with pytest.raises(UsageError, match="has computed columns"):
        table.validate()


def test_a_public_table_and_a_relation_mean_what_they_mean_where_they_come_from(tmp_path: Path) -> None:
    path = write(tmp_path / "city.duckdb", 'CREATE MACRO "+"(a, b) AS 77')
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE MACRO sum(a) AS 77; SET default_order = 'DESC'; SET integer_division = true")
        relation = connection.sql('SELECT "user", x + 1 AS x FROM visits')
        table = read(relation, user="user", space=emdp.Interval("x", 0, 100), users=200)
    assert float(mean_of_user_means(table, [emdp.minimum(X, 80.0)]).open()[0]) == 77


def test_settings_of_a_process_reach_no_statement(tmp_path: Path) -> None:
    settings = ("default_order", "default_null_order", "default_collation", "integer_division",
                "ieee_floating_point_ops", "error_on_division_by_zero", "TimeZone")  # fmt: skip
    path = write(tmp_path / "city.duckdb")
    with execution.opened(read(f"{path}::visits", user="user", space=UNIT, users=200).source, {}, None) as connection:
        found = [connection.execute(f"SELECT current_setting('{name}')").fetchone()[0] for name in settings]
    assert [str(value) for value in found] == ["ASC", "NULLS_LAST", "", "False", "True", "True", "UTC"]

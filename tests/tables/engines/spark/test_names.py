"""Functions of a Spark session under the names of Spark's own: they change no number, or the statement is refused."""

from collections.abc import Callable
from typing import Any

import pytest

import emdp
from emdp.base.errors import EmdpError, UsageError
from emdp.expressions.cells.aggregation import Aggregation, HatAxis
from emdp.questions.reading import Reading, TextColumn
from emdp.tables import Table, engine, read
from emdp.tables.engines.spark import execution
from emdp.tables.engines.spark.names import CALL, OF_ROWS
from emdp.tables.readings import check_items, read_items

ORDER = "spark.sql.functionResolution.sessionOrder"
"""What Spark 4.3 has a session's functions take the place of its own by."""

X = emdp.col("x")
TEXTS = Reading("texts", column=TextColumn("message", words=True))
NUMBERS = emdp.Product(
    emdp.Interval("x", 0, 1, on_invalid="neutral"),
    emdp.Geo("lat", "lon", (40, -75, 41, -73), unit="km", on_invalid="clamp"),
    emdp.Cycle("time(at)", 24, on_invalid="neutral"),
    emdp.Interval("month(day)", 1, 12, on_invalid="neutral"),
    emdp.Categories("kind", ["bar", "cafe"], on_invalid="neutral"),
)
WORDS = emdp.Words("message", {"word": ["cat", "dog"], "a": [0.0, 1.0]}, on_invalid="neutral")
VALUES = [
    emdp.exp(X), emdp.log(X + 1), emdp.sqrt(X + 1), emdp.power(X, 2.5), emdp.sin(X), emdp.cos(X), emdp.tanh(X),
    abs(X - 0.5), emdp.ramp(X, 1, 0), emdp.distance_to((40.5, -74.0)), emdp.distance_to(8.5, column="time(at)"),
    emdp.col("month(day)"), emdp.category_is("bar"),
]  # fmt: skip
CELLS = Aggregation((X,), (HatAxis(X, 0, 0.25, 5),), cap=3)


@pytest.fixture
def session(spark: Any) -> Any:
    """A session with functions and settings of its own."""
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", "2")
    return own


def rows(session: Any) -> Any:
    return session.sql(
        "SELECT CAST(id % 7 AS INT) AS user, id / 40D AS x, 40 + id / 40D AS lat, -74D + id / 40D AS lon, "
        "ARRAY('bar', 'cafe', 'zoo')[id % 3] AS kind, ARRAY('Hello cat', 'dog', 'the DOG')[id % 3] AS message, "
        "TIMESTAMP_SECONDS(id * 100000) AS at, DATE_FROM_UNIX_DATE(CAST(id * 50 AS INT)) AS day FROM RANGE(40)"
    )


def opened(frame: Any, space: emdp.Space) -> Table:
    return read(frame, user="user", space=space, users=list(range(7)))


def everything(frame: Any) -> list[Any]:
    """Return what each kind of statement gives, before and after its check on no rows."""
    numbers, words = opened(frame, NUMBERS), opened(frame, WORDS)
    found: list[Any] = []
    for aggregation in (Aggregation(tuple(VALUES)), CELLS):
        engine.check_aggregation(numbers, aggregation)
        found.append([one.open() for one in engine.aggregate(numbers, aggregation)])
    numbers.validate()
    found.append(engine.mean_of_user_means(words, [emdp.similarity("cat")]).open())
    check_items(words, TEXTS)
    found.append([block.texts.to_list() for block in read_items(words, TEXTS).open()])
    found.append(read_items(opened(frame, emdp.Categories("kind", ["bar"], on_invalid="neutral")), Reading("counts"))
                 .open().tolist())  # fmt: skip
    return found


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Names of the functions in the statements that run."""
    names = set(OF_ROWS)
    check = execution.check_functions

    def checked(session: Any, text: str) -> None:
        names.update((quoted or plain).lower() for quoted, plain in CALL.findall(text))
        check(session, text)

    monkeypatch.setattr(execution, "check_functions", checked)
    return names


def shadow(session: Any, names: set[str]) -> None:
    first, *others = names
    # One function for all: to make each of some 500 anew takes seconds.
    made = session.udf.register(first, lambda *_: "77", "string")._unwrapped._judf
    for name in others:
        session._jsparkSession.udf().registerPython(name, made)


def all_names(session: Any) -> set[str]:
    listed = session._jsparkSession.sessionState().functionRegistry().listFunction().mkString("\n")
    return {name.rpartition(".")[2].strip("`") for name in listed.split("\n")}


@pytest.mark.slow
def test_functions_of_a_session_change_no_number(session: Any, called: set[str]) -> None:
    wanted = everything(rows(session))
    known = all_names(session)
    assert {"+", "sum", "try_sum", "asin", "least", "translate", "regexp_extract_all", "explode"} <= known
    assert {"+", "try_sum", "asin", "least", "translate", "regexp_extract_all"} <= called
    # Those that the statements do not call, in place of Spark's; those that they do, where Spark's come first.
    other, last = session.newSession(), session.newSession()
    # What the owner's own expressions mean is settled before.
    frames = rows(other), rows(last)
    shadow(other, known - called)
    other.conf.set(ORDER, "first")
    assert everything(frames[0]) == wanted
    shadow(last, known)
    try:
        found: object = everything(frames[1])
    except UsageError as error:
        found = str(error)
    # In Spark 4.1 they always take its place.
    assert found == wanted or "a function of its own in place of Spark's" in str(found)


@pytest.mark.parametrize("name", ["sum", "TRY_SUM", "+", "rint", "unix_micros"])
def test_one_that_takes_the_place_of_sparks_is_refused_before_a_charge(session: Any, name: str, tmp_path: Any) -> None:
    table, mean = opened(rows(session), NUMBERS), Aggregation((X,))
    # Spark planned it before, and is not asked to again.
    session.conf.set(ORDER, "first")
    engine.check_aggregation(table, mean)
    session.udf.register(name, lambda *_: 77.0, "double")
    asked: list[Callable[[], object]] = [
        lambda: engine.check_aggregation(table, mean),
        lambda: engine.mean_of_user_means(table, [X]),
        table.validate,
    ]
    if name == "TRY_SUM":
        # A mean calls it no more: its sums are bounded.
        assert engine.mean_of_user_means(table, [X]).open()
        return
    for ask in asked[: 2 if name in {"sum", "rint"} else 3]:
        with pytest.raises(UsageError, match=r"a function of its own in place of Spark's '.*'; read the table in a"):
            ask()
    with emdp.Session(table, budget=emdp.EmdDP(10), ledger=tmp_path / "x.ledger") as asking:
        with pytest.raises(UsageError, match="in place of Spark's"):
            asking.mean(X, alpha=1)
        assert asking.remaining() == emdp.EmdDP(10)


def means(table: Table, asked: Aggregation) -> Any:
    return engine.aggregate(table, asked)[0].open()


def test_a_question_that_was_asked_keeps_sparks_own_functions(session: Any) -> None:
    table, asked = opened(rows(session), NUMBERS), Aggregation((X,))
    session.conf.set(ORDER, "first")
    wanted = means(table, asked)
    session.udf.register("rint", lambda *_: 77.0, "double")
    engine.check_aggregation(table, asked)
    assert means(table, asked) == wanted
    # Another question, and other settings, in which Spark reads the text again.
    for zone, question in (("UTC", Aggregation((X * X,))), ("Asia/Kathmandu", asked)):
        session.conf.set("spark.sql.session.timeZone", zone)
        with pytest.raises(UsageError, match="in place of Spark's"):
            means(table, question)


def test_a_plan_is_kept_for_equal_settings_not_for_those_of_one_hash(session: Any) -> None:
    table, asked = opened(rows(session), NUMBERS), Aggregation((X,))
    session.conf.set(ORDER, "first")
    session.conf.set("emdp.kept", "Aa")
    settings = session._jsparkSession.conf().getAll()
    wanted = means(table, asked)
    session.udf.register("rint", lambda *_: 77.0, "double")
    # Java's hash of "BB" is that of "Aa", and so is that of all settings.
    session.conf.set("emdp.kept", "BB")
    assert session._jsparkSession.conf().getAll().hashCode() == settings.hashCode()
    for ask in (engine.check_aggregation, means):
        with pytest.raises(UsageError, match="in place of Spark's"):
            ask(table, asked)
    session.conf.set("emdp.kept", "Aa")
    engine.check_aggregation(table, asked)
    assert means(table, asked) == wanted


def test_a_question_that_was_asked_reads_the_rows_again(session: Any, tmp_path: Any) -> None:
    rows(session).coalesce(1).write.parquet(str(tmp_path / "rows"))
    table, asked = opened(session.read.parquet(str(tmp_path / "rows")), NUMBERS), Aggregation((X,))
    wanted = means(table, asked)
    assert means(table, asked) == wanted
    for file in (tmp_path / "rows").glob("*.parquet"):
        file.unlink()
    with pytest.raises(EmdpError):
        means(table, asked)


def test_views_of_the_session_are_no_tables_of_a_statement(session: Any) -> None:
    table = opened(rows(session), NUMBERS)
    wanted = engine.mean_of_user_means(table, VALUES).open()
    for name in ("source_rows", "listed_users", "lookup_0", "lookup_4", "per_user", "items", "operands", "facts"):
        session.sql("SELECT 77 AS user_key, 77 AS label, 77 AS key, 77 AS value_0").createOrReplaceTempView(name)
    assert engine.mean_of_user_means(table, VALUES).open() == wanted

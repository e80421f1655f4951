"""What a refusal says, how long it is and what it touches have nothing to do with private values.

Two tables differ in private values alone: keys, numbers, notes. Whatever is refused, over either of them, is refused
in the same words, byte by byte. And a refusal of a request is made before the source is opened: it comes the same
where the source is gone and the engine may not be called, so that its time cannot depend on records.
"""

import io
import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
import sql_worlds
from expectations import check_refusal, everything_said
from sql_mutants import ROOT

import emdp
from emdp.base.errors import BudgetExceededError, DataRuleError, EmdpError
from emdp.cli import main
from emdp.ledger import read_ledger
from emdp.tables.base import Source
from emdp.tables.engines.duckdb import instances
from emdp.tables.table import Table

FIRST, SECOND = ("zqvj", 92781828), ("qxwk", 61803398)
"""What stands in every private text, and in every private number, of the first and of the second table."""

QUESTION = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS m FROM visits"
REQUESTS = (
    QUESTION.replace("alpha = 1", "alpha = 1000"),
    QUESTION.replace("AVG(x)", "AVG(x) OVER ()"),
    QUESTION.replace("AVG(x)", "AVG(note)"),
    QUESTION.replace("AVG(x)", "MAX(x)"),
    QUESTION.replace("AVG(x)", "AVG(1 / x)"),
    QUESTION.replace("AVG(x)", "AVG(gone)"),
    QUESTION.replace("AVG(x) AS m", "*"),
    QUESTION.replace("FROM visits", "FROM visits WHERE x = 3.5"),
    QUESTION.replace("FROM visits", "FROM other"),
    QUESTION.replace("FROM visits", "FROM visits GROUP BY who"),
    QUESTION.replace("WITH EMD_PRIVACY OPTIONS (alpha = 1) ", ""),
    QUESTION.replace("alpha = 1", "alpha = -1"),
    QUESTION.replace("alpha = 1", "epsilon = 1"),
    "DROP TABLE visits",
    "COPY visits TO 'visits.out'",
    "SELECT",
    "",
    "\x00",
    f"{QUESTION}; {QUESTION.replace('AVG', 'MAX')}",
)
"""What is refused whatever the records are: no guarantee, no column, no budget, no SQL."""


@dataclass(frozen=True)
class Kind:
    """A kind of source, and how records become one under a name that does not depend on them."""

    name: str
    write: Callable[[pl.DataFrame, Path], Any]


def _parquet(frame: pl.DataFrame, folder: Path) -> Any:
    frame.write_parquet(folder / "visits.parquet", compression="uncompressed")
    return folder / "visits.parquet"


def _csv(frame: pl.DataFrame, folder: Path) -> Any:
    frame.write_csv(folder / "visits.csv")
    return folder / "visits.csv"


def _duckdb(frame: pl.DataFrame, folder: Path) -> Any:
    path = folder / "city.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(path) as connection:
        connection.register("frame", frame.to_arrow())
        connection.execute("CREATE TABLE visits AS FROM frame")
    return f"{path}::visits"


KINDS = (Kind("parquet", _parquet), Kind("csv", _csv), Kind("duckdb", _duckdb), Kind("frame", lambda frame, _: frame))


def rows(marks: tuple[str, int], *, spoil: str = "") -> pl.DataFrame:
    """Return records of five people; spoiled, in one way, they break what their owner declared."""
    word, digits = marks
    values = [number + digits / 1e8 for number in range(20)]
    people: list[str | None] = [f"{word}-{number % 5}" for number in range(20)]
    if spoil == "invalid":
        values[7] = 31 + digits / 1e8
    if spoil == "missing":
        people[3] = None
    if spoil == "unlisted":
        people[4] = f"{word}-unlisted"
    if spoil == "records":
        people[5] = people[6]
    notes = [f"{word} {number}" for number in range(20)]
    return pl.DataFrame({"who": people, "x": values, "note": notes, "count": [digits + number for number in range(20)]})


def ask(
    source: object, folder: Path, requests: Sequence[str], *, marks: tuple[str, int], declared: str = "number"
) -> list[str]:
    """Return all that refused requests say."""
    users: Any = [f"{marks[0]}-{number}" for number in range(5)] if declared == "list" else 5
    records = 4 if declared == "records" else None
    table = emdp.read(
        source, user="who", space=emdp.Interval("x", 0, 30), users=users, name="visits", records=records, version="one"
    )
    ledger = folder / "v.ledger"
    ledger.unlink(missing_ok=True)
    said = []
    with emdp.Session(table, budget=emdp.EmdDP(60.0), ledger=ledger) as session:
        for request in requests:
            with pytest.raises(EmdpError) as caught:
                session.sql_batch(request)
            error = caught.value
            assert isinstance(error, DataRuleError) or check_refusal(error, own=request)
            said.append(f"{type(error).__name__} {error.exit_status} {error} {vars(error)}")
    assert not read_ledger(ledger).entries(kind="charge")
    return said


@pytest.fixture
def printed(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """Return what was printed and logged so far, by anything at all."""
    caplog.set_level(logging.DEBUG)
    return lambda: "".join((*capfd.readouterr(), caplog.text))


@pytest.mark.quarter
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_refused_request_says_the_same_whatever_the_records(
    kind: Kind, tmp_path: Path, printed: Callable[[], str]
) -> None:
    said = {}
    for marks in (FIRST, SECOND):
        source = kind.write(rows(marks), tmp_path)
        said[marks] = ask(source, tmp_path, REQUESTS, marks=marks)
    assert said[FIRST] == said[SECOND]
    shown = "".join((*said[FIRST], *said[SECOND], printed()))
    assert not any(str(mark) in shown for mark in (*FIRST, *SECOND))


SPOILED = (("invalid", "number"), ("missing", "number"), ("unlisted", "list"), ("records", "records"))
"""How records break a rule, and what has to be declared for that."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_broken_rule_is_named_and_never_a_record(kind: Kind, tmp_path: Path, printed: Callable[[], str]) -> None:
    # The last two take another list of users, or a number of records, to the same statement.
    for spoil, declared in SPOILED if kind.name in ("parquet", "csv") else SPOILED[:2]:
        said = []
        for marks in (FIRST, SECOND):
            source = kind.write(rows(marks, spoil=spoil), tmp_path)
            said += ask(source, tmp_path, [QUESTION], marks=marks, declared=declared)
        assert said[0] == said[1], spoil
        assert said[0].startswith("DataRuleError 4 table 'visits' has "), spoil
        assert not any(str(mark) in said[0] for mark in (*FIRST, *SECOND))
    assert not any(str(mark) in printed() for mark in (*FIRST, *SECOND))


def test_files_that_cannot_be_read_are_refused_in_the_same_words(tmp_path: Path) -> None:
    said: dict[Any, list[str]] = {FIRST: [], SECOND: []}
    for marks, suffix in itertools.product((FIRST, SECOND), ("parquet", "csv")):
        path = tmp_path / f"visits.{suffix}"
        text = rows(marks).write_csv()
        # Neither is Parquet; as CSV the second has a row of too many values, which engines quote.
        path.write_text(text.replace(f"{marks[0]} 7", f"{marks[0]},{marks[1]},7,8"))
        table = emdp.read(path, user="who", space=emdp.Interval("x", 0, 30), users=5, columns=_declared(suffix))
        with pytest.raises(DataRuleError) as caught:
            table.validate()
        said[marks].append(str(caught.value))
        assert not any(str(mark) in str(caught.value) for mark in marks)
    assert said[FIRST] == said[SECOND]


def _declared(suffix: str) -> dict[str, str] | None:
    return {"who": "VARCHAR", "x": "DOUBLE"} if suffix == "parquet" else None


COMMANDS = (
    ["query", QUESTION.replace("AVG(x)", "AVG(x) OVER ()")],
    ["query", QUESTION.replace("alpha = 1", "alpha = 1000")],
    ["query", QUESTION],
    ["check", QUESTION.replace("AVG(x)", "AVG(note)")],
    ["preview", QUESTION.replace("FROM visits", "FROM other")],
    ["query", "gone.sql"],
    ["query", QUESTION, "--csv", "visits.csv"],
    ["query", QUESTION, "--plot", "m.txt"],
)
CATALOG = """
ledger = "v.ledger"
[tables.visits]
source = "visits.csv"
user = "who"
users = 5
version = "one"
space = { kind = "interval", col = "x", low = 0, high = 30 }
budget = { alpha = 60.0 }
"""


@pytest.mark.slow
def test_the_command_line_prints_the_same_and_as_much_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("emdp.toml").write_text(CATALOG)
    said: dict[Any, list[tuple[Any, str]]] = {FIRST: [], SECOND: []}
    for marks in (FIRST, SECOND):
        # Of all the commands only the question itself looks at the records, and finds an invalid one.
        _csv(rows(marks, spoil="invalid"), tmp_path)
        for words in COMMANDS:
            out = io.StringIO()
            with redirect_stdout(out), redirect_stderr(out), pytest.raises(SystemExit) as done:
                main(words)
            said[marks].append((done.value.code, out.getvalue()))
            Path("v.ledger").unlink(missing_ok=True)
    assert said[FIRST] == said[SECOND]
    assert [status for status, _ in said[FIRST]] == [2, 3, 4, 2, 2, 2, 2, 2]
    assert not any(str(mark) in text for _, text in said[FIRST] for mark in FIRST)


# ------------------------------------------------ what a refusal touches


class _Forbidden(BaseException):
    """The source or the engine was touched; no error of emdp, so that nothing takes it for one."""


def _forbid(*_: object, **__: object) -> Any:
    raise _Forbidden


@pytest.fixture
def session(tmp_path: Path) -> Iterator[emdp.Session]:
    """Return a session on a file of Parquet, with little budget left."""
    source = _parquet(rows(FIRST), tmp_path)
    table = emdp.read(source, user="who", space=emdp.Interval("x", 0, 30), users=5, name="visits")
    with emdp.Session(table, budget=emdp.EmdDP(1.5), ledger=tmp_path / "v.ledger") as opened:
        opened.sql(QUESTION)
        yield opened


def _seal(monkeypatch: pytest.MonkeyPatch, source: Source) -> None:
    """Leave no way to the records, nor to the engine."""
    for name in ("attach", "held", "fingerprint", "schema", "check_schema"):
        monkeypatch.setattr(type(source), name, _forbid)
    for name in ("validate", "held", "data_version", "bag"):
        monkeypatch.setattr(Table, name, _forbid)
    monkeypatch.setattr(duckdb, "connect", _forbid)
    # No instance that is kept would do, either.
    monkeypatch.setattr(instances, "_kept", {})


def test_a_refusal_is_made_before_the_source_or_the_engine_is_touched(
    session: emdp.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "visits.parquet").unlink()
    head = session.ledger.head()
    _seal(monkeypatch, session.table.source)
    for request in REQUESTS:
        with pytest.raises(EmdpError) as caught:
            session.sql_batch(request)
        check_refusal(caught.value, own=request)
    with pytest.raises(BudgetExceededError):
        session.sql(QUESTION)
    for query in (emdp.mean(emdp.col("x"), alpha=1.0), emdp.mean(emdp.col("x") * 2, alpha=1e6)):
        with pytest.raises(BudgetExceededError):
            session.answer(query)
    with pytest.raises(EmdpError):
        session.answer(emdp.mean(emdp.col("gone"), alpha=0.1))
    assert session.ledger.head() == head
    # And the seal holds: what is affordable does reach for the source.
    with pytest.raises(_Forbidden):
        session.sql(QUESTION.replace("alpha = 1", "alpha = 0.1"))
    assert session.ledger.head() == head


@pytest.mark.slow
def test_every_refused_statement_of_the_tests_is_refused_without_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = sql_worlds.WORLDS["city"].declared
    ledger = tmp_path / "city.ledger"
    with emdp.Session(declared, budget=emdp.EmdDP(1e6), ledger=ledger, public=sql_worlds.PUBLIC) as session:
        head = session.ledger.head()
        _seal(monkeypatch, declared.source)
        refused = 0
        for path in sorted((ROOT / "tests/sql/refused").glob("*.sql"))[::8]:
            text = path.read_text(encoding="utf-8")
            if "-- about: " in text:
                continue
            with pytest.raises(EmdpError) as caught:
                session.sql_batch(text)
            check_refusal(caught.value, own=text)
            assert not any(
                marker in everything_said(caught.value) for marker in sql_worlds.MARKERS if marker not in text
            )
            refused += 1
        assert refused > 40
        assert session.ledger.head() == head


def test_a_statement_is_refused_where_the_data_is_not_even_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("emdp.toml").write_text(CATALOG.replace("users = 5", 'users = 5\ncolumns = { who = "VARCHAR", x = "DOUBLE" }'))
    monkeypatch.setattr(duckdb, "connect", _forbid)
    monkeypatch.setattr(instances, "_kept", {})
    for words in (["query", REQUESTS[1]], ["check", REQUESTS[3]], ["preview", REQUESTS[8]]):
        with redirect_stderr(io.StringIO()) as said, pytest.raises(SystemExit) as done:
            main(words)
        assert done.value.code == 2
        assert said.getvalue().startswith("emdp: ")
    assert not Path("v.ledger").exists()

"""A corpus of bad input, by hand: what the command line says of it, what it exits with, and what it leaves alone.

Each case spoils one file of a sound folder, or asks for something that cannot be, and runs one command. Whatever it is,
the ledger has the charges it had, byte by byte the same file where it was opened for nothing, no file of the owner's is
changed, none is left behind, and nothing that is printed holds a private value.
"""

import gzip
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl
import pytest
from expectations import MARKERS
from table_readers import PEOPLE, QUESTION, ROWS, csv_texts, parquet_files, records

import emdp
from emdp.cli import main
from emdp.ledger import open_ledger, read_ledger

ASK = ("query", QUESTION)
CATALOG = """
ledger = "city.ledger"

[tables.visits]
source = "SOURCE"
user = "who"
users = 40
space = { kind = "interval", col = "x", low = 0, high = 30 }
budget = { alpha = 60.0 }
"""
REPORT = """
title = "Visits"
catalog = "emdp.toml"
period = "one"
budget = { alpha = 2.0 }

[[entry]]
title = "Mean"
query = "SELECT WITH EMD_PRIVACY AVG(x) AS m FROM visits"
"""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which everything is well: files of each kind, a catalog, a report, a ledger with a charge."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / "visits.parquet").write_bytes(parquet_files()[0])
    (folder / "visits.csv").write_text(csv_texts()[0])
    (folder / "visits.csv.gz").write_bytes(gzip.compress(csv_texts()[0].encode()))
    (folder / "emdp.toml").write_text(CATALOG.replace("SOURCE", "visits.parquet"))
    (folder / "visits.toml").write_text(REPORT)
    (folder / "mean.sql").write_text(QUESTION)
    with duckdb.connect(folder / "city.duckdb") as connection:
        connection.register("frame", pl.DataFrame(records()).to_arrow())
        connection.execute("CREATE TABLE visits AS FROM frame")
        connection.execute("CREATE VIEW broken AS SELECT who, CAST(note AS INTEGER) AS x FROM visits")
        connection.execute("CREATE VIEW outside AS SELECT who, x FROM visits")
    space = emdp.Interval("x", 0, 30)
    table = emdp.read(folder / "visits.parquet", user="who", space=space, users=40, name="visits")
    with emdp.Session(table, budget=emdp.EmdDP(60.0), ledger=folder / "city.ledger") as session:
        session.sql(QUESTION)
    return folder


Spoil = Callable[[Path], object]


@dataclass(frozen=True)
class Case:
    """What is spoiled, what is asked, what the command exits with, and words of what it says."""

    name: str
    spoil: Spoil
    says: str
    words: tuple[str, ...] = ASK
    status: int = 2


def put(name: str, content: bytes | str) -> Spoil:
    """Return what writes a file."""
    raw = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / name).write_bytes(raw)


def change(name: str, old: str, new: str) -> Spoil:
    """Return what puts a text for another one."""

    def spoil(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return spoil


def source(name: str, spoil: Spoil = lambda folder: None) -> Spoil:
    """Return what names another source in the catalog, after spoiling it."""

    def both(folder: Path) -> None:
        spoil(folder)
        change("emdp.toml", "visits.parquet", name)(folder)

    return both


def cut(name: str, share: float) -> Spoil:
    """Return what keeps so much of a file."""
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[: int(share * _size(folder / name))])


def _size(path: Path) -> int:
    return path.stat().st_size


def frame(**columns: object) -> Spoil:
    """Return what writes the Parquet file with other columns."""
    return lambda folder: pl.DataFrame({**records(), **columns}).write_parquet(folder / "visits.parquet")


def _more_users(folder: Path) -> None:
    doubled = {name: [*values, *values] for name, values in records().items()}
    pl.DataFrame({**doubled, "who": list(range(2 * ROWS))}).write_parquet(folder / "visits.parquet")


def _two_schemas(folder: Path) -> None:
    (folder / "parts").mkdir()
    pl.DataFrame(records()).write_parquet(folder / "parts" / "a.parquet")
    pl.DataFrame({**records(), "x": list(range(ROWS))}).write_parquet(folder / "parts" / "b.parquet")


def _other_switch(folder: Path) -> None:
    (folder / "city.ledger").unlink()
    open_ledger(folder / "city.ledger", test=True).close()


def _flipped(folder: Path) -> None:
    content = bytearray((folder / "city.ledger").read_bytes())
    content[content.find(b"AVG(x)") + 4] ^= 1
    (folder / "city.ledger").write_bytes(bytes(content))


WHOLE = "cannot be read as"
DAMAGED = (
    Case("empty parquet", put("visits.parquet", b""), WHOLE, status=4),
    Case("cut parquet", cut("visits.parquet", 0.6), WHOLE, status=4),
    Case("text as parquet", put("visits.parquet", csv_texts()[0]), WHOLE, status=4),
    Case("only magic", put("visits.parquet", b"PAR1" * 4), WHOLE, status=4),
    Case("no parquet", lambda folder: (folder / "visits.parquet").unlink(), "names no file"),
    Case("no such column", frame(x=None), "x"),
    Case("text for numbers", frame(x=records()["note"]), "needs numbers"),
    Case("numbers for users", frame(who=records()["x"]), "user column 'who' is DOUBLE"),
    Case("a row without a user", frame(who=[None, *records()["who"][1:]]), "rows without a user", status=4),
    Case("an invalid item", frame(x=[31.0 + 0.92781828, *records()["x"][1:]]), "outside the space's domain", status=4),
    Case("more users than declared", _more_users, "declared users", status=4),
    Case("fewer users declared than before", change("emdp.toml", "users = 40", "users = 2"), "other users"),
    Case("two schemas", source("parts", _two_schemas), "differ in column 'x'", status=4),
    Case("a remote source", source("https://example.org/v.parquet"), "remote address"),
    Case("a pattern of none", source("gone-*.parquet"), "names no file"),
    Case("an unknown kind", source("visits.xlsx"), "of no known kind"),
    Case("empty csv", source("visits.csv", put("visits.csv", "")), "header row"),
    Case("one name twice", source("visits.csv", put("visits.csv", "who,x,x\na,1,2\n")), "distinct"),
    Case("no such header", source("visits.csv", put("visits.csv", "zqvj,one\n")), "check its header row"),
    Case("no header", source("visits.csv", put("visits.csv", "zqvj,1\n")), "seems to have a record where the names"),
    Case("a ragged row", source("visits.csv", put("visits.csv", "who,x\nzqvj,1,2,3\n")), "to its end", status=4),
    Case("an open quote", source("visits.csv", put("visits.csv", 'who,x\n"zqvj,1\n')), "to its end", status=4),
    Case("no UTF-8", source("visits.csv", put("visits.csv", b"who,x\nzqvj\xff\xfe,1\n")), "to its end", status=4),
    Case("a header of no UTF-8", source("visits.csv", put("visits.csv", b"who\xff,x\nzqvj,1\n")), WHOLE, status=4),
    Case("UTF-16", source("visits.csv", put("visits.csv", "who,x\nzqvj,1\n".encode("utf-16"))), WHOLE, status=4),
    Case("cut gzip", source("visits.csv.gz", cut("visits.csv.gz", 0.05)), WHOLE, status=4),
    Case("no gzip", source("visits.csv.gz", put("visits.csv.gz", csv_texts()[0])), WHOLE, status=4),
    Case(
        "text as DuckDB", source("city.duckdb::visits", put("city.duckdb", "zqvj" * 999)), "cannot be opened", status=4
    ),
    Case("cut DuckDB", source("city.duckdb::visits", cut("city.duckdb", 0.4)), "cannot be", status=4),
    Case("no such table", source("city.duckdb::zones"), "has no table 'zones'"),
    Case("a view that fails at a record", source("city.duckdb::broken"), "to its end", status=4),
)
DECLARED = (
    Case("no catalog", lambda folder: (folder / "emdp.toml").unlink(), "does not exist"),
    Case("a folder for a catalog", lambda folder: None, "cannot be read", (*ASK, "-C", ".")),
    Case("empty catalog", put("emdp.toml", ""), "no [tables.NAME]"),
    Case("no TOML", put("emdp.toml", "ledger = "), "cannot be read as TOML"),
    Case("no text", put("emdp.toml", b"\xff\xfe\x00"), "cannot be read as TOML"),
    Case("deep brackets", put("emdp.toml", "x = " + "[" * 9999), "too deep"),
    Case("endless digits", put("emdp.toml", "x = " + "9" * 9999), "too many digits"),
    Case("unknown key", change("emdp.toml", "users =", "uzers ="), "unknown key 'uzers'"),
    Case("users of another type", change("emdp.toml", "users = 40", "users = true"), "'users' that is not"),
    Case("a type of two lines", change("emdp.toml", "users = 40", 'users = 40\ncolumns = { who = "A\\nB", x = "C" }'),
         "columns gives 'who' a type"),
    Case("unknown space", change("emdp.toml", "interval", "intervall"), "kind must be one of"),
    Case("infinite bound", change("emdp.toml", "high = 30", "high = inf"), "must be finite"),
    Case("negative budget", change("emdp.toml", "60.0", "-1.0"), "must"),
    Case("another budget", change("emdp.toml", "60.0", "61.0"), "budget"),
    Case("another space", change("emdp.toml", "high = 30", "high = 31"), "space"),
    Case("no report", lambda folder: None, "does not exist", ("report", "gone.toml")),
    Case("a report of no TOML", put("visits.toml", "title"), "this is no TOML", ("report", "visits.toml")),
    Case("a report of endless digits", put("visits.toml", "x = " + "9" * 9999), "thousands of digits",
         ("report", "visits.toml")),
    Case("a report's unknown key", change("visits.toml", "period", "perjod"), "perjod", ("report", "visits.toml")),
    Case("a report of one entry twice", put("visits.toml", REPORT + REPORT[REPORT.index("[[") :]),
         "is that of the entry", ("report", "visits.toml")),
    Case("a report of a refused query", change("visits.toml", "AVG", "MAX"), "MAX", ("report", "visits.toml")),
)  # fmt: skip
ASKED = (
    Case("no SQL", lambda folder: None, "is refused", ("query", "DROP TABLE visits")),
    Case("empty SQL", put("empty.sql", ""), "no statement", ("query", "empty.sql")),
    Case("SQL of no text", put("mean.sql", b"\xff\x00SELECT"), "no UTF-8", ("query", "mean.sql")),
    Case("no SQL file", lambda folder: None, "cannot be read", ("query", "gone.sql")),
    Case("a query of each user", lambda folder: None, "", ("query", QUESTION.replace("AVG(x)", "who, x"))),
    Case("more than is left", lambda folder: None, "budget", ("query", QUESTION.replace("0.001", "60")), 3),
    Case("more in all than is left", lambda folder: None, "budget",
         ("query", "; ".join([QUESTION.replace("0.001", str(number / 2)) for number in range(80, 84)])), 3),
    Case("an answer over the data", lambda folder: None, "", (*ASK, "--parquet", "visits.parquet")),
    Case("an answer over the ledger", lambda folder: None, "", (*ASK, "--json", "city.ledger")),
    Case("a name too long", lambda folder: None, "too long", (*ASK, "--csv", "a" * 300)),
    Case("links in a circle", lambda folder: (folder / "loop").symlink_to("loop"), "cannot be",
         (*ASK, "--json", "loop/x")),
    Case("a catalog's name too long", lambda folder: None, "too long",
         ("init", "visits.parquet", "--user", "who", "--users", "40", "--out", "a" * 300)),
    Case("a page's name too long", lambda folder: None, "too long", ("report", "visits.toml", "--out", "a" * 300)),
    Case("an audit's name too long", lambda folder: None, "too long", ("audit", QUESTION, "--report", "a" * 300)),
    Case("an audit of no report", lambda folder: None, "does not exist", ("audit", "gone.toml")),
    Case("an audit of no SQL", put("mean.sql", b"\xff\x00SELECT"), "no UTF-8", ("audit", "mean.sql")),
    Case("a generated table's name too long", lambda folder: None, "too long",
         ("generate", "messages", "--users", "9", "--records", "9", "--out", "a.csv", "--vectors", "a" * 300)),
    Case("a generated table over the data", lambda folder: None, "exists",
         ("generate", "checkins", "--users", "9", "--records", "9", "--out", "visits.parquet")),
    Case("no experiment", lambda folder: None, "must be one of", ("experiment", "arithmetic")),
    Case("a demonstration in a file", lambda folder: None, "must be a folder", ("demo", "--keep", "visits.csv")),
    Case("a period that is a path", lambda folder: None, "period must be", (*ASK, "--period", "../x")),
    Case("text as a ledger", put("city.ledger", "time,query,alpha\n" * 99), "ledger"),
    Case("empty ledger", put("city.ledger", b""), "ledger"),
    Case("cut ledger", cut("city.ledger", 0.7), "ledger"),
    Case("a flipped bit", _flipped, "chain breaks"),
    Case("a ledger of the test switch", _other_switch, "test switch"),
    Case("a folder for a ledger", change("emdp.toml", "city.ledger", "."), "ledger"),
    Case("a damaged ledger shown", cut("city.ledger", 0.7), "ledger", ("ledger", "show", "city.ledger")),
    Case("a damaged ledger copied", _flipped, "chain breaks", ("ledger", "copy", "city.ledger", "copy.ledger")),
    Case("no ledger", lambda folder: None, "does not exist", ("ledger", "verify", "gone.ledger")),
    Case("a ledger of half a pair", lambda folder: None, "is no path", ("ledger", "verify", "gone\ud800.ledger")),
    Case("a head of another ledger", lambda folder: None, "no entry",
         ("ledger", "verify", "city.ledger", "--head", "ab" * 32)),
    Case("a manifest of no JSON", put("m.json", "{" * 9), "no JSON",
         ("ledger", "verify", "city.ledger", "--manifest", "m.json")),
    Case("a manifest of nothing", put("m.json", "[]"), "format",
         ("ledger", "verify", "city.ledger", "--manifest", "m.json")),
)  # fmt: skip


def files(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.seventh
@pytest.mark.parametrize("case", [*DAMAGED, *DECLARED, *ASKED], ids=lambda case: case.name.replace(" ", "-"))
def test_bad_input_is_refused_and_nothing_is_charged_or_lost(
    case: Case, sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "world"
    shutil.copytree(sound, folder)
    monkeypatch.chdir(folder)
    case.spoil(folder)
    before = files(folder)
    with pytest.raises(SystemExit) as done:
        main(list(case.words))
    said = capfd.readouterr()
    assert (done.value.code, said.out) == (case.status, ""), said
    assert case.says in said.err
    assert said.err.startswith("emdp: ")
    assert "Traceback" not in said.err
    assert not any(marker in said.err for marker in MARKERS)
    after = files(folder)
    ledger = after.pop("city.ledger"), before.pop("city.ledger")
    assert after == before
    if ledger[0] != ledger[1]:
        # A look at a sound ledger may tell it that the data are validated, or move its log: no charge is added.
        assert len(read_ledger(folder / "city.ledger").entries(kind="charge")) == 1


def test_the_sound_folder_is_answered(sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "world"
    shutil.copytree(sound, folder)
    monkeypatch.chdir(folder)
    # A name as long as the system takes is none too long.
    name = f"{'m' * 250}.csv"
    with pytest.raises(SystemExit) as done:
        main(["query", QUESTION, "--csv", name])
    assert not done.value.code
    assert pl.read_csv(name).columns == ["m", "m_low", "m_high"]
    assert len(read_ledger("city.ledger").entries(kind="charge")) == 2
    assert len(set(records()["who"])) == PEOPLE

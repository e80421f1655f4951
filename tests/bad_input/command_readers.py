"""Commands from their words to their exit status: odd words, and a folder in which one file is spoiled.

Whatever a command is given, its status is one that is promised, it prints no private value, what it was not told to
write stays as it was, and each answer is charged once.
"""

import contextlib
import io
import os
import random
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import duckdb
import polars as pl
from expectations import MARKERS, check_private, need
from mutator import mutated_bytes, mutated_text
from table_readers import QUESTION, parquet_files, records
from text_readers import CATALOG, REPORT, write_changed, write_world

from emdp.cli import main
from emdp.ledger import read_ledger

LARGEST = {"generate": 3_000, "experiment": 2, "demo": 9, "audit": 200}
"""Numbers on the command line above which work would last; those from ``HUGE`` on are refused, and stay."""

HUGE = 10**30
DEMO_CHARGES = 4
"""What the demonstration spends, on ledgers of its own making."""
WHOLE = re.compile(r"\d{1,30}")

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("check", "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS m FROM visits", "-C", "emdp.toml"),
    ("preview", "mean.sql", "-C", "emdp.toml", "--table", "visits"),
    ("mean", "visits.csv", "--column", "x", "--alpha", "0.1", "--user", "who", "--users", "40", "--interval",
     "x,0,30", "--preview", "--budget", "10", "--ledger", "mean.ledger"),
    ("distance", "zq-1", "zq-2", "--source", "visits.csv", "--user", "who", "--users", "40", "--interval", "x,0,30"),
    ("distance", "ann", "bob", "-C", "emdp.toml", "--table", "words"),
    ("calibrate", "--fraction", "0.5", "--distance", "3", "--epsilon", "1", "-C", "emdp.toml", "--table", "visits"),
    ("init", "visits.csv", "--user", "who", "--users", "40", "--out", "made.toml"),
    ("report", "visits.toml", "--dry-run"),
    ("ledger", "show", "gone.ledger"), ("ledger", "verify", "emdp.toml"), ("ledger", "history", "visits.csv"),
    ("ledger", "copy", "visits.csv", "copy.ledger"),
    ("ledger", "reserve", "gone.ledger", "--table", "visits", "--name", "weekly", "--alpha", "1"),
    ("generate", "checkins", "--users", "20", "--records", "200", "--equal", "--seed", "3", "--out", "new.parquet"),
    ("generate", "messages", "--users", "20", "--records", "200", "--out", "new.csv", "--vectors", "new.parquet"),
    ("generate", "ratings", "--users", "20", "--records", "200", "--items", "30", "--out", "new"),
    ("experiment", "geometric", "--runs", "1", "--out", "page"),
    ("demo", "--keep", "visits.csv", "--seed", "1"),
    ("audit", "SELECT WITH EMD_PRIVACY AVG(x) AS m FROM visits", "-C", "emdp.toml", "--trials", "0"),
)  # fmt: skip
"""Commands that spend nothing, and end within a second or so."""


def run_command(words: Sequence[str], folder: Path) -> tuple[int, str]:
    """Run a command in a folder; return its exit status and all that it printed."""
    out, err = io.StringIO(), io.StringIO()
    before = os.getcwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(list(words))
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        return status, out.getvalue() + err.getvalue()
    finally:
        os.chdir(before)
    return 0, out.getvalue() + err.getvalue()


def files_of_folder(folder: Path) -> dict[str, bytes]:
    """Return all files by their names in the folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def remove_new(folder: Path, known: Sequence[str]) -> None:
    """Remove what a command wrote."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in known:
            path.unlink()


def charges_of(folder: Path, names: Sequence[str]) -> tuple[int, int]:
    """Return the charges and the kept answers of all ledgers among some files, whatever they are called."""
    charges = answers = 0
    for name in names:
        path = folder / name
        if path.read_bytes()[:15] == b"SQLite format 3":
            with read_ledger(path) as ledger:
                charges += len(ledger.entries(kind="charge"))
                answers += len(ledger.entries(kind="answer"))
    return charges, answers


class OptionReader:
    """Words on the command line: ``emdp.cli.main`` as it is called, with its status and all that it prints."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.own = folder, ""
        write_world(folder)
        self.known = files_of_folder(folder)

    def feed(self, rng: random.Random) -> str:
        words = list(rng.choice(COMMANDS))
        for _ in range(rng.choice((1, 1, 2, 3))):
            place = rng.randrange(1, len(words))
            way = rng.randrange(6)
            if way == 0:
                del words[place]
            elif way == 1:
                words.insert(place, rng.choice(rng.choice(COMMANDS)))
            elif way == 2:
                words[place] = rng.choice(("--unknown", "-C", "--", "-", "--alpha", "--table", "--period", "--json"))
            else:
                words[place] = mutated_text(rng, words[place])[:3000]
            if len(words) < 2:
                break
        # An address of a server, the whole disk and what a system cannot pass are not what is meant here.
        words = [word.replace("\0", "").replace("/", "").replace("://", "") for word in words]
        words = [self._small(words[0], word) for word in words]
        self.own = " ".join(words)
        status, said = run_command(words, self.folder)
        need(status in (0, 2, 3, 4), f"exit status {status} of {words}: {said[-300:]}")
        need("Traceback" not in said, f"a traceback of {words}: {said[-300:]}")
        as_sql = words[0] in ("check", "preview") and "visits.csv" in words and "line " in said
        need(not as_sql or not any(mark in said for mark in MARKERS), "records given as SQL are shown as SQL")
        if words[0] != "distance" or status:
            check_private(said, own=self.own)
        # Without the option that is a question; its own help is no question either.
        may_pay = words[0] == "mean" and not {"--preview", "--help"} & set(words)
        self._check_files(status, DEMO_CHARGES if words[0] == "demo" and "--help" not in words else int(may_pay))
        return f"exit {status}"

    def _small(self, command: str, word: str) -> str:
        largest = LARGEST.get(command, HUGE)
        return str(largest) if WHOLE.fullmatch(word) and largest < int(word) < HUGE else word

    def _check_files(self, status: int, due: int) -> None:
        found = files_of_folder(self.folder)
        for name, content in self.known.items():
            need(found.pop(name, None) == content, f"the file {name} was changed by a bad command")
        charges, _ = charges_of(self.folder, list(found))
        remove_new(self.folder, list(self.known))
        need(charges == (due if status == 0 else 0), f"{charges} charges with exit status {status}")


SMALL = ("--trials", "100", "--sessions", "2", "--distance", "0.5")
SOURCES = ("visits.csv", "visits.parquet", "city.duckdb::visits")
ANSWERS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("query", QUESTION, "--csv", "out.csv"), ("SOURCE", "SOURCE", "emdp.toml", "kinds.csv")),
    (("query", "mean.sql", "--table", "visits", "--json", "out.json"), ("mean.sql",)),
    (("report", "visits.toml", "--out", "page"), ("visits.toml", "emdp.toml", "mean.sql", "SOURCE")),
    (("mean", "visits.csv", "--column", "x", "--alpha", "0.1", "--user", "who", "--users", "40", "--interval",
      "x,0,30", "--on-invalid", "neutral", "--budget", "10", "--ledger", "mean.ledger"), ("visits.csv",)),
)  # fmt: skip
"""Commands that spend, and the files of which one is spoiled."""

LOOKS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("check", "mean.sql", "--table", "visits"), ("mean.sql", "emdp.toml", "SOURCE")),
    (("preview", QUESTION), ("emdp.toml", "SOURCE", "kinds.csv")),
    (("report", "visits.toml", "--dry-run"), ("visits.toml", "emdp.toml", "mean.sql")),
    (("distance", "zq-1", "zq-2", "-C", "emdp.toml", "--table", "visits"), ("SOURCE", "emdp.toml")),
    (("calibrate", "-C", "emdp.toml", "--table", "words", "--users", "9"), ("emdp.toml", "vectors.csv", "visits.csv")),
    (("init", "SOURCE", "--user", "who", "--users", "40", "--out", "made.toml"), ("SOURCE",)),
    (("init", "SOURCE", "--users", "users.csv", "--out", "made.toml"), ("SOURCE", "users.csv")),
)
"""Commands that spend nothing."""

AUDITS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("audit", "mean.sql", "--table", "visits", *SMALL), ("mean.sql", "emdp.toml", "SOURCE")),
    (("audit", "visits.toml", "--report", "page", *SMALL), ("visits.toml", "emdp.toml", "mean.sql")),
    (("audit", "-C", "emdp.toml", "--table", "nothing", *SMALL), ("emdp.toml",)),
)
"""Audits, which make their tables from what is public."""


class FolderReader:
    """A sound folder of which one file is spoiled, or taken away, before a command runs in it."""

    runs = (*ANSWERS, *LOOKS)

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "world"
        self.folder.mkdir()
        write_world(self.folder)
        (self.folder / "visits.parquet").write_bytes(parquet_files()[0])
        with duckdb.connect(self.folder / "city.duckdb") as connection:
            connection.register("frame", pl.DataFrame(records()).to_arrow())
            connection.execute("CREATE TABLE visits AS FROM frame")
        (self.folder / "visits.toml").write_text(REPORT.replace('reserve = "weekly"\n', ""))
        self.known = files_of_folder(self.folder)

    def feed(self, rng: random.Random) -> str:
        words, spoiled = rng.choice(self.runs)
        source = rng.choice(SOURCES)
        name = rng.choice(spoiled).replace("SOURCE", source).partition("::")[0]
        given = {**self.known, "emdp.toml": CATALOG.replace("visits.csv", source, 1).encode()}
        for own, content in given.items():
            (self.folder / own).write_bytes(content)
        self._spoil(rng, self.folder / name, given[name])
        before = files_of_folder(self.folder)
        try:
            status, said = run_command([word.replace("SOURCE", source) for word in words], self.folder)
            self._check(words, status, said, before)
        finally:
            remove_new(self.folder, list(self.known))
        return f"exit {status}"

    def _spoil(self, rng: random.Random, path: Path, content: bytes) -> None:
        if rng.random() < 0.02:
            path.unlink()
        elif path.suffix == ".toml":
            write_changed(path, content.decode(), rng)
            # No ledger is to be made outside of the folder, nor looked for on a server.
            path.write_bytes(path.read_bytes().replace(b"/", b""))
        elif path.suffix == ".sql" and rng.random() < 0.8:
            path.write_bytes(mutated_text(rng, content.decode()).encode("utf-8", "surrogatepass"))
        else:
            path.write_bytes(mutated_bytes(rng, content, tail=rng.choice((0, 900))))

    def _check(self, words: Sequence[str], status: int, said: str, before: dict[str, bytes]) -> None:
        need(status in (0, 2, 3, 4), f"exit status {status} of {words}: {said[-300:]}")
        need("Traceback" not in said, f"a traceback of {words}: {said[-300:]}")
        need(status == 0 or said.strip() != "", f"a refusal of {words} without a word")
        check_private(said)
        found = files_of_folder(self.folder)
        for name, content in before.items():
            need(found.pop(name, None) == content, f"the file {name} was changed by {words[0]}")
        charges, answers = charges_of(self.folder, list(found))
        if words[0] == "mean":
            need(charges == (status == 0), f"{charges} charges with exit status {status}")
        elif words[0] in ("query", "report"):
            need(charges == answers, f"{charges} charges for {answers} answers")
            # A report goes on with the entries that can be answered.
            need(bool(charges) == (status == 0) or words[0] == "report", f"{charges} charges with exit status {status}")
        else:
            need(charges == 0, f"{charges} charges by {words[0]}")


class AuditReader(FolderReader):
    """The same for audits, which take longer."""

    runs = AUDITS

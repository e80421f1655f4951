"""``emdp init``: what a starter catalog says of each type of column."""

import os
import pty
import select
import subprocess
import sys
import tomllib
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from emdp.catalog.catalog import load_catalog
from emdp.cli import init as command
from emdp.cli import main
from emdp.cli.init import starter_catalog
from emdp.spaces import Categories
from emdp.tables.source import open_source


def test_a_column_of_truth_values_has_its_values_already(tmp_path: Path) -> None:
    columns = {"user": [1, 2], "is_paid": [True, None], "kind": ["a", "b"], "ts": [datetime(2026, 1, 1, 8)] * 2}
    pl.DataFrame(columns).write_parquet(tmp_path / "t.parquet")
    text = starter_catalog("t.parquet", open_source(str(tmp_path / "t.parquet")), name="t", user="user", users="2")
    (line,) = (line for line in text.splitlines() if "is_paid" in line)
    written = line.removeprefix("# ").removesuffix(" is true or false")
    assert tomllib.loads(f"space = {written}") == {
        "space": {"kind": "categories", "col": "is_paid", "values": [False, True]}
    }
    (kind,) = (line for line in text.splitlines() if '"kind"' in line)
    assert 'values = ["..."]' in kind
    # pasted as it stands, it is a space of the table's
    lines = [line for line in text.splitlines() if not line.startswith(("space", "budget", "#"))]
    lines += [f"space = {written}", "budget = { alpha = 1.0 }"]
    (tmp_path / "emdp.toml").write_text("\n".join(lines))
    space = load_catalog(tmp_path / "emdp.toml").table("t").space.items_space
    assert isinstance(space, Categories)
    assert space.labels == (False, True)


def test_people_are_counted_by_a_kind_and_not_by_a_coordinate(tmp_path: Path) -> None:
    # All columns of a CSV file are texts.
    (tmp_path / "t.csv").write_text("person,lat,lon,kind\n1,48.8,2.3,bar\n")
    text = starter_catalog("t.csv", open_source(str(tmp_path / "t.csv")), name="t", user="person", users="2")
    assert [" kind, COUNT(DISTINCT person)" in line for line in text.splitlines() if "GROUP BY 1" in line] == [True]


RECORD = "1842,40.7128,-74.0060,2026-11-20,Bar\n1843,40.72,-74.1,2026-11-21,Park\n"
WORDS = "ann,berlin,monday\nbob,rome,friday\n"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["init", *arguments])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


@pytest.mark.parametrize("text", [RECORD, WORDS], ids=["values", "words"])
def test_a_first_record_is_asked_about_and_never_shown(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.csv").write_text(text)
    for more in ((), ("--user", "user_id", "--users", "2")):
        status, out, err = run(capsys, "v.csv", *more)
        assert (status, out) == (2, "")
        assert "--header" in err
        assert "--no-header" in err
        assert not Path("emdp.toml").exists()
        assert not any(cell in err for row in text.split() for cell in row.split(","))
    status, out, _ = run(capsys, "v.csv", "--no-header", "--user", "column1", "--users", "2")
    assert status == 0
    written = Path("emdp.toml").read_text()
    assert tomllib.loads(written)["tables"]["v"]["header"] is False
    assert not any(cell in out + written for row in text.split() for cell in row.split(",") if len(cell) > 2)
    # The choice reaches what reads the catalog.
    finished = written.replace(next(line for line in written.splitlines() if line.startswith("space")), "", 1)
    finished = finished.replace(
        'alpha = "FILL IN: the most that all answers may spend, per unit of d_em"', "alpha = 1.0"
    )
    Path("emdp.toml").write_text(finished + 'space = { kind = "categories", col = "column2", values = ["a", "b"] }\n')
    assert list(load_catalog("emdp.toml").table().schema)[:2] == ["column1", "column2"]


@pytest.mark.parametrize(("reply", "header"), [("n", False), ("y", True), ("no", False)])
def test_the_owner_is_asked_on_a_terminal(
    reply: str, header: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.csv").write_text(RECORD)
    asked: list[str] = []

    def replied(what: str, hint: str = "") -> str:
        # A wrong reply is asked about again.
        asked.append(what + hint)
        return "names" if len(asked) == 1 else reply

    monkeypatch.setattr(command, "_asked", replied)
    name = "1842" if header else "column1"
    assert run(capsys, "v.csv", "--user", name, "--users", "2")[0] == 0
    assert len(asked) == 2
    assert "1842" not in "".join(asked)
    assert tomllib.loads(Path("emdp.toml").read_text())["tables"]["v"]["header"] is header


@pytest.mark.parametrize("first", ["user_id,lat,lon", "who,lat,lon", "nick,text", "customer,price"])
def test_a_row_of_names_is_taken_for_one(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.csv").write_text(f"{first}\n")
    assert run(capsys, "v.csv", "--user", first.split(",")[0], "--users", "2")[0] == 0
    written = Path("emdp.toml").read_text()
    assert "header" not in tomllib.loads(written)["tables"]["v"]
    # Columns of a place are no further parts.
    assert 'col = "lat"' not in written
    assert ('col = "lon"' in written, 'col = "text"' in written) == (False, first == "nick,text")


def test_names_of_other_files_that_look_like_values_are_pointed_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such as those of a Parquet file that was written from a CSV file without a row of names."""
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"who": [1], "40.71": [40.72]}).write_parquet("v.parquet")
    status, _, err = run(capsys, "v.parquet", "--user", "who", "--users", "2")
    assert status == 0
    assert "note: column 2 is called like a number" in err
    assert "40.71" not in err
    blank = '"FILL IN: the most that all answers may spend, per unit of d_em"'
    catalog = Path("emdp.toml").read_text().replace(blank, "1.0")
    space = next(line for line in catalog.splitlines() if line.startswith("space"))
    Path("emdp.toml").write_text(
        catalog.replace(space, 'space = { kind = "interval", col = "40.71", low = 40, high = 41 }')
    )
    query = 'SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG("40.71") AS a FROM v'
    with pytest.raises(SystemExit):
        main(["check", query])
    assert "note: column 2 is called like a number" in capsys.readouterr().err


PLACES = ["", "40", "", "40.48,-74.26,40.92,-73.70", "", "Other,Bar", "America/New_York", "", ""]
"""Replies: the guessed user, people, nowhere, a box, no range, two kinds, a zone, the suggested story, 60 percent."""


def talked(folder: Path, replies: list[str], *options: str, source: str = "visits.parquet") -> tuple[int, str]:
    """Run the command on a terminal of its own, to which all replies are written beforehand; return what it showed."""
    owner, terminal = pty.openpty()
    try:
        os.write(owner, "".join(f"{reply}\n" for reply in replies).encode() + b"\x04" * 9)
        process = subprocess.Popen(
            [sys.executable, "-m", "emdp", "init", source, *options],
            stdin=terminal, stdout=terminal, stderr=terminal, cwd=folder, start_new_session=True,
        )  # fmt: skip
        os.close(terminal)
        shown = b""
        while select.select([owner], [], [], 45)[0]:
            try:
                found = os.read(owner, 65536)
            except OSError:
                # Nobody has the terminal any more.
                break
            if not found:
                break
            shown += found
        return process.wait(60), shown.decode().replace("\r\n", "\n")
    finally:
        os.close(owner)
        process.kill()
        process.wait()


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    rows = {
        "user_id": [1, 2], "ts": [datetime(2026, 1, 1, 8)] * 2, "lat": [40.7, 40.8], "lon": [-74.0, -73.9],
        "category": ["secret kind", "Bar"], "hour": [8.0, 9.0],
    }  # fmt: skip
    pl.DataFrame(rows).write_parquet(tmp_path / "visits.parquet")
    return tmp_path


def test_on_a_terminal_the_owner_is_led_to_a_whole_catalog(visits: Path) -> None:
    status, shown = talked(visits, PLACES)
    assert status == 0, shown
    catalog = load_catalog(visits / "emdp.toml")
    table = catalog.table("visits")
    assert [part.kind for part in table.space.items_space.parts] == ["geo", "categories", "cycle"]
    assert table.users.count == 40
    written = tomllib.loads((visits / "emdp.toml").read_text())["tables"]["visits"]
    assert written["elsewhere"] == 1
    assert [part["on_invalid"] for part in written["space"]["parts"]] == ["elsewhere"] * 3
    assert "Places outside are nowhere." in " ".join(shown.split())
    budget = catalog.budgets("visits")[0]
    # One of 20 in one of three parts at 60 % is epsilon 0.405 at a distance of 1/60.
    assert 24.2 <= budget.level <= 24.33
    assert "from 50 % to at most 60 %" in (visits / "emdp.toml").read_text()
    for said in ("Who is the person?", "must not be counted", "a box in degrees", "public list", "hide of one person"):
        assert said in shown
    after = shown[shown.index("emdp.toml: complete") :]
    assert "What all answers together may tell about one person" in after
    (bar,) = (line for line in after.splitlines() if line.startswith("clinic once, of 20") and "|" in line)
    assert "o=" in bar
    assert "expected_error" in after
    assert "secret kind" not in shown
    # no ledger, no temporary file
    assert sorted(path.name for path in visits.iterdir()) == ["emdp.toml", "visits.parquet"]


@pytest.mark.slow
def test_replies_that_cannot_be_read_are_asked_for_again_and_the_end_leaves_blanks(visits: Path) -> None:
    replies = ["who", "user_id", "-3", "three thousand", "40", "n", "40.92,-74.26,40.48,-73.70", "1,2", ""]
    replies += ["9,8", "0,24"]
    status, shown = talked(visits, replies)
    assert status == 0, shown
    for said in ("'who' is no column", "'-3' is no number", "thousand' is neither", "'1,2' is not 4 numbers", "high"):
        assert said in shown
    written = tomllib.loads((visits / "emdp.toml").read_text())["tables"]["visits"]
    assert written["space"] == {"kind": "interval", "col": "hour", "low": 0.0, "high": 24.0, "on_invalid": "clamp"}
    assert written["elsewhere"] == "neutral"
    assert "1 blanks to fill in" in shown
    assert "FILL IN" in written["budget"]["alpha"]


@pytest.mark.slow
def test_a_list_of_people_is_named_from_here_and_written_from_the_catalog(visits: Path) -> None:
    (visits / "apart").mkdir()
    pl.DataFrame({"user_id": [1, 2, 3]}).write_parquet(visits / "people.parquet")
    status, shown = talked(visits, ["", "people.parquet", *PLACES[2:]], "--out", "apart/emdp.toml")
    assert status == 0, shown
    assert load_catalog(visits / "apart" / "emdp.toml").table("visits").users.count == 3


@pytest.mark.slow
def test_on_a_terminal_only_what_no_option_says_is_asked(visits: Path) -> None:
    """The user, people, a box and a zone are said; left are elsewhere, a range, kinds, and what must be hidden."""
    told = ("--user", "user_id", "--users", "40", "--box", BOX, "--zone", "ts,UTC")
    status, shown = talked(visits, ["", "", "Other,Bar", "", ""], *told)
    assert status == 0, shown
    catalog = load_catalog(visits / "emdp.toml")
    assert [part.kind for part in catalog.table("visits").space.items_space.parts] == ["geo", "cycle", "categories"]
    assert 24.2 <= catalog.budgets("visits")[0].level <= 24.33
    for question in (
        "Who is the person?",
        "How many people are there?",
        "a box in degrees",
        "by the clock of one zone",
    ):
        assert question not in shown
    status, shown = talked(visits, ["", ""], *told, "--no-elsewhere", "--alpha", "7", "--force")
    assert status == 0, shown
    assert "are people without records nowhere" not in shown
    assert "What must all answers together hide" not in shown
    assert load_catalog(visits / "emdp.toml").budgets("visits")[0].level == 7.0


@pytest.mark.slow
def test_a_time_that_is_a_text_of_a_csv_file_is_offered_as_one(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("who,ts,note\na,2026-01-01 08:00:00,x\n")
    replies = ["40", "", "", "Europe/Berlin", "", ""]
    status, shown = talked(tmp_path, replies, "--header", "--user", "who", source="visits.csv")
    assert (status, "values of ts" in shown) == (0, False), shown
    text = (tmp_path / "emdp.toml").read_text()
    assert "HOUR(CAST(ts AS TIMESTAMP)) AS hour" in text
    assert "note, COUNT(DISTINCT who) AS people" in text
    assert load_catalog(tmp_path / "emdp.toml").table("visits").space.items_space.columns == (
        "time(ts, 'Europe/Berlin')",
    )


@pytest.mark.slow
def test_nothing_is_asked_of_a_script(visits: Path) -> None:
    status, shown = talked(visits, [], "--yes", "--users", "40")
    assert status == 0, shown
    assert "Who is the person?" not in shown
    assert "blanks to fill in" in shown


BOX = "40.48,-74.26,40.92,-73.70"
FLAGS = (
    "--yes", "--user", "user_id", "--users", "40", "--box", BOX, "--values", "category,Other,Bar",
    "--zone", "ts,America/New_York", "--interval", "hour,0,24",
)  # fmt: skip


def test_a_script_says_all_that_the_questions_ask(capsys: pytest.CaptureFixture[str], visits: Path) -> None:
    source, out = str(visits / "visits.parquet"), visits / "emdp.toml"
    # As the help writes it, without the columns of the part that end the title where there are several parts.
    hidden = ("--hide", "clinic once, of 20 records", "--sure", "60")
    status, shown, err = run(capsys, source, *FLAGS, *hidden, "--out", str(out))
    assert (status, shown) == (0, f"{out}: complete\n")
    assert err == "note: That is a box around 40.7 N, 73.98 W, 49 km high and 47 km wide.\n"
    catalog = load_catalog(out)
    parts = catalog.table("visits").space.items_space.parts
    assert [part.kind for part in parts] == ["geo", "interval", "categories", "cycle"]
    assert [part["on_invalid"] for part in tomllib.loads(out.read_text())["tables"]["visits"]["space"]["parts"]] == [
        "elsewhere"
    ] * 4
    # epsilon 0.405 for one record of 20 in one of four parts
    assert 32.3 <= catalog.budgets("visits")[0].level <= 32.44
    status, _, _ = run(capsys, source, *FLAGS, "--no-elsewhere", "--alpha", "7", "--out", str(out), "--force")
    assert status == 0
    assert load_catalog(out).budgets("visits")[0].level == 7.0
    table = tomllib.loads(out.read_text())["tables"]["visits"]
    assert table["elsewhere"] == "neutral"
    assert [part["on_invalid"] for part in table["space"]["parts"]] == ["clamp", "clamp", "neutral", "neutral"]


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (["--box", "-74.26,40.48,-73.70,40.92"], "the order is (south, west, north, east)"),
        (["--box", "1,2,3"], "--box cannot be taken: '1,2,3' is not 4 numbers"),
        (["--interval", "price,0,1"], "must begin with a column of the source"),
        (["--interval", "hour,0"], "--interval cannot be taken: '0' is not 2 numbers"),
        (["--interval", "hour,5,1"], "--interval cannot be taken: "),
        (["--values", "category"], "--values cannot be taken: "),
        (["--zone", "ts,Mars/Olympus"], "--zone cannot be taken: 'Mars/Olympus' is no IANA name"),
        (["--alpha", "-1"], "--alpha must be"),
        (["--alpha", "1", "--hide", "1"], "--alpha and --hide both say"),
        (["--sure", "60"], "--sure is how sure somebody may be of what --hide names"),
        (["--hide", "1"], "--hide needs a space"),
        (["--box", BOX, "--hide", "99"], "--hide '99' is none of 1: "),
        (["--box", BOX, "--hide", "1", "--sure", "40"], "'40' is no percentage between 50 and 100"),
    ],
)
def test_options_that_cannot_be_write_nothing(
    capsys: pytest.CaptureFixture[str], visits: Path, given: list[str], reason: str
) -> None:
    source, out = str(visits / "visits.parquet"), visits / "emdp.toml"
    status, _, err = run(capsys, source, "--yes", "--users", "40", *given, "--out", str(out))
    assert status == 2
    assert reason in err
    assert not out.exists()


def test_a_box_with_its_longitudes_first_is_seen_by_where_it_lies(
    capsys: pytest.CaptureFixture[str], visits: Path
) -> None:
    """Numbers of a city whose latitude is a longitude too tell nothing by themselves; the place that is said does."""
    place = ["--box", "13.0,52.3,13.8,52.7", "--out", str(visits / "emdp.toml")]
    _, _, err = run(capsys, str(visits / "visits.parquet"), "--yes", "--users", "40", *place)
    assert "a box around 13.4 N, 52.5 E, 89 km high and 43 km wide" in err


def test_a_box_needs_columns_of_places(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pl.DataFrame({"user_id": [1], "x": [0.5]}).write_parquet(tmp_path / "t.parquet")
    out = str(tmp_path / "emdp.toml")
    status, _, err = run(capsys, str(tmp_path / "t.parquet"), "--yes", "--box", BOX, "--out", out)
    assert status == 2
    assert "no columns are named lat or latitude" in err

"""Answers in files and on terminals: keys of every type, files that must stay, long and wide text, closed streams."""

import io
import json
import math
import os
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from emdp.cli import main
from emdp.cli.output import check_target, write_answers
from emdp.cli.sql import HALF
from emdp.cli.tables import answer_text, frame_text, long_answer_text, preview_text

CATALOG = """
ledger = "t.ledger"
[tables.t]
source = "t.parquet"
user = "user"
users = "people.parquet"
space = { kind = "product", parts = [
    { kind = "interval", col = "x", low = 0, high = 10 }, { kind = "categories", col = "kind", values = ["a", "b"] },
] }
budget = { alpha = 100.0 }
[tables.folder]
source = "parts"
user = "user"
users = 3
space = { kind = "interval", col = "x", low = 0, high = 10 }
budget = { alpha = 100.0 }
[tables.pattern]
source = "more/*.csv"
user = "user"
users = 3
space = { kind = "interval", col = "x", low = 0, high = 10 }
budget = { alpha = 100.0 }
"""
EMD = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1)"
MEAN = f"{EMD} AVG(x) AS mean FROM t"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"user": [1, 2], "x": [1.0, 2.0], "kind": ["a", "b"]}).write_parquet("t.parquet")
    keys = pl.DataFrame({"user": [1, 2, 3], "text": ["1.5", "2.5", "2.5"], "day": ["2020-01-01", None, "2021-01-01"]})
    keys = keys.with_columns(
        pl.col("day").str.to_date(),
        pl.col("text").cast(pl.Decimal(scale=1)).alias("decimal"),
        pl.col("text").str.encode("hex").str.decode("hex").alias("bytes"),
        pl.lit(pl.Series([0, 10**9, 10**9])).cast(pl.Time).alias("clock"),
    )
    keys.with_columns(pl.col("day").cast(pl.Datetime).alias("time")).write_parquet("people.parquet")
    for folder in ("parts", "more"):
        Path(folder).mkdir()
    Path("emdp.toml").write_text(CATALOG)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


# Files ---------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("key", ["day", "time", "decimal", "bytes", "clock"])
def test_keys_of_every_type_are_written_after_they_were_paid(capsys: pytest.CaptureFixture[str], key: str) -> None:
    query = f"{EMD} {key}, AVG(x) AS mean FROM t GROUP BY {key} ORDER BY mean DESC"
    status, out, _ = run(capsys, "query", query, "--json", "-")
    assert status == 0
    rows = json.loads(out)["rows"]
    shown = sorted((row[key] for row in rows if row[key] is not None), key=str)
    assert (
        shown
        == {
            "day": ["2020-01-01", "2021-01-01"],
            "time": ["2020-01-01T00:00:00", "2021-01-01T00:00:00"],
            "decimal": ["1.5", "2.5"],
            "bytes": ["312e35", "322e35"],
            "clock": ["00:00:00", "00:00:01"],
        }[key]
    )
    status, out, _ = run(capsys, "query", query, "--csv", "-")
    assert (status, len(out.splitlines())) == (0, len(rows) + 1)
    assert run(capsys, "query", query, "--parquet", "keys.parquet")[0] == 0
    assert pl.read_parquet("keys.parquet").height == len(rows)


@pytest.mark.quarter
@pytest.mark.parametrize(
    "path",
    ["t.parquet", "people.parquet", "emdp.toml", "t.ledger", "./link.csv", "parts/new.csv", "more/new.csv"],
)
def test_an_answer_never_replaces_or_joins_what_the_catalog_names(
    capsys: pytest.CaptureFixture[str], place: Path, path: str
) -> None:
    Path("link.csv").symlink_to("t.parquet")
    before = {file: file.read_bytes() for file in place.rglob("*") if file.is_file()}
    status, _, err = run(capsys, "query", MEAN, "--csv", path)
    assert status == 2
    assert "belongs to what the catalog names" in err
    assert {file: file.read_bytes() for file in place.rglob("*") if file.is_file()} == before


LEDGER_FILES = ["t.ledger", "t.ledger-wal", "t.ledger-shm", "t.ledger-journal", "t.ledger.lock", "T.LEDGER-WAL"]


@pytest.mark.slow
@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize(
    ("kind", "path"),
    [
        *(("csv", path) for path in LEDGER_FILES),
        ("csv-raw", "folder/../t.ledger-wal"),
        ("json", "links/t.ledger.lock"),
        ("parquet", "q.sql"),
        ("csv", "same.sql"),
    ],
)
def test_an_answer_is_written_over_no_file_of_the_ledger_and_not_over_its_query(
    capsys: pytest.CaptureFixture[str], place: Path, kind: str, path: str, is_there: bool
) -> None:
    (place / "folder").mkdir()
    (place / "links").symlink_to(place)
    (place / "q.sql").write_text(MEAN)
    (place / "same.sql").hardlink_to(place / "q.sql")
    if is_there and not path.isupper():
        assert run(capsys, "query", "q.sql")[0] == 0
        for name in LEDGER_FILES[1:-1]:
            if name != "t.ledger-journal":
                (place / name).write_bytes(b"log")
    before = {file: file.read_bytes() for file in place.iterdir() if file.is_file()}
    status, out, err = run(capsys, "query", "q.sql", "--fresh", f"--{kind}", path)
    assert (status, out) == (2, "")
    assert "belongs to what the catalog names" in err or "is a file of a ledger" in err
    assert {file: file.read_bytes() for file in place.iterdir() if file.is_file()} == before


@pytest.mark.parametrize("path", ["words.parquet", "hard.parquet", "LINK.svg"])
def test_other_names_of_what_is_read_are_known(capsys: pytest.CaptureFixture[str], place: Path, path: str) -> None:
    pl.DataFrame({"kind": ["a", "b"], "v": [[0.0], [1.0]]}).write_parquet("words.parquet")
    space = '{ kind = "product", parts = [{ kind = "embedding", col = "kind", vectors = "words.parquet" }] }'

    text = 'ledger = "t.ledger"\n[tables.t]\nsource = "t.parquet"\nuser = "user"\nusers = 2\n'
    Path("emdp.toml").write_text(f"{text}space = {space}\nbudget = {{ alpha = 100.0 }}\n")
    Path("hard.parquet").hardlink_to("t.parquet")
    Path("LINK.svg").symlink_to("words.parquet")
    before = Path(path).read_bytes()
    query = f"{EMD} AVG(DISTANCE('a')) AS m FROM t"
    option = "--plot" if path.endswith("svg") else "--parquet"
    status, _, err = run(capsys, "query", query, option, path)
    assert status == 2
    assert "belongs to what the catalog names" in err
    assert Path(path).read_bytes() == before


@pytest.mark.slow
def test_a_key_that_a_spreadsheet_would_run_has_a_quote_in_csv_and_none_elsewhere(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    Path("emdp.toml").write_text(CATALOG.replace('values = ["a", "b"]', 'values = ["a", "b", "=1+1", "-3.5"]'))
    query = f'{EMD} kind, AVG(x) AS "@mean" FROM t GROUP BY kind'
    for option, name, key in (("--csv", "'@mean", "'=1+1"), ("--csv-raw", "@mean", "=1+1")):
        status, out, _ = run(capsys, "query", query, option, "-")
        assert status == 0
        frame = pl.read_csv(io.StringIO(out))
        assert frame.columns[:2] == ["kind", name]
        assert set(frame.get_column("kind").to_list()) == {"a", "b", key, "-3.5"}
    assert run(capsys, "query", query, "--parquet", "o.parquet")[0] == 0
    assert "=1+1" in pl.read_parquet("o.parquet").get_column("kind").to_list()
    assert run(capsys, "query", query, "--csv", "-", "--csv-raw", "-")[0] == 2


def test_two_outputs_of_one_query_are_two_files(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    for query in (MEAN, f"{MEAN};{MEAN}"):
        status, _, err = run(capsys, "query", query, "--csv", "a.svg", "--plot", "./a.svg")
        assert status == 2
        assert "--plot" in err
    assert not (place / "t.ledger").exists()


@pytest.mark.slow
@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize("path", LEDGER_FILES[:-1])
def test_commands_without_a_catalog_write_over_no_file_of_a_ledger(
    capsys: pytest.CaptureFixture[str], place: Path, path: str, is_open: bool
) -> None:
    assert run(capsys, "query", MEAN)[0] == 0
    for suffix in ("parquet", "svg", "md"):
        (place / f"geometric.{suffix}").symlink_to(path)
        (place / f"audit.{suffix}").symlink_to(path)
    (place / "link.parquet").symlink_to(path)
    if is_open:
        (place / "t.ledger-wal").write_bytes(b"")
    before = {file: file.read_bytes() for file in place.iterdir() if file.is_file()}
    for words in (
        ("init", "t.parquet", "--user", "user", "--users", "2", "--out", path, "--force"),
        ("generate", "checkins", "--users", "2", "--records", "9", "--out", "link.parquet", "--force"),
        ("experiment", "geometric", "--out", "."),
        ("audit", MEAN, "-C", "emdp.toml", "--report", "."),
    ):
        status, _, err = run(capsys, *words)
        assert (status, "is a file of a ledger" in err) == (2, True), (words, err)
    if path != "t.ledger" and not is_open:
        status, _, err = run(capsys, "ledger", "copy", "t.ledger", path)
        assert status == 2
        assert "has the name of a file of ledger" in err
    assert {file: file.read_bytes() for file in place.iterdir() if file.is_file()} == before


@pytest.mark.slow
def test_every_file_of_a_batch_is_checked_before_it_is_paid(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    Path("out-2.csv").mkdir()
    status, _, err = run(capsys, "query", f"{MEAN};{MEAN}", "--csv", "out.csv")
    assert status == 2
    assert "'out-2.csv' cannot be written" in err
    assert not (place / "t.ledger").exists()
    assert run(capsys, "query", MEAN, "--csv", "out.csv")[0] == 0
    check_target(("json", "out-2.json"), 2, ["t.parquet"])


@pytest.mark.slow
def test_an_answer_too_exact_for_its_rounding_says_to_ask_for_less(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    (place / "emdp.toml").write_text(CATALOG.replace("alpha = 100.0", "alpha = 1e15"))
    status, _, err = run(capsys, "query", f"{EMD.replace('= 1', '= 1e14')} AVG(EXP(x)) FROM t")
    assert status == 3
    assert "left for rounding; ask for less alpha, take" in err
    assert run(capsys, "query", f"{EMD.replace('= 1', '= 1e3')} AVG(EXP(x)) FROM t")[0] == 0


@pytest.mark.slow
def test_every_file_that_is_written_is_named_beside_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    def written(*arguments: str) -> list[str]:
        status, out, err = run(capsys, "query", *arguments)
        assert (status, out) == (0, "")
        return [line for line in err.splitlines() if line.startswith("wrote ")]

    batch = f"{MEAN};{EMD} AVG(x) AS other FROM t"
    for kind in ("csv", "parquet"):
        assert written(batch, f"--{kind}", f"bt.{kind}") == [f"wrote bt-1.{kind}", f"wrote bt-2.{kind}"]
        assert not Path(f"bt.{kind}").exists()
        assert Path(f"bt-2.{kind}").exists()
        assert written(MEAN, f"--{kind}", f"one.{kind}") == [f"wrote one.{kind}"]
    assert written(batch, "--json", "bt.json") == ["wrote bt.json"]
    status, out, err = run(capsys, "query", MEAN, "--csv", "-")
    assert (status, out.splitlines()[0]) == (0, "mean,mean_low,mean_high")
    assert "wrote" not in err


def test_infinite_ends_and_null_in_files(capsys: pytest.CaptureFixture[str]) -> None:
    query = f"{EMD} AVG(x) AS mean FROM t WHERE kind = 'a'"
    for _ in range(40):
        answer = json.loads(run(capsys, "query", query, "--fresh", "--json", "-")[1])
        if answer["rows"] == [{"mean": None, "mean_low": None, "mean_high": None}]:
            break
    else:
        pytest.fail("a share within its noise has always had a value")
    assert any("NULL" in caveat for caveat in answer["caveats"])


# Text ----------------------------------------------------------------------------------------------------------------


def test_texts_are_aligned_by_what_a_terminal_shows() -> None:
    frame = pl.DataFrame({"日本\n語": ["ab", "漢字", "e\u0301"], "n": [1, 20, 2**63 - 1]})
    assert frame_text(frame).split("\n") == [
        "日本 語          n",
        "ab               1",
        "漢字            20",
        "e\u0301        unlimited",
    ]


def test_long_texts_are_cut_only_where_that_makes_a_table_fit() -> None:
    frame = pl.DataFrame({"text": ["x" * 50], "n": [1.0]})
    assert frame_text(frame, width=40).split("\n")[1] == f"{'x' * 34}...  1"
    assert "x" * 50 in frame_text(frame, width=10)
    assert "x" * 50 in frame_text(frame)


def test_a_table_that_is_too_wide_goes_on_below_with_its_keys() -> None:
    triples = {
        f"{name}{end}": [value] for name in ("one", "two") for end, value in (("", 5.0), ("_low", 4.0), ("_high", 6.0))
    }
    frame = pl.DataFrame({"kind": ["cafe"], **triples})
    assert answer_text(frame, width=40).split("\n") == [
        "kind  one  one_low  one_high", "cafe  5.0      4.0       6.0", "", "kind  two  two_low  two_high",
        "cafe  5.0      4.0       6.0",
    ]  # fmt: skip
    assert len(answer_text(frame, width=80).split("\n")) == 2
    assert max(map(len, frame_text(frame, width=20).split("\n"))) <= 20


@pytest.mark.slow
def test_numbers_are_rounded_to_what_noise_leaves_and_files_keep_them(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    # Of so little noise that the share of kind a is never within it, and the mean at no end of its range.
    query = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1000) AVG(x) AS mean FROM t WHERE kind = 'a'"
    catalog = Path("emdp.toml")
    catalog.write_text(catalog.read_text().replace("alpha = 100.0", "alpha = 1000.0"))
    shown = run(capsys, "query", query)[1].splitlines()[1].split()
    answer = json.loads(run(capsys, "query", query, "--json", "-")[1])["rows"][0]
    exact = [answer[name] for name in ("mean", "mean_low", "mean_high")]
    value, low, high = map(float, shown)
    half = (exact[2] - exact[1]) / 2
    assert low <= exact[1]
    assert exact[2] <= high
    assert high - low <= 2.2 * half
    assert abs(value - exact[0]) <= 0.05 * half + 1e-12
    assert len(repr(exact[0])) > len(shown[0])


def test_ends_that_are_infinite_or_absent_and_keys_of_any_type_stay() -> None:
    frame = pl.DataFrame(
        {
            "day": [date(2026, 1, 2), None], "n": [5, None], "n_low": [4.25, None], "n_high": [float("inf"), None],
            "at": [date(2026, 1, 2)] * 2, "at_low": [date(2026, 1, 1)] * 2, "at_high": [date(2026, 1, 3)] * 2,
        }
    )  # fmt: skip
    lines = [line.split() for line in answer_text(frame).split("\n")]
    assert lines[1] == ["2026-01-02", "5.00", "4.25", "inf", "2026-01-02", "2026-01-01", "2026-01-03"]
    assert lines[2][:4] == ["NULL"] * 4


def test_a_preview_that_is_too_wide_is_shown_a_fact_a_line() -> None:
    frame = pl.DataFrame({"query": ["km", "n"], "lipschitz": [67.988, 0.0]})
    assert preview_text(frame, width=80) == frame_text(frame)
    assert preview_text(frame, width=10).split("\n\n") == [
        "query      km\nlipschitz  67.988",
        "query      n\nlipschitz  0",
    ]


def test_a_preview_that_is_piped_fits_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    wide = f"{EMD} AVG(x * x * x * x * x * x * x * x * x * x * x * x * x * x * x) AS m FROM t WHERE kind = 'a'"
    for command in ("check", "preview"):
        out = run(capsys, command, wide)[1]
        assert max(map(len, out.splitlines())) <= 80
        assert out.startswith("query ")


def test_long_values_of_a_block_go_on_below_themselves() -> None:
    frame = pl.DataFrame({"method": ["krr"], "remark": ["one two three four five six"]})
    assert preview_text(frame, width=24, widest=80) == "method  krr\nremark  one two three four\n        five six"


# Q -------------------------------------------------------------------------------------------------------------------


def test_a_long_statement_on_one_line_is_no_file_name(capsys: pytest.CaptureFixture[str]) -> None:
    long = f"{EMD} " + ", ".join(f"AVG(x + {number}) AS mean_{number}" for number in range(30)) + " FROM t"
    assert len(long) > 600
    status, out, err = run(capsys, "check", long)
    assert status == 0
    assert err.endswith(f"\nnote: {HALF}\n")
    assert out.count("expression ") == 30


@pytest.mark.parametrize(
    ("q", "reason"),
    [
        ("queries/x", "No such file"),
        ("t", "No such file"),
        (".", "Is a directory"),
        ("parts", "Is a directory"),
        ("my query.sql", "No such file"),
        ("bytes.sql", "it is no UTF-8 text"),
    ],
)
def test_what_looks_like_a_path_is_spoken_of_as_one(capsys: pytest.CaptureFixture[str], q: str, reason: str) -> None:
    Path("bytes.sql").write_bytes(b"\xff\xfe\xfd")
    status, out, err = run(capsys, "check", q)
    assert (status, out) == (2, "")
    assert f"Q names the file {q!r}, which cannot be read ({reason}" in err
    assert len(err.splitlines()) == 1


@pytest.mark.slow
def test_a_mark_of_byte_order_is_passed_over_wherever_a_statement_comes_from(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("bom.sql").write_bytes(f"\ufeff{MEAN}".encode())
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"\ufeff{MEAN}"))
    for q in ("bom.sql", "-", f"\ufeff{MEAN}"):
        assert run(capsys, "check", q)[0] == 0
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input is closed" in run(capsys, "check", "-")[2]


@pytest.mark.parametrize("q", ["", " ", "/* nothing */ ;;", "\n"])
def test_no_statement_is_refused_in_one_sentence(capsys: pytest.CaptureFixture[str], q: str) -> None:
    status, _, err = run(capsys, "check", q)
    assert status == 2
    assert err.startswith("emdp: there is no statement; write ")


def test_notes_name_their_columns_once(capsys: pytest.CaptureFixture[str]) -> None:
    query = f"{EMD} AVG(x) AS one, AVG(x * x) AS two FROM t WHERE kind = 'a'"
    err = run(capsys, "check", query)[2]
    assert "note: one, two: errors assuming that" in err
    batch = run(capsys, "preview", f"{query}; {MEAN}")[2]
    assert batch.endswith("note: affordable counts each statement by itself, not the batch\n")


# init ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("users", ["-5", "1e5", "0.5", "nan"])
def test_init_takes_no_odd_number_for_a_file(capsys: pytest.CaptureFixture[str], users: str) -> None:
    status, _, err = run(capsys, "init", "t.parquet", "--users", users, "--out", "new.toml")
    assert status == 2
    assert "no whole number of users" in err
    assert not Path("new.toml").exists()


# Streams and terminals -----------------------------------------------------------------------------------------------


def command(*arguments: str, first: str = "") -> list[str]:
    return [sys.executable, "-c", f"from emdp.cli import main; {first}; main()".replace("; ;", ";"), *arguments]


def test_nothing_is_paid_where_no_answer_could_be_shown(place: Path) -> None:
    shell = ["sh", "-c", 'exec "$@" >&-', "sh", *command("query", MEAN)]
    ended = subprocess.run(shell, capture_output=True, text=True, check=False, cwd=place, env=_environment())
    assert ended.returncode == 2
    assert ended.stderr == (
        "emdp: standard output is closed, so no answer could be shown; open it, or send it to a file.\n"
    )
    assert not (place / "t.ledger").exists()


@pytest.mark.slow
def test_a_name_that_the_terminal_lacks_costs_no_answer(place: Path) -> None:
    query = MEAN.replace("mean", "größe")
    ended = subprocess.run(
        command("query", query), capture_output=True, check=False, cwd=place, env=_environment(PYTHONIOENCODING="ascii")
    )
    assert ended.returncode == 0
    assert rb"gr\xf6\xdfe_low" in ended.stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is a thing of Unix")
@pytest.mark.parametrize("arguments", [("init", "parts.csv", "--out", "new.toml"), ("check", "-")])
def test_ctrl_c_ends_what_waits_for_the_keyboard(place: Path, arguments: tuple[str, ...]) -> None:
    import pty

    Path("parts.csv").write_text("a,b\n1,2\n")
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(place)
        os.execve(sys.executable, command(*arguments, first="print('ready', flush=True)"), _environment())
    shown, deadline = b"", time.monotonic() + 60
    while b"ready" not in shown:
        shown += os.read(terminal, 10_000)
    time.sleep(1.5)  # until it waits
    os.write(terminal, b"\x03")
    done = 0
    while not done and time.monotonic() < deadline:
        time.sleep(0.02)
        done, code = os.waitpid(child, os.WNOHANG)
    if not done:
        os.kill(child, 9)
        _, code = os.waitpid(child, 0)
    status, shown = os.waitstatus_to_exitcode(code), shown + os.read(terminal, 10_000)
    os.close(terminal)
    assert status == 130, shown
    assert b"emdp: interrupted" in shown
    assert not Path("new.toml").exists()


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(main.__code__.co_filename).parents[2]), **more}


def test_a_terminal_shows_the_first_and_the_largest_rows_of_many() -> None:
    values = [math.nan if cell == 5 else None if cell == 6 else float(cell * 7919 % 600) for cell in range(600)]
    frame = pl.DataFrame({"cell": range(600), "n": values, "n_low": values, "n_high": values})
    first, title, largest, rest = long_answer_text(frame).split("\n\n")
    assert [int(line.split()[0]) for line in first.splitlines()[1:]] == list(range(20))
    assert title.startswith("largest n, of all 600 rows")
    assert [float(line.split()[1]) for line in largest.splitlines()[1:]] == sorted(
        (value for value in values if value is not None and value == value), reverse=True
    )[:10]
    shown = {*range(20), *(int(line.split()[0]) for line in largest.splitlines()[1:])}
    assert rest == f"{600 - len(shown)} more rows are not shown: --csv FILE writes all 600"
    # Without intervals there is no largest; a short answer is whole.
    assert long_answer_text(frame.select("cell")).split("\n\n")[1].startswith("580 more rows")
    assert long_answer_text(frame.head(40)) == answer_text(frame.head(40))


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_pipe_gets_every_row(is_terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    frame = pl.DataFrame({"cell": range(600)})
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal, raising=False)
    write_answers([SimpleNamespace(frame=frame)], None)  # type: ignore[list-item]
    assert (len(capsys.readouterr().out.splitlines()) == 601) is not is_terminal

"""Users' strings as the engine reads them, against plain Python: words and texts, NULL, case, limits."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import emdp
from emdp.base.errors import DataRuleError, UsageError
from emdp.questions.reading import Reading, TextColumn
from emdp.spaces import Words
from emdp.tables.engines.duckdb import items as item_reads
from emdp.tables.engines.duckdb.items import check_items, text_blocks
from emdp.tables.readings import read_items
from emdp.tables.statements.texts import TEXT, texts_statement
from emdp.tables.table import Table

PIECES = [
    "hello",
    "World",
    "don't",
    "caf\u00e9",
    "",
    " ",
    "x" * 30,
    'quote"',
    "a_b-c",
    "12",
    "\u0130",
    "STRA\u00dfE",
    "\u6771\u4eac",
    "a\0b",
    "'; --",
]
SPACE = emdp.Interval("x", 0, 1)
COLUMNS = [
    TextColumn("message"),
    TextColumn("message", lower=False),
    TextColumn("message", length=5),
    TextColumn("message", alphabet="abcdefghijklmnopqrstuvwxyz '_-", length=12),
    TextColumn("message", words=True),
    TextColumn("message", words=True, tokenizer="unicode"),
    TextColumn("message", words=True, length=4, alphabet="abcdefghijklmnopqrstuvwxyz0123456789'"),
]


def rows(count: int = 500) -> pl.DataFrame:
    source = random.Random(4)
    texts = [
        None if source.random() < 0.1 else " ".join(source.choices(PIECES, k=source.randrange(4))) for _ in range(count)
    ]
    return pl.DataFrame(
        {"user": [source.randrange(40) for _ in range(count)], "x": [0.5] * count, "message": texts},
        schema={"user": pl.Int64, "x": pl.Float64, "message": pl.String},
    )


def reference(frame: pl.DataFrame, column: TextColumn) -> dict[int, Counter[str | None]]:
    small = str.maketrans(Words.CAPITALS, Words.SMALL)
    rule = Words("message", {"word": ["a", "b"], "v": [[0.0], [1.0]]}, tokenizer=column.tokenizer)
    bags: dict[int, Counter[str | None]] = {}
    for user, _, text in frame.iter_rows():
        found: list[Any] = [text]
        if text is not None:
            found = rule.tokenize(text) if column.words else [text.translate(small) if column.lower else text]
        for one in found:
            is_kept = bool(one) and (column.length is None or len(one.encode()) <= column.length)
            is_kept = is_kept and (column.alphabet is None or set(one) <= set(column.alphabet))
            bags.setdefault(user, Counter())[one if is_kept else None] += 1
    return bags


def bags_of(table: Table, column: TextColumn) -> dict[int, Counter[str | None]]:
    found: dict[int, Counter[str | None]] = {}
    for block in text_blocks(table, column).open():
        assert block.offsets[0] == 0
        assert block.offsets[-1] == len(block.texts) == len(block.counts)
        for number, first, last in zip(block.users, block.offsets[:-1], block.offsets[1:], strict=True):
            assert int(number) not in found
            own = block.texts[int(first) : int(last)].to_list()
            assert len(set(own)) == len(own) > 0
            assert [text for text in own if text is not None] == sorted(text for text in own if text is not None)
            found[int(number)] = Counter(dict(zip(own, block.counts[first:last].tolist(), strict=True)))
    return found


@pytest.mark.quarter
@pytest.mark.parametrize("column", COLUMNS, ids=str)
@pytest.mark.parametrize("block", [7, 2**18])
def test_listed_users_by_brute_force(column: TextColumn, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_reads, "BLOCK_ROWS", block)
    frame = rows()
    # Users 5 to 9 are not listed, those from 40 have no records.
    listed = [*range(45, 9, -1), *range(5)]
    table = emdp.read(frame, user="user", space=SPACE, users=listed)
    wanted = {listed.index(user): bag for user, bag in reference(frame, column).items() if user in listed}
    assert bags_of(table, column) == wanted


@pytest.mark.parametrize("column", COLUMNS[2::2], ids=str)
def test_users_public_by_their_number(column: TextColumn) -> None:
    frame = rows()
    frame = pl.concat([frame, frame[:3].with_columns(user=pl.lit(None, dtype=pl.Int64))])
    table = emdp.read(frame, user="user", space=SPACE, users=45)
    found = bags_of(table, column)
    wanted = reference(frame.filter(pl.col("user").is_not_null()), column)
    assert sorted(found) == list(range(len(wanted)))
    assert sorted(map(repr, map(sorted_bag, found.values()))) == sorted(map(repr, map(sorted_bag, wanted.values())))


def sorted_bag(bag: Counter[str | None]) -> list[tuple[str, int]]:
    return sorted((repr(text), count) for text, count in bag.items())


def test_every_kind_of_source_has_the_same_strings(tmp_path: Path) -> None:
    frame = rows().filter(~pl.col("message").str.contains("\0", literal=True).fill_null(value=False))
    column, listed = COLUMNS[4], list(range(40))
    frame.write_parquet(tmp_path / "rows.parquet")
    frame.filter(pl.col("message") != "").write_csv(tmp_path / "rows.csv")
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as connection:
        connection.register("given", frame.to_arrow())
        connection.execute("CREATE TABLE texts AS SELECT * FROM given")
    for source in ("rows.parquet", "rows.duckdb::texts", "rows.csv"):
        table = emdp.read(str(tmp_path / source), user="user", space=SPACE, users=listed)
        check_items(table, Reading("texts", True, column=column))
        # What a CSV file has no text for is left out of it above.
        known = frame.filter(pl.col("message") != "") if source.endswith("csv") else frame
        assert bags_of(table, column) == reference(known, column), source


def test_a_column_of_the_space_is_read_as_it_stands() -> None:
    frame = rows()
    space = emdp.Words("message", {"word": ["hello", "b"], "v": [[0.0], [1.0]]}, on_invalid="neutral")
    table = emdp.read(frame, user="user", space=space, users=list(range(40)))
    assert bags_of(table, COLUMNS[4]) == reference(frame, COLUMNS[4])


def test_an_enum_is_text() -> None:
    frame = rows().with_columns(message=pl.lit("Bar").cast(pl.Enum(["Bar", "cafe"])))
    table = emdp.read(frame, user="user", space=SPACE, users=list(range(40)))
    check_items(table, Reading("texts", True, column=TextColumn("message")))
    assert {text for bag in bags_of(table, TextColumn("message")).values() for text in bag} == {"bar"}


def test_blocks_are_hidden() -> None:
    table = emdp.read(rows(), user="user", space=SPACE, users=45)
    hidden = read_items(table, Reading("texts", True, column=COLUMNS[0]))
    block = next(iter(hidden.open()))
    assert "hello" not in f"{hidden!r} {hidden} {block!r} {block}"


def test_bytes_that_are_no_text_are_found_before_a_charge_and_not_shown(tmp_path: Path) -> None:
    raw = pa.array([b"abc", b"\xff\xfe secret", b"zz"], type=pa.binary())
    texts = pa.StringArray.from_buffers(3, raw.buffers()[1], raw.buffers()[2])
    columns = {"user": [1, 2, 3], "x": [0.1, 0.2, 0.3], "message": texts}
    pq.write_table(pa.table(columns), tmp_path / "bad.parquet")
    table = emdp.read(tmp_path / "bad.parquet", user="user", space=SPACE, users=3)
    table.validate()
    with pytest.raises(DataRuleError, match="'message' of table 'bad' cannot be read as text") as caught:
        check_items(table, Reading("texts", True, column=COLUMNS[0]))
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_files_with_other_types_are_found_before_a_charge(tmp_path: Path) -> None:
    rows().write_parquet(tmp_path / "a.parquet")
    rows().with_columns(message=pl.lit(7)).write_parquet(tmp_path / "b.parquet")
    table = emdp.read(tmp_path, user="user", space=SPACE, users=45)
    table.validate()
    with pytest.raises(DataRuleError, match="differ in column 'message'"):
        check_items(table, Reading("texts", True, column=COLUMNS[0]))


def test_a_column_that_is_not_there_is_refused() -> None:
    table = emdp.read(rows(), user="user", space=SPACE, users=45)
    with pytest.raises((KeyError, UsageError)):
        check_items(table, Reading("texts", True, column=TextColumn("other")))


@pytest.mark.quarter
@pytest.mark.parametrize("name", ["text_value", "text_raw", "user_key", "number", "records", "raw", "key"])
def test_columns_named_like_those_of_a_statement(name: str) -> None:
    for user in ("user", "text_raw" if name != "text_raw" else "text_value"):
        frame = rows(200).rename({"message": name, "user": user})
        table = emdp.read(frame, user=user, space=SPACE, users=list(range(40)))
        column = TextColumn(name, words=True, length=12)
        assert bags_of(table, column) == reference(frame, column)


def test_names_are_never_pasted_into_a_statement() -> None:
    name = 'me"; DROP TABLE x; --'
    frame = rows().rename({"message": name})
    table = emdp.read(frame, user="user", space=SPACE, users=list(range(40)))
    column = TextColumn(name, alphabet="abc'\"", length=9)
    assert texts_statement(table, column).query.named_selects[1] == TEXT
    assert bags_of(table, column) == reference(frame, column)


BROKEN = b"\xff\xfe"
GOOD = [b"user,x,good,other", *(b"%d,0.5,hello,fine" % (place % 3 + 1) for place in range(50))]


def csv_with(folder: Path, row: bytes) -> Path:
    (folder / "t.csv").write_bytes(b"\n".join([*GOOD, row, b""]))
    return folder / "t.csv"


@pytest.mark.slow
def test_a_bad_text_in_a_column_that_nobody_asked_about_changes_nothing(tmp_path: Path) -> None:
    sources = [csv_with(tmp_path, b"1,0.5,hello," + BROKEN), tmp_path / "t.parquet", f"{tmp_path}/t.duckdb::v"]
    bad = pa.array([b"fine", BROKEN], type=pa.binary()).view(pa.string())
    pq.write_table(
        pa.table({"user": [1, 2], "x": [0.5, 0.5], "good": ["a", "b"], "other": bad}), tmp_path / "t.parquet"
    )
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS \"user\", 0.5::DOUBLE AS x, 'a' AS good, 'b' AS other")
        connection.execute('CREATE VIEW v AS SELECT "user", x, good, CAST(CAST(other AS INT) AS TEXT) AS other FROM t')
    for source in sources:
        table = emdp.read(source, user="user", space=SPACE, users=3)
        table.validate()
        check_items(table, Reading("texts", column=TextColumn("good")))
        assert list(text_blocks(table, TextColumn("good")).open())
        with pytest.raises(DataRuleError, match=r"column 'other' of table '[tv]' cannot be read as text to its end"):
            check_items(table, Reading("texts", column=TextColumn("other")))


@pytest.mark.parametrize("row", [b"1,0.5,hello,a,b", b"1,0.5,hello", b'1,0.5,hello,"a'], ids=["more", "fewer", "quote"])
def test_rows_that_cannot_be_read_are_no_matter_of_the_column(row: bytes, tmp_path: Path) -> None:
    table = emdp.read(csv_with(tmp_path, row), user="user", space=SPACE, users=3)
    with pytest.raises(DataRuleError, match="the source could not be read to its end") as refused:
        check_items(table, Reading("texts", column=TextColumn("good")))
    assert "good" not in str(refused.value)
    assert refused.value.__context__ is None

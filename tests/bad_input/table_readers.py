"""Readers of private tables: files of Parquet, CSV and DuckDB, and frames. Each valid mutant is asked one query.

Every reader holds one ledger. An input that is refused leaves it as it was; one that is answered adds one charge.
"""

import contextlib
import gzip
import io
import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from expectations import need
from mutator import ODD_VALUES, mutated_bytes, mutated_text

import emdp
from emdp.ledger import read_ledger

QUESTION = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 0.001) AVG(x) AS m FROM visits"
PEOPLE = 5
ROWS = 24
LONGEST_LEDGER = 40
"""Charges after which a reader takes a new ledger: the chain is read again for every input."""


def records() -> dict[str, list[Any]]:
    """Return a table with marked private values: in keys, numbers, notes, times and bytes."""
    return {
        "who": [f"zqvjzqvjzqvj-{number % PEOPLE}" for number in range(ROWS)],
        "x": [round(number + 0.92781828, 8) for number in range(ROWS)],
        "kind": [f"zqvj kind, zqvj {number % 3}" for number in range(ROWS)],
        "count": [618033900 + number for number in range(ROWS)],
        "note": ["zqvj " * (number % 7) for number in range(ROWS)],
    }


class TableReader:
    """Asks a question of a source, and compares the ledger before and after.

    Parameters
    ----------
    folder : Path
        An empty folder of its own.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.charges, self.number = folder, 0, 0
        self.ledger = folder / "0.ledger"
        self.setting: dict[str, Any] = {}

    def ask(self, source: object, rng: random.Random) -> str:
        """Read a source, ask, and check what the ledger says of it; refusals pass through."""
        rule = rng.choice(("neutral", "neutral", "clamp", "error"))
        space = emdp.Interval("x", 0, 30, on_invalid=rule)
        users: Any = [*dict.fromkeys(records()["who"])] if rng.random() < 0.3 else 40
        self.number += 1
        asked = False
        try:
            table = emdp.read(
                source, user="who", space=space, users=users, name="visits", wait=0, version=f"{self.number}"
            )
            with emdp.Session(self._renamed(table, rule), budget=emdp.EmdDP(1000.0), ledger=self.ledger) as session:
                session.sql(QUESTION.replace("visits", session.table.name))
                asked = True
        finally:
            self._check_ledger(1 if asked else 0)
        return "answered"

    def _renamed(self, table: Any, rule: str) -> Any:
        # The ledger refuses another space under a name that it knows.
        object.__setattr__(table, "name", f"visits_{rule}")
        return table

    def _check_ledger(self, added: int) -> None:
        charges = len(read_ledger(self.ledger).entries(kind="charge")) if self.ledger.exists() else 0
        expected, self.charges = self.charges + added, charges
        need(charges == expected, f"{charges - expected + added} charges for an input that deserves {added}")
        if charges >= LONGEST_LEDGER:
            self.ledger.unlink()
            self.ledger, self.charges = self.folder / f"{self.number}.ledger", 0


def parquet_files() -> list[bytes]:
    """Return the table as several writers would write it."""
    data = records()
    table = pa.table({**data, "x": pa.array(data["x"], pa.float64())})
    narrow = table.select(["who", "x"])
    settings: list[dict[str, Any]] = [
        {},
        {"compression": "none", "use_dictionary": False},
        {"compression": "zstd", "data_page_version": "2.0"},
        {"compression": "gzip", "row_group_size": 7, "write_page_index": True},
        {"compression": "none", "write_statistics": False, "column_encoding": "PLAIN", "use_dictionary": False},
        {"compression": "none", "use_dictionary": False, "data_page_version": "2.0", "version": "1.0"},
    ]
    files = []
    for made in (table, narrow):
        for setting in settings:
            stream = io.BytesIO()
            pq.write_table(made, stream, **setting)
            files.append(stream.getvalue())
    stream = io.BytesIO()
    pl.from_arrow(table).write_parquet(stream)  # type: ignore[union-attr]
    return [*files, stream.getvalue()]


def csv_texts(separator: str = ",") -> list[str]:
    """Return the table as text: plain, quoted, with other ends of lines, with an empty row."""
    plain = pl.DataFrame(records()).write_csv(separator=separator)
    quoted = pl.DataFrame(records()).write_csv(separator=separator, quote_style="always")
    return [plain, quoted, plain.replace("\n", "\r\n"), "\ufeff" + plain, plain.replace("\n", "\n\n", 3)]


class ParquetReader(TableReader):
    """A Parquet file, or a folder of two of which one is changed."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.files = parquet_files()
        (folder / "parts").mkdir()
        (folder / "parts" / "a.parquet").write_bytes(self.files[0])

    def feed(self, rng: random.Random) -> str:
        content = mutated_bytes(rng, rng.choice(self.files), self.files, tail=900)
        in_folder = rng.random() < 0.15
        path = self.folder / ("parts/b.parquet" if in_folder else "visits.parquet")
        path.write_bytes(content)
        try:
            return self.ask(path.parent if in_folder else path, rng)
        finally:
            need(path.read_bytes() == content, "the source was written to")


class CsvReader(TableReader):
    """A CSV or TSV file, packed or not, whose text or bytes are changed."""

    def feed(self, rng: random.Random) -> str:
        suffix = rng.choice(("csv", "csv", "csv.gz", "tsv", "tsv.gz"))
        texts = csv_texts("\t" if suffix.startswith("tsv") else ",")
        text = rng.choice(texts)
        if rng.random() < 0.4:
            content = mutated_text(rng, text, texts).encode("utf-8", "surrogatepass")
        else:
            content = mutated_bytes(rng, text.encode())
        if suffix.endswith("gz"):
            content = gzip.compress(content, mtime=0) if rng.random() < 0.3 else self._packed(rng, text)
        path = self.folder / f"visits.{suffix}"
        path.write_bytes(content)
        return self.ask(path, rng)

    def _packed(self, rng: random.Random, text: str) -> bytes:
        return mutated_bytes(rng, gzip.compress(text.encode(), mtime=0))


VIEWS = (
    "SELECT * FROM visits", "SELECT who, x FROM visits", "SELECT who, CAST(note AS INTEGER) AS x FROM visits",
    "SELECT who, error(note || who) AS x FROM visits", "SELECT who, CAST(kind AS DATE) AS x FROM visits",
    "SELECT who, count * 100000000000 * count AS x FROM visits", "SELECT who, x FROM gone",
    "SELECT who, x FROM read_csv('other.csv')", "SELECT who, x FROM 'other.parquet'", "SELECT who, x FROM other.t",
    "SELECT note AS who, x FROM visits", "SELECT NULL AS who, x FROM visits", "SELECT who, NULL AS x FROM visits",
    "SELECT who, [x] AS x FROM visits", "SELECT who, {'a': x} AS x FROM visits", "SELECT who, note AS x FROM visits",
    "SELECT x AS who, x FROM visits", "SELECT who, x::DECIMAL(18, 4) AS x FROM visits", "SELECT 1",
    "SELECT who, x, x FROM visits", "SELECT who, count::UTINYINT AS x FROM visits", "SELECT * FROM v",
    "SELECT who, x / 0 AS x FROM visits", "SELECT who, sqrt(-x) AS x FROM visits", "SELECT who, ln(x - x) AS x "
    "FROM visits", "SELECT who, x FROM visits WHERE note LIKE who || who", "SELECT who::BLOB AS who, x FROM visits",
    "SELECT who, (SELECT x FROM visits LIMIT 2) AS x FROM visits", "SELECT who, x::FLOAT AS x FROM visits",
    "SELECT who, strptime(note, '%d') AS x FROM visits", "SELECT who, x FROM range(3), visits",
    "SELECT who, getenv('HOME') AS x FROM visits", "SELECT who, kind::JSON AS x FROM visits",
    "SELECT who::ENUM('zqvjzqvjzqvj-0', 'zqvj') AS who, x FROM visits", "SELECT who, x FROM visits LIMIT 0",
)  # fmt: skip
"""Views that owners might make: sound, failing at some record, reading what is not there."""


class DuckDBReader(TableReader):
    """A table or view of a DuckDB file: bytes changed, views of every kind, columns of every type."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.path = folder / "city.duckdb"
        self.made = self._file(["CREATE VIEW v AS SELECT who, x FROM visits"])

    def _file(self, statements: list[str]) -> bytes:
        """Return a new DuckDB file; statements that DuckDB refuses are left out."""
        self.path.unlink(missing_ok=True)
        frame = pl.DataFrame(records()).to_arrow()
        with duckdb.connect(":memory:") as connection:
            connection.execute(f"ATTACH '{self.path}' AS city (BLOCK_SIZE 16384)")
            connection.register("frame", frame)
            connection.execute("CREATE TABLE city.visits AS SELECT * FROM frame")
            connection.execute("USE city")
            for statement in statements:
                with contextlib.suppress(duckdb.Error):
                    connection.execute(statement)
            connection.execute("USE memory")
            connection.execute("DETACH city")
        return self.path.read_bytes()

    def feed(self, rng: random.Random) -> str:
        name = rng.choice(("visits", "v", "main.v"))
        way = rng.random()
        if way < 0.25:
            # A view may name what is gone by the time it is read.
            self._file(["CREATE TABLE gone AS FROM visits", f"CREATE VIEW v AS {rng.choice(VIEWS)}", "DROP TABLE gone"])
            name = "v"
        elif way < 0.35:
            self.path.write_bytes(self.made)
            name = mutated_text(rng, name)
        else:
            content = self.made.rstrip(b"\0")
            used = [start for start in range(0, len(content), 64) if any(content[start : start + 64])]
            start = rng.choice(used)
            piece = mutated_bytes(rng, content[start : start + 64])
            # Most pieces keep their length, so that what comes behind them stays in its block.
            size = 64 if rng.random() < 0.9 else len(piece)
            self.path.write_bytes(self.made[:start] + piece[:size].ljust(size, b"\0") + self.made[start + 64 :])
            if rng.random() < 0.05:
                self.path.write_bytes(self.made[: rng.randrange(len(self.made))])
        log = Path(f"{self.path}.wal")
        if rng.random() < 0.05:
            log.write_bytes(rng.randbytes(rng.randrange(200)))
        before = self.path.read_bytes()
        try:
            return self.ask(f"{self.path}::{name}", rng)
        finally:
            need(self.path.read_bytes() == before, "the source was written to")
            log.unlink(missing_ok=True)


class _Stream:
    """What claims to be a frame with the Arrow C stream interface."""

    def __init__(self, give: Any) -> None:
        self.give = give

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        if isinstance(self.give, Exception):
            raise self.give
        return self.give if not hasattr(self.give, "__arrow_c_stream__") else self.give.__arrow_c_stream__()


def arrow_columns(rng: random.Random) -> list[Any]:
    """Return columns of every type of Arrow, of ``ROWS`` values each."""
    data = records()
    times = [datetime(1987, 6, 5, tzinfo=UTC) + timedelta(hours=7 * number) for number in range(ROWS)]
    whole, texts, numbers = data["count"], data["who"], data["x"]
    made: list[Any] = [
        pa.array(whole, rng.choice((pa.int32(), pa.int64(), pa.uint32(), pa.uint64(), pa.float64()))),
        pa.array(numbers, rng.choice((pa.float64(), pa.float32()))),
        pa.array([float(own) for own in range(ROWS)], pa.float16()),
        pa.array(texts, rng.choice((pa.string(), pa.large_string(), pa.string_view()))),
        pa.array([own.encode() for own in texts], rng.choice((pa.binary(), pa.large_binary(), pa.binary_view()))),
        pa.array([own.encode()[:8] for own in texts], pa.binary(8)),
        pa.array([Decimal(own) for own in whole], rng.choice((pa.decimal128(20, 3), pa.decimal256(60, 3)))),
        pa.array(times, pa.timestamp(rng.choice(("s", "ms", "us", "ns")), tz=rng.choice((None, "UTC", "Asia/Tokyo")))),
        pa.array([rng.choice((-(2**62), 2**63 - 1, 0)) for _ in times], pa.int64()).cast(pa.timestamp("s")),
        pa.array([own.date() for own in times], rng.choice((pa.date32(), pa.date64()))),
        pa.array([own.time() for own in times], rng.choice((pa.time64("us"), pa.time64("ns")))),
        pa.array([timedelta(seconds=own) for own in whole], pa.duration(rng.choice(("s", "us", "ns")))),
        pa.array([(1, 2, 3)] * ROWS, pa.month_day_nano_interval()),
        pa.array([[own, None] for own in numbers]), pa.array([[own] * 3 for own in numbers], pa.list_(pa.float64(), 3)),
        pa.array([{"a": own} for own in texts]), pa.array([[("a", 1)]] * ROWS, pa.map_(pa.string(), pa.int64())),
        pa.array(texts).dictionary_encode(), pa.array(numbers).dictionary_encode(), pa.nulls(ROWS),
        pa.array([number % 2 == 0 for number in range(ROWS)]),
        pa.RunEndEncodedArray.from_arrays(pa.array([ROWS], pa.int32()), pa.array(texts[:1])),
        pa.UnionArray.from_sparse(pa.array([0] * ROWS, pa.int8()), [pa.array(texts), pa.array(numbers)]),
        pa.array([rng.choice((float("nan"), float("inf"), -1e308, 5e-324, None, 3.0)) for _ in texts], pa.float64()),
        pa.array([None if rng.random() < 0.2 else own for own in texts]),
        pa.chunked_array([pa.array(texts[:5]), pa.array(texts[5:])]),
    ]  # fmt: skip
    return made


class FrameReader(TableReader):
    """Frames: columns of every type of Arrow, streams that break off, mappings of anything."""

    def feed(self, rng: random.Random) -> str:
        way = rng.random()
        if way < 0.6:
            return self.ask(self._arrow(rng), rng)
        if way < 0.7:
            odd = [RuntimeError("zqvjzqvj"), ValueError("zqvj"), TypeError("zqvj"), OSError("zqvj"), 3, None, "zqvj"]
            return self.ask(_Stream(rng.choice(odd)), rng)
        data: dict[Any, Any] = dict(records())
        for _ in range(rng.choice((1, 1, 2, 3))):
            self._change(rng, data, rng.choice(list(data) or ["x"]))
        made: Any = data
        if way < 0.8:
            with contextlib.suppress(Exception):
                made = pl.DataFrame(data, strict=False)
        return self.ask(made, rng)

    def _arrow(self, rng: random.Random) -> Any:
        columns = arrow_columns(rng)
        data = records()
        names, arrays = ["who", "x"], [pa.array(data["who"]), pa.array(data["x"])]
        place = rng.choice((0, 1, 1, 2))
        if place == 2:
            names += [rng.choice(("who", "", "x", "é", "\x00", "\x1b", "extra"))]
            arrays += [rng.choice(columns)]
        else:
            arrays[place] = rng.choice(columns)
        table = pa.Table.from_arrays(arrays, names=names)
        if rng.random() < 0.1:
            table = table.slice(rng.randrange(ROWS), 0 if rng.random() < 0.5 else 3)
        if rng.random() < 0.1:
            batches = [*table.to_batches(), "zqvj" if rng.random() < 0.5 else pa.record_batch({"x": [1]})]
            with contextlib.suppress(TypeError):
                return pa.RecordBatchReader.from_batches(table.schema, batches)
        return _Stream(table) if rng.random() < 0.2 else table

    def _change(self, rng: random.Random, data: dict[Any, Any], column: Any) -> None:
        values = data.get(column)
        way = rng.randrange(8)
        if way == 0:
            data.pop(column, None)
        elif way == 1 and isinstance(values, list):
            data[column] = values[: rng.randrange(len(values) + 1)]
        elif way == 2:
            data[rng.choice((1, None, "", "who", "x", ("x",), "\x00"))] = values
        elif way == 3:
            data[column] = rng.choice(ODD_VALUES)
        elif way == 4:
            data[column] = [rng.choice(ODD_VALUES)] * ROWS
        elif way == 5:
            data[column] = [rng.choice(ODD_VALUES) for _ in range(ROWS)]
        elif isinstance(values, list) and values:
            data[column] = list(values)
            data[column][rng.randrange(len(values))] = rng.choice(ODD_VALUES)

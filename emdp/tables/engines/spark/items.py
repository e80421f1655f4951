"""Rows that Spark reads for releases of single items or users, hidden until the session opens them.

Rows of users are put into partitions of whole users and sorted by user there; each partition becomes blocks on its
worker (:mod:`emdp.tables.engines.spark.work`), which an encoder randomizes there, or which are kept there for several
rounds (:mod:`emdp.tables.engines.spark.passes`), or come to the driver as they are. What comes to the driver comes as
payloads, from as many partitions at a time as the cluster has cores; nothing else does.

Tasks that run twice. Spark repeats a task that failed or whose worker was lost, and may run a slow one twice. Every
draw on a worker is made in the last stage of its job, after all shuffles, and goes from there to the driver: Spark
takes one result of a task and drops all others, whole; a job asks for each partition once, and a failed job is not
tried again, but fails the statement, whose charge stays. So one draw of each record is released, and what another run
drew never leaves its worker. Earlier stages may be repeated freely: they draw nothing, and put the same users into the
same partition again. For the same reason outputs that may be added up are added within each partition alone, and the
partitions' sums on the driver: a shuffle after the draw could mix two runs of one task. The one exception makes sure of
a single draw first: :mod:`emdp.tables.engines.spark.draws`.

Spark itself is trusted with the records, its workers, their disks (it spills to them) and the network between them.
"""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from emdp.base.arrays import Integers
from emdp.base.errors import DataRuleError, InternalError
from emdp.base.statistic import Hidden, HiddenBlocks
from emdp.noise.rng import is_seeded, random_bytes
from emdp.questions.public_ranges import block_range
from emdp.questions.reading import BlockEncoder, Reading, UserEncoder
from emdp.spaces import Categories
from emdp.spaces.items import count_items
from emdp.tables.engines.blocks import Block, UserMeans, filling_of, user_runs
from emdp.tables.engines.spark.errors import hidden_errors, uninterrupted
from emdp.tables.engines.spark.execution import check_on_no_rows, spark_rows, spark_source
from emdp.tables.engines.spark.passes import SEED_BYTES, SparkBlocks
from emdp.tables.engines.spark.source import shown_plan
from emdp.tables.engines.spark.types import TEXT, column_kind
from emdp.tables.engines.spark.wait import waited
from emdp.tables.engines.spark.work import PAYLOAD, BlockWork, unpacked
from emdp.tables.facts import TableFacts
from emdp.tables.statements.items import (
    CODE,
    NUMBER,
    RECORDS,
    ItemStatement,
    bags_statement,
    counts_statement,
    points_statement,
    user_means_statement,
)
from emdp.tables.statements.texts import texts_statement

__all__ = ["check_items", "explain_reading", "read_items", "spark_statement"]

ROW_BYTES = 16
"""Header of a row in Spark's shuffle, with its validity bits."""

EXCHANGE = re.compile(r"(?<!Broadcast)(?<!Reused)Exchange (?:hash|range|Single|RoundRobin).*plan_id=(\d+)")
"""A shuffle in Spark's account of a plan."""

WHOLE_USERS = re.compile(rf"Exchange hashpartitioning\({NUMBER}#\d+L?, \d+\), REPARTITION_BY_")
"""The shuffle that puts whole users into partitions."""

NO_ROWS = re.compile(r"MapInArrow [^\n]*\n *\+- LocalTableScan <empty>")
"""A plan of which Spark knows that it has no rows, and so none to shuffle."""


def read_items(
    table: TableFacts, reading: Reading, encoder: BlockEncoder | None = None
) -> Hidden[Any] | HiddenBlocks[Any]:
    """Return the items of a reading of a Spark table, hidden; nothing runs on Spark before blocks are opened.

    Parameters
    ----------
    reading : Reading
        What is read.
    encoder : BlockEncoder, optional
        What randomizes every block on the workers; the blocks then open to frames of its output.
    """
    statement = spark_statement(table, reading)
    if reading.what == "counts":
        return Hidden(_counts(table, statement))
    if encoder is not None:
        return HiddenBlocks(lambda: _frames(table, reading, statement, encoder))

    def read() -> Iterator[Any]:
        work = _work(table, reading, statement, None)
        if not work.by_user:
            return _blocks(table, reading, statement)
        return SparkBlocks(
            stream=partial(_blocks, table, reading, statement),
            once=partial(_frames, table, reading, statement),
            worked=partial(_worked_rows, table, statement),
            work=work,
        )

    if reading.what == "means":
        return UserMeans(read, statement.exponents, statement.neutral_values)
    return HiddenBlocks(read)


def spark_statement(table: TableFacts, reading: Reading) -> ItemStatement:
    """Return the statement of a reading; its rows stand in no order.

    Raises
    ------
    UsageError
        If the space is not finite where it must be, or an expression does not fit it.
    """
    made: Mapping[str, Callable[[], ItemStatement]] = {
        "counts": partial(counts_statement, table),
        "bags": partial(bags_statement, table),
        "points": partial(points_statement, table, by_user=reading.by_user),
        "means": partial(user_means_statement, table, reading.expressions),
    }
    if reading.what in made:
        statement = made[reading.what]()
    elif reading.column is not None:
        statement = texts_statement(table, reading.column)
    else:
        raise InternalError(f"no engine reads {reading.what!r}; please report it.")
    query = statement.query.copy()
    query.set("order", None)
    return replace(statement, query=query)


def check_items(table: TableFacts, reading: Reading) -> None:
    """Run the statement of a reading on no rows, as :meth:`emdp.tables.engines.base.Engine.check_items` says.

    Raises
    ------
    UsageError
        If the space is not finite where it must be, an expression does not fit it, or Spark cannot compute it.
    DataRuleError
        Of texts: if the column holds bytes that are no text.
    """
    if reading.column is None:
        check_on_no_rows(table, lambda: spark_statement(table, reading))
        return
    # The same rows, of which the space has that column.
    view = replace(table, space=Categories(reading.column.name, ("a", "b")))
    check_on_no_rows(view, lambda: spark_statement(view, reading))
    if column_kind(view.schema[reading.column.name]) == TEXT and not _is_all_text(view, reading.column.name):
        raise DataRuleError(
            f"column {reading.column.name!r} of table {table.name!r} cannot be read as text to its end; write it with "
            "text in UTF-8."
        )


def explain_reading(table: TableFacts, reading: Reading) -> tuple[tuple[str, str], ...]:
    """Return public facts about the work of a reading: its stages, and a bound on the bytes that they exchange.

    Bytes are of Spark's rows before they are compressed; how many records there are is public where ``records=``
    declares it.
    """
    statement = spark_statement(table, reading)
    work = _work(table, reading, statement, None) if reading.what != "counts" else None
    users = table.users.keys if work is not None and work.by_user else None
    with spark_rows(table, statement.query, statement.lookups, users) as rows:
        plan = shown_plan(rows if work is None else _arranged(rows, work), extended=False)
    exchanges = set(EXCHANGE.findall(plan))
    row = ROW_BYTES + 8 * len(statement.query.named_selects)
    if not exchanges:
        shuffle = "none"
    elif reading.what == "means":
        shuffle = f"at most {table.n} users x P x {row + 16 * len(reading.expressions)} bytes"
    elif reading.what == "counts":
        shuffle = f"at most {count_items(table.space)} items x P x {row} bytes"
    else:
        records = "the number of records" if table.records is None else f"{table.n * table.records} records"
        shuffle = f"at most {len(exchanges)} x {records} x {row} bytes, and the length of text"
    partitions = ", P the partitions that the source is read in" if " P " in shuffle else ""
    stages = str(len(exchanges) + 1)
    if reading.what == "texts":
        stages += ", in the central model 2 more"
        shuffle += "; in the central model each partition's strings that have a slot once more"
    return ("engine", "Spark"), ("stages", stages), ("shuffle", f"{shuffle}{partitions}")


def _is_all_text(table: TableFacts, name: str) -> bool:
    from pyspark.sql import functions

    with hidden_errors():
        # Names of columns hold nothing that Spark would take apart.
        value = functions.col("`" + name.replace("`", "``") + "`")
        wrong = spark_source(table.source).rows({name: table.schema[name]}).where(~functions.is_valid_utf8(value))
        return not waited(wrong.sparkSession, wrong.limit(1).count)


def _counts(table: TableFacts, statement: ItemStatement) -> Integers:
    counts = np.zeros(count_items(table.space) or 0, dtype=np.int64)
    with spark_rows(table, statement.query, statement.lookups, None) as rows, hidden_errors():
        found = pl.DataFrame(waited(rows.sparkSession, rows.toArrow))
    codes, records = found.get_column(CODE).to_numpy(), found.get_column(RECORDS).to_numpy()
    block_range(Reading("counts"), table.space).check(codes, records)
    counts[codes] = records
    return counts


def _blocks(table: TableFacts, reading: Reading, statement: ItemStatement) -> Iterator[Block]:
    """Yield blocks as they are: of whole users, numbered as in :func:`emdp.tables.engines.duckdb.items.bag_blocks`."""
    work = _work(table, reading, statement, None)
    first = 0
    for frame in _payloads(table, statement, work):
        if not work.by_user:
            yield work.block(None, np.zeros(1, dtype=np.int64), frame)
            continue
        users, offsets = user_runs(frame, None if work.is_listed else first)
        first += len(users)
        yield work.block(users, offsets, frame)


def _frames(
    table: TableFacts, reading: Reading, statement: ItemStatement, encoder: BlockEncoder | UserEncoder
) -> Iterator[pl.DataFrame]:
    """Yield an encoder's output."""
    for frame in _payloads(table, statement, _work(table, reading, statement, encoder)):
        if frame.schema != pl.Schema(encoder.schema):
            raise InternalError("a worker gave other columns than its encoder declares; please report it.")
        yield frame


def _work(
    table: TableFacts, reading: Reading, statement: ItemStatement, encoder: BlockEncoder | UserEncoder | None
) -> BlockWork:
    return BlockWork(
        what=reading.what,  # type: ignore[arg-type]  # counts come in no blocks
        by_user=reading.by_user or reading.what != "points",
        is_listed=table.users.keys is not None,
        exponents=statement.exponents,
        encoder=encoder,
        seed=int.from_bytes(random_bytes(SEED_BYTES), "big") if encoder is not None and is_seeded() else None,
        known=block_range(reading, table.space),
        # Points are filled up by what draws of them: a continuum has no codes.
        filling=filling_of(table.space) if reading.what == "bags" else None,
    )


@contextmanager
def _worked_rows(table: TableFacts, statement: ItemStatement, work: BlockWork) -> Iterator[Any]:
    """Run a statement, and return the payloads of its rows, as a DataFrame to be used inside the context."""
    users = table.users.keys if work.by_user else None
    with spark_rows(table, statement.query, statement.lookups, users) as rows:
        with hidden_errors(), uninterrupted():
            worked = _worked(rows, work)
        yield worked


def _payloads(table: TableFacts, statement: ItemStatement, work: BlockWork) -> Iterator[pl.DataFrame]:
    """Yield what the workers make of a statement's rows, partition by partition, every partition once."""
    with _worked_rows(table, statement, work) as worked:
        session, context = worked.sparkSession, worked.sparkSession.sparkContext
        with hidden_errors():
            # Shuffles run here; the last stage runs when its partitions are asked for.
            made = waited(session, lambda: worked.rdd)
            partitions = waited(session, made.getNumPartitions)
            with uninterrupted():
                at_once = max(1, context.defaultParallelism)
        for start in range(0, partitions, at_once):
            wave = list(range(start, min(start + at_once, partitions)))
            with hidden_errors():
                payloads = waited(session, partial(context.runJob, made, _values, wave))
            # Each is let go as it is used.
            payloads.reverse()
            while payloads:
                yield unpacked(payloads.pop())


def _worked(rows: Any, work: BlockWork) -> Any:
    """Return the payloads of a statement's rows, as a DataFrame that nothing has been computed of."""
    with warnings.catch_warnings():
        # Of versions of pandas, which has no part in it.
        warnings.simplefilter("ignore", FutureWarning)
        made = _arranged(rows, work).mapInArrow(work.__call__, f"{PAYLOAD} binary")
    if work.by_user and work.what != "means":
        # A user in two partitions would be drawn for twice: no later version of Spark may think that shuffle needless.
        plan = shown_plan(made, extended=False)
        last = plan.partition("Exchange ")
        if not WHOLE_USERS.match(last[1] + last[2]) and not NO_ROWS.search(plan):
            raise InternalError("Spark would not keep the records of a user together; please report it.")
    return made


def _arranged(rows: Any, work: BlockWork) -> Any:
    """Return rows with whole users in each partition, sorted by user."""
    if not work.by_user:
        return rows
    kept = rows.where(rows[NUMBER].isNotNull())
    if dict(rows.dtypes)[NUMBER] == "string":
        # Bytes that are no text would be an error on the way to Python.
        kept = kept.withColumn(NUMBER, kept[NUMBER].cast("binary"))
    if is_seeded():
        # Spark's own choice of their number may change from run to run, and the seeds with it.
        kept = kept.repartition(int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions")), NUMBER)
    elif work.what != "means":
        # Means are one row a user already.
        kept = kept.repartition(NUMBER)
    return kept.sortWithinPartitions(NUMBER)


def _values(rows: Iterator[Any]) -> Iterator[bytes]:
    return (bytes(row[0]) for row in rows)

"""Frames that other libraries would panic at, or quote: refused by name, or made into what every engine takes."""

import contextlib

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from expectations import everything_said
from table_readers import arrow_columns, records

import emdp
from emdp.base.checks import check_choice, check_count, check_period
from emdp.base.errors import UsageError
from emdp.base.frames import to_polars
from emdp.catalog.catalog import load_catalog


def test_half_floats_become_floats_wherever_they_stand() -> None:
    half = np.array([0.5, 1.5], np.float16)
    frame = pl.DataFrame({"": half, "v": pl.Series([[0.5], [1.5]], dtype=pl.List(pl.Float16))})
    made = to_polars("F", frame)
    assert made.schema == {"": pl.Float32, "v": pl.List(pl.Float32)}
    assert made.rows() == [(0.5, [0.5]), (1.5, [1.5])]
    assert to_polars("F", pa.table({"x": half})).schema == {"x": pl.Float32}
    emdp.read({"who": [1, 2], "x": half}, user="who", space=emdp.Interval("x", 0, 2), users=2).validate()


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (pa.table({"x": pa.array([(1, 2, 3)], pa.month_day_nano_interval())}), "month_day_nano_interval"),
        (pa.table({"x": pa.array([1], pa.decimal128(5, 0)).cast(pa.decimal256(60, 0))}), "decimal256"),
        (pa.table({"x": pa.array([{"a": (1, 2, 3)}], pa.struct({"a": pa.month_day_nano_interval()}))}), "struct"),
        (pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"]), "two columns of one name"),
        (pl.DataFrame({"x": pl.Series([1], dtype=pl.Int128)}), "128 bits"),
        (pl.DataFrame({"x": pl.Series([[1]], dtype=pl.List(pl.Int128))}), "128 bits"),
        (pl.DataFrame({"x\0": [1]}), "NUL"),
        (pl.scan_csv("/nowhere/gone.csv"), "is no table"),
        (duckdb.sql("SELECT CAST('zqvj' || i AS INTEGER) AS x FROM range(2) t(i)"), "is no table"),
    ],
)
def test_what_no_engine_takes_is_refused_by_name(frame: object, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        to_polars("F", frame)
    assert str(caught.value).startswith("F ")
    assert str(caught.value).endswith(".")
    assert "zqvj" not in everything_said(caught.value)


def test_text_that_is_no_utf8_never_reaches_polars() -> None:
    made = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xfe"))
    with pytest.raises(UsageError, match="is no table"):
        to_polars("F", pa.table({"x": made}))


def test_a_refused_frame_keeps_nothing_of_the_values_in_its_chain() -> None:
    for frame in ({"who": ["zqvj"], "x": [1.0, 2.0]}, {"x": [object(), "zqvj"], "y": [1]}):
        with pytest.raises(UsageError) as caught:
            to_polars("F", frame)
        assert caught.value.__context__ is None
        assert "zqvj" not in everything_said(caught.value)


def test_columns_of_every_arrow_type_are_taken_or_refused_by_emdp(subtests: pytest.Subtests) -> None:
    rng = np.random.default_rng(1)
    columns = arrow_columns(_Draws(rng))  # type: ignore[arg-type]
    for column in columns:
        with subtests.test(type=str(column.type)):
            outcome = _outcome(column)
            assert outcome == (len(records()["who"]), 1) or "zqvj" not in str(outcome)


def _outcome(column: object) -> object:
    try:
        return to_polars("F", pa.table({"x": column})).shape
    except UsageError as error:
        return everything_said(error)


class _Draws:
    """As much of ``random.Random`` as columns are drawn with."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def choice(self, options: tuple[object, ...]) -> object:
        return options[int(self._rng.integers(len(options)))]

    def random(self) -> float:
        return float(self._rng.random())


def test_given_values_are_shown_in_part_and_never_fail_to_be_shown() -> None:
    for check in (lambda: check_choice("unit", "A" * 70_000, ("km",)), lambda: check_period("A" * 70_000)):
        with pytest.raises(UsageError) as caught:
            check()
        assert len(str(caught.value)) < 400
    with pytest.raises(UsageError, match="a very large int"):
        check_count("users", -(10**5000))
    with pytest.raises(UsageError, match="is no path"):
        load_catalog("a\0b.toml")


def test_a_damaged_table_of_vectors_is_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "v.parquet"
    pl.DataFrame({"word": ["a", "b"], "x": [0.0, 1.0]}).write_parquet(path)
    assert emdp.Embedding("word", path).diameter == pytest.approx(1.0)
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])
        with contextlib.suppress(UsageError):
            emdp.Embedding("word", path)

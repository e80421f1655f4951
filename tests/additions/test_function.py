"""A scalar function is added by its file and a row of the table, for Python, SQL, DuckDB and Spark, and taken out."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from registering import registered
from toy_function import RECORD, Asinh, asinh

import emdp
from emdp.base.errors import InternalError, SqlError
from emdp.expressions.functions import FUNCTIONS

QUERY = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2) AVG(ASINH(x / 2)) AS a FROM t"
USERS = 40
VALUES = np.linspace(-3.0, 5.0, USERS)
FRAME = pl.DataFrame({"user": range(USERS), "x": VALUES})
SPACE = emdp.Interval("x", -3, 5)


@pytest.fixture
def added() -> Iterator[None]:
    with registered((FUNCTIONS, RECORD.name, RECORD)):
        yield


def opened(folder: Path, frame: Any = FRAME) -> emdp.Session:
    table = emdp.read(frame, user="user", users=FRAME.select("user"), space=SPACE, name="t")
    return emdp.Session(table, budget=emdp.EmdDP(100.0), ledger=folder / "t.ledger")


def test_it_is_asked_through_sql(tmp_path: Path, added: None) -> None:
    with emdp.testing.seeded(3):
        answer = opened(tmp_path).sql(QUERY)
    assert answer.exact["a"] == pytest.approx(np.arcsinh(VALUES / 2).mean(), rel=1e-9)
    # The constant per unit of d_em: the steepest slope 1/2, times the diameter 8.
    assert answer.columns[0].lipschitz == pytest.approx(4.0, rel=1e-9)


def test_it_is_asked_on_spark(tmp_path: Path, added: None, spark: Any) -> None:
    rows = spark.createDataFrame(FRAME.to_arrow())
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
    with emdp.testing.seeded(3):
        there, here = opened(tmp_path / "a", rows).sql(QUERY), opened(tmp_path / "b").sql(QUERY)
    assert there.exact["a"] == pytest.approx(here.exact["a"], rel=1e-9)


def test_it_is_written_as_python(added: None) -> None:
    assert str(asinh(emdp.col("x") + 1)) == "asinh(x + 1)"


def test_messages_list_it(tmp_path: Path, added: None) -> None:
    session = opened(tmp_path)
    with pytest.raises(SqlError, match="write ASINH"):
        session.preview(QUERY.replace("ASINH", "ASIMH"))
    with pytest.raises(SqlError, match=r"ASINH takes 1 argument, not 2.*write ASINH\(e\)"):
        session.preview(QUERY.replace("x / 2", "x, 2"))


def test_without_its_row_nobody_knows_it(tmp_path: Path) -> None:
    with pytest.raises(SqlError, match="ASINH is no function of this language"):
        opened(tmp_path).sql(QUERY)
    with pytest.raises(InternalError, match="Asinh, which has no text"):
        str(Asinh(emdp.col("x")))

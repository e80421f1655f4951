"""What a space states, as SQL: DuckDB computes of each operation what numpy does, bit for bit."""

from collections.abc import Callable
from typing import Any, ClassVar

import duckdb
import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.spaces import Vector
from emdp.spaces.formulas import NUMPY
from emdp.spaces.ranges import Span
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.kinds import ARITHMETIC, sql_of

PAIRS = [(0.1, 0.3), (-2.5, 7.0), (1e-200, 3.0), (1e150, -1e150), (0.0, 0.0)]
OPERATIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "number": lambda own, x, y: own.subtract(own.subtract(x, y), own.number(-0.1)),
    "subtract": lambda own, x, y: own.subtract(x, y),
    "multiply": lambda own, x, y: own.multiply(x, own.multiply(y, own.number(0.3))),
    "absolute": lambda own, x, y: own.absolute(own.subtract(y, x)),
    "root": lambda own, x, y: own.root(own.absolute(x)),
    "least": lambda own, x, y: own.least([x, y, own.number(0.2)]),
    "greatest": lambda own, x, y: own.greatest([x, y, own.number(0.2)]),
    "one of one": lambda own, x, y: own.greatest([own.least([x])]),
    "total": lambda own, x, y: own.total([x, y]),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_of_a_formula_is_the_same_in_numpy_and_in_the_engine(name: str) -> None:
    formula = OPERATIONS[name]
    text = formula(ARITHMETIC, sql.column("x"), sql.column("y")).sql("duckdb")
    with duckdb.connect() as engine:
        engine.execute("CREATE TABLE t (place INTEGER, x DOUBLE, y DOUBLE)")
        engine.executemany("INSERT INTO t VALUES (?, ?, ?)", [[place, *pair] for place, pair in enumerate(PAIRS)])
        found = [value for (value,) in engine.execute(f"SELECT {text} FROM t ORDER BY place").fetchall()]
    xs, ys = np.array(PAIRS).T
    assert found == formula(NUMPY, xs, ys).tolist()


def test_a_domain_that_is_no_box_and_a_distance_without_a_formula_are_refused() -> None:
    class Blob(Vector):
        kind: ClassVar[str] = "blob"

    space = Blob(["x", "y"], radius=1)
    raw = {"x": sql.column("x"), "y": sql.column("y")}
    with pytest.raises(UsageError, match=r"a blob space has no rule that an engine can follow"):
        sql_of(space).valid(space, raw)
    with pytest.raises(UsageError, match=r"a blob space has no rule that an engine can follow"):
        sql_of(space).clamped(space, raw, {})


def test_rows_without_a_value_of_their_own_are_missing() -> None:
    """Of several columns an infinity in one that goes round makes the item neutral as a whole, as in numpy."""

    class Ring(Vector):
        kind: ClassVar[str] = "ring"

        @property
        def spans(self) -> tuple[Span, ...]:
            return Span("x", 0.0, 4.0, goes_round=True), Span("y", 0.0, 4.0)

    space = Ring(["x", "y"], box=[(0, 4), (0, 4)])
    rule = sql_of(space)
    raw = {"x": sql.column("x"), "y": sql.column("y")}
    moved = rule.clamped(space, raw, {})
    texts = [tree.sql("duckdb") for tree in (rule.valid(space, raw), rule.missing(space, raw), moved["x"], moved["y"])]
    rows = {
        "(1, 4)": (True, False, 1.0, 4.0),
        "(4, 4)": (False, False, 0.0, 4.0),
        "(-1, 5)": (False, False, 3.0, 4.0),
        "('inf', 1)": (False, True, 2.0, 1.0),
        "(1, 'inf')": (False, False, 1.0, 4.0),
    }
    with duckdb.connect() as engine:
        for row, wanted in rows.items():
            query = f"SELECT {', '.join(texts)} FROM (SELECT * FROM (VALUES {row}) AS v(a, b)) AS w"
            named = query.replace('"x"', "CAST(a AS DOUBLE)").replace('"y"', "CAST(b AS DOUBLE)")
            assert engine.execute(named).fetchone() == wanted

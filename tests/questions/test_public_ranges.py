"""Public ranges: what every engine gives lies within, and one step outside is an error that shows nothing."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emdp
from emdp.base.errors import InternalError
from emdp.base.statistic import Statistic
from emdp.expressions import Expression, col
from emdp.expressions.cells.aggregation import Aggregation, HatAxis, LabelAxis
from emdp.expressions.nodes.base import Constant
from emdp.questions.public_ranges import ROUNDING, block_range, check_statistic
from emdp.questions.reading import Reading
from emdp.sessions import records
from emdp.tables.engines import blocks
from emdp.tables.engines.duckdb import items as item_reads

UNIT = emdp.Interval("x", 0, 10, on_invalid="clamp")
KINDS = emdp.Categories("kind", ["bar", "cafe", "park"], on_invalid="neutral")
ONE: Expression = Constant(1.0)
HATS = Aggregation((ONE,), (HatAxis(col("x"), 0, 5, 3),))
X = Aggregation((col("x") - 2,))
TOTAL = Aggregation((col("x"), ONE), (), None, 7)

RANGES: dict[str, tuple[Aggregation, list[list[float]], list[list[float]]]] = {
    "mean": (X, [[-2.0], [8.0], [3.0]], [[-2.01], [8.01], [-1e300], [1e6]]),
    "two means": (Aggregation((col("x"), ONE)), [[10, 1], [0, 1]], [[10.1, 1], [5, 1.1], [5, 0.9]]),
    "weights": (HATS, [[0.5, 0.25, 0.25], [0, 0, 0]], [[1.1, 0, 0], [-0.1, 0.5, 0.5], [0.5, 0.5, 0.1]]),
    "values over cells": (Aggregation((col("x") - 2,), (LabelAxis("kind", (("bar",), ("cafe",))),)),
                          [[-2, 0], [4, 4]], [[-2.1, 0], [8, 8], [-1.5, -1.5]]),
    # Of five users, each with a cap of 7.
    "totals": (TOTAL, [[350, 35], [0, 0]], [[351, 0], [-1, 0], [0, 36], [0, -1]]),
}  # fmt: skip


@pytest.mark.parametrize("name", RANGES)
def test_statistics_outside_are_refused_and_no_number_is_shown(name: str) -> None:
    aggregation, inside, outside = RANGES[name]
    space = emdp.Product(UNIT, KINDS) if name == "values over cells" else UNIT
    for values in inside:
        check_statistic(aggregation, space, 5, list(map(Fraction, values)))
        # By a rounding.
        check_statistic(aggregation, space, 5, [Fraction(value) * (1 + Fraction(2) ** -45) for value in values])
    for values in [*outside, [0.5] * (aggregation.dimension + 1)]:
        with pytest.raises(InternalError, match=r"^a statistic lay outside of its public range, [^0-9]*$"):
            check_statistic(aggregation, space, 5, list(map(Fraction, values)))
    assert ROUNDING < 1e-9


BLOCKS: dict[str, tuple[emdp.Space, Reading, list[Any], list[Any]]] = {
    "codes": (KINDS, Reading("counts"), [0, 2], [-1, 3]),
    "points": (UNIT, Reading("points"), [[0.0], [10.0]], [[10.1], [-0.1], [np.nan], [np.inf]]),
    "mixed points": (emdp.Product(UNIT, KINDS), Reading("points"), [[0.0, 2.0]], [[0.0, 3.0], [0.0, -1.0]]),
    "means": (UNIT, Reading("means", expressions=(col("x"),)), [[10 * 2**47], [0]], [[11 * 2**47], [-(2**40)]]),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_outside_are_refused(name: str) -> None:
    space, reading, inside, outside = BLOCKS[name]
    known = block_range(reading, space)
    known.check(np.array(inside), np.ones(len(inside)))
    for row in outside:
        with pytest.raises(InternalError, match="outside of its public range"):
            known.check(np.array([*inside, row]))
    with pytest.raises(InternalError, match="outside of its public range"):
        known.check(np.array(inside), np.zeros(len(inside)))


ROWS = {"user": [1, 1, 2, 3], "x": [0.5, 9.5, 4.0, 2.0], "kind": ["bar", "cafe", "bar", "park"], "text": ["a"] * 4}
EVERY = emdp.Product(UNIT, KINDS)
QUESTIONS: dict[str, tuple[emdp.Space, Any]] = {
    "mean": (UNIT, emdp.mean(col("x"), alpha=1.0)),
    "frequencies": (UNIT, emdp.frequencies(5.0, alpha=1.0)),
    "quantiles": (UNIT, emdp.quantiles(col("x"), [0.5], alpha=1.0)),
    "total": (UNIT, "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 2) SUM(x) FROM t"),
    "filtered": (EVERY, "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) FROM t WHERE kind = 'bar'"),
    "variance": (UNIT, "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) VARIANCE(x) FROM t"),
    "local mean": (UNIT, emdp.mean(col("x"), epsilon=1.0, model="local")),
    "user mean": (UNIT, emdp.user_mean("x", epsilon=1.0, delta=1e-6)),
    "items": (KINDS, emdp.frequencies(epsilon=1.0, model="local")),
    "item-wise": (KINDS, emdp.itemwise(emdp.randomizers.KRR, epsilon=1.0, delta=1e-6,
                                       sizes=emdp.BoundedReduction(samples=5, r=0.1))),
}  # fmt: skip
"""Questions of every family, as plans of one draw of noise or of messages."""


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine whose every number is a million times what it should be."""

    def aggregated(*asked: Any) -> tuple[Statistic, ...]:
        return tuple(Statistic([value * 10**6 for value in one.open()]) for one in right(*asked))

    def checked(*asked: Any) -> tuple[Statistic, ...] | None:
        return None if checked_right(*asked) is None else aggregated(*asked)

    def matrix(frame: Any) -> Any:
        return matrix_of(frame) * 10**6

    def integers(frame: Any, name: str) -> Any:
        return integers_of(frame, name) * 10**6 + (name == "code") * 10**6

    def frames(*asked: Any) -> Iterator[Any]:
        for frame in frames_of(*asked):
            means = [name for name in frame.columns if name.startswith("mean_")]
            yield frame.with_columns(frame.select(means) * 10**6) if means else frame

    right, matrix_of, integers_of, frames_of = (
        records.aggregate, item_reads.matrix, item_reads.integers, item_reads._frames,
    )  # fmt: skip
    checked_right = records.aggregate_checked
    monkeypatch.setattr(records, "aggregate", aggregated)
    monkeypatch.setattr(records, "aggregate_checked", checked)
    # Items of users are sorted where both engines have it done.
    monkeypatch.setattr(blocks, "matrix", matrix)
    monkeypatch.setattr(item_reads, "matrix", matrix)
    monkeypatch.setattr(item_reads, "integers", integers)
    monkeypatch.setattr(item_reads, "_frames", frames)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUESTIONS)
def test_an_engine_that_computes_something_else_shows_nothing_and_what_was_charged_stays(
    name: str, tmp_path: Path, wrong: None
) -> None:
    space, query = QUESTIONS[name]
    table = emdp.read(ROWS, user="user", space=space, users=5, name="t")
    budget = [emdp.DiscreteEmdDP(10, 1e-3, r=0.1) if name == "item-wise" else emdp.EmdDP(10), emdp.UserDP(10, 1e-3)]
    with emdp.Session(table, budget=budget, ledger=tmp_path / "x.ledger") as session:
        ask = session.sql if isinstance(query, str) else session.answer
        with pytest.raises(InternalError, match=r"^a statistic lay outside of its public range, [^0-9]*$") as caught:
            ask(query)
        assert not {"_drawn", "statistic", "release", "merge"} & {frame.name for frame in caught.traceback}
        assert caught.value.exit_status == 1
        assert caught.value.__context__ is None
        assert len(session.history()) == 1

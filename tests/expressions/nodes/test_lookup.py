"""Looked-up numbers: the rule of finite parts against all pairs, refusals, text, evaluation, the engine's join."""

import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import emdp
import emdp.expressions as ex
from emdp.base.errors import NotLipschitzError, UsageError
from emdp.expressions import analyse, evaluate, final_lipschitz
from emdp.expressions.nodes.label_distances import LARGEST_COMPARED
from emdp.expressions.nodes.lookup import LabelValue
from emdp.spaces import Categories, Clusters, Distances, Embedding, Interval, Product, Space

LABELS = ("a", "b", "c", "d")
KINDS = Categories("kind", LABELS)
RENT = LabelValue((("a", 3.0), ("b", -1.0), ("c", 8.0)), 2.0, ("kind",), "places.rent")
numbers = st.floats(-50, 50).map(lambda value: round(value, 2))


def finite_parts(rng: np.random.Generator) -> list[Space]:
    points = rng.normal(size=(4, 2))
    matrix = np.linalg.norm(points[:, None] - points[None], axis=2)
    table = {"key": list(LABELS), "x": points[:, 0], "y": points[:, 1]}
    return [
        KINDS,
        Clusters("kind", {"a": "p", "b": "p", "c": "q", "d": "q"}, 0.3),
        Distances("kind", LABELS, matrix),
        Distances("kind", LABELS, matrix, diameter=0.5),
        Embedding("kind", table),
        Embedding("kind", table, neutral="c", diameter=0.5),
    ]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.lists(numbers, min_size=1, max_size=4), numbers)
def test_the_constant_is_the_largest_slope_of_a_pair(seed: int, given_numbers: list[float], otherwise: float) -> None:
    leaf = LabelValue(tuple(zip(LABELS, given_numbers, strict=False)), otherwise)
    for part in finite_parts(np.random.default_rng(seed)):
        items = part.all_items  # type: ignore[attr-defined]
        found = evaluate(leaf, part, items)
        assert found.tolist() == [
            given_numbers[code] if code < len(given_numbers) else otherwise for code in range(len(items))
        ]
        analysis = analyse(leaf, part)
        assert (analysis.low, analysis.high, analysis.rounding) == (found.min(), found.max(), 0)
        gaps = part.natural_distances(items, items)
        gaps[gaps == 0] = np.inf
        steepest = float((np.abs(np.subtract.outer(found, found)) / gaps).max())
        assert analysis.parts[0] == pytest.approx(steepest * part.diameter, rel=1e-9)
        assert analysis.parts[0] >= steepest * part.diameter * (1 - 1e-15)
        change, allowed = np.abs(np.subtract.outer(found, found)), final_lipschitz(analysis, part)
        assert (change <= allowed * part.distances(items, items) * (1 + 1e-9) + 1e-9).all()


def test_known_answers() -> None:
    assert RENT.on(KINDS).lipschitz == 9
    assert RENT.on(KINDS).value_range == (-1, 8)
    half = Product(KINDS, Interval("x", 0, 1))
    assert RENT.on(half).lipschitz == 18
    assert (RENT * ex.col("x")).on(half).lipschitz == 18
    clusters = Clusters("kind", {"a": "p", "b": "p", "c": "q", "d": "q"}, 0.25)
    assert RENT.on(clusters).lipschitz == 24  # from c to d, 6 over a quarter
    stops = Distances("kind", ["a", "b", "c"], [[0, 1, 4], [1, 0, 3], [4, 3, 0]])
    assert RENT.on(stops).lipschitz == pytest.approx(16)  # from a to b, 4 over a quarter of the diameter
    assert LabelValue((("a", 5.0),), 5.0).on(stops).lipschitz == 0


def test_a_neutral_item_that_is_no_label_has_the_other_number() -> None:
    space = Embedding("kind", {"key": ["a", "b"], "u": [0.0, 1.0]})
    leaf = LabelValue((("a", 3.0), ("b", 5.0)), 40.0)
    assert evaluate(leaf, space, space.neutral_item).tolist() == [40]
    assert leaf.on(space).value_range == (3, 40)
    assert leaf.on(space).lipschitz == pytest.approx((40 - 3) / 0.5)


def test_labels_that_the_part_does_not_list_are_passed_over() -> None:
    leaf = LabelValue((("a", 1.0), ("zoo", 1e6), (3, 1e7)), 0.0)
    assert leaf.on(KINDS).value_range == (0, 1)
    for values in ((("zoo", 1.0),), ((1, 1.0), (2, 1.0))):
        with pytest.raises(UsageError, match="for none of the values"):
            analyse(LabelValue(values, 0.0), KINDS)
    # a truth value is no whole number
    with pytest.raises(UsageError, match="for none of the values"):
        analyse(LabelValue(((True, 1.0),), 0.0), Categories("kind", [0, 1]))


def test_different_numbers_at_distance_zero_are_refused() -> None:
    space = Embedding("kind", {"key": ["a", "b", "c"], "u": [0.0, 0.0, 1.0]}, neutral="c")
    with pytest.raises(NotLipschitzError, match="at distance 0") as caught:
        analyse(1 + LabelValue((("a", 1.0), ("b", 2.0)), 0.0, text="words.score"), space)
    assert caught.value.offending == "words.score"
    assert LabelValue((("a", 1.0), ("b", 1.0)), 0.0).on(space).lipschitz == pytest.approx(1)


def test_malformed_lookups_are_refused() -> None:
    for values in ((), (("a", 1.0), ("a", 2.0)), (("a", float("nan")),)):
        with pytest.raises(UsageError):
            LabelValue(values, 0.0)
    with pytest.raises(UsageError):
        LabelValue((("a", 1.0),), float("inf"))
    with pytest.raises(UsageError, match="text must"):
        LabelValue((("a", 1.0),), 0.0, text="")
    with pytest.raises(UsageError, match="no listed values"):
        analyse(LabelValue((("a", 1.0),), 0.0), Interval("x", 0, 1))
    with pytest.raises(NotLipschitzError, match="largest double"):
        analyse(LabelValue((("a", 1e308), ("b", -1e308)), 0.0), KINDS)


def test_it_finds_its_part_and_prints_as_its_column() -> None:
    space = Product(Interval("x", 0, 1), KINDS)
    unnamed = LabelValue((("a", 3.0), ("b", 1.0)), 0.0, text="places.rent")
    assert unnamed.locate(space).index == 1
    assert str(2 * unnamed + 1) == "2 * places.rent + 1"
    two = Product(KINDS, Categories("other", LABELS))
    with pytest.raises(UsageError, match="fits several parts"):
        unnamed.locate(two)
    assert analyse(RENT, two).parts == (9, 0)


def test_equality_is_of_structure() -> None:
    same = LabelValue((("a", 3.0), ("b", -1.0), ("c", 8.0)), 2.0, "kind", "places.rent")
    assert same == RENT
    assert hash(same) == hash(RENT)
    assert LabelValue((("a", 3.0),), 2.0) != LabelValue((("a", 3.0),), 1.0)


def test_in_expressions_with_cases_and_indicators() -> None:
    mixed = ex.category_is("a", column="kind") * RENT
    items = KINDS.all_items
    assert evaluate(mixed, KINDS, items).tolist() == [3, 0, 0, 0]
    values = evaluate(mixed, KINDS, items)
    assert values.max() - values.min() <= mixed.on(KINDS).lipschitz


def test_some_thousand_labels_are_quick_the_first_time_and_again() -> None:
    labels = [f"stop {number}" for number in range(5000)]
    leaf = LabelValue(tuple((label, float(number % 97)) for number, label in enumerate(labels)), 0.0)
    space = Categories("stop", labels)
    clusters = Clusters("stop", {label: number // 10 for number, label in enumerate(labels)}, 0.5)
    started = time.process_time()
    assert leaf.on(space).lipschitz == 96
    assert leaf.on(clusters).lipschitz == 2 * 96
    evaluate(leaf, space, np.arange(5000.0)[:, None])
    assert time.process_time() - started < 2
    started = time.process_time()
    for _ in range(10):
        analyse(leaf, space)
    assert time.process_time() - started < 0.5


def test_too_many_vectors_to_compare_are_refused() -> None:
    labels = [f"word {number}" for number in range(LARGEST_COMPARED + 1)]
    space = Embedding("word", {"key": labels, "u": np.arange(float(len(labels)))})
    with pytest.raises(UsageError, match="too many to compare"):
        analyse(LabelValue((("word 1", 1.0),), 0.0), space)


def test_the_engine_joins_the_numbers_by_label(tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    pl.DataFrame({"user_id": [1, 1, 2, 3], "kind": ["a", "zoo", "c", None]}).write_parquet(path)
    space = Categories("kind", LABELS, on_invalid="neutral", neutral="b")
    table = emdp.read(str(path), user="user_id", space=space, users=4)
    with emdp.testing.seeded(7):
        session = emdp.Session(table, budget=emdp.EmdDP(alpha=10.0), ledger=tmp_path / "a.ledger")
        answer = session.mean(RENT, alpha=1.0)
    # (3 - 1)/2, 8, -1 and -1 for the user without records
    assert answer.exact["mean"] == pytest.approx((1 + 8 - 1 - 1) / 4)

"""CONTRIBUTING.md, "How to add a space": a toy space is its file and one line of the table of kinds, nothing else."""

import importlib.util
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from space_numbers import check_numbers

import emdp
from emdp.audit.neighbours import best_move, neighbours
from emdp.audit.points import PublicRecords, even_points
from emdp.audit.suite import suite
from emdp.base.errors import SqlError, UsageError
from emdp.catalog.catalog import load_catalog
from emdp.mechanisms.items.planar_charts import chart_of
from emdp.spaces import Elsewhere, Product, Space, from_json
from emdp.spaces.registry import KINDS
from emdp.testing import seeded

TOY = Path(__file__).parent / "toys" / "taxi.py"
KEYS = {"kind": "taxi", "east": "x", "north": "y", "side": 4.0, "on_invalid": "clamp"}
ROWS = {
    "who": [who for who in range(30) for _ in range(3)],
    # Some lie outside, some are missing or no numbers.
    "x": [(5 * place) % 47 / 10 for place in range(87)] + [None, math.nan, math.inf],
    "y": [(7 * place) % 53 / 10 - 0.5 for place in range(90)],
}
HEADER = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = {}) "


@contextmanager
def registered() -> Iterator[ModuleType]:
    """Add the toy's line to the table of kinds, and remove it again."""
    spec = importlib.util.spec_from_file_location("taxi", TOY)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["taxi"] = module
    try:
        spec.loader.exec_module(module)
        with patch.dict(KINDS, {"taxi": (module.Taxi, *module.KEYS)}):  # type: ignore[arg-type]
            yield module
    finally:
        del sys.modules["taxi"]


@pytest.fixture
def toy() -> Iterator[Space]:
    with registered():
        yield from_json(KEYS)


def read(space: Space) -> emdp.Table:
    return emdp.read(pl.DataFrame(ROWS), user="who", space=space, users=40, name="rides")


def test_the_space_is_known_while_its_line_stands_and_unknown_after() -> None:
    with registered() as module:
        space = from_json(KEYS)
        assert isinstance(space, module.Taxi)
        assert from_json(space.to_json()) == space
        assert repr(space).startswith("Taxi(east='x'")
    with pytest.raises(UsageError, match="kind must be one of"):
        from_json(KEYS)


def test_it_is_a_metric_and_its_formula_is_its_distance(toy: Space) -> None:
    items = toy.items_at(even_points(40, 2))
    d = toy.distances(items, items)
    assert (d[:, None, :] <= d[:, :, None] + d[None, :, :] + 1e-15).all()
    assert np.array_equal(d * 8, np.abs(items[:, None] - items[None]).sum(axis=2))
    point = toy.encode_point((5.0, -1.0))
    bounds, values = toy.distance_bounds(point), toy.distance_values(items, point)
    assert bounds.low <= values.min() <= values.max() <= bounds.high
    assert (bounds.high, toy.diameter) == (pytest.approx(10.0), 8.0)


def test_its_numbers_hold_of_its_metric(toy: Space) -> None:
    for space in (toy, Product(toy, emdp.Cycle("h", 24)), Elsewhere(toy, 0.6, slots=3)):
        check_numbers(space)


def test_questions_in_python_and_sql_agree_and_weigh_what_numpy_says(toy: Space, tmp_path: Path) -> None:
    table = read(toy)
    with seeded(5), emdp.Session(table, budget=emdp.EmdDP(1e9), ledger=tmp_path / "spent.ledger") as session:
        by_python = session.mean(emdp.distance_to((1.0, 3.0)), alpha=1e7, name="m")
        asked = HEADER.format("1e7")
        by_sql = session.sql(asked + "AVG(DISTANCE(VECTOR[1, 3])) AS m FROM rides")
        named = session.sql(asked + "AVG(DISTANCE(VECTOR[x, y], VECTOR[1, 3])) AS m FROM rides")
        near = session.sql(asked + "AVG(RAMP(DISTANCE(VECTOR[1, 3]), 4, 2)) AS m FROM rides")
        near_py = session.mean(emdp.ramp(emdp.distance_to((1.0, 3.0)), 4, 2), alpha=1e7, name="m")
    bags = [bag.select("x", "y") for (_, bag) in pl.DataFrame(ROWS).group_by("who", maintain_order=True)]
    means = []
    for weigh in (lambda d: d, lambda d: np.clip((d - 4) / -2, 0, 1)):
        of_bags = [weigh(toy.distance_values(toy.encode(bag), np.array([[1.0, 3.0]]))).mean() for bag in bags]
        absent = weigh(toy.distance_values(toy.neutral_item, np.array([[1.0, 3.0]])))[0]
        means.append((sum(of_bags) + 10 * absent) / 40)
    for answer, exact in (
        (by_python, means[0]),
        (by_sql, means[0]),
        (named, means[0]),
        (near, means[1]),
        (near_py, means[1]),
    ):
        assert answer.frame["m"][0] == pytest.approx(exact, abs=1e-4)


def test_what_it_does_not_offer_is_refused_by_name(toy: Space, tmp_path: Path) -> None:
    with emdp.Session(read(toy), budget=emdp.EmdDP(10.0), ledger=tmp_path / "spent.ledger") as session:
        for text, code in (
            ("AVG(x) AS m FROM rides", "misfit"),
            ("FREQUENCY(GRID(1.0)) FROM rides", "no-part"),
            ("AVG(DISTANCE(2, 3)) FROM rides", "point-kind"),
            ("AVG(DISTANCE(POINT(2, 3))) FROM rides", "no-part"),
            ("AVG(DOT(VECTOR[1, 0])) FROM rides", "no-part"),
        ):
            with pytest.raises(SqlError) as caught:
                session.sql(HEADER.format(1) + text)
            assert caught.value.code == code
    with pytest.raises(UsageError, match="has no grid"):
        toy.grid_lines(1.0)
    with pytest.raises(UsageError, match="a taxi space"):
        chart_of(toy)
    with pytest.raises(UsageError, match="inner must be"):
        emdp.Grid(toy, (2, 2))


def test_remedies_name_no_grid_that_is_refused(toy: Space, tmp_path: Path) -> None:
    mixed = Product(toy, emdp.Cycle("h", 24))
    for number, (space, written, unlisted) in enumerate(
        [
            (toy, "write AVG of ramps", "list the values"),
            (mixed, "write FREQUENCY(GRID(h, 1.0))", "give cells= a pitch or list the values"),
        ]
    ):
        table = emdp.read(pl.DataFrame({**ROWS, "h": 3.0}), user="who", space=space, users=40, name="rides")
        with emdp.Session(table, budget=emdp.EmdDP(10.0), ledger=tmp_path / f"{number}.ledger") as session:
            with pytest.raises(SqlError) as caught:
                session.sql(HEADER.format(1) + "FREQUENCY(*) FROM rides")
            assert written in str(caught.value)
            assert "Grid(" not in str(caught.value)
            with pytest.raises(UsageError) as asked:
                session.frequencies(alpha=1)
            assert str(asked.value).endswith(f"no public list of items; {unlisted}.")
            if space is mixed:
                assert session.sql(HEADER.format(1) + "FREQUENCY(GRID(h, 1.0)) FROM rides").frame.height


def test_d_em_is_the_transport_of_its_distance(toy: Space) -> None:
    one, other = {"x": [0.0, 4.0], "y": [0.0, 4.0]}, {"x": [0.0, 4.0], "y": [2.0, 1.0]}
    assert emdp.d_em(one, other, toy) == pytest.approx((2 + 3) / 2 / 8)
    assert emdp.d_em({**one, "h": [0, 0]}, {**other, "h": [3, 3]}, Product(toy, emdp.Cycle("h", 24))) == pytest.approx(
        ((2 + 3) / 2 / 8 + 3 / 12) / 2
    )


def test_a_catalog_names_it(toy: Space, tmp_path: Path) -> None:
    pl.DataFrame(ROWS).write_parquet(tmp_path / "rides.parquet")
    text = """
ledger = "spent.ledger"
[tables.rides]
source = "rides.parquet"
user = "who"
users = 40
space = { kind = "taxi", east = "x", north = "y", side = 4, on_invalid = "clamp" }
budget = { alpha = 5.0 }
"""
    (tmp_path / "emdp.toml").write_text(text)
    assert load_catalog(tmp_path / "emdp.toml").table("rides").space == toy


def test_the_audit_makes_records_and_cases_of_it(toy: Space) -> None:
    table = read(toy)
    records = PublicRecords(table)
    _, frame, _items = records.kept(even_points(60, records.dimension))
    assert (records.dimension, len(frame)) == (2, 60)
    assert toy.valid_mask(frame).all()
    move = best_move(records, lambda own: toy.distances(own, own), 0.25)
    assert move is not None
    assert 0.1 < neighbours(table, move, None).distance <= 0.25 * (1 + 1e-8)
    titles = {case.title: case for case in suite(table)}
    assert titles["mean, central"].query is not None
    assert titles["item randomizer PlanarLaplace"].reason

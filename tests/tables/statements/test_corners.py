"""What aggregations are to the bit: exact sums in any order, cells that add up, corners, statements, spilled sums."""

import gc
import itertools
import random
from fractions import Fraction

import duckdb
import numpy as np
import polars as pl
import pytest

import emdp
from emdp.expressions import Expression, analyse, lift
from emdp.expressions.cells.aggregation import Aggregation, HatAxis, LabelAxis, UserGroups
from emdp.expressions.cells.errors import aggregation_errors
from emdp.expressions.nodes.base import Column
from emdp.expressions.numbers.fixed_point import fixed_point_exponent
from emdp.tables import Table, mean_of_user_means, read
from emdp.tables.engine import aggregate, check_aggregation
from emdp.tables.engines.duckdb import engine, execution
from emdp.tables.statements.corners import corner_cells

KINDS = ["bar", "it's", "café"]
X = emdp.Interval("x", 0, 5, on_invalid="clamp")
SPACE = emdp.Product(
    emdp.Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km", on_invalid="clamp"),
    X,
    emdp.Cycle("hour", 24, on_invalid="neutral"),
    emdp.Categories("kind", KINDS, on_invalid="neutral", neutral="café"),
)
NEAR = emdp.ramp(emdp.distance_to((40.7484, -73.9857)), 25, 1)

BY_X = HatAxis(emdp.col("x"), 0.5, 0.75, 6)
BY_LAT = HatAxis(emdp.col("lat"), 40.48, 0.1, 5)
BY_LON = HatAxis(emdp.col("lon"), -74.26, 0.2, 4)
BY_HOUR = HatAxis(Column("hour"), 0, 4, 6, is_periodic=True)
BY_KIND = LabelAxis("kind", (("it's", "bar"), ("café",)))
ONE_CELL = HatAxis(emdp.col("x"), 2.0, 1.0, 1)
MODES = {
    "mean": {},
    "cap": {"cap": 5},
    "cap and weight": {"cap": 3, "chosen": NEAR},
    "cap and choice": {"cap": 4, "chosen": emdp.category_is("bar", "café")},
}


def rows(seed: int, count: int = 300, users: int = 12) -> pl.DataFrame:
    generator = np.random.default_rng(seed)
    odd = generator.random(count) < 0.1
    return pl.DataFrame(
        {
            "user": generator.integers(0, users, count),
            "x": np.where(odd, np.nan, generator.uniform(-0.5, 5.5, count)),
            "hour": generator.uniform(-1, 25, count),
            "lat": generator.uniform(40.4, 41, count),
            "lon": generator.uniform(-74.3, -73.6, count),
            "kind": generator.choice([*KINDS, "other"], count),
        }
    )


def table_of(frame: pl.DataFrame, space: emdp.Space = SPACE, users: object = 15) -> Table:
    return read(frame, user="user", space=space, users=users)


def on(values: list[Expression], *axes: LabelAxis | HatAxis, **rest: object) -> Aggregation:
    return Aggregation(tuple(values), axes, **rest)  # type: ignore[arg-type]


@pytest.mark.quarter
@pytest.mark.parametrize("mode", MODES)
def test_no_order_and_no_number_of_threads_changes_a_bit(
    mode: str, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = rows(seed=9, count=20_000, users=40)
    aggregation = on([emdp.col("x"), NEAR], BY_KIND, BY_LAT, BY_HOUR, **MODES[mode])
    found = set()
    versions = [frame, frame.reverse(), frame.sample(fraction=1.0, shuffle=True, seed=1)]
    for number, (version, threads) in enumerate(itertools.product(versions, ("1", "4"))):
        monkeypatch.setattr(execution, "CLOSED", {**execution.CLOSED, "threads": threads})
        path = f"{tmp_path}/{number}.parquet"
        version.write_parquet(path, row_group_size=999)
        (statistic,) = aggregate(read(path, user="user", space=SPACE, users=41), aggregation)
        found.add(statistic.open())
    assert len(found) == 1


def test_cells_of_a_partition_add_up_to_the_whole_exactly() -> None:
    partition = LabelAxis("kind", tuple((kind,) for kind in KINDS))
    frame = rows(seed=10, count=4000, users=4000)
    frame = frame.unique("user", keep="first", maintain_order=True)
    table = table_of(frame, users=frame.height)
    value = NEAR * emdp.exp(-emdp.col("x"))
    (plain,) = mean_of_user_means(table, [value]).open()
    whole = aggregate(table, on([value], cap=10**9))[0].open()[0]
    for axes in ((partition,), (BY_X,), (BY_HOUR, partition, BY_LAT), (BY_LAT, BY_LON, BY_X), (ONE_CELL,)):
        (means,) = aggregate(table, on([value], *axes))
        assert sum(means.open()) == plain
        (totals,) = aggregate(table, on([value], *axes, cap=10**9))
        assert sum(totals.open()) == whole


def test_all_users_as_one_group_is_the_plain_mean_to_a_unit() -> None:
    """The engine divides a sum by a count where the plain statement has an average: the last bit may differ."""
    frame = rows(seed=11, count=5000, users=300)
    table = table_of(frame, users=305)
    everybody = UserGroups(pl.Series(map(str, range(305))), pl.Series([0] * 305), (305,))
    values = [NEAR, -emdp.col("x"), emdp.exp(emdp.col("x"))]
    plain = mean_of_user_means(table, values).open()
    grouped = aggregate(table, on(values, users=everybody))[0].open()
    assert aggregate(table, on(values, ONE_CELL))[0].open() == grouped
    for value, found, expected in zip(values, grouped, plain, strict=True):
        assert abs(found - expected) <= Fraction(2) ** -fixed_point_exponent(analyse(value, SPACE))
    assert aggregate(table, on(values))[0].open() == plain


def test_one_user_with_one_record() -> None:
    frame = pl.DataFrame({"user": [0], "x": [1.25]})
    space = emdp.Interval("x", 0, 2)
    table = table_of(frame, space, 1)
    (found,) = aggregate(table, on([emdp.col("x")], HatAxis(emdp.col("x"), 0, 1, 3)))
    assert found.open() == (Fraction(0), Fraction(15, 16), Fraction(5, 16))


def test_many_cells_of_which_few_are_reached() -> None:
    frame = rows(seed=12, count=50)
    fine = (HatAxis(emdp.col("lat"), 40.48, 0.44 / 315, 316), HatAxis(emdp.col("lon"), -74.26, 0.56 / 316, 317))
    found = list(map(float, aggregate(table_of(frame), on([lift(1)], *fine))[0].open()))
    assert len(found) == 316 * 317
    assert sum(found) == pytest.approx(1, abs=1e-12)
    assert sum(value > 0 for value in found) <= 4 * 51


@pytest.mark.parametrize("is_periodic", [False, True])
def test_corners_are_the_node_and_the_next(is_periodic: bool) -> None:
    tents = HatAxis(emdp.col("x"), 0, 1, 3)
    ring = HatAxis(Column("hour"), 0, 8, 3, is_periodic=is_periodic)
    aggregation = on([lift(1)], tents, BY_KIND, ring)
    for base in itertools.product(range(2), range(2), range(3 if is_periodic else 2)):
        expected = [((base[0] + up) * 2 + base[1]) * 3 + (base[2] + over) % 3 for up in range(2) for over in range(2)]
        assert corner_cells(aggregation, [(base[0] * 2 + base[1]) * 3 + base[2]]) == [expected]


def test_names_of_the_statement_may_be_names_of_the_owner_s_tables(tmp_path: object) -> None:
    frame = rows(seed=13)
    path = f"{tmp_path}/owner.duckdb"
    with duckdb.connect(path) as connection:
        connection.register("frame", frame.to_arrow())
        for name in ("users", "spread", "layer", "items", "chosen_users", "listed_users", "lookup_3", "source_rows"):
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM frame")
    users = UserGroups(pl.Series(["1", "2", "3"]), pl.Series([0, 0, 0]), (3,))
    aggregation = on([emdp.col("x")], BY_KIND, BY_X, users=users)
    expected = aggregate(table_of(frame, users=list(range(15))), aggregation)[0].open()
    for name in ("users", "spread", "chosen_users"):
        table = read(f"{path}::{name}", user="user", space=SPACE, users=list(range(15)))
        assert aggregate(table, aggregation)[0].open() == expected


def test_sums_that_do_not_fit_into_memory_are_spilled(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(2)
    count = 500_000
    frame = pl.DataFrame({"user": generator.integers(0, 50_000, count), "x": generator.uniform(0, 5, count)})
    frame.write_parquet(f"{tmp_path}/t.parquet")
    axes = (HatAxis(emdp.col("x"), 0, 0.01, 501), HatAxis(emdp.col("x") * 2, 0, 0.01, 1001))
    table = read(f"{tmp_path}/t.parquet", user="user", space=X, users=50_000)
    roomy = aggregate(table, on([lift(1)], *axes))[0].open()
    monkeypatch.setattr(execution, "CLOSED", {**execution.CLOSED, "memory_limit": "40MB", "threads": "1"})
    assert aggregate(table, on([lift(1)], *axes))[0].open() == roomy


@pytest.mark.slow
def test_a_statement_is_compiled_once_and_forgotten_with_its_aggregation(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(rows(seed=1))
    aggregation = on([lift(1)], BY_X)
    check_aggregation(table, aggregation)
    check_aggregation(table, on([lift(1)]))
    with monkeypatch.context() as patch:
        patch.setattr(engine, "cell_statement", lambda *_: pytest.fail("compiled twice"))
        aggregate(table, aggregation)
    assert len(engine._cells[table]) == 1
    del aggregation
    gc.collect()
    assert len(engine._cells[table]) == 0


def test_statistics_hide_their_values() -> None:
    (statistic,) = aggregate(table_of(rows(seed=1)), on([lift(1)], BY_X))
    assert str(statistic) == repr(statistic) == "Statistic(hidden)"


def test_neighbours_differ_by_no_more_than_the_hats_allow() -> None:
    """Hats of pitch h move by 2 |dx| / h in the 1-norm, so a user's histogram by 2/h times the distance of its bags."""
    source = random.Random(3)
    space = emdp.Interval("x", 0, 1)
    axis = HatAxis(emdp.col("x"), 0.0, 0.125, 9)
    others = [(user, source.random()) for user in range(1, 20) for _ in range(source.randrange(6))]
    for _ in range(8):
        bags = [[source.random() for _ in range(source.randrange(1, 9))] for _ in range(2)]
        found = []
        for bag in bags:
            frame = pl.DataFrame([*others, *((0, x) for x in bag)], schema=["user", "x"], orient="row")
            found.append(aggregate(table_of(frame, space, 20), on([lift(1)], axis))[0].open())
        moved = sum(abs(left - right) for left, right in zip(*found, strict=True))
        assert moved <= 2 / 0.125 * emdp.d_em({"x": bags[0]}, {"x": bags[1]}, space) / 20 + 1e-14


@pytest.mark.quarter
@pytest.mark.parametrize("cap", [None, 7, 10**6])
@pytest.mark.parametrize("count", [1, 3, 500, 5000])
def test_one_user_s_coordinates_are_within_the_stated_error_of_exact_ones(count: int, cap: int | None) -> None:
    """Fractions throughout: columns, nodes and steps are doubles, so hats of them are rational numbers."""
    generator = np.random.default_rng(count)
    space = emdp.Product(emdp.Interval("x", -3, 5), emdp.Interval("y", 0, 1))
    frame = pl.DataFrame({"user": [0] * count, "x": generator.uniform(-3, 5, count), "y": generator.random(count)})
    axes = (HatAxis(emdp.col("x"), -2.9, 0.61, 13), HatAxis(emdp.col("y"), 0.1, 1 / 7, 6))
    values = [emdp.col("x"), emdp.col("y"), lift(-1)]
    aggregation = on(values, *axes, cap=cap)
    (found,) = aggregate(table_of(frame, space, 1), aggregation)
    scale = Fraction(1, count) if cap is None else min(Fraction(1), Fraction(cap, count))
    exact = [Fraction(0)] * aggregation.dimension
    for x, y in frame.select("x", "y").rows():
        corners = [exact_corners(axis, Fraction(at)) for axis, at in zip(axes, (x, y), strict=True)]
        for (row, left), (column, right) in itertools.product(*corners):
            for index, value in enumerate((Fraction(x), Fraction(y), Fraction(-1))):
                exact[index * aggregation.cells + row * axes[1].size + column] += value * left * right
    for index, bound in enumerate(aggregation_errors(aggregation, space)):
        own = slice(index * aggregation.cells, (index + 1) * aggregation.cells)
        errors = [abs(value - total * scale) for value, total in zip(found.open()[own], exact[own], strict=True)]
        assert max(errors) <= bound


def exact_corners(axis: HatAxis, at: Fraction) -> list[tuple[int, Fraction]]:
    u = min(max((at - Fraction(axis.start)) / Fraction(axis.step), Fraction(0)), Fraction(axis.size - 1))
    node = min(int(u), axis.size - 2)
    return [(node, 1 - u + node), (node + 1, u - node)]

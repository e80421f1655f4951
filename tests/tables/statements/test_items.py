"""What is read item by item and user by user, against plain numpy: every space, rule, kind of bad value and of user."""

import math
import pickle
import random
import tempfile
import uuid
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from user_statistics import user_statistic

import emdp
from emdp.base.errors import DataRuleError, SqlError, UsageError
from emdp.expressions import evaluate
from emdp.expressions.cells.aggregation import Aggregation, HatAxis
from emdp.questions.reading import Reading
from emdp.sessions.planning import plan_request
from emdp.spaces import Grid, Interval, Product, Space, count_items, finite_items, item_codes
from emdp.tables import (
    Table,
    aggregate,
    bag_blocks,
    check_aggregation,
    check_items,
    item_counts,
    mean_of_user_means,
    point_blocks,
    read,
    user_means,
)
from emdp.tables.engines.duckdb import items as item_reads
from emdp.tables.statements import compile as compiling
from emdp.tables.statements import formulas
from emdp.tables.statements import fragments as sql

BAD = [None, math.nan, math.inf, -math.inf, -1e300, 7.5]
KINDS = ["bar", "it's", 'quote"', "café"]
VECTORS = {"word": ["cat", "dog", "it's"], "v": [[0.0, 1.0], [3.0, 4.0], [1.0, 1.0]]}
GEO = (40.48, -74.26, 40.92, -73.70)
KEYS = 40
USERS = 45


def rows(seed: int, count: int = 3000) -> pl.DataFrame:
    source = random.Random(seed)

    def numbers(low: float, high: float) -> list[float | None]:
        edges = [low, high, (low + high) / 2, low + (high - low) / 3]
        return [
            source.choice(BAD) if source.random() < 0.1 else source.choice([source.uniform(low, high), *edges])
            for _ in range(count)
        ]

    return pl.DataFrame(
        {
            "user": [source.randrange(KEYS) for _ in range(count)],
            "x": numbers(0, 5),
            "lat": numbers(40.4, 41),
            "lon": numbers(-74.3, -73.6),
            "a": numbers(-1, 1),
            "b": numbers(-0.5, 1),
            "kind": [source.choice([*KINDS, "other", None]) for _ in range(count)],
            "number": [source.choice([1, 2, 3, 99, None]) for _ in range(count)],
            "word": [source.choice([*VECTORS["word"], "unknown", "", None]) for _ in range(count)],
            "text": [source.choice(["Cat, a dog!", "dog dog", "it's", "...", None]) for _ in range(count)],
        },
        strict=False,
    )


def interval(rule: Any) -> Interval:
    return Interval("x", 0, 5, on_invalid=rule, neutral=4.2)


def geo(rule: Any) -> emdp.Geo:
    return emdp.Geo("lat", "lon", GEO, on_invalid=rule)


def box(rule: Any) -> emdp.Vector:
    return emdp.Vector(["a", "b"], box=[(-1, 1), (-0.5, 1)], on_invalid=rule)


def categories(rule: Any = "neutral") -> emdp.Categories:
    return emdp.Categories("kind", KINDS, on_invalid=rule, neutral="it's")


def embedding(rule: Any = "neutral") -> emdp.Embedding:
    return emdp.Embedding("word", VECTORS, on_invalid=rule)


GRIDS = {
    "line": lambda rule: Grid(interval(rule), 7),
    "map": lambda rule: Grid(geo(rule), (16, 9)),
    "many cells": lambda rule: Grid(geo(rule), (300, 300)),
    "box": lambda rule: Grid(box(rule), (3, 5)),
    "product": lambda rule: Product(
        Grid(interval(rule), 5).weighted(2), categories(), Grid(geo(rule), (4, 3)), embedding()
    ),
}
LISTED = {
    "categories": categories,
    "integers": lambda rule: emdp.Categories("number", [3, 1, 2], on_invalid=rule),
    "embedding": embedding,
    "two lists": lambda rule: Product(categories(rule), embedding(rule)),
}
FINITE = [(name, rule) for name in GRIDS for rule in ("clamp", "neutral")] + [(name, "neutral") for name in LISTED]
CONTINUOUS = {
    "interval": interval,
    "geo": geo,
    "ball": lambda rule: emdp.Vector(["a", "b"], radius=1, on_invalid=rule),
    "mixed": lambda rule: Product(geo(rule), categories(), emdp.Cycle("x", 24, on_invalid=rule)),
}


def space_of(name: str, rule: str) -> Space:
    return (GRIDS | LISTED | CONTINUOUS)[name](rule)


def table_of(frame: object, space: Space, users: object = USERS) -> Table:
    table = read(frame, user="user", space=space, users=users)
    table.validate()
    return table


def bags_of(blocks: Iterator[Any]) -> dict[int, dict[int, int]]:
    """Every user's histogram, and a check that each user comes once, its codes rising."""
    found: dict[int, dict[int, int]] = {}
    for block in blocks:
        assert [array.dtype for array in block] == [np.int64] * 4
        assert block.offsets[0] == 0
        assert block.offsets[-1] == len(block.codes) == len(block.counts)
        for user, start, end in zip(block.users, block.offsets[:-1], block.offsets[1:], strict=True):
            assert user not in found
            assert (np.diff(block.codes[start:end]) > 0).all()
            found[int(user)] = dict(zip(block.codes[start:end].tolist(), block.counts[start:end].tolist(), strict=True))
    return found


def reference_bags(table: Table, frame: pl.DataFrame, keys: list[Any]) -> dict[int, dict[int, int]]:
    found = {}
    for number, key in enumerate(keys):
        own = frame.filter(pl.col("user") == key)
        if len(own):
            codes, counts = np.unique(item_codes(table.space, table.space.encode(own)), return_counts=True)
            found[number] = dict(zip(codes.tolist(), counts.tolist(), strict=True))
    return found


@pytest.mark.quarter
@pytest.mark.parametrize(("name", "rule"), FINITE)
def test_counts_and_bags_match_numpy(name: str, rule: str) -> None:
    frame = rows(seed=3)
    table = table_of(frame, space_of(name, rule))
    codes = item_codes(table.space, table.space.encode(frame))
    counts = item_counts(table).open()
    assert counts.dtype == np.int64
    np.testing.assert_array_equal(counts, np.bincount(codes, minlength=count_items(table.space)))
    found = bags_of(bag_blocks(table).open())
    expected = reference_bags(table, frame, list(range(USERS)))
    assert sorted(found) == list(range(len(expected)))
    # Only the number of users is public, so that they are numbered anyhow.
    assert sorted(map(sorted, (bag.items() for bag in found.values()))) == sorted(
        map(sorted, (bag.items() for bag in expected.values()))
    )


@pytest.mark.parametrize("name", ["map", "product", "two lists"])
def test_listed_users_are_numbered_by_the_list_and_others_left_out(name: str) -> None:
    frame = rows(seed=5)
    keys = [39, 7, 1000, *range(8, 20), 0]  # a key without records, and records of users who are not listed
    table = read(frame, user="user", space=space_of(name, "neutral"), users=[*map(str, keys), "007", "x"])
    assert bags_of(bag_blocks(table).open()) == reference_bags(table, frame, keys)
    assert item_counts(table).open().sum() == len(frame)
    users, means = joined_means(user_means(table, EXPRESSIONS[name]).open())
    assert sorted(users.tolist()) == [number for number, key in enumerate(keys) if key < KEYS]
    assert means.shape == (len(users), len(EXPRESSIONS[name]))


@pytest.mark.quarter
@pytest.mark.parametrize("rule", ["clamp", "neutral"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_points_match_numpy(name: str, rule: str) -> None:
    frame = rows(seed=11)
    keys = [3, 77, *range(10, 30)]
    table = read(frame, user="user", space=space_of(name, rule), users=keys)
    (block,) = point_blocks(table).open()
    assert block.users is None
    assert block.offsets is None
    encoded = table.space.encode(frame)
    np.testing.assert_allclose(block.items, encoded, rtol=1e-14, atol=1e-14)  # in the order of the source
    found = [pair for block in point_blocks(table, by_user=True).open() for pair in split(block)]
    assert sorted(user for user, _ in found) == [0, *range(2, len(keys))]
    for user, items in found:
        own = table.space.encode(frame.filter(pl.col("user") == keys[user]))
        assert items.flags.c_contiguous
        np.testing.assert_allclose(items, own[np.lexsort(own.T[::-1])], rtol=1e-14, atol=1e-14)


def split(block: Any) -> Iterator[tuple[int, np.ndarray]]:
    for user, start, end in zip(block.users, block.offsets[:-1], block.offsets[1:], strict=True):
        yield int(user), block.items[start:end]


EXPRESSIONS: dict[str, list[emdp.Expression]] = {
    "interval": [emdp.col("x"), emdp.distance_to(2.0) ** 2],
    "categories": [emdp.category_is("bar"), emdp.distance_to("café")],
    "map": [emdp.distance_to((40.7, -74.0)), emdp.ramp(emdp.distance_to((40.7, -74.0)), 20, 5)],
    "line": [emdp.distance_to(1.0)],
    "product": [emdp.distance_to((40.7, -74.0)) * emdp.category_is("bar"), emdp.similarity("dog")],
    "two lists": [emdp.similarity("dog"), emdp.category_is("it's", column="kind")],
}


def joined_means(blocks: Iterator[Any]) -> tuple[np.ndarray, np.ndarray]:
    found = list(blocks)
    return np.concatenate([block.users for block in found]), np.concatenate([block.means for block in found])


@pytest.mark.quarter
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_user_means_are_those_of_the_mean_of_means(name: str) -> None:
    frame, expressions = rows(seed=13), EXPRESSIONS[name]
    table = table_of(frame, space_of(name, "neutral"))
    means = user_means(table, expressions)
    users, found = joined_means(means.open())
    assert found.dtype == np.int64
    assert sorted(users.tolist()) == list(range(KEYS))
    exact = mean_of_user_means(table, expressions).open()
    for place, (exponent, neutral) in enumerate(zip(means.exponents, means.neutral_values, strict=True)):
        total = Fraction(int(found[:, place].sum())) / 2**exponent + Fraction(neutral) * (table.n - len(users))
        assert total / table.n == exact[place]
    expected = sorted(
        float(np.mean(evaluate(expressions[0], table.space, table.space.encode(own))))
        for _, own in frame.group_by("user")
    )
    np.testing.assert_allclose(np.sort(found[:, 0] / 2.0 ** means.exponents[0]), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.quarter
@pytest.mark.parametrize("where", ["count", "list"])
def test_many_batches_hold_whole_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, where: str) -> None:
    monkeypatch.setattr(item_reads, "BLOCK_ROWS", 2048)
    source = np.random.default_rng(1)
    # Some users fill several batches, most are small.
    keys = np.concatenate([source.integers(0, 3, 30_000), source.integers(0, 5000, 30_000)])
    frame = pl.DataFrame({"user": source.permutation(keys), "x": source.random(len(keys)) * 5})
    frame.write_parquet(tmp_path / "t.parquet", row_group_size=3000)
    users: Any = 5000 if where == "count" else list(range(5000))
    table = table_of(str(tmp_path / "t.parquet"), Grid(interval("error"), 4999), users)
    blocks = list(bag_blocks(table).open())
    assert len(blocks) > 3
    by_user = bags_of(iter(blocks))
    assert sum(sum(bag.values()) for bag in by_user.values()) == len(frame)
    continuous = table_of(str(tmp_path / "t.parquet"), interval("error"), users)
    points = dict(pair for block in point_blocks(continuous, True).open() for pair in split(block))
    present = sorted(set(keys.tolist()))
    assert len(points) == len(by_user) == len(present)
    own = frame.group_by("user").agg(pl.col("x").sort()).sort("user")
    for number, (key, values) in enumerate(own.iter_rows()):
        place = number if where == "count" else key
        np.testing.assert_array_equal(points[place][:, 0], values)
    unordered = np.concatenate([block.items for block in point_blocks(continuous).open()])
    np.testing.assert_array_equal(unordered[:, 0], frame["x"].to_numpy())
    users_found, _ = joined_means(user_means(continuous, [emdp.col("x")]).open())
    assert sorted(users_found.tolist()) == (list(range(len(present))) if where == "count" else present)


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("dtype", "keys"),
    [
        (pl.String, ["b", "ä", "a b", "007"]),
        (pl.Enum(["b", "a"]), ["b", "a"]),
        (pl.UInt64, [2**64 - 1, 1, 2**63]),
        (pl.Int8, [-3, 5]),
    ],
)
def test_users_of_every_type_are_told_apart(dtype: Any, keys: list[Any]) -> None:
    source = random.Random(2)
    frame = pl.DataFrame(
        {
            "user": pl.Series([source.choice(keys) for _ in range(300)], dtype=dtype),
            "x": [source.random() * 5 for _ in range(300)],
        }
    )
    for users in (len(keys), keys):
        table = table_of(frame, Grid(interval("error"), 3), users)
        found = bags_of(bag_blocks(table).open())
        expected = reference_bags(table, frame, keys)
        assert sorted(map(str, found.values())) == sorted(map(str, expected.values()))
        if users is keys:
            assert found == expected


@pytest.mark.parametrize(
    ("kind", "keys"),
    [("UUID", [uuid.UUID(int=5), uuid.UUID(int=2**127 + 1)]), ("HUGEINT", [2**100, -1])],
)
def test_users_of_a_duckdb_file_are_told_apart(tmp_path: Path, kind: str, keys: list[Any]) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f'CREATE TABLE t ("user" {kind}, x DOUBLE)')
        connection.executemany("INSERT INTO t VALUES (?, ?)", [[keys[0], 1.0], [keys[1], 2.0], [keys[1], 2.0]])
    space = Grid(interval("error"), 5)
    listed = table_of(f"{path}::t", space, [str(key) for key in keys])
    assert bags_of(bag_blocks(listed).open()) == {0: {1: 1}, 1: {2: 2}}
    counted = table_of(f"{path}::t", space, 2)
    assert sorted(map(str, bags_of(bag_blocks(counted).open()).values())) == ["{1: 1}", "{2: 2}"]


def test_rows_without_a_user_and_late_invalid_rows_are_no_error() -> None:
    frame = pl.DataFrame({"user": [1, None, 2, 2], "x": [0.5, 1.5, 99.0, None]})
    table = read(frame, user="user", space=Grid(interval("error"), 5), users=3)  # not validated
    assert bags_of(bag_blocks(table).open()) == {0: {0: 1}, 1: {4: 2}}  # 4.2 is the neutral item
    assert item_counts(table).open().tolist() == [1, 1, 0, 0, 2]
    with pytest.raises(DataRuleError):
        table.validate()


def test_messages_give_an_item_a_word() -> None:
    frame = rows(seed=17)
    space = emdp.Words("text", VECTORS, on_invalid="neutral")
    table = table_of(frame, space)
    words = [None if text is None else space.tokenize(text) for text in frame["text"]]
    items = [
        (user, word)
        for user, text in zip(frame["user"], words, strict=True)
        for word in (text or [None][text is not None :])
    ]
    found = pl.DataFrame({"user": [user for user, _ in items], "text": [word for _, word in items]}, strict=False)
    np.testing.assert_array_equal(
        item_counts(table).open(), np.bincount(item_codes(space, space.encode(found)), minlength=4)
    )
    assert bags_of(bag_blocks(table).open()) == reference_bags(table, found, list(range(USERS)))


def test_empty_tables_have_no_items() -> None:
    frame = pl.DataFrame({"user": [], "x": []}, schema={"user": pl.Int64, "x": pl.Float64})
    table = table_of(frame, Grid(interval("error"), 5))
    assert item_counts(table).open().tolist() == [0] * 5
    assert list(bag_blocks(table).open()) == []
    assert list(point_blocks(table, by_user=True).open()) == []
    assert list(user_means(table, [emdp.distance_to(1.0)]).open()) == []


def adversarial(axis: Any) -> np.ndarray:
    """Every edge of the axis's cells and the doubles beside it, ends, zeros, and random doubles."""
    edges = axis.low + np.arange(axis.count + 1) * ((axis.high - axis.low) / axis.count)
    beside = [edges]
    for direction in (-np.inf, np.inf):
        step = edges
        for _ in range(3):
            step = np.nextafter(step, direction)
            beside.append(step)
    source = np.random.default_rng(4)
    more = axis.low + (axis.high - axis.low) * source.random(500)
    tops = [axis.low, axis.high, axis.top, np.nextafter(axis.top, np.inf), 0.0, -0.0, 5e-324, -5e-324, 1e-300]
    values = np.concatenate([*beside, more, tops])
    return values[(values >= axis.low) & (values <= axis.high)]


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("low", "high", "count"),
    [
        (0, 1, 10), (0.1, 0.7, 3), (-1, 0, 7), (-1e-3, 1e9, 1000), (-74.26, -73.7, 32), (1e16, 1e16 + 4096, 11),
        (-1e-140, 1e-140, 9), (-1, 1e-17, 3), (0, 49, 49), (-1e150, 1e150, 6),
    ],
)  # fmt: skip
@pytest.mark.parametrize("rule", ["clamp", "neutral"])
def test_engine_and_numpy_agree_bit_for_bit_on_adversarial_doubles(
    low: float, high: float, count: int, rule: Any
) -> None:
    space = Grid(Interval("x", low, high, on_invalid=rule), count, diameter=1e200)
    axis = space.axes[0]
    values = adversarial(axis)
    assert np.floor((axis.top - axis.low) * axis.scale) < axis.count
    above = np.nextafter(axis.top, np.inf)
    assert above > axis.high or np.floor((above - axis.low) * axis.scale) >= axis.count
    values = np.concatenate([values, [np.inf, -np.inf, np.nan, np.nextafter(low, -np.inf), np.nextafter(high, np.inf)]])
    frame = pl.DataFrame({"user": np.arange(len(values)), "x": values})
    table = table_of(frame, space, len(values))
    found = np.concatenate([block.items for block in point_blocks(table).open()])
    np.testing.assert_array_equal(found, space.encode(frame))
    codes = [list(bag) for bag in bags_of(bag_blocks(table).open()).values()]
    np.testing.assert_array_equal(np.ravel(codes), space.encode(frame)[:, 0])


def test_bags_of_a_grid_are_centres() -> None:
    frame = rows(seed=19)
    space = Product(Grid(geo("clamp"), (8, 8)), categories())
    table = table_of(frame, space, list(range(USERS)))
    own = frame.filter(pl.col("user") == 3)
    bag = table.bag(3)
    assert bag.columns == list(space.columns)
    np.testing.assert_array_equal(
        np.sort(item_codes(space, space.encode(bag))), np.sort(item_codes(space, space.encode(own)))
    )
    assert table.bag(44).rows() == [tuple(value[0] for value in space.decode(space.neutral_item).values())]


def test_rules_of_a_grid_are_checked() -> None:
    frame = pl.DataFrame({"user": [1, 2], "lat": [40.5, 39.0], "lon": [-74.0, -74.0]})
    with pytest.raises(DataRuleError, match="outside the space's domain"):
        read(frame, user="user", space=Grid(geo("error"), (2, 2)), users=2).validate()
    read(frame, user="user", space=Grid(geo("clamp"), (2, 2)), users=2).validate()


def test_what_cannot_be_read_is_refused_before_a_charge() -> None:
    frame = rows(seed=1, count=10)
    table = read(frame, user="user", space=geo("clamp"), users=3)
    for what in ("counts", "bags"):
        with pytest.raises(UsageError, match="no finite list of items"):
            check_items(table, Reading(what))
    check_items(table, Reading("points"))
    check_items(table, Reading("points", by_user=True))
    check_items(table, Reading("means", expressions=(emdp.col("lat"),)))
    with pytest.raises(UsageError, match="price"):
        check_items(table, Reading("means", expressions=(emdp.col("price"),)))
    cells = Grid(geo("clamp"), (4096, 4096))
    large = read(frame, user="user", space=Product(cells, categories()), users=3)
    with pytest.raises(UsageError, match="at most 16777216 are counted"):
        check_items(large, Reading("counts"))
    check_items(large, Reading("bags"))
    wide = Product(cells, Grid(interval("clamp"), 2**12), Grid(box("clamp"), (4096, 4096)))
    with pytest.raises(UsageError, match="too many to number"):
        check_items(read(frame, user="user", space=wide, users=3), Reading("bags"))
    grid = read(frame, user="user", space=Grid(geo("clamp"), (4, 4)), users=[1, 2, 3])
    for what in ("counts", "bags", "points"):
        check_items(grid, Reading(what))
    with pytest.raises(UsageError, match="many values in one cell"):
        check_items(grid, Reading("means", expressions=(emdp.col("lat"),)))


def test_containers_show_nothing_and_are_read_when_opened(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame = rows(seed=2, count=50)
    frame.write_parquet(path)
    table = table_of(str(path), Grid(interval("clamp"), 5))
    blocks, counts = bag_blocks(table), item_counts(table)
    means = user_means(table, [emdp.distance_to(1.0)])
    for container in (blocks, counts, means, point_blocks(table)):
        assert "hidden" in repr(container)
        with pytest.raises(TypeError, match="never pickled"):
            pickle.dumps(container)
    for block in (*blocks.open(), *means.open(), *point_blocks(table, True).open()):
        assert repr(block).endswith("(hidden)")
    assert bags_of(blocks.open()) == bags_of(blocks.open())
    path.unlink()
    with pytest.raises(emdp.EmdpError):
        list(blocks.open())


def test_errors_of_the_engine_show_no_record(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    source = np.random.default_rng(3)
    count = 400_000
    frame = pl.DataFrame({"user": np.arange(count) % 7, "x": source.random(count)})
    frame.write_parquet(path, row_group_size=10_000, compression="zstd")
    table = read(str(path), user="user", space=interval("error"), users=7)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 200_000] = bytes(200_000)
    path.write_bytes(bytes(content))
    for blocks in (point_blocks(table), point_blocks(table, True), user_means(table, [emdp.col("x")])):
        with pytest.raises(DataRuleError, match="could not be read to its end"):
            list(blocks.open())


def test_a_reading_that_is_left_leaves_no_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(item_reads, "BLOCK_ROWS", 2048)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    frame = pl.DataFrame({"user": np.arange(20_000), "x": np.linspace(0, 5, 20_000)})
    blocks = bag_blocks(read(frame, user="user", space=Grid(interval("error"), 5), users=20_000)).open()
    assert len(next(blocks).users) < 20_000
    assert list(tmp_path.iterdir()) != []
    blocks.close()  # type: ignore[attr-defined]
    assert list(tmp_path.iterdir()) == []


STATEMENTS = [
    "AVG(lat)", "AVG(x + 1)", "AVG(DISTANCE(POINT(40.7, -74)))", "AVG(DISTANCE(x, 2))", "AVG(DOT(VECTOR[1, 2]))",
    "AVG(SIMILARITY(lat, 'a'))", "FREQUENCY(lat)", "FREQUENCY(GRID(x, 1.0))", "MEDIAN(x)", "STDDEV(lon)",
    "AVG(RAMP(x, 2, 1))", "AVG(CASE x WHEN 1 THEN 1 ELSE 0 END)", "AVG(CASE WHEN lat > 40.5 THEN 1 ELSE 0 END)",
]  # fmt: skip
FILTERS = ["WHERE x > 2", "WHERE lat = 40.5", "WHERE x IN (1, 2)", "WHERE lat IS NULL", "WHERE x", "GROUP BY x"]


@pytest.mark.parametrize("statement", [*STATEMENTS, *(f"SHARE() FROM t {text}" for text in FILTERS)])
def test_statements_about_columns_of_a_grid_are_refused(statement: str) -> None:
    space = Product(Grid(geo("clamp"), (4, 4)), Grid(interval("clamp"), 5), categories())
    table = read(rows(seed=1, count=5), user="user", space=space, users=3, name="t")
    text = statement if " FROM " in statement else f"{statement} FROM t"
    with pytest.raises(SqlError):
        plan_request(f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, delta = 1e-9) {text}", table.names())
    plan_request("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(kind) FROM t", table.names())


def test_quantiles_of_distances_on_a_grid_are_computed() -> None:
    frame = rows(seed=23)
    table = table_of(frame, Grid(geo("neutral"), (8, 8)))
    distance = emdp.distance_to((40.7, -74.0))
    aggregation = Aggregation((emdp.ramp(distance, 0, 60),), (HatAxis(distance, 0.0, 5.0, 13),))
    check_aggregation(table, aggregation)
    (found,) = aggregate(table, aggregation)
    bags = [table.space.encode(frame.filter(pl.col("user") == key)) for key in range(USERS)]
    np.testing.assert_allclose(
        np.array(found.open(), dtype=float), user_statistic(aggregation, table.space, bags), rtol=0, atol=1e-12
    )


def test_a_statement_that_doubles_with_every_nesting_is_refused_before_it_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def twice(node: Any, operands: Any) -> Any:
        """A formula that writes its operand twice, as that of a function that no engine has may do."""
        if isinstance(node, type(emdp.tanh(0))):
            return sql.multiply(operands[0], operands[0].copy())
        return formulas.node_formula(node, operands)

    monkeypatch.setattr(compiling, "node_formula", twice)
    frame = pl.DataFrame({"user": [1, 2], "x": [0.25, 0.5]})
    table = read(frame, user="user", space=Interval("x", 0, 1), users=2)
    expression = emdp.col("x")
    for depth in range(1, 60):
        expression = emdp.tanh(expression)
        if depth == 3:
            assert mean_of_user_means(table, [expression]).open() == pytest.approx([(0.25**8 + 0.5**8) / 2])
    with emdp.Session(table, budget=emdp.EmdDP(9.0), ledger=tmp_path / "t.ledger") as session:
        with pytest.raises(UsageError, match="more than 20000 operations of SQL, since it nests functions"):
            session.mean(expression, alpha=1)
        assert session.spent().alpha == 0


def test_finite_items_and_engine_number_items_alike() -> None:
    space = space_of("product", "clamp")
    items = finite_items(space)
    assert items is not None
    frame = pl.DataFrame(space.decode(items), strict=False).with_columns(user=pl.lit(1))
    table = table_of(frame, space, 1)
    assert item_counts(table).open().tolist() == [1] * len(items)
    found = np.concatenate([block.items for block in point_blocks(table).open()])
    np.testing.assert_array_equal(found, items)

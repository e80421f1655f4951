"""The engine's statistics against plain numpy on every space, rule and kind of bad value."""

import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from sqlglot import exp

import emdp
from emdp.base.errors import DataRuleError
from emdp.expressions import evaluate
from emdp.tables import Table, mean_of_user_means, read

BAD = [None, math.nan, math.inf, -math.inf, -1e300, 7.5]
VECTORS = {
    "word": ["cat", "dog", "it's", 'say "hi"', "don't"],
    "v": [[0.0, 1.0], [3.0, 4.0], [1.0, 1.0], [-2.0, 0.5], [2, 2]],
}


def rows(seed: int, count: int = 200) -> pl.DataFrame:
    source = random.Random(seed)

    def numbers(low: float, high: float) -> list[float | None]:
        return [source.choice(BAD) if source.random() < 0.15 else source.uniform(low, high) for _ in range(count)]

    words = [*VECTORS["word"], "unknown", "", None]
    return pl.DataFrame(
        {
            "user": [source.randrange(12) for _ in range(count)],
            "x": numbers(0, 5),
            "hour": numbers(0, 24),
            "lat": numbers(40.4, 41),
            "lon": numbers(-74.3, -73.6),
            "a": numbers(-1, 1),
            "b": numbers(-1, 1),
            "kind": [source.choice(["bar", "it's", 'quote"', "café", "other", None]) for _ in range(count)],
            "number": [source.choice([1, 2, 3, 99, None]) for _ in range(count)],
            "word": [source.choice(words) for _ in range(count)],
        },
        strict=False,
    )


KINDS = ["bar", "it's", 'quote"', "café"]
GEO = {"box": (40.48, -74.26, 40.92, -73.70), "unit": "km"}
MIDTOWN = (40.7484, -73.9857)

CONTINUOUS = {
    "interval": (
        lambda rule: emdp.Interval("x", 0, 5, on_invalid=rule),
        [emdp.col("x"), emdp.exp(-emdp.col("x")) + 1 / (1 + emdp.col("x")), emdp.distance_to(2.0), emdp.col("x") ** 2],
    ),
    "cycle": (
        lambda rule: emdp.Cycle("hour", 24, on_invalid=rule),
        [emdp.distance_to(23.0), emdp.distance_to(1.0, 12.0), emdp.sin(emdp.distance_to(3))],
    ),
    "geo": (
        lambda rule: emdp.Geo("lat", "lon", **GEO, on_invalid=rule),
        [
            emdp.distance_to(MIDTOWN),
            emdp.ramp(emdp.distance_to(MIDTOWN), 2, 1),
            emdp.atan(emdp.col("lat")) * emdp.col("lon"),
            emdp.minimum(emdp.distance_to(MIDTOWN), 10 * emdp.col("lat")) - emdp.tanh(emdp.col("lon")),
        ],
    ),
    "box": (
        lambda rule: emdp.Vector(["a", "b"], box=[(-1, 1), (-0.5, 1)], on_invalid=rule),
        [emdp.dot([1.5, -2]), emdp.distance_to([0.1, 3]), emdp.cos(emdp.col("a")) * emdp.clamp(emdp.col("b"), 0, 0.3)],
    ),
    "ball": (
        lambda rule: emdp.Vector(["a", "b"], radius=1, on_invalid=rule),
        [emdp.dot([1.5, -2]), abs(emdp.col("a")), emdp.log(2 + emdp.col("b")), emdp.sqrt(2 - emdp.col("a"))],
    ),
}
FINITE = {
    "categories": (
        lambda rule: emdp.Categories("kind", KINDS, on_invalid=rule),
        [emdp.category_is("it's"), emdp.case({"bar": 2.0, 'quote"': 3.0}, otherwise=emdp.category_is("café"))],
    ),
    "numbers": (
        lambda rule: emdp.Categories("number", [1, 2, 3], on_invalid=rule),
        [emdp.category_is(2) - 3 * emdp.category_is(1, 3)],
    ),
    "clusters": (
        lambda rule: emdp.Clusters("kind", dict(zip(KINDS, "AABB", strict=True)), 0.25, on_invalid=rule),
        [emdp.category_is("bar", 'quote"')],
    ),
    "distances": (
        lambda rule: emdp.Distances("number", [1, 2, 3], [[0, 1, 2], [1, 0, 1.5], [2, 1.5, 0]], on_invalid=rule),
        [emdp.distance_to(3), emdp.category_is(1)],
    ),
    "embedding": (
        lambda rule: emdp.Embedding("word", VECTORS, on_invalid=rule),
        [emdp.similarity("it's"), emdp.dot([1.0, 2.0]) * emdp.distance_to("dog"), emdp.category_is("cat")],
    ),
}
CASES = [(name, rule) for name in CONTINUOUS for rule in ("clamp", "neutral")] + [(name, "neutral") for name in FINITE]


def reference(table: Table, frame: pl.DataFrame, expression: emdp.Expression) -> float:
    means = []
    for key in range(table.n):
        own = frame.filter(pl.col("user") == key)
        items = table.space.encode(own) if len(own) else table.space.neutral_item
        means.append(float(np.mean(evaluate(expression, table.space, items))))
    return math.fsum(means) / table.n


@pytest.mark.quarter
@pytest.mark.parametrize(("name", "rule"), CASES)
def test_matches_numpy_on_clean_and_bad_values(name: str, rule: str) -> None:
    build, expressions = (CONTINUOUS | FINITE)[name]
    frame = rows(seed=7)
    table = read(frame, user="user", space=build(rule), users=15)
    table.validate()
    found = mean_of_user_means(table, expressions).open()
    for value, expression in zip(found, expressions, strict=True):
        assert float(value) == pytest.approx(reference(table, frame, expression), rel=1e-12, abs=1e-13)


def test_matches_numpy_on_a_product_of_parts_with_their_own_rules() -> None:
    frame = rows(seed=8)
    space = emdp.Product(
        emdp.Geo("lat", "lon", **GEO, on_invalid="clamp"),
        emdp.Categories("kind", KINDS, on_invalid="neutral").weighted(2),
        emdp.Interval("x", 0, 5, on_invalid="neutral"),
    )
    near = emdp.ramp(emdp.distance_to(MIDTOWN), 5, 1)
    expressions = [
        near * emdp.category_is("bar"),
        emdp.case({"bar": near, "café": emdp.col("x") * near}, otherwise=0.5),
        emdp.col("x") + emdp.category_is('quote"'),
    ]
    table = read(frame, user="user", space=space, users=12)
    for value, expression in zip(mean_of_user_means(table, expressions).open(), expressions, strict=True):
        assert float(value) == pytest.approx(reference(table, frame, expression), rel=1e-12, abs=1e-13)


def test_words_are_the_space_s_own_tokens() -> None:
    texts = [
        "Cat, DOG; don't!", "it's'", "'cat'", "", None, "cat\tdog\ncat", "caté İcat ſ K", "x--cat''dog", "  ",
        "日本 cat",
    ]  # fmt: skip
    frame = pl.DataFrame({"user": list(range(len(texts))), "text": texts})
    for tokenizer in emdp.Words.TOKENIZERS:
        space = emdp.Words("text", VECTORS, on_invalid="neutral", tokenizer=tokenizer)
        table = read(frame, user="user", space=space, users=len(texts))
        total = []
        for text in texts:
            tokens: list[str | None] = [None] if text is None else list(space.tokenize(text))
            items = space.encode(pl.DataFrame({"text": tokens}, schema={"text": pl.String}))
            items = items if len(items) else space.neutral_item
            total.append(float(np.mean(evaluate(emdp.similarity("dog"), space, items))))
        (value,) = mean_of_user_means(table, [emdp.similarity("dog")]).open()
        assert float(value) == pytest.approx(math.fsum(total) / len(texts), rel=1e-12)
        assert table.bag(0).get_column("text").drop_nulls().to_list() == [
            token for token in space.tokenize(texts[0]) if token in space.labels
        ]


def test_order_partition_and_threads_change_no_bit(tmp_path: object) -> None:
    frame = rows(seed=9, count=20_000)
    space = emdp.Geo("lat", "lon", **GEO, on_invalid="clamp")
    expression = emdp.distance_to(MIDTOWN)
    values: set[Fraction] = set()
    for number, version in enumerate([frame, frame.reverse(), frame.sample(fraction=1.0, shuffle=True, seed=1)]):
        folder = tmp_path / str(number)  # type: ignore[operator]
        folder.mkdir()
        for part in range(number + 1):
            version.gather_every(number + 1, part).write_parquet(folder / f"{part}.parquet", row_group_size=999)
        table = read(f"{folder}/*.parquet", user="user", space=space, users=12)
        values.update(mean_of_user_means(table, [expression]).open())
    assert len(values) == 1


def test_users_without_records_count_with_the_neutral_item() -> None:
    frame = pl.DataFrame({"user": [1, 1, 2], "x": [1.0, 3.0, 5.0]})
    space = emdp.Interval("x", 0, 10, neutral=0.0)
    for users, expected in ((2, 3.5), (4, 1.75), ([1, 2, 3, 4], 1.75), (["2", "7"], 2.5)):
        table = read(frame, user="user", space=space, users=users)
        (value,) = mean_of_user_means(table, [emdp.col("x")]).open()
        assert float(value) == pytest.approx(expected, abs=1e-12)


def test_a_duplicate_row_is_one_more_record() -> None:
    frame = pl.DataFrame({"user": [1, 1, 1, 2], "x": [2.0, 2.0, 8.0, 5.0]})
    table = read(frame, user="user", space=emdp.Interval("x", 0, 10), users=2)
    (value,) = mean_of_user_means(table, [emdp.col("x")]).open()
    assert float(value) == pytest.approx((4 + 5) / 2, abs=1e-12)
    assert sorted(table.bag(1).get_column("x")) == [2.0, 2.0, 8.0]


def test_an_empty_table_is_all_neutral() -> None:
    frame = pl.DataFrame({"user": [], "x": []}, schema={"user": pl.Int64, "x": pl.Float64})
    table = read(frame, user="user", space=emdp.Interval("x", 0, 10), users=3)
    table.validate()
    assert mean_of_user_means(table, [emdp.col("x")]).open() == (Fraction(5),)


def test_one_user_moves_the_statistic_by_no_more_than_the_sensitivity() -> None:
    """Replacing one user's bag by one at a known distance: the promise, on the real engine."""
    generator = random.Random(3)
    space = emdp.Interval("x", 0, 1)
    expression = emdp.sin(3 * emdp.col("x")) + emdp.col("x")
    lipschitz = expression.on(space).lipschitz
    others = [(user, generator.random()) for user in range(1, 20) for _ in range(generator.randrange(6))]
    for _ in range(20):
        bags = [[generator.random() for _ in range(generator.randrange(1, 9))] for _ in range(2)]
        values = []
        for bag in bags:
            frame = pl.DataFrame([*others, *((0, x) for x in bag)], schema=["user", "x"], orient="row")
            table = read(frame, user="user", space=space, users=20)
            values.append(mean_of_user_means(table, [expression]).open()[0])
        distance = emdp.d_em({"x": bags[0]}, {"x": bags[1]}, space)
        assert abs(values[0] - values[1]) <= lipschitz * distance / 20 + 1e-14


def test_hostile_names_are_only_names() -> None:
    name = 'x"; DROP TABLE source_rows; --'
    frame = pl.DataFrame({"us'er": [1, 2], name: [1.0, 3.0]})
    table = read(frame, user="us'er", space=emdp.Interval(name, 0, 10), users=2)
    table.validate()
    assert mean_of_user_means(table, [emdp.col(name)]).open() == (Fraction(2),)


def test_a_statistic_hides_its_value() -> None:
    table = read({"user": [1], "x": [0.123]}, user="user", space=emdp.Interval("x", 0, 1), users=1)
    statistic = mean_of_user_means(table, [emdp.col("x")])
    assert "123" not in f"{statistic} {statistic!r}"
    with pytest.raises(TypeError, match="never pickled"):
        statistic.__reduce__()


@pytest.mark.quarter
@pytest.mark.parametrize("rule", ["clamp", "neutral"])
@pytest.mark.parametrize("shape", [{"radius": 1.0}, {"box": [(-0.4, 0.5)] * 60}])
def test_a_vector_of_many_columns_has_the_same_rule(shape: dict[str, object], rule: str) -> None:
    generator = np.random.default_rng(4)
    values = generator.normal(size=(60, 60)) * generator.choice([0.05, 0.3], size=(60, 1))
    values[generator.random(values.shape) < 0.003] = math.nan
    values[generator.random(values.shape) < 0.003] = math.inf
    columns = [f"v{number}" for number in range(60)]
    frame = pl.DataFrame(values, schema=columns).with_columns(user=pl.Series(range(60)) // 3)
    space = emdp.Vector(columns, **shape, on_invalid=rule)  # type: ignore[arg-type]
    table = read(frame, user="user", space=space, users=25)
    table.validate()
    expressions = [emdp.dot(generator.normal(size=60)), emdp.distance_to([0.1] * 60), emdp.col("v7")]
    for value, expression in zip(mean_of_user_means(table, expressions).open(), expressions, strict=True):
        assert float(value) == pytest.approx(reference(table, frame, expression), rel=1e-11, abs=1e-12)


@pytest.mark.quarter
@pytest.mark.parametrize("rule", ["clamp", "neutral"])
@pytest.mark.parametrize("writer", ["polars", "pyarrow"])
def test_nan_is_found_though_the_footer_of_a_file_leaves_it_out(writer: str, rule: str, tmp_path: object) -> None:
    """DuckDB 2.0 would trust the footer's smallest and largest value, and take every row for valid."""
    count = 3000
    frame = pl.DataFrame(
        {
            "user": [number % 12 for number in range(count)],
            "lat": [math.nan if number % 5 == 0 else 40.7 for number in range(count)],
            "lon": [-74.0] * count,
            "x": [math.nan if number % 7 == 0 else 1.0 for number in range(count)],
        }
    )
    path = f"{tmp_path}/t.parquet"
    if writer == "polars":
        frame.write_parquet(path)
    else:
        pq.write_table(frame.to_arrow(), path)
    for space, expression in (
        (emdp.Geo("lat", "lon", **GEO, on_invalid=rule), emdp.distance_to(MIDTOWN)),
        (emdp.Interval("x", 0, 5, on_invalid=rule), emdp.col("x")),
    ):
        table = read(path, user="user", space=space, users=12)
        table.validate()
        (value,) = mean_of_user_means(table, [expression]).open()
        assert float(value) == pytest.approx(reference(table, frame, expression), rel=1e-12)
        strict = read(path, user="user", space=type(space)(**_arguments(space)), users=12)
        with pytest.raises(DataRuleError):
            strict.validate()


def _arguments(space: emdp.Space) -> dict[str, object]:
    return {name: value for name, value in space.to_json().items() if name not in {"kind", "on_invalid"}}


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("box", "point"),
    [
        ((40.48, -74.26, 40.92, -73.70), MIDTOWN),
        ((-60.0, -180.0, -1.0, 180.0), (-30.0, 10.0)),
        ((30.0, 0.0, 90.0, 90.0), (85.0, 20.0)),
        ((-90.0, -180.0, 90.0, 180.0), (12.0, 34.0)),
        ((40.0, 0.0, 40.00001, 0.00001), (40.000003, 0.000002)),
        ((10.0, 100.0, 20.0, 110.0), (80.0, -60.0)),
    ],
)
def test_distances_of_the_engine_are_within_the_stated_rounding(
    box: tuple[float, float, float, float], point: tuple[float, float]
) -> None:
    generator = np.random.default_rng(6)
    south, west, north, east = box
    lat = generator.uniform(south, north, 400)
    lon = generator.uniform(west, east, 400)
    frame = pl.DataFrame({"user": range(400), "lat": lat, "lon": lon})
    space = emdp.Geo("lat", "lon", box=box, unit="km")
    bound = space.distance_bounds(space.encode_point(point)).rounding
    expression = emdp.distance_to(point)
    rows = linear_rows(read(frame, user="user", space=space, users=400), expression)
    with mpmath.workdps(40):
        for found, p, q in zip(rows, lat.tolist(), lon.tolist(), strict=True):
            along = mpmath.sin(mpmath.radians(mpmath.mpf(p) - point[0]) / 2) ** 2
            across = mpmath.sin(mpmath.radians(mpmath.mpf(q) - point[1]) / 2) ** 2
            cosines = mpmath.cos(mpmath.radians(mpmath.mpf(p))) * mpmath.cos(mpmath.radians(mpmath.mpf(point[0])))
            exact = 2 * mpmath.asin(mpmath.sqrt(along + cosines * across)) * space.radius
            assert abs(found - exact) <= bound


def linear_rows(table: Table, expression: emdp.Expression) -> list[float]:
    """Each row's value as the engine computes it, before anything is rounded or added up."""
    from emdp.tables.engines.duckdb.execution import opened
    from emdp.tables.statements.compile import USER, compile_items

    items = compile_items(table, [expression])
    query = exp.select(exp.column(USER, quoted=True), items.values[0]).from_(items.relation)
    with opened(table.source, items.lookups, None) as connection:
        return [value for _, value in sorted(connection.execute(query.sql("duckdb", identify=True)).fetchall())]

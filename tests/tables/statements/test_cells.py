"""Aggregations on the engine against a reference that loops over users, records and cells in plain Python."""

import datetime
import itertools
import math
import random
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import EmdpError, InternalError, UsageError
from emdp.expressions import Expression, evaluate, lift
from emdp.expressions.cells.aggregation import Aggregation, HatAxis, LabelAxis, UserGroups
from emdp.expressions.nodes.base import Column
from emdp.tables import Table, read
from emdp.tables.engine import aggregate, check_aggregation

KINDS = ["bar", "it's", 'quote"', "café"]
VECTORS = pl.DataFrame({"word": ["cat", "dog", "it's"], "a": [1.0, 0.5, -1.0], "b": [0.0, 0.5, 1.0]})
GEO = emdp.Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km", on_invalid="clamp")
X = emdp.Interval("x", 0, 5, on_invalid="clamp")
HOUR = emdp.Cycle("hour", 24, on_invalid="neutral")
KIND = emdp.Categories("kind", KINDS, on_invalid="neutral", neutral="café")
SPACE = emdp.Product(GEO, X, HOUR, KIND)
NEAR = emdp.ramp(emdp.distance_to((40.7484, -73.9857)), 25, 1)

BY_X = HatAxis(emdp.col("x"), 0.5, 0.75, 6)
BY_LAT = HatAxis(emdp.col("lat"), 40.48, 0.1, 5)
BY_LON = HatAxis(emdp.col("lon"), -74.26, 0.2, 4)
BY_HOUR = HatAxis(Column("hour"), 0, 4, 6, is_periodic=True)
BY_KIND = LabelAxis("kind", (("it's", "bar"), ("café",)))
ONE_CELL = HatAxis(emdp.col("x"), 2.0, 1.0, 1)


def rows(seed: int, count: int = 120, users: int = 12) -> pl.DataFrame:
    source = random.Random(seed)
    bad = [None, math.nan, math.inf, -math.inf, -0.0, 1e300]

    def numbers(low: float, high: float) -> list[float | None]:
        edges = [low, high, math.nextafter(high, low), (low + high) / 2]
        odd = [source.choice(bad + edges) for _ in range(count)]
        return [value if source.random() < 0.15 else source.uniform(low, high) for value in odd]

    return pl.DataFrame(
        {
            "user": [source.randrange(users) for _ in range(count)],
            "x": numbers(0, 5),
            "hour": numbers(0, 24),
            "lat": numbers(40.48, 40.92),
            "lon": numbers(-74.26, -73.70),
            "kind": [source.choice([*KINDS, "other", None]) for _ in range(count)],
            "number": [source.choice([1, 2, 3, 99, None]) for _ in range(count)],
            "word": [source.choice([*VECTORS["word"], "unknown", "", None]) for _ in range(count)],
        },
        strict=False,
    )


def table_of(frame: pl.DataFrame, space: emdp.Space = SPACE, users: object = 15) -> Table:
    return read(frame, user="user", space=space, users=users)


def on(values: list[Expression], *axes: LabelAxis | HatAxis, **rest: object) -> Aggregation:
    return Aggregation(tuple(values), axes, **rest)  # type: ignore[arg-type]


def results(table: Table, aggregation: Aggregation) -> list[list[float]]:
    return [[float(value) for value in group.open()] for group in aggregate(table, aggregation)]


def reference(table: Table, frame: pl.DataFrame, aggregation: Aggregation) -> list[list[float]]:
    """Loops: for each public user of each group its items, for each of them every value and every cell."""
    users = list(map(str, range(table.n))) if table.users.keys is None else table.users.keys.to_list()
    groups = dict.fromkeys(users, 0)
    if aggregation.users is not None:
        groups = dict(zip(aggregation.users.keys.to_list(), aggregation.users.groups.to_list(), strict=True))
    sizes = aggregation.group_sizes(table.n)
    found = [[0.0] * aggregation.dimension for _ in sizes]
    present = set(frame.get_column("user").drop_nulls().cast(pl.String).to_list()) & set(users)
    for user, group in groups.items():
        own = frame.filter(pl.col("user").cast(pl.String) == user)
        items = table.space.encode(own) if user in present else table.space.neutral_item
        if aggregation.cap is not None and user not in present:
            continue
        weights = np.ones(len(items))
        if aggregation.chosen is not None:
            weights = np.rint(evaluate(aggregation.chosen, table.space, items) * 2**24) / 2**24
        factor = 1 / (len(items) * sizes[group])
        if aggregation.cap is not None:
            factor = min(1, aggregation.cap / weights.sum()) if weights.sum() > 0 else 1
        values = [evaluate(value, table.space, items) for value in aggregation.values]
        for number, item in enumerate(items):
            cells = [axis_weights(axis, table.space, item) for axis in aggregation.axes]
            for cell, combination in enumerate(itertools.product(*cells)):
                for index, value in enumerate(values):
                    part = factor * weights[number] * value[number] * math.prod(combination)
                    found[group][index * aggregation.cells + cell] += part
    return found


def axis_weights(axis: LabelAxis | HatAxis, space: emdp.Space, item: np.ndarray) -> list[float]:
    if isinstance(axis, LabelAxis):
        (label,) = space.decode(item[None, :])[axis.column]
        return [float(label in cell) for cell in axis.cells]
    if isinstance(axis.expression, Column):
        (at,) = space.decode(item[None, :])[axis.expression.name]
    else:
        at = float(evaluate(axis.expression, space, item[None, :])[0])
    u = (at - axis.start) / axis.step
    if not axis.is_periodic:
        u = min(max(u, 0), axis.size - 1)
        return [max(0.0, 1 - abs(u - node)) for node in range(axis.size)]
    gaps = [abs(u - node) % axis.size for node in range(axis.size)]
    return [max(0.0, 1 - min(gap, axis.size - gap)) for gap in gaps]


def check(frame: pl.DataFrame, aggregation: Aggregation, space: emdp.Space = SPACE, users: object = 15) -> None:
    table = table_of(frame, space, users)
    for found, expected in zip(results(table, aggregation), reference(table, frame, aggregation), strict=True):
        assert found == pytest.approx(expected, rel=1e-11, abs=1e-12)


AXES = {
    "labels": (BY_KIND,),
    "hat": (BY_X,),
    "plane": (BY_LAT, BY_LON),
    "clock": (BY_HOUR,),
    "labels and hat": (BY_KIND, BY_X),
    "hat and labels": (BY_X, BY_KIND),
    "three hats": (BY_HOUR, BY_LAT, BY_X),
    "hats around labels": (BY_LON, BY_KIND, BY_HOUR),
    "two hats of one column": (BY_X, HatAxis(emdp.col("x") * emdp.col("x"), 25.0, 3.0, 4)),
    "one cell": (ONE_CELL,),
    "one cell among others": (BY_LAT, ONE_CELL, BY_KIND),
    "distance": (HatAxis(emdp.distance_to((40.7, -74.0)), 0.0, 5.0, 8),),
    "twice the same labels": (BY_KIND, LabelAxis("kind", (("bar",), ("café", 'quote"')))),
}
MODES = {
    "mean": {},
    "cap": {"cap": 5},
    "cap and weight": {"cap": 3, "chosen": NEAR},
    "cap and choice": {"cap": 4, "chosen": emdp.category_is("bar", "café")},
}


@pytest.mark.quarter
@pytest.mark.parametrize("mode", ["mean", "cap and weight"])
@pytest.mark.parametrize("axes", AXES)
def test_matches_loops_over_users_records_and_cells(axes: str, mode: str) -> None:
    values = [lift(1), emdp.col("x") - 2, NEAR * emdp.category_is("bar")]
    check(rows(seed=len(axes) + len(mode)), on(values, *AXES[axes], **MODES[mode]))


@pytest.mark.quarter
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("axes", [(), (BY_KIND,), (BY_LAT, BY_LON)])
def test_caps_with_and_without_weights(axes: tuple[LabelAxis | HatAxis, ...], mode: str) -> None:
    frame = rows(seed=20, users=20)
    for values in ([lift(1)], [emdp.col("x"), -emdp.col("x") * NEAR]):
        check(frame, on(values, *axes, **MODES[mode]), users=23)


@pytest.mark.quarter
@pytest.mark.parametrize("mode", MODES)
def test_groups_of_users_count_their_own_absent_members(mode: str) -> None:
    frame = rows(seed=3)
    keys = [str(user) for user in (0, 13, 4, 14, 5, 6, 9, 12)]
    users = UserGroups(pl.Series(keys), pl.Series([2, 2, 0, 1, 0, 0, 2, 1]), (3, 2, 3))
    extra = pl.concat([frame, frame.head(40).with_columns(user=pl.lit(77, pl.Int64))])
    for axes in ((), (BY_X, BY_KIND)):
        aggregation = on([emdp.col("x"), NEAR], *axes, users=users, **MODES[mode])
        check(frame, aggregation)
        check(extra, aggregation, users=list(range(15)))
    check(extra, on([emdp.col("x")], BY_X, **MODES[mode]), users=list(range(15)))


def test_a_user_who_is_chosen_but_not_listed_counts_as_absent() -> None:
    frame = pl.DataFrame({"user": ["a", "b"], "x": [1.0, 3.0]})
    table = table_of(frame, emdp.Interval("x", 0, 4), ["a", "c"])
    users = UserGroups(pl.Series(["a", "b"]), pl.Series([0, 0]), (2,))
    assert results(table, on([emdp.col("x")], users=users)) == [[1.5]]


FINITE = {
    "categories": (KIND, LabelAxis("kind", (("bar",), ("café",), ("it's", 'quote"')))),
    "numbers": (emdp.Categories("number", [1, 2, 3], on_invalid="neutral"), LabelAxis("number", ((3,), (1, 2)))),
    "neutral in no cell": (emdp.Categories("number", [1, 2, 3], on_invalid="neutral"), LabelAxis("number", ((3,),))),
    "clusters": (
        emdp.Clusters("kind", dict(zip(KINDS, "AABB", strict=True)), 0.25, on_invalid="neutral"),
        LabelAxis("kind", (tuple(KINDS[:2]), tuple(KINDS[2:]))),
    ),
    "embedding": (
        emdp.Embedding("word", VECTORS, on_invalid="neutral"),
        LabelAxis("word", (("dog",), ("it's", "cat"))),
    ),
}


@pytest.mark.quarter
@pytest.mark.parametrize("mode", [{}, {"cap": 4}])
@pytest.mark.parametrize("name", FINITE)
def test_labels_of_every_finite_space(name: str, mode: dict[str, int]) -> None:
    space, axis = FINITE[name]
    check(rows(seed=5), on([lift(1.0)], axis, **mode), space)
    space = emdp.Product(space, X)
    check(rows(seed=5), on([emdp.col("x"), lift(2.0)], axis, BY_X, **mode), space)


def test_words_are_the_records_of_a_message() -> None:
    texts = ["Cat, DOG; don't!", "it's'", "", None, "cat dog cat", "nothing here", "  ", "dog"]
    frame = pl.DataFrame({"user": [0, 0, 1, 2, 3, 4, 5, 0], "text": texts})
    space = emdp.Words("text", VECTORS, on_invalid="neutral")
    axis = LabelAxis("text", (("cat",), ("dog", "it's")))
    for mode in ({}, {"cap": 3}):
        table = table_of(frame, space, 7)
        # "don't", a missing message and words without a vector are records in no cell; "" has no record at all.
        bags = [[1, 2, 0, 2, 2], [], [0], [1, 2, 1], [0, 0], [], []]
        expected = [0.0, 0.0]
        for bag in bags:
            share = min(1, mode["cap"] / max(1, len(bag))) if mode else 1 / max(1, len(bag)) / 7
            for cell in (1, 2):
                expected[cell - 1] += share * bag.count(cell)
        assert results(table, on([lift(1)], axis, **mode)) == [pytest.approx(expected, abs=1e-12)]


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["clamp", "neutral"])
def test_bad_numbers_follow_their_rule_before_they_are_spread(rule: str) -> None:
    space = emdp.Product(
        emdp.Interval("x", 0, 5, on_invalid=rule),
        emdp.Cycle("hour", 24, on_invalid=rule),
        emdp.Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), on_invalid=rule),
        emdp.Vector(["a", "b"], radius=1.0, on_invalid=rule),
    )
    frame = rows(seed=6, count=80).with_columns(a=pl.col("x") / 4, b=pl.col("hour") / 20)
    for axes in ((BY_X, BY_HOUR), (BY_LAT, BY_LON), (HatAxis(emdp.col("a"), -1.0, 0.5, 5), BY_HOUR)):
        check(frame, on([emdp.col("x") + 1], *axes), space)
        check(frame, on([emdp.col("b")], *axes, cap=2, chosen=emdp.col("x") / 5), space)


def test_an_empty_table_is_all_neutral_and_totals_nothing() -> None:
    frame = rows(seed=1).clear()
    check(frame, on([emdp.col("x"), lift(1)], BY_X, BY_KIND), users=3)
    check(frame, on([emdp.col("x")], users=UserGroups(pl.Series(["0", "2"]), pl.Series([1, 0]), (1, 1))), users=3)
    for axes in ((), (BY_X, BY_KIND)):
        aggregation = on([emdp.col("x")], *axes, cap=2)
        assert results(table_of(frame, users=3), aggregation) == [[0.0] * aggregation.dimension]


def test_rows_without_a_user_count_nowhere() -> None:
    frame = pl.DataFrame({"user": [0, None, None], "x": [1.0, 2.0, 2.0]})
    table = table_of(frame, emdp.Interval("x", 0, 2), 1)
    axis = HatAxis(emdp.col("x"), 0, 1, 3)
    for mode in ({}, {"cap": 4}):
        assert results(table, on([lift(1)], axis, **mode)) == [[0.0, 1.0, 0.0]]
        assert results(table, on([lift(1)], ONE_CELL, **mode)) == [[1.0]]


def test_totals_of_users_with_very_many_records() -> None:
    generator = np.random.default_rng(5)
    frame = pl.DataFrame({"user": np.repeat([0, 1], [200_000, 3]), "x": generator.uniform(0, 5, 200_003)})
    table = table_of(frame, emdp.Interval("x", 0, 5), 2)
    own = [frame.filter(user=user).get_column("x").to_numpy() for user in (0, 1)]
    mean = (own[0].mean() + own[1].mean()) / 2
    assert results(table, on([emdp.col("x")], ONE_CELL)) == [[pytest.approx(mean, rel=1e-12)]]
    for cap in (1, 3, 1000, 10**9, 2**63, 10**30):
        totals = [x.sum() * min(1, cap / len(x)) for x in own]
        assert results(table, on([emdp.col("x")], cap=cap)) == [[pytest.approx(sum(totals), rel=1e-12)]]
        (hats,) = results(table, on([emdp.col("x")], BY_X, cap=cap))
        assert sum(hats) == pytest.approx(sum(totals), rel=1e-12)


@pytest.mark.quarter
@pytest.mark.parametrize("light", [1.0, 0.3, 2.0**-20, 2.0**-24, 2.0**-25, 1.49 * 2.0**-24, 2.0**-40, 0.0])
def test_no_number_of_light_records_lifts_a_user_over_the_cap(light: float) -> None:
    """What the noise of a capped total relies on: the 1-norm of one user is at most the cap times the largest value."""
    frame = pl.DataFrame({"user": [0] * 100_000, "x": [5.0, 4.9, 0.0, 0.1] * 25_000})
    space = emdp.Interval("x", 0, 5)
    table = table_of(frame, space, 1)
    weight = light * (1 - emdp.col("x") / 50)
    for cap in (1, 2, 70):
        for axes in ((), (BY_X,), (BY_X, HatAxis(emdp.col("x"), 0, 0.1, 50))):
            aggregation = on([emdp.col("x") - 2.5], *axes, cap=cap, chosen=weight)
            (found,) = aggregate(table, aggregation)
            assert sum(map(abs, found.open())) <= Fraction(cap) * Fraction(2.5) * (1 + Fraction(2) ** -49)
    rounded = np.rint(light * (1 - np.array([5.0, 4.9, 0.0, 0.1]) / 50) * 2**24) / 2**24 * 25_000
    (count,) = results(table, on([lift(1)], cap=70, chosen=weight))
    assert count[0] == pytest.approx(min(70, rounded.sum()), rel=1e-12)


@pytest.mark.parametrize(
    ("chosen", "cap"),
    [
        (emdp.col("x") - 1, 3),
        (emdp.col("x"), 3),
        (emdp.ramp(emdp.col("x") * emdp.col("x"), 1, 1 + 1e-9), 3),
    ],
)
def test_what_is_no_weight_under_a_cap_never_reaches_a_record(chosen: Expression, cap: int | None) -> None:
    table = table_of(pl.DataFrame({"user": [0, 0], "x": [0.0, 2.0]}), emdp.Interval("x", 0, 2), 1)
    with pytest.raises(InternalError, match="weight"):
        check_aggregation(table, on([lift(1)], ONE_CELL, cap=cap, chosen=chosen))


@pytest.mark.parametrize(
    ("aggregation", "match"),
    [
        (on([lift(1)], LabelAxis("kind", (("pub",),))), "pub"),
        (on([lift(1)], LabelAxis("x", ((1,),))), "listed values"),
        (on([lift(1)], LabelAxis("absent", ((1,),))), "absent"),
        (on([lift(1)], HatAxis(emdp.col("absent"), 0, 1, 3)), "absent"),
        (on([emdp.col("hour")], BY_X), "finite Lipschitz constant"),
        (on([lift(1)], HatAxis(emdp.col("x"), 0, 1, 3, is_periodic=True)), "periodic"),
    ],
)
def test_what_does_not_fit_is_refused_before_a_record_is_read(aggregation: Aggregation, match: str) -> None:
    with pytest.raises(EmdpError, match=match):
        check_aggregation(table_of(rows(seed=1)), aggregation)


def test_what_the_engine_refuses_is_refused_before_a_record_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"user": [1], "x": [1.0]})
    table = read(frame, user="user", space=X, users=1)
    monkeypatch.setattr("emdp.tables.engines.duckdb.execution.type_in_statement", lambda kind: "NONSENSE")
    for aggregation in (on([emdp.col("x")]), on([emdp.col("x")], BY_X)):
        with pytest.raises(UsageError, match="more than the engine"):
            check_aggregation(table, aggregation)


def test_components_of_times_are_axes_like_any_other() -> None:
    start = datetime.datetime(2026, 3, 1, 22, 30)
    times = [None, *(start + datetime.timedelta(minutes=97 * step) for step in range(60))]
    frame = pl.DataFrame({"user": [step % 7 for step in range(61)], "ts": times})
    space = emdp.Product(
        emdp.Cycle("time(ts)", 24, on_invalid="neutral"),
        emdp.Categories("dow(ts)", range(7), on_invalid="neutral", neutral=3),
    )
    axes = (
        HatAxis(Column("time(ts)"), 0, 3, 8, is_periodic=True),
        LabelAxis("dow(ts)", ((1, 2, 3, 4, 5), (6, 0))),
    )
    for mode in ({}, {"cap": 4}):
        check(frame, on([lift(1)], *axes, **mode), space, 8)

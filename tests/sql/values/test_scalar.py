"""Numeric expressions of SQL: the nodes they make, DuckDB as a second opinion, brute force against their constants."""

import math
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import emdp.expressions as ex
from emdp.base.errors import SqlError
from emdp.expressions import Expression, analyse, evaluate, final_lipschitz
from emdp.questions.names import Names
from emdp.questions.select import Select
from emdp.spaces import Categories, Cycle, Geo, Interval, Product, Space, Vector
from emdp.sql import translate
from emdp.sql.refusals.unsupported import UNSUPPORTED, aggregates
from emdp.sql.values.functions import functions

HEADER = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)"
QUICK = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))

TOY = Names(
    "visits",
    "user_id",
    Product(Interval("x", -1, 3), Interval("y", 1, 2).weighted(2), Categories("kind", ["a", "b", "c"])),
    {"user_id": "BIGINT", "x": "DOUBLE", "y": "DOUBLE", "kind": "VARCHAR"},
    10,
)


def expression_of(text: str, names: Names, source: str = "visits") -> Expression:
    (translated,) = translate(f"{HEADER} AVG({text}) AS a FROM {source}", names)
    assert isinstance(translated.query, Select)
    expression = translated.query.items[0].expression
    assert expression is not None
    return expression


def refusal_of(text: str, names: Names, source: str = "visits") -> SqlError:
    with pytest.raises(SqlError) as caught:
        expression_of(text, names, source)
    return caught.value


def expression_or_refusal(text: str, names: Names, source: str, codes: tuple[str, ...]) -> Expression | None:
    """Return None where the expression is refused for one of some reasons; any other refusal is an error."""
    try:
        return expression_of(text, names, source)
    except SqlError as error:
        if error.code in codes:
            return None
        raise


# ------------------------------------------------ the same nodes as Python's


MIDTOWN = (40.7484, -73.9857)
SAME = [
    ("plain", "RAMP(DISTANCE(POINT(40.7484, -73.9857)), 2, 1)", ex.ramp(ex.distance_to(MIDTOWN), 2, 1)),
    (
        "plain",
        "distance(point(lat, lon), point(40, -74), point(41, -74))",
        ex.distance_to((40.0, -74.0), (41.0, -74.0)),
    ),
    ("line", "- price ** 2 + 1", (-ex.col("price")) ** 2 + 1),
    ("line", "LEAST(price, 2 * price, 7)", ex.minimum(ex.col("price"), 2 * ex.col("price"), 7)),
    ("line", "GREATEST(ABS(price), EXP(0))", ex.maximum(abs(ex.col("price")), 1)),
    ("line", "CLAMP(price, -(1), 2 ^ 3)", ex.clamp(ex.col("price"), -1, 8)),
    ("line", "LN(2 + price) + SQRT(1 + price)", ex.log(2 + ex.col("price")) + ex.sqrt(1 + ex.col("price"))),
    (
        "line",
        "SIN(price) * COS(price) - TANH(price)",
        ex.sin(ex.col("price")) * ex.cos(ex.col("price")) - ex.tanh(ex.col("price")),
    ),
    ("line", "POW(1 + price, -0.5)", (1 + ex.col("price")) ** -0.5),
    ("plane", "DOT(VECTOR[1, -2.5])", ex.dot([1, -2.5])),
    ("words", "SIMILARITY(word, 'linux')", ex.similarity("linux")),
    ("shops", "DISTANCE(POINT(40, -74))", ex.distance_to((40.0, -74.0), column=("lat", "lon"))),
    (
        "shops",
        "CASE WHEN category <> 'cafe' THEN 1 ELSE lat END",
        ex.case({"cafe": ex.col("lat")}, otherwise=1, column="category"),
    ),
    (
        "shops",
        "CASE category WHEN 'bar' THEN 2 WHEN 'cafe' THEN 3 WHEN 'bar' THEN 4 ELSE 5 END",
        ex.case({"bar": 2, "cafe": 3}, otherwise=5, column="category"),
    ),
]


@pytest.mark.parametrize(("space", "text", "expected"), SAME)
def test_sql_makes_the_nodes_of_python(space: str, text: str, expected: Expression, spaces: dict[str, Names]) -> None:
    assert expression_of(text, spaces[space]) == expected


# ------------------------------------------------ DuckDB as a second opinion


@pytest.fixture(scope="module")
def engine() -> Any:
    connection = duckdb.connect(":memory:")
    connection.execute("CREATE MACRO clamp(e, a, b) AS least(greatest(e, a), b)")
    connection.execute("CREATE MACRO ramp(e, a, b) AS least(greatest((e - a) / (b - a), 0), 1)")
    connection.execute("CREATE MACRO distance(e, p) AS abs(e - p)")
    connection.execute("CREATE TABLE visits (x DOUBLE, y DOUBLE, kind VARCHAR)")
    rows = [(x, y, kind) for x in (-1.0, -0.25, 0.0, 0.7, 3.0) for y in (1.0, 1.3, 2.0) for kind in "abc"]
    connection.executemany("INSERT INTO visits VALUES (?, ?, ?)", rows)
    yield connection
    connection.close()


decimals = st.sampled_from(["0", "1", "2", "0.5", "3.25", "1e-1", "7"])
kinds = st.lists(st.sampled_from(["'a'", "'b'", "'c'"]), min_size=1, max_size=2, unique=True)


@st.composite
def kind_conditions(draw: st.DrawFn, depth: int = 2) -> str:
    form = draw(st.sampled_from(["=", "<>", "in", "not in", "and", "or", "not"] if depth else ["=", "<>", "in"]))
    if form in ("=", "<>"):
        return f"kind {form} {draw(kinds)[0]}"
    if form in ("in", "not in"):
        return f"kind {form} ({', '.join(draw(kinds))})"
    if form == "not":
        return f"NOT ({draw(kind_conditions(depth - 1))})"
    return f"({draw(kind_conditions(depth - 1))} {form} {draw(kind_conditions(depth - 1))})"


@st.composite
def toy_expressions(draw: st.DrawFn, depth: int = 3) -> str:
    """Expressions with and without parentheses, so that precedence is tried too."""
    leaves = ["x", "y", "number", "number", "distance"]
    form = draw(
        st.sampled_from([*leaves, "binary", "binary", "sign", "power", "call", "case", "when"] if depth else leaves)
    )
    inner = toy_expressions(depth - 1)
    if form == "number":
        return draw(decimals)
    if form in ("x", "y"):
        return form
    if form == "distance":
        return draw(
            st.sampled_from([f"DISTANCE({point})" for point in ("x, -1", "x, 3", "x, 2.5e-1", "y, 1.25", "y, 2")])
        )
    if form == "binary":
        return f"{draw(inner)} {draw(st.sampled_from(['+', '-', '*', '/']))} {draw(inner)}"
    if form == "sign":
        return f"- {draw(inner)}"
    if form == "power":
        return f"({draw(inner)}) {draw(st.sampled_from(['**', '^']))} {draw(st.sampled_from(['2', '3', '0', '1']))}"
    if form == "call":
        call = draw(st.sampled_from(["ABS({})", "SIN({})", "TANH({})", "LEAST({}, {})", "GREATEST({}, 1, {})"]))
        return call.format(*(draw(inner) for _ in range(call.count("{}"))))
    if form == "case":
        first, second = draw(st.permutations(["'a'", "'b'", "'c'"]))[:2]
        return f"CASE kind WHEN {first} THEN {draw(inner)} WHEN {second} THEN {draw(inner)} ELSE {draw(inner)} END"
    whens = " ".join(f"WHEN {draw(kind_conditions())} THEN {draw(inner)}" for _ in range(draw(st.integers(1, 3))))
    return f"CASE {whens} ELSE {draw(inner)} END"


@pytest.mark.slow
@QUICK
@given(text=toy_expressions())
def test_values_are_those_of_duckdb(text: str, engine: Any) -> None:
    allowed = ("unbounded-slope", "too-large", "division-by-zero", "constant-value", "nesting")
    expression = expression_or_refusal(text, TOY, "visits", allowed)
    if expression is None:
        return
    rows = engine.execute(f"SELECT x, y, kind, CAST({text} AS DOUBLE) FROM visits").fetchall()
    frame = {name: [row[place] for row in rows] for place, name in enumerate(("x", "y", "kind"))}
    values = evaluate(expression, TOY.space, TOY.space.encode(frame))
    size = max(1.0, float(np.abs(values).max()))
    np.testing.assert_allclose(values, [row[3] for row in rows], rtol=1e-9, atol=1e-12 * size)


CONSTANTS = [
    "2 * 3 ^ 2",
    "-2 ^ 2",
    "2 ^ 3 ^ 2",
    "2 - -3 - 1",
    "7 / 2 / 2",
    "- (1 + 2) * 3",
    "PI() / 4",
    "EXP(1) + LN(2)",
]
CONSTANTS += ["POWER(2, -0.5)", "GREATEST(1, 2.5, -3)", "ABS(-1e3)", "SQRT(2) * COS(0.5)", "1 - 2 * 3 + 4"]


@pytest.mark.parametrize("text", CONSTANTS)
def test_constants_are_folded_as_duckdb_computes_them(text: str, engine: Any) -> None:
    found = expression_of(text, TOY)
    (expected,) = engine.execute(f"SELECT CAST({text} AS DOUBLE)").fetchone()
    assert isinstance(found.value, float)
    assert math.isclose(found.value, expected, rel_tol=1e-15)


# ------------------------------------------------ brute force against the constants


LEAVES = {
    "trips": [
        "DISTANCE(POINT(start_lat, start_lon), POINT(40.7, -74.0))", "end_lat", "end_lon", "u", "b", "fare",
        "DISTANCE(VECTOR[u, v], VECTOR[1, 0], VECTOR[-1, 1])", "DOT(VECTOR[a, b, c], VECTOR[1, -1, 2])",
        "DOT(VECTOR[u, v], VECTOR[0.5, 2])", "SIMILARITY(tag, 'dog')", "DISTANCE(word, 'cat')", "DISTANCE(gate, 2)",
        "DOT(word, VECTOR[1, 1])", "CASE gate WHEN 1 THEN 3 WHEN 2 THEN fare ELSE 0 END", "width",
        "CASE WHEN word_class <> 'noun' THEN 2 ELSE u END", "CASE WHEN is_paid THEN 1 ELSE -fare END",
        "CASE WHEN word IN ('cat', 'dog') THEN 1 ELSE 0 END", "CASE side WHEN 'west' THEN 5 ELSE b END",
    ],
    "city": [
        "DISTANCE(POINT(40.7484, -73.9857))", "lat", "lon", "price", "DISTANCE(EXTRACT(HOUR FROM ts), 8)", "rent",
        "RAMP(DISTANCE(POINT(40.7, -74.0)), 2, 1)",
        "CASE category WHEN 'cafe' THEN price WHEN 'bar' THEN 20 ELSE 0 END",
        "CASE WHEN NOT category IN ('cafe', 'park') THEN lat ELSE 40 END", "RAMP(price, 10, 12)", "CLAMP(price, 5, 50)",
    ],
}  # fmt: skip
SOURCES = {"trips": "visits JOIN lines USING (gate)", "city": "visits JOIN kinds USING (category)"}


@st.composite
def rich_expressions(draw: st.DrawFn, space: str, depth: int = 2) -> str:
    form = draw(st.sampled_from(["leaf", "leaf", "number", "+", "-", "*", "/", "call"] if depth else ["leaf"]))
    if form == "leaf":
        return draw(st.sampled_from(LEAVES[space]))
    if form == "number":
        return draw(decimals)
    inner = rich_expressions(space, depth - 1)
    if form == "/":
        return f"({draw(inner)}) / (1 + ABS({draw(inner)}))"
    if form in ("+", "-", "*"):
        return f"({draw(inner)}) {form} ({draw(inner)})"
    call = draw(
        st.sampled_from(
            ["ABS({})", "LEAST({}, {})", "GREATEST({}, {})", "SIN({})", "COS({})", "TANH({})", "RAMP({}, 0.5, -1)",
             "LN(1 + ABS({}))", "SQRT(0.5 + ABS({}))", "EXP(-ABS({}))", "({}) ** 2", "POWER(1 + ABS({}), -1.5)",
             "CLAMP({}, -1, 3)"]
        )
    )  # fmt: skip
    return call.format(*(draw(inner) for _ in range(call.count("{}"))))


def draw_part(part: Space, rng: np.random.Generator, count: int) -> np.ndarray:
    if part.labels is not None:
        codes = len(part.labels) if part.neutral_item[0, 0] < len(part.labels) else len(part.labels) + 1
        return rng.integers(0, codes, (count, 1)).astype(float)
    if isinstance(part, Cycle):
        return rng.uniform(0, part.period, (count, 1)) * rng.integers(0, 2, (count, 1))
    if isinstance(part, Vector) and part.radius is not None:
        items = rng.normal(size=(count, part.width))
        return items * part.radius * 0.999999 / np.linalg.norm(items, axis=1)[:, None]
    if isinstance(part, Interval):
        lows, highs = np.array([part.low]), np.array([part.high])
    elif isinstance(part, Geo):
        lows, highs = np.array(part.box[:2]), np.array(part.box[2:])
    else:
        lows, highs = np.array(part.box).T  # type: ignore[attr-defined]
    shares = rng.uniform(size=(count, part.width))
    shares[::3] = rng.integers(0, 2, shares[::3].shape)
    return np.clip(lows + shares * (highs - lows), lows, highs)


def draw_pairs(space: Space, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of items: far ones, and near ones that differ in one part or by little."""
    left = np.hstack([draw_part(part, rng, count) for part in space.parts])
    right = np.hstack([draw_part(part, rng, count) for part in space.parts])
    start = 0
    for part in space.parts:
        keep = rng.uniform(size=count) < 0.7
        right[keep, start : start + part.width] = left[keep, start : start + part.width]
        near = rng.uniform(size=count) < 0.2
        if part.labels is None and not isinstance(part, Cycle):
            block = left[near, start : start + part.width]
            other = right[near, start : start + part.width]
            right[near, start : start + part.width] = block + 1e-3 * (other - block)
        start += part.width
    return left, right


@QUICK
@given(data=st.data(), space=st.sampled_from(sorted(LEAVES)), seed=st.integers(0, 2**32 - 1))
def test_no_pair_of_items_changes_a_value_more_than_its_constant(
    data: st.DataObject, space: str, seed: int, spaces: dict[str, Names]
) -> None:
    names = spaces[space]
    text = data.draw(rich_expressions(space))
    expression = expression_or_refusal(text, names, SOURCES[space], ("too-large", "unbounded-slope", "nesting"))
    if expression is None:
        return
    analysis = analyse(expression, names.space)
    constant = final_lipschitz(analysis, names.space)
    left, right = draw_pairs(names.space, np.random.default_rng(seed), 60)
    first, second = evaluate(expression, names.space, left), evaluate(expression, names.space, right)
    distances = np.array([names.space.distances(left[[row]], right[[row]])[0, 0] for row in range(len(left))])
    allowed = constant * (distances + 1e-10) + 2 * analysis.rounding
    assert (np.abs(first - second) <= allowed).all()
    for values in (first, second):
        assert values.min() >= analysis.low - analysis.rounding
        assert values.max() <= analysis.high + analysis.rounding


@pytest.mark.slow
def test_the_brute_force_would_notice_a_constant_that_is_half_as_large(spaces: dict[str, Names]) -> None:
    rng = np.random.default_rng(5)
    for space, leaves in LEAVES.items():
        names = spaces[space]
        left, right = draw_pairs(names.space, rng, 4000)
        distances = np.array([names.space.distances(left[[row]], right[[row]])[0, 0] for row in range(len(left))])
        apart = distances > 1e-6
        ratios = []
        for text in leaves:
            expression = expression_of(text, names, SOURCES[space])
            change = np.abs(evaluate(expression, names.space, left) - evaluate(expression, names.space, right))
            constant = final_lipschitz(analyse(expression, names.space), names.space)
            ratios.append(float((change[apart] / distances[apart]).max()) / constant)
        assert max(ratios) <= 1 + 1e-9
        assert np.mean(np.array(ratios) > 0.5) > 0.8, dict(zip(leaves, ratios, strict=True))


# ------------------------------------------------ refusals


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(UNSUPPORTED))
def test_a_function_that_is_not_part_of_the_language_is_refused_by_name(name: str, names: Names) -> None:
    inside = refusal_of(f"1 + {name.lower()}(price, lat)", names)
    assert inside.code == UNSUPPORTED[name].code
    assert inside.problem.startswith(name)
    with pytest.raises(SqlError) as caught:
        translate(f"{HEADER} {name}(price) FROM visits", names)
    assert caught.value.code == UNSUPPORTED[name].code


def test_no_name_is_both_of_the_language_and_not() -> None:
    assert not set(UNSUPPORTED) & (set(functions()) | set(aggregates()))


@pytest.mark.parametrize("name", sorted(functions()))
def test_a_function_with_a_wrong_number_of_arguments_says_how_it_is_written(name: str, names: Names) -> None:
    error = refusal_of(f"{name}()" if functions()[name].least else f"{name}(1)", names)
    own = {"DISTANCE": "DISTANCE(POINT(lat, lon), POINT(40.7, -73.98))"}
    assert (error.code, error.remedy) == ("argument-count", f"write {own.get(name, functions()[name].form)}")


@pytest.mark.parametrize(
    ("text", "code", "underlined", "says"),
    [
        ("DISTANCE(POINT(40, 1))", "several-parts", "DISTANCE(POINT(40, 1))", "POINT(start_lat, start_lon)"),
        ("SIMILARITY('cat')", "several-parts", "SIMILARITY('cat')", "(word, 'cat') or SIMILARITY(tag, 'cat')"),
        ("SIMILARITY(tag, 'cta')", "unlisted-value", "'cta'", "write 'cat'"),
        ("DISTANCE(VECTOR[a, b], VECTOR[1, 1])", "point-columns", "VECTOR[a, b]", "write VECTOR[a, b, c]"),
        ("DISTANCE(VECTOR[u, v], VECTOR[1, 1, 1])", "point-kind", "VECTOR[1, 1, 1]", "VECTOR[0, 0]"),
        ("DOT(VECTOR[1, 2])", "several-parts", "DOT(VECTOR[1, 2])", "DOT(VECTOR[u, v], VECTOR[1, 2])"),
        ("DOT(VECTOR[a, b, c], VECTOR[1, 2])", "vector-length", "VECTOR[1, 2]", "has 3 numbers"),
        ("DOT(VECTOR[u, v], 3)", "vector-needed", "3", "constant vector"),
        ("DOT(3, VECTOR[1, 2])", "part-column", "3", "name a column of it"),
        ("DISTANCE(gate, 'one')", "unlisted-value", "'one'", "the values are 1, 2, 3"),
        ("DISTANCE(gate, 7)", "unlisted-value", "7", "the values are 1, 2, 3"),
        ("DISTANCE(gate, 1.5)", "unlisted-value", "1.5", "the values are 1, 2, 3"),
        ("CASE gate WHEN '1' THEN 1 ELSE 0 END", "implicit-cast", "'1'", "such as 1"),
        ("CASE is_paid WHEN 1 THEN 1 ELSE 0 END", "implicit-cast", "1", "such as TRUE"),
        ("CASE WHEN gate = 1 AND is_paid THEN 1 ELSE 0 END", "case-condition", "gate = 1 AND is_paid", "nest one CASE"),
        ("DISTANCE(VECTOR[start_lat, start_lon], VECTOR[1, 2])", "point-columns", "VECTOR[start_lat, start_lon]",
         "write POINT(start_lat, start_lon)"),
        ("SIMILARITY(u, 'cat')", "no-part", "SIMILARITY(u, 'cat')", "no vectors of words"),
        ("SIMILARITY(7 + 1, 'cat')", "part-column", "7 + 1", "SIMILARITY(word, 'linux')"),
    ],
)  # fmt: skip
def test_a_part_is_named_where_several_fit(
    text: str, code: str, underlined: str, says: str, spaces: dict[str, Names]
) -> None:
    error = refusal_of(text, spaces["trips"])
    assert (error.code, error.sql[error.start : error.end]) == (code, underlined)
    assert says in f"{error.problem}; {error.remedy}"


def test_the_offender_is_underlined_where_it_stands(names: Names) -> None:
    error = refusal_of("price + LEAST(2, 1 / (1 + SQRT(price)))", names)
    assert error.sql[error.start : error.end] == "SQRT(price)"
    error = refusal_of("q + 1", names, "(SELECT price AS p, LN(price + 0) AS q FROM visits)")
    assert error.sql[error.start : error.end] == "LN(price + 0)"


@pytest.mark.parametrize(
    "text", ["1 / price", "LN(price)", "SQRT(price - 20)", "(price - 1) ** 1.5", "price ** -1", "2 / (price - 100)"]
)
def test_what_a_refusal_suggests_is_accepted(text: str, names: Names) -> None:
    error = refusal_of(text, names)
    kept = error.remedy.split("as in ")[1]
    operand = kept[kept.index("(") + 1 : kept.rindex(",")]
    bracketed = f"({operand})" if f"({operand})" in text else operand
    assert expression_of(text.replace(bracketed, f"({kept})"), names) is not None


def test_equal_vectors_cannot_be_told_apart() -> None:
    from emdp.spaces import Embedding

    vectors = {"word": ["a", "b", "c"], "x": [0.0, 0.0, 1.0]}
    names = Names("visits", "user_id", Embedding("word", vectors), {"word": "VARCHAR"}, 5)
    error = refusal_of("CASE word WHEN 'a' THEN 1 ELSE 0 END", names)
    assert (error.code, error.sql[error.start : error.end]) == ("equal-values", "CASE word WHEN 'a' THEN 1 ELSE 0 END")
    assert expression_of("CASE word WHEN 'c' THEN 1 ELSE 0 END", names) is not None


def test_a_longitude_around_a_pole_is_refused() -> None:
    names = Names("visits", "user_id", Geo("lat", "lon", box=(60, -180, 90, 180)), {}, 5)
    error = refusal_of("1 + lon", names)
    assert (error.code, error.sql[error.start : error.end]) == ("no-finite-constant", "lon")

"""``Embedding`` and ``Words``: tables of vectors, the exact diameter, digests, tokenizers in two engines."""

import json
import math
import time
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.spaces import Embedding, Words, from_json
from emdp.spaces.listed.spread import EXACT_LIMIT, largest_distance

TABLE = {"word": ["a", "b", "c"], "vector": [[0.0, 0.0], [3.0, 4.0], [6, 0.5]]}


def brute_force(points: np.ndarray) -> float:
    return max(float(np.sqrt(np.square(points - point).sum(axis=1)).max()) for point in points)


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 300),
    dimension=st.integers(1, 8),
    offset=st.floats(0, 1e6),
)
def test_largest_distance_is_exact_and_outward(seed: int, count: int, dimension: int, offset: float) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, dimension)) ** rng.choice([1, 3]) + offset
    if seed % 3 == 0:
        points /= np.sqrt(np.square(points).sum(axis=1, keepdims=True))
    exact = brute_force(points)
    found = largest_distance(points)
    assert found >= exact
    assert found <= exact * (1 + 1e-11)


@pytest.mark.slow
def test_largest_distance_in_blocks_and_above_the_limit() -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(3000, 4))
    sphere = points / np.sqrt(np.square(points).sum(axis=1, keepdims=True))
    for cloud in (points, sphere):
        assert largest_distance(cloud) == pytest.approx(brute_force(cloud), rel=1e-13)
    on_circle = np.exp(2j * np.pi * np.arange(EXACT_LIMIT + 1001) / (EXACT_LIMIT + 1001))
    bound = largest_distance(np.column_stack([on_circle.real, on_circle.imag]))
    assert 2 <= bound <= 2.001
    assert largest_distance(np.ones((5, 2))) == 0


def test_diameter_includes_the_neutral_item() -> None:
    space = Embedding("word", TABLE)
    everything = space.natural_distances(space.all_items, space.all_items)
    assert space.diameter >= everything.max()
    assert space.diameter == pytest.approx(math.hypot(6, 0.5), rel=1e-13)
    assert space.vector_table.shape == (4, 2)
    assert space.vectors.shape == (3, 2)
    np.testing.assert_allclose(space.vector_table[3], [3.0, 1.5], rtol=1e-15)
    assert space.neutral_item.tolist() == [[3.0]]
    assert space.decode(space.neutral_item) == {"word": [None]}


def test_a_listed_neutral_adds_no_row() -> None:
    space = Embedding("word", TABLE, neutral="b", on_invalid="neutral")
    assert space.vector_table.shape == (3, 2)
    assert space.decode(space.encode({"word": ["zzz"]})) == {"word": ["b"]}
    assert space.vector_of("b").tolist() == [3.0, 4.0]
    assert not space.vector_table.flags.writeable


def test_construction_is_fast() -> None:
    rng = np.random.default_rng(2)
    vectors = rng.normal(size=(12_000, 25))
    vectors /= np.sqrt(np.square(vectors).sum(axis=1, keepdims=True))  # nothing to prune: the worst case
    table = pl.DataFrame({"word": [f"w{i}" for i in range(12_000)], "vector": vectors.astype(np.float32)})
    start = time.process_time()
    Embedding("word", table)
    assert time.process_time() - start < 10  # measured 0.5 to 1.4 s on two busy cores


@pytest.mark.parametrize("nested", ["array", "list", "columns"])
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_sources_give_equal_spaces(tmp_path: Path, nested: str, suffix: str) -> None:
    plain = Embedding("word", TABLE)
    columns = pl.DataFrame({"word": ["a", "b", "c"], "x": [0.0, 3.0, 6.0], "y": [0.0, 4.0, 0.5]})
    frames = {
        "array": pl.DataFrame({"word": ["a", "b", "c"], "vector": np.array([[0, 0], [3, 4], [6, 0.5]])}),
        "list": pl.DataFrame({"word": ["a", "b", "c"], "vector": [[0.0, 0.0], [3.0, 4.0], [6.0, 0.5]]}),
        "columns": columns,
    }
    frame = frames[nested]
    assert Embedding("word", frame) == plain
    assert Embedding("word", frame.to_arrow()) == plain
    path = tmp_path / f"vectors{suffix}"
    if suffix == ".parquet":
        frame.write_parquet(path)
    elif nested == "columns":
        frame.write_csv(path)
    else:
        return
    from_file = Embedding("word", path)
    assert from_file == plain
    assert hash(from_file) == hash(plain)
    data = json.loads(json.dumps(from_file.to_json()))
    assert data["vectors"] == str(path)
    assert from_json(data) == plain


def test_named_columns(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": [1, 2], "text": ["a", "b"], "x": [0.0, 1.0], "y": [5.0, 5.0]})
    by_text = Embedding("word", frame, vector=["x", "y"])
    assert by_text.labels == ("a", "b")
    by_number = Embedding("word", frame, key="id", vector=["x", "y"])
    assert by_number.labels == (1, 2)
    assert by_number.diameter == pytest.approx(1)
    assert by_number.encode({"word": [2, 1]}).tolist() == [[1.0], [0.0]]
    path = tmp_path / "vectors.parquet"
    frame.write_parquet(path)
    space = Embedding("word", path, key="id", vector=["y", "x"], diameter=3)
    assert from_json(json.loads(json.dumps(space.to_json()))) == space


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "vectors.parquet"
    frame = pl.DataFrame({"word": ["a", "b"], "x": [0.0, 1.0]})
    frame.write_parquet(path)
    data = Embedding("word", path).to_json()
    pl.DataFrame({"word": ["a", "b"], "x": [0.0, 1.5]}).write_parquet(path)
    with pytest.raises(UsageError, match="digest"):
        from_json(data)
    frame.write_parquet(path)
    assert from_json(data).diameter == pytest.approx(1)


def test_inline_tables_are_checked() -> None:
    data = Embedding("word", TABLE).to_json()
    for change in ({"float64": "AAAA"}, {"float64": "?"}, {"dimension": 3}, {"keys": ["a"]}):
        with pytest.raises(UsageError):
            from_json({**data, "vectors": {**data["vectors"], **change}})
    with pytest.raises(UsageError, match="keys, dimension and float64"):
        from_json({**data, "vectors": {"keys": ["a"]}})
    with pytest.raises(UsageError, match="digest"):
        from_json({**data, "vectors": {**data["vectors"], "keys": ["a", "c", "b"]}})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"word": ["a", "a"], "x": [0.0, 1.0]}, "lists 'a' 2 times"),
        ({"word": ["a", None], "x": [0.0, 1.0]}, "NULL"),
        ({"word": ["a", "b"], "x": [0.0, math.nan]}, "finite"),
        ({"word": ["a", "b"], "x": [0.0, math.inf]}, "finite"),
        ({"word": ["a", "b"], "x": [0.0, None]}, "finite"),
        ({"word": ["a", "b"], "vector": [[0.0], [1.0, 2.0]]}, "one length"),
        ({"word": ["a", "b"], "vector": [[], []]}, "no coordinates|empty|numbers"),
        ({"word": ["a", "b"], "text": ["c", "d"], "x": [0.0, 1.0]}, "key column of the vectors is not clear"),
        ({"word": ["a", "b"]}, "vector column is not clear"),
        ({"word": ["a", "b"], "v": [[1.0], [2.0]], "w": [[1.0], [2.0]]}, "vector column is not clear"),
        ({"word": [1.5, 2.5], "x": [0.0, 1.0]}, "key column of the vectors is not clear"),
        ({"word": ["a", "b"], "x": [1.0, 1.0]}, "diameter must be given"),
        ({"word": [], "x": []}, "not clear|empty"),
        (42, "vectors must be a frame"),
        ("vectors.txt", "must be a .parquet or .csv"),
        ("s3://bucket/vectors.parquet", "must be a local file"),
        ("missing.parquet", "cannot be read"),
    ],
)
def test_tables_are_checked(table: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Embedding("word", table)


def test_frames_with_bad_vectors_are_refused() -> None:
    ragged = pl.DataFrame({"word": ["a", "b"], "vector": [[0.0], [1.0, 2.0]]})
    missing = pl.DataFrame({"word": ["a", "b"], "vector": [[0.0], None]})
    texts = pl.DataFrame({"word": ["a", "b"], "vector": [["x"], ["y"]]})
    for frame in (ragged, missing, texts):
        with pytest.raises(UsageError):
            Embedding("word", frame)
    array = missing.with_columns(pl.col("vector").cast(pl.Array(pl.Float64, 1)))
    with pytest.raises(UsageError, match="NULL"):
        Embedding("word", array)
    with pytest.raises(UsageError, match="key='nope' is no column"):
        Embedding("word", TABLE, key="nope")
    with pytest.raises(UsageError, match="vector='nope' is no column"):
        Embedding("word", TABLE, vector="nope")


def test_keys_with_equal_vectors_have_no_finite_indicator() -> None:
    space = Embedding("word", {"word": ["a", "b", "c"], "x": [0.0, 0.0, 1.0]})
    assert space.label_bounds("a").lipschitz == math.inf
    assert space.label_bounds("c").lipschitz < math.inf
    assert space.pairwise({"word": ["a"]}, {"word": ["b"]})[0, 0] == 0


def test_a_key_at_the_mean_has_no_finite_indicator() -> None:
    space = Embedding("word", {"word": ["a", "b", "c"], "x": [-1.0, 0.0, 1.0]})
    assert space.label_bounds("b").lipschitz == math.inf


def test_inner_products_are_of_the_table() -> None:
    space = Embedding("word", TABLE)
    bounds = space.inner_bounds(space.vector_of("b"))
    assert (bounds.low, bounds.high) == (pytest.approx(0, abs=1e-12), pytest.approx(25))
    assert bounds.lipschitz == pytest.approx(5 * space.diameter)
    items = space.encode({"word": ["a", "b", "c"]})
    assert space.inner_values(items, space.vector_of("b")).tolist() == [0.0, 25.0, 20.0]
    for vector in (np.zeros(3), np.array([math.nan, 0]), np.array([True, False]), "ab"):
        with pytest.raises(UsageError):
            space.inner_bounds(vector)  # type: ignore[arg-type]


TEXTS = st.text(
    st.sampled_from("abzABZ09'’ \t\n\x0b\x0c\r\x85\xa0\u2028\u3000_-.,!?éÉßİıKſΣς😀\u0301\x00\x1f\x7f"),
    max_size=30,
) | st.text(max_size=20).filter(lambda text: text.isprintable())


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(texts=st.lists(TEXTS, min_size=1, max_size=20))
@pytest.mark.parametrize("tokenizer", ["words", "whitespace"])
def test_tokenizers_agree_with_duckdb(tokenizer: str, texts: list[str]) -> None:
    space = Words("text", TABLE, tokenizer=tokenizer)  # type: ignore[arg-type]
    text = f"translate(t, '{space.CAPITALS}', '{space.SMALL}')" if tokenizer == "words" else "t"
    pattern = space.pattern.replace("'", "''")
    query = f"SELECT regexp_extract_all({text}, '{pattern}') FROM (SELECT unnest($1) AS t)"
    with duckdb.connect() as connection:
        rows = connection.execute(query, [texts]).fetchall()
    assert [row[0] for row in rows] == [space.tokenize(t) for t in texts]


@pytest.mark.parametrize(
    ("tokenizer", "text", "tokens"),
    [
        ("words", "I DON'T know, 'twas  rock'n'roll!", ["i", "don't", "know", "twas", "rock'n'roll"]),
        ("words", "a''b 'c' d-e_f 3.14", ["a", "b", "c", "d", "e", "f", "3", "14"]),
        ("words", "Caf\u00e9 \u212aelvin", ["caf", "elvin"]),
        ("words", "", []),
        ("whitespace", " Hello,\tWorld!\n\x0bx\u00a0y ", ["Hello,", "World!", "x\u00a0y"]),
        ("whitespace", " \r\n", []),
    ],
)
def test_tokens(tokenizer: str, text: str, tokens: list[str]) -> None:
    assert Words("text", TABLE, tokenizer=tokenizer).tokenize(text) == tokens  # type: ignore[arg-type]


def test_words_are_their_own_kind() -> None:
    words = Words("text", TABLE)
    assert words != Embedding("text", TABLE)
    assert words.kind == "words"
    assert Words("text", TABLE, tokenizer="whitespace") != words
    assert Words("text", TABLE, tokenizer="unicode").to_json()["tokenizer"] == "unicode"
    with pytest.raises(UsageError, match="tokenizer must be one of"):
        Words("text", TABLE, tokenizer="letters")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="must hold strings"):
        Words("text", {"id": [1, 2], "v": [[0.0], [1.0]]})
    with pytest.raises(UsageError, match="means nothing"):
        Words("text", TABLE, on_invalid="clamp")

"""The query for frequent strings: defaults by model, refusals of what does not fit, columns that may be asked about."""

import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.questions.heavy_hitters import HeavyHitters, check_listed, check_text_column, heavy_hitters
from emdp.questions.names import Names
from emdp.questions.price import Price
from emdp.questions.resolution import describe, resolve_query
from emdp.spaces import Categories, Interval, Product

TYPES = {"user": "VARCHAR", "x": "DOUBLE", "note": "VARCHAR", "kind": "ENUM('secret', 'b')", "tags": "VARCHAR[]"}
NAMES = Names("visits", "user", Interval("x", 0, 1), TYPES, 100)


def query(**changed: object) -> HeavyHitters:
    return heavy_hitters(**{"column": "note", "threshold": 0.1, "epsilon": 2.0, "model": "local", **changed})  # type: ignore[arg-type]


def test_defaults_are_by_model() -> None:
    assert (query().longest, query().characters) == (12, "abcdefghijklmnopqrstuvwxyz0123456789 _-'")
    assert "'" in str(query(words=True).characters)
    assert " " not in str(query(words=True).characters)
    central = heavy_hitters("note", threshold=0.1, epsilon=2.0, delta=1e-9)
    assert central == query(model="central", delta=1e-9)
    assert (central.longest, central.characters) == (None, None)
    limited = query(model="central", delta=1e-9, length=3, alphabet="ab")
    assert (limited.longest, limited.characters) == (3, "ab")


def test_the_function_has_every_field() -> None:
    made = heavy_hitters(
        "note", threshold=0.1, epsilon=2, delta=1e-9, words=False, length=5, alphabet="AB", lower=False,
        model="shuffle", failure=0.05, name="share",
    )  # fmt: skip
    assert made == HeavyHitters(
        "note", Price("epsilon", 2.0, 1e-9), 0.1, None, False, 5, "AB", False, "shuffle", 0.05, "share"
    )
    assert emdp.heavy_hitters is heavy_hitters
    assert emdp.HeavyHitters is HeavyHitters


def test_the_text_tells_queries_apart() -> None:
    made = [
        query(), query(threshold=0.2), query(threshold=None, count=5), query(epsilon=3), query(words=True),
        query(length=5), query(alphabet="ab"), query(lower=False), query(failure=0.1), query(column="kind"),
        query(model="central", delta=1e-9), query(model="shuffle", delta=1e-9), query(model="shuffle", delta=1e-8),
    ]  # fmt: skip
    texts = [describe(one) for one in made]
    assert len(set(texts)) == len(texts)
    assert texts[0] == "heavy_hitters('note', threshold=0.1, epsilon=2.0, model='local', failure=0.01)"


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"column": ""}, "column must be"),
        ({"column": 3}, "column must be"),
        ({"name": ""}, "name must be"),
        ({"name": "value"}, "name='value'"),
        ({"words": 1}, "words must be"),
        ({"words": True, "lower": False}, "lower=False does not fit"),
        ({"threshold": None}, "exactly one of threshold and count"),
        ({"count": 3}, "exactly one of threshold and count"),
        ({"threshold": 1.0}, "threshold"),
        ({"threshold": None, "count": 0}, "count"),
        ({"failure": 0.0}, "failure"),
        ({"epsilon": None}, "epsilon must be given"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": 41.0}, "epsilon must be between"),
        ({"delta": 1.0, "model": "central"}, "delta"),
        ({"delta": 1e-9}, "delta must be 0 for model='local'"),
        ({"model": "central"}, "delta must be above 0 for model='central'"),
        ({"model": "shuffle"}, "delta must be above 0 for model='shuffle'"),
        ({"model": "other"}, "model"),
        ({"length": 0}, "length"),
        ({"alphabet": ""}, "alphabet"),
        ({"alphabet": "aa"}, "alphabet"),
        ({"alphabet": "a\0"}, "alphabet"),
        ({"alphabet": "\u00e9"}, "alphabet"),
        ({"alphabet": b"ab"}, "alphabet"),
        ({"alphabet": "aB"}, "capitals"),
    ],
)
def test_refusals(changed: dict[str, object], named: str) -> None:
    with pytest.raises(UsageError, match=named) as caught:
        query(**changed)
    assert "; " in str(caught.value)


def test_columns_of_text_may_be_asked_about() -> None:
    assert resolve_query(query(), NAMES) == query()
    check_text_column(query(column="kind"), NAMES)


@pytest.mark.parametrize(
    ("column", "named"),
    [
        ("other", "none of the table's"),
        ("user", "who the user is"),
        ("x", "is DOUBLE, and only text"),
        ("tags", "only text"),
    ],
)
def test_other_columns_are_refused_with_those_of_text(column: str, named: str) -> None:
    with pytest.raises(UsageError, match=named) as caught:
        resolve_query(query(column=column), NAMES)
    assert "name one of 'note', 'kind'" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_table_without_text_says_so() -> None:
    with pytest.raises(UsageError, match="the table has none"):
        check_text_column(query(), Names("t", "user", Interval("x", 0, 1), {"user": "BIGINT", "x": "DOUBLE"}, 9))


def test_frequencies_of_an_unknown_list_name_the_search() -> None:
    with pytest.raises(UsageError, match=r"'note' has no public list of values.*session.heavy_hitters\('note'"):
        resolve_query(emdp.frequencies("note", alpha=1.0), NAMES)
    # Of numbers, and of listed values, it is not the remedy.
    with pytest.raises(UsageError, match="no listed values") as caught:
        resolve_query(emdp.frequencies("x", alpha=1.0), NAMES)
    assert "heavy_hitters" not in str(caught.value)
    space = Product(Interval("x", 0, 1), Categories("kind", ["a", "b"]))
    check_listed("kind", Names("visits", "user", space, TYPES, 100))


def test_words_of_every_language_are_for_a_curator() -> None:
    made = heavy_hitters("message", count=3, epsilon=1.0, delta=1e-9, words=True, tokenizer="unicode")
    assert made.characters is None
    assert "tokenizer='unicode'" in made.text
    for own, what in (
        ({"model": "local", "delta": 0.0, "words": True}, "central"),
        ({"alphabet": "abc", "words": True}, "alphabet"),
        ({"words": False}, "words=True"),
    ):
        with pytest.raises(UsageError, match=what):
            heavy_hitters("message", **{"count": 3, "epsilon": 1.0, "delta": 1e-9, "tokenizer": "unicode", **own})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="tokenizer must be one of"):
        heavy_hitters("message", count=3, epsilon=1.0, delta=1e-9, words=True, tokenizer="whitespace")  # type: ignore[arg-type]

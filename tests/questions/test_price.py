"""The price of a question: its kinds, its checks, and that no other place tells kinds apart by what is missing."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.privacy import EmdDP, UserDP
from emdp.questions import Mean, Price
from emdp.questions.item_frequencies import ItemFrequencies
from emdp.questions.price import check_price

X = emdp.col("x")


def test_a_price_is_of_one_kind() -> None:
    assert Price.asked(alpha=2, delta=1e-9) == Price("alpha", 2.0, 1e-9)
    assert Price.asked(epsilon=2) == Price("epsilon", 2.0)
    assert (Price("alpha", 1.0).promise(), Price("alpha", 1.0).is_user_level) == (EmdDP(0.0), False)
    assert Price("epsilon", 1.0).promise("local") == UserDP(0.0, model="local")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "exactly one of alpha and epsilon must be given, got none"),
        ({"alpha": 1.0, "epsilon": 1.0}, "exactly one of alpha and epsilon must be given, got both"),
        ({"alpha": 0.0}, "alpha must be above 0"),
        ({"epsilon": math.inf}, "epsilon must be finite"),
        ({"epsilon": math.nan}, "epsilon must be finite"),
        ({"alpha": 1.0, "delta": 1.0}, "delta must be"),
    ],
)
def test_what_is_no_price_is_refused(given: dict[str, float], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        Price.asked(**given)


def test_a_price_without_a_limit_is_refused_but_for_item_wise_release() -> None:
    free = Price.at_most("alpha", alpha=None, epsilon=None, delta=0.0)
    assert not free.is_limited
    for made in (lambda: Mean(X, free), lambda: ItemFrequencies(free), lambda: check_price(free)):
        with pytest.raises(UsageError, match="alpha must be finite"):
            made()
    check_price(free, is_limited=False)
    # Both levels: the price is of the kind that the question will refuse.
    assert Price.at_most("alpha", alpha=1.0, epsilon=2.0, delta=0.0).kind == "epsilon"


def test_questions_take_a_price_and_nothing_else() -> None:
    with pytest.raises(UsageError, match="price must be"):
        Mean(X, 1.0)  # type: ignore[arg-type]
    wrong = replace(emdp.user_mean("x", epsilon=1.0).price, kind="alpha")
    with pytest.raises(UsageError, match="price must be of kind 'epsilon'"):
        replace(emdp.user_mean("x", epsilon=1.0), price=wrong)
    with pytest.raises(UsageError, match="price must be of kind 'epsilon'"):
        replace(emdp.heavy_hitters("note", count=3, epsilon=1.0, delta=1e-9), price=wrong)


def test_an_alpha_is_never_read_as_the_epsilon_of_sizes() -> None:
    from emdp.estimators.frequency.items import plan_item_frequencies

    sizes = emdp.BoundedReduction(samples=5, r=0.5)
    space = emdp.Categories("kind", ["bar", "cafe"])
    with pytest.raises(UsageError, match="its price with sizes= is epsilon at r"):
        plan_item_frequencies(ItemFrequencies(Price("alpha", 1.0), sizes=sizes), space=space, users=100)


def test_no_room_above_tells_prices_apart_by_what_is_missing() -> None:
    root = Path(emdp.__file__).parent
    told = re.compile(r"(query|price|spending|self)\.(alpha|epsilon) is|(alpha|epsilon) or 0\.0")
    rooms = ("questions", "estimators", "sql", "sessions", "answers")
    found = [path for room in rooms for path in (root / room).rglob("*.py") if told.search(path.read_text("utf-8"))]
    assert not found

"""The frozen query of a linear model: its text, its defaults, and what is refused."""

from typing import Any

import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.questions.linear_fit import INTERCEPT, LinearFit, linear_fit_query
from emdp.questions.price import Price


def test_the_text_has_everything_that_is_not_a_default() -> None:
    query = linear_fit_query(
        ["x", emdp.distance_to((40.7, -74.0))], emdp.category_is("bus"), epsilon=2, delta=1e-6, loss="logistic",
        model="shuffle", rounds=8, clip=1.5, radius=3, records=20, between=0.5,
    )  # fmt: skip
    assert query.text == (
        "linear_fit([x, distance_to((40.7, -74))], target=category_is('bus'), epsilon=2.0, delta=1e-06, "
        "loss='logistic', model='shuffle', rounds=8, clip=1.5, radius=3.0, records=20, between=0.5)"
    )
    assert query.names == (INTERCEPT, "x", "distance_to((40.7, -74))")
    assert query.formula == "category_is('bus') ~ x + distance_to((40.7, -74))"
    assert linear_fit_query("x", "y", epsilon=1.0) == LinearFit((emdp.col("x"),), emdp.col("y"), Price("epsilon", 1.0))


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"epsilon": None}, "epsilon must be given"),
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"epsilon": float("nan")}, "epsilon must be"),
        ({"alpha": 1.0}, "alpha does not fit a descent"),
        ({"features": []}, "features is empty"),
        ({"features": ["x", "x"]}, "features must be distinct"),
        ({"features": ["intercept"]}, "none called 'intercept'"),
        ({"features": ["x", "y"]}, "target must not be a feature"),
        ({"loss": "absolute"}, "loss must be"),
        ({"model": "nobody"}, "model must be"),
        ({"model": "shuffle"}, "delta must be above 0 in the shuffle model"),
        ({"model": "local", "delta": 1e-9}, "delta must be 0 in the local model"),
        ({"delta": 1.0}, "delta must be"),
        ({"rounds": 0}, "rounds must be"),
        ({"rounds": 2.5}, "rounds must be"),
        ({"records": 0}, "records must be"),
        ({"clip": 0.0}, "clip must be"),
        ({"clip": float("inf")}, "clip must be"),
        ({"radius": -1.0}, "radius must be"),
        ({"between": -1.0}, "between must be"),
    ],
)
def test_refusals_say_what_to_do(changed: dict[str, Any], text: str) -> None:
    whole: dict[str, Any] = {"features": "x", "target": "y", "epsilon": 1.0}
    with pytest.raises(UsageError, match=text) as refused:
        linear_fit_query(**{**whole, **changed})
    assert str(refused.value).endswith(".")

"""What every plan of mixed messages tells before anything is spent: the bits of a user, and what they say unmixed."""

import re
from typing import Any

import pytest

import emdp
from emdp.expressions import category_is, col
from emdp.questions import frequencies, heavy_hitters, mean, shares, user_mean, vector_mean
from emdp.questions.linear_fit import linear_fit_query
from emdp.questions.resolution import Query
from emdp.sessions.planning import plan_request
from emdp.spaces import Categories, Interval, Product, Space

LINE = Interval("x", 0, 100)
PLANE = Product(Interval("x", -1, 1), Interval("y", -1, 1))
KINDS = Categories("kind", [f"k{place}" for place in range(20)])
MIXED: dict[str, Any] = {"delta": 1e-6, "model": "shuffle"}
PAID: dict[str, Any] = {"epsilon": 1.0, **MIXED}
BOTH = [col("x"), col("y")]
WAYS: dict[str, tuple[Space, Query]] = {
    "mean, alpha": (LINE, mean(col("x"), alpha=1.0, **MIXED)),
    "mean": (LINE, mean(col("x"), **PAID)),
    "vector mean": (PLANE, vector_mean(BOTH, **PAID)),
    "few bits": (PLANE, vector_mean(BOTH, bits=4, **PAID)),
    "frequencies, alpha": (KINDS, frequencies(alpha=1.0, **MIXED)),
    "frequencies": (KINDS, frequencies(**PAID)),
    "frequencies, unary": (KINDS, frequencies(method="unary", **PAID)),
    "frequencies, several": (KINDS, frequencies(method="hadamard", messages=8, **PAID)),
    "strings": (KINDS, heavy_hitters("kind", count=5, alphabet="k0123456789", length=3, **PAID)),
    "shares": (KINDS, shares([category_is("k1", column="kind"), category_is("k2", column="kind")], **PAID)),
    "user mean": (LINE, user_mean(col("x"), spread=1.0, between=0.5, records=100, **PAID)),
    "user mean, at once": (LINE, user_mean(col("x"), **PAID)),
    "user vector": (PLANE, user_mean(["x", "y"], spread=(0.01, 0.01), between=0.01, records=100, **PAID)),
    "user vector, ball": (PLANE, user_mean(["x", "y"], radius=1.0, **PAID)),
    "fit": (PLANE, linear_fit_query("x", "y", **PAID)),
    "fit, sampled": (PLANE, linear_fit_query("x", "y", sampled=1000, **PAID)),
}


@pytest.mark.seventh
@pytest.mark.parametrize("way", WAYS)
def test_bits_and_what_is_told_unmixed_stand_in_every_plan(way: str) -> None:
    space, query = WAYS[way]
    row = {name: ["k1" if name == "kind" else 0.5] for name in space.columns}
    table = emdp.read({"user": [1], **row}, user="user", space=space, users=10_000)
    (planned,) = plan_request(query, table.names())
    plan: Any = planned.plan
    told = " ".join([plan.choice, *(text for fact in plan.releaser.facts("km") for text in fact)])
    assert re.search(r"\d+ bits?\b|bits[^.;]* \d+", told), told
    assert plan.assumptions
    assert re.search(r"epsilon0|before mixing|unmixed", " ".join([told, *plan.assumptions]))

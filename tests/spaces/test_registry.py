"""``from_json``: the table of kinds, and descriptions that are refused."""

import inspect

import pytest

import emdp.spaces as spaces
from emdp.base.errors import UsageError
from emdp.spaces import Clusters, Elsewhere, Geo, Product, Words, from_json
from emdp.spaces.registry import KINDS

PRICE = {"kind": "interval", "col": "price", "low": 0, "high": 10}


def test_the_table_lists_the_constructors_arguments() -> None:
    for kind, (build, required, optional) in KINDS.items():
        assert build.kind == kind
        parameters = inspect.signature(build).parameters
        assert set(parameters) == {*required.split(), *optional.split()}
        missing = {name for name, value in parameters.items() if value.default is inspect.Parameter.empty}
        assert missing == set(required.split())
    everything = {getattr(spaces, name) for name in spaces.__all__}
    made = {thing for thing in everything if inspect.isclass(thing) and issubclass(thing, spaces.Space)}
    assert made - {spaces.Space} == {build for build, _, _ in KINDS.values()} | {Product, Elsewhere}


def test_catalogs_may_leave_out_what_has_a_default() -> None:
    box = [40.48, -74.26, 40.92, -73.70]
    space = from_json({"kind": "geo", "lat": "lat", "lon": "lon", "box": box, "on_invalid": "clamp"})
    assert space == Geo("lat", "lon", (40.48, -74.26, 40.92, -73.70), on_invalid="clamp")
    clusters = from_json({"kind": "clusters", "col": "c", "cluster_of": {"a": "x", "b": "x"}, "within": 0.5})
    assert clusters == Clusters("c", {"a": "x", "b": "x"}, 0.5)
    words = Words("text", {"word": ["a", "b"], "v": [[0.0], [1.0]]}, tokenizer="unicode")
    assert from_json(words.to_json()) == words
    assert from_json({name: own for name, own in words.to_json().items() if name != "tokenizer"}).tokenizer == "words"
    product = from_json({"kind": "product", "parts": [PRICE, {"kind": "cycle", "col": "hour", "period": 24}]})
    assert product.shares == (0.5, 0.5)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "must be described by a mapping"),
        ([PRICE], "must be described by a mapping"),
        ({}, "kind must be one of"),
        ({"kind": "os.system"}, "kind must be one of"),
        ({"kind": ["interval"]}, "kind must be one of"),
        ({**PRICE, "hihg": 3}, "'hihg' is no key of an interval space"),
        ({"kind": "interval", "col": "price", "low": 0}, "lacks 'high'"),
        ({**PRICE, "high": "10"}, "high must be a number"),
        ({"kind": "product"}, "lacks 'parts'"),
        ({"kind": "product", "parts": PRICE}, "parts must be a list"),
        ({"kind": "product", "parts": []}, "at least one part"),
        ({"kind": "product", "parts": [PRICE], "weights": [1, 2]}, "weights must be 1 numbers"),
        ({"kind": "product", "parts": [PRICE], "weights": [-1]}, "weight must be above 0"),
        ({"kind": "product", "parts": [PRICE], "col": "x"}, "'col' is no key"),
        ({"kind": "product", "parts": [{"kind": "product", "parts": [PRICE]}]}, "cannot be a Product"),
    ],
)
def test_other_descriptions_are_refused(data: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        from_json(data)

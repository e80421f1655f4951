"""The table of methods for frequencies of all items: every row can be named and loaded, and has its time."""

import math
from typing import get_args

from emdp.mechanisms.item_methods import METHODS, ItemMethod, item_methods
from emdp.mechanisms.oracles.oracle import FrequencyOracle


def test_type_checkers_and_the_table_have_the_same_names() -> None:
    assert get_args(ItemMethod) == item_methods()


def test_every_oracle_of_the_product_is_in_the_table_once() -> None:
    def kinds(kind: type[FrequencyOracle]) -> set[type[FrequencyOracle]]:
        return {kind}.union(*map(kinds, kind.__subclasses__()))

    listed = [one.oracle() for one in METHODS.values() if one.oracle is not None]
    concrete = {one for one in kinds(FrequencyOracle) if not getattr(one, "__abstractmethods__", ())}
    assert len(set(listed)) == len(listed) == 8
    assert {one for one in concrete if one.__module__.startswith("emdp.")} == set(listed)


def test_times_are_told_apart() -> None:
    slowness = [one.slowness for one in METHODS.values()]
    assert len(set(slowness)) == len(slowness)
    assert math.inf not in slowness

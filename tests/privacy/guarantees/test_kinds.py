"""Guarantees as values: parameters, kinds, words, JSON."""

import json
import math
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.privacy import DiscreteEmdDP, EmdDP, Guarantee, UserDP, guarantee_from_json

levels = st.floats(0, 1e6)
deltas = st.floats(0, 0.999)
sizes = st.sampled_from(["unbounded", "bounded"])
models = st.sampled_from(["central", "local", "shuffle"])
guarantees = st.one_of(
    st.builds(EmdDP, levels, deltas, sizes, models),
    st.builds(DiscreteEmdDP, levels, deltas, st.floats(1e-6, 1.0), sizes, models),
    st.builds(UserDP, levels, deltas, models),
)


def test_first_values_are_defaults() -> None:
    assert EmdDP(3) == EmdDP(alpha=3.0, delta=0.0, sizes="unbounded", model="central")
    assert UserDP(1) == UserDP(epsilon=1.0, delta=0.0, model="central")
    assert DiscreteEmdDP(1, 0, 0.5) == DiscreteEmdDP(1.0, 0.0, r=0.5, sizes="unbounded", model="central")


@given(guarantees)
def test_json_gives_the_guarantee_back(guarantee: Guarantee) -> None:
    assert guarantee_from_json(json.loads(json.dumps(guarantee.to_json()))) == guarantee


@given(guarantees)
def test_the_kind_forgets_the_parameters_only(guarantee: Guarantee) -> None:
    assert guarantee.kind.kind == guarantee.kind
    assert guarantee.kind.at_level(guarantee.level, guarantee.delta) == guarantee
    assert guarantee.kind_name == guarantee.kind.kind_name
    assert guarantee.kind_name in str(guarantee)


def test_epsilon_at_a_distance_is_rounded_up() -> None:
    assert EmdDP(0.1, 1e-9).at(0.1) == (0.01, 1e-9)
    assert EmdDP(7.0).at(1) == (7.0, 0.0)
    with pytest.raises(UsageError, match=r"d must be between 0\.0 and 1\.0"):
        EmdDP(1.0).at(1.5)


def test_guarantees_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        EmdDP(1.0).alpha = 2.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EmdDP(-1.0), "alpha must be at least 0"),
        (lambda: EmdDP(math.inf), "alpha must be finite"),
        (lambda: EmdDP("1"), "alpha must be a number"),  # type: ignore[arg-type]
        (lambda: EmdDP(1.0, 1.0), r"delta must be in \[0, 1\)"),
        (lambda: EmdDP(1.0, sizes="small"), "sizes must be one of"),  # type: ignore[arg-type]
        (lambda: UserDP(1.0, model="cloud"), "model must be one of"),  # type: ignore[arg-type]
        (lambda: UserDP(math.nan), "epsilon must be finite"),
        (lambda: DiscreteEmdDP(1.0, 0.0, 0.0), "r must be above 0"),
        (lambda: DiscreteEmdDP(1.0, 0.0, 1.1), "r must be between"),
    ],
)
def test_malformed_parameters_are_named(make: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    "description",
    [
        {},
        {"kind": "PufferfishDP", "alpha": 1.0},
        {"kind": "EmdDP", "alpha": 1.0},
        {**EmdDP(1.0).to_json(), "metric": "euclidean"},
        {**EmdDP(1.0).to_json(), "kind": ["EmdDP"]},
        [1, 2],
    ],
)
def test_json_that_is_not_ours_is_refused(description: object) -> None:
    with pytest.raises(UsageError):
        guarantee_from_json(description)  # type: ignore[arg-type]

"""Conversions of EMD 1: what holds, what is refused, and why the paper's group privacy is not enough."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.privacy import (
    DiscreteEmdDP,
    EmdDP,
    Guarantee,
    UserDP,
    convert,
    converts_to,
    group,
    to_bounded,
    to_central,
    to_discrete,
    to_user,
)

KINDS: list[Guarantee] = [
    *(EmdDP(0, 0, s, m) for s in ("unbounded", "bounded") for m in ("central", "local", "shuffle")),
    *(
        DiscreteEmdDP(0, 0, r, s, m)
        for r in (0.1, 0.5)
        for s in ("unbounded", "bounded")
        for m in ("central", "local", "shuffle")
    ),
    *(UserDP(0, 0, m) for m in ("central", "local", "shuffle")),
]


def test_the_listed_conversions_hold() -> None:
    known = EmdDP(20.0, 1e-9)
    assert to_bounded(known) == EmdDP(20.0, 1e-9, "bounded")
    assert to_discrete(known, 0.05) == DiscreteEmdDP(1.0, 1e-9, 0.05)
    assert to_user(known) == UserDP(20.0, 1e-9)
    assert to_central(EmdDP(2.0, model="local")) == EmdDP(2.0)
    assert to_central(DiscreteEmdDP(2.0, 0, 0.1, model="shuffle")) == DiscreteEmdDP(2.0, 0, 0.1)
    assert to_discrete(EmdDP(20.0, sizes="bounded"), 0.1) == DiscreteEmdDP(2.0, 0.0, 0.1, "bounded")
    assert to_discrete(DiscreteEmdDP(2.0, 0.0, 0.1), 0.05) == DiscreteEmdDP(2.0, 0.0, 0.05)
    assert to_user(DiscreteEmdDP(2.0, 1e-9, 1.0)) == UserDP(2.0, 1e-9)


def test_the_table_of_conversions_is_exactly_this() -> None:
    rank = {"local": 0, "shuffle": 1, "central": 2}
    for known, wanted in itertools.product(KINDS, KINDS):
        allowed = rank[known.model] <= rank[wanted.model]
        sizes = [getattr(kind, "sizes", "unbounded") for kind in (known, wanted)]
        allowed &= sizes != ["bounded", "unbounded"]
        if isinstance(known, UserDP):
            allowed &= isinstance(wanted, UserDP)
        if isinstance(known, DiscreteEmdDP):
            allowed &= isinstance(wanted, DiscreteEmdDP) and known.r >= wanted.r
        assert converts_to(known, wanted) == allowed, (known, wanted)


def test_conversion_is_reflexive_and_transitive() -> None:
    for kind in KINDS:
        assert convert(kind.at_level(2.0, 1e-9), kind) == kind.at_level(2.0, 1e-9)
    for one, two, three in itertools.product(KINDS, repeat=3):
        if converts_to(one, two) and converts_to(two, three):
            assert converts_to(one, three)
            start = one.at_level(1.0, 1e-9)
            assert convert(start, three).level <= convert(convert(start, two), three).level


@pytest.mark.parametrize(
    ("known", "wanted"),
    [
        (EmdDP(1.0, sizes="bounded"), UserDP(0)),
        (EmdDP(1.0), EmdDP(0, model="local")),
        (UserDP(1.0), EmdDP(0)),
        (DiscreteEmdDP(1.0, 0, 0.1), DiscreteEmdDP(0, 0, 0.2)),
        (DiscreteEmdDP(1.0, 0, 0.1), EmdDP(0)),
    ],
)
def test_a_refusal_names_both_kinds(known: Guarantee, wanted: Guarantee) -> None:
    with pytest.raises(UsageError) as caught:
        convert(known, wanted)
    assert known.kind_name in str(caught.value)
    assert wanted.kind_name in str(caught.value)


def test_a_bounded_guarantee_has_no_user_level_form() -> None:
    with pytest.raises(UsageError, match="other sizes"):
        to_user(EmdDP(1.0, sizes="bounded"))
    with pytest.raises(UsageError, match="no bounded form"):
        to_bounded(UserDP(1.0))
    with pytest.raises(UsageError, match="no discrete form"):
        to_discrete(UserDP(1.0), 0.1)


@given(st.floats(0.0, 1e4), st.floats(1e-3, 1.0))
def test_the_discrete_level_covers_every_distance_up_to_r(alpha: float, r: float) -> None:
    assert to_discrete(EmdDP(alpha), r).epsilon >= EmdDP(alpha).at(r)[0]


def chain_delta(epsilon: float, delta: float, steps: int) -> float:
    """The true delta, at ``steps * epsilon``, of a chain of coins, each step of which is ``(epsilon, delta)``."""
    coins = [0.0]
    for _ in range(steps):
        coins.append(math.exp(epsilon) * coins[-1] + delta)
    for low, high in itertools.pairwise(coins):
        for p, q in ((high, low), (low, high), (1 - high, 1 - low), (1 - low, 1 - high)):
            assert p <= math.exp(epsilon) * q + delta * (1 + 1e-9), "a step is not (epsilon, delta)"
    # from the last coin to the first, for the outcome that the first never shows
    return coins[-1]


@pytest.mark.parametrize(("epsilon", "steps"), [(0.1, 5), (1.0, 3), (3.0, 3), (0.0, 7)])
def test_group_privacy_is_attained_by_a_chain_of_coins(epsilon: float, steps: int) -> None:
    true = chain_delta(epsilon, 1e-6, steps)
    result = group(DiscreteEmdDP(epsilon, 1e-6, 0.1), steps / 10)
    assert result.delta == pytest.approx(true, rel=1e-9)
    assert result.delta >= true * (1 - 1e-13)
    assert result.epsilon == pytest.approx(epsilon * steps)


def test_both_printed_forms_of_group_privacy_are_wrong() -> None:
    steps = 3
    assert chain_delta(3.0, 1e-6, steps) > 20 * 1e-6 * math.exp(steps)
    steps = 5
    assert chain_delta(0.1, 1e-6, steps) > 3 * 1e-6 * math.exp(0.1 * steps)


def test_group_counts_steps_in_decimals() -> None:
    assert group(DiscreteEmdDP(1.0, 0.0, 0.1), 0.3).epsilon == 3.0
    assert group(DiscreteEmdDP(1.0, 0.0, 0.3), 0.2) == DiscreteEmdDP(1.0, 0.0, 0.2)


def test_group_refuses_what_it_cannot_say() -> None:
    with pytest.raises(UsageError, match="nothing is left"):
        group(DiscreteEmdDP(10.0, 1e-6, 0.1), 1.0)
    with pytest.raises(UsageError, match="nothing is left"):
        group(DiscreteEmdDP(500.0, 1e-6, 0.1), 1.0)
    with pytest.raises(UsageError, match="unbounded DiscreteEmdDP"):
        group(DiscreteEmdDP(1.0, 1e-6, 0.1, sizes="bounded"), 1.0)
    with pytest.raises(UsageError, match="unbounded DiscreteEmdDP"):
        group(EmdDP(1.0), 1.0)  # type: ignore[arg-type]


def test_a_discrete_guarantee_reaches_the_user_level_through_group() -> None:
    assert to_user(group(DiscreteEmdDP(0.5, 0.0, 0.25), 1.0)) == UserDP(2.0)


def test_group_at_tiny_radii() -> None:
    assert group(DiscreteEmdDP(0.0, 5e-324, 1e-300), 1.0).delta == 5e-24
    with pytest.raises(UsageError, match="nothing is left"):
        group(DiscreteEmdDP(5e-324, 1e-300, 5e-324), 1.0)

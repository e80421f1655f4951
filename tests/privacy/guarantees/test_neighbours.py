"""Neighbours by replacement and by removal: both conversions by enumeration, what is refused, who pays, JSON."""

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.privacy import (
    DiscreteEmdDP,
    EmdDP,
    UserDP,
    conversion_factor,
    convert,
    converts_to,
    guarantee_from_json,
    paying,
)
from emdp.privacy.guarantees.conversions import changes_delta
from emdp.privacy.guarantees.kinds import Neighbours, is_by_removal

REMOVAL, REPLACEMENT = UserDP(0, neighbours="remove"), UserDP(0)

Table = tuple[str | None, ...]
"""For each listed user the key of the only record, or None for a user without records."""

Law = Mapping[object, Fraction]


def hockey_stick(one: Law, two: Law, factor: Fraction) -> Fraction:
    return sum((max(one[z] - factor * two[z], Fraction(0)) for z in one), Fraction(0))


def pairs(users: int, neighbours: Neighbours) -> list[tuple[Table, Table]]:
    """Ordered pairs of tables that differ in one user: in any way, or with that user's records on one side alone."""
    tables = list(itertools.product((None, "a", "b"), repeat=users))
    differing = [
        (one, two) for one in tables for two in tables if sum(x != y for x, y in zip(one, two, strict=True)) == 1
    ]
    if neighbours == "replace":
        return differing
    return [(one, two) for one, two in differing if len([x for x in one if x]) != len([x for x in two if x])]


RATIO = Fraction(3, 2)
"""``exp(epsilon)`` of the geometric noise below."""

RANGE = range(-40, 41)


def geometric(z: int) -> Fraction:
    """Two-sided geometric noise of ratio ``RATIO``; exact, the ends of the range lumped outside of it."""
    return (RATIO - 1) / (RATIO + 1) * RATIO ** -abs(z)


def largest_loss(neighbours: Neighbours) -> Fraction:
    """The largest likelihood ratio of two noisy counts, over all neighbours and outcomes."""
    largest = Fraction(1)
    for one, two in pairs(2, neighbours):
        counts = [(table.count("a"), table.count("b")) for table in (one, two)]
        for z in itertools.product(range(-3, 6), repeat=2):
            law = [geometric(z[0] - a) * geometric(z[1] - b) for a, b in counts]
            largest = max(largest, law[0] / law[1])
    return largest


def test_counts_by_key_lose_epsilon_by_removal_and_twice_that_by_replacement() -> None:
    assert largest_loss("remove") == RATIO
    assert largest_loss("replace") == RATIO**2


def test_every_pair_by_removal_is_one_by_replacement() -> None:
    # theorem 1: with the listed users kept, all that removal compares is compared by replacement, too
    for users in (1, 2, 3):
        assert set(pairs(users, "remove")) < set(pairs(users, "replace"))


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(3, 2), Fraction(4)])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 1000), Fraction(1, 50)])
def test_both_numbers_of_theorem_2_are_attained(ratio: Fraction, delta: Fraction) -> None:
    """A yes or no whose probability rises as fast as removal allows, twice: D', then none, then D."""
    low = Fraction(1, 1000)
    middle = ratio * low + delta
    high = ratio * middle + delta
    laws: list[Law] = [{1: p, 0: 1 - p} for p in (low, middle, high)]
    for one, two in itertools.pairwise(laws):
        assert max(hockey_stick(one, two, ratio), hockey_stick(two, one, ratio)) == delta
    assert hockey_stick(laws[2], laws[0], ratio**2) == delta * (1 + ratio)


@given(
    st.lists(st.lists(st.integers(1, 30), min_size=3, max_size=3), min_size=3, max_size=3),
    st.fractions(1, 3, max_denominator=8),
)
def test_theorem_2_holds_for_any_three_laws(weights: list[list[int]], ratio: Fraction) -> None:
    first, none, last = ({z: Fraction(w, sum(own)) for z, w in enumerate(own)} for own in weights)
    laws = ((first, none), (none, first), (none, last), (last, none))
    delta = max(hockey_stick(one, two, ratio) for one, two in laws)
    assert hockey_stick(first, last, ratio**2) <= delta * (1 + ratio)


@given(st.floats(0, 20), st.floats(0, 1e-10))
def test_the_conversion_is_rounded_outward(epsilon: float, delta: float) -> None:
    known = UserDP(epsilon, delta, neighbours="remove")
    found = convert(known, REPLACEMENT)
    with mpmath.workdps(60):
        exact = mpmath.mpf(repr(delta)) * (1 + mpmath.exp(mpmath.mpf(repr(epsilon))))
        assert mpmath.mpf(repr(found.delta)) >= exact
        assert found.delta <= float(exact) * (1 + 1e-11) + 1e-320
    assert Fraction(repr(found.level)) == 2 * Fraction(repr(epsilon)) or found.level >= 2 * epsilon
    assert convert(UserDP(epsilon, delta), REMOVAL) == known


def test_what_implies_replacement_implies_removal_at_the_same_price() -> None:
    assert convert(EmdDP(3.0, 1e-9), REMOVAL) == UserDP(3.0, 1e-9, neighbours="remove")
    assert convert(DiscreteEmdDP(2.0, 1e-9, 1.0), REMOVAL) == UserDP(2.0, 1e-9, neighbours="remove")
    assert convert(UserDP(2.0, model="local"), REMOVAL) == UserDP(2.0, neighbours="remove")
    assert not changes_delta(EmdDP(1.0), REMOVAL)
    assert changes_delta(REMOVAL, REPLACEMENT)


def test_the_wrong_directions_are_refused() -> None:
    removal = UserDP(1.0, 1e-9, neighbours="remove")
    for wanted in (EmdDP(0), DiscreteEmdDP(0, 0, 1.0), UserDP(0, model="shuffle"), UserDP(0, model="local")):
        assert not converts_to(removal, wanted)
    with pytest.raises(UsageError, match="at twice its epsilon and a larger delta, not by a factor"):
        conversion_factor(removal, REPLACEMENT)
    with pytest.raises(UsageError, match="nothing is left"):
        convert(UserDP(30.0, 1e-9, neighbours="remove"), REPLACEMENT)
    # a release by removal never costs the same by replacement
    assert convert(removal, REPLACEMENT).level == 2.0
    assert convert(removal, REPLACEMENT).delta == pytest.approx(1e-9 * (1 + math.e), rel=1e-9)


def test_a_budget_of_the_same_neighbours_pays_first_in_any_order() -> None:
    replace, remove, metric = UserDP(5.0), UserDP(5.0, neighbours="remove"), EmdDP(60.0)
    for promises in itertools.permutations((replace, remove, metric)):
        assert paying(UserDP(1.0), promises) == replace
        assert paying(UserDP(1.0, neighbours="remove"), promises) == remove
        assert paying(EmdDP(1.0), promises) == metric
    for promises in itertools.permutations((replace, remove)):
        assert paying(EmdDP(1.0), promises) == replace
    assert paying(UserDP(1.0), [metric, remove]) == remove
    assert paying(UserDP(1.0, neighbours="remove"), [replace, metric]) == replace
    with pytest.raises(UsageError, match="have the owner declare"):
        paying(UserDP(1.0, neighbours="remove"), [metric])


def test_replacement_is_written_as_it_always_was() -> None:
    old = {"kind": "UserDP", "epsilon": 1.0, "delta": 0.0, "model": "central"}
    assert UserDP(1.0).to_json() == old
    assert guarantee_from_json(old) == UserDP(1.0)
    assert repr(UserDP(1.0)) == "UserDP(epsilon=1.0, delta=0.0, model='central')"
    removal = UserDP(1.0, 1e-9, neighbours="remove")
    assert guarantee_from_json(removal.to_json()) == removal != UserDP(1.0, 1e-9)
    assert removal.to_json()["neighbours"] == "remove"
    assert removal.kind == REMOVAL != REPLACEMENT
    assert is_by_removal(removal)
    assert removal.kind_name == "central UserDP by removal"
    with pytest.raises(UsageError, match="neighbours must be one of"):
        guarantee_from_json({**old, "neighbours": "add"})
    with pytest.raises(UsageError, match="not the fields"):
        guarantee_from_json({**EmdDP(1.0).to_json(), "neighbours": "remove"})


@pytest.mark.parametrize("model", ["local", "shuffle"])
def test_removal_is_of_the_central_model(model: str) -> None:
    with pytest.raises(UsageError, match="the number of messages tells the number of users"):
        UserDP(1.0, model=model, neighbours="remove")  # type: ignore[arg-type]

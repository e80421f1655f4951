"""Alpha from protections (EMD 1, "Choosing alpha")."""

import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.privacy import ELSEWHERE, Change, change_distance, epsilon_for, protect
from emdp.privacy.inference import posterior
from emdp.privacy.rounding import as_decimal
from emdp.spaces import Elsewhere, Interval, Product


@dataclass(frozen=True)
class Line:
    """A stand-in with what protections read of a space."""

    diameter: float
    columns: tuple[str, ...] = ("x",)


@dataclass(frozen=True)
class Pair:
    parts: tuple[Line, ...]
    shares: tuple[float, ...]
    diameter: float = 1.0
    columns: tuple[str, ...] = ("x", "y")


EARTH = Line(12930.0)
PLACE_AND_KIND = Pair((Line(50.0, ("lat", "lon")), Line(1.0, ("kind",))), (0.75, 0.25))

changes = st.builds(Change, st.floats(1e-4, 1.0), st.floats(1e-3, 1e5), st.floats(1e-3, 10.0))


def test_a_belief_stands_for_its_epsilon() -> None:
    change = Change(0.5, 10.0, posterior=0.6)
    assert posterior(0.5, change.epsilon) <= 0.6 * (1 + 3e-12)
    assert change.epsilon == pytest.approx(math.log(1.5), rel=1e-9)
    for wrong in ({"posterior": 0.5}, {"posterior": 1.0}, {"posterior": 0.6, "epsilon": 0.1}, {}):
        with pytest.raises(UsageError):
            Change(0.5, 10.0, **wrong)


def test_known_answers_of_the_paper() -> None:
    first, second = Change(1 / 30, 1000, 0.2), Change(1, 100, 0.2)
    assert protect(first, space=EARTH) == pytest.approx(77.58, rel=1e-12)
    assert protect(second, space=EARTH) == 25.86
    assert protect(first, second, space=EARTH) == 25.86


@given(st.lists(changes, min_size=1, max_size=4))
def test_every_change_is_covered_and_one_is_tight(asked: list[Change]) -> None:
    alpha = protect(*asked, space=EARTH)
    covered = [epsilon_for(alpha, change, space=EARTH) / change.epsilon for change in asked]
    assert max(covered) <= 1
    assert max(covered) >= 1 - 1e-12


@given(st.floats(1e-3, 1e4), changes)
def test_the_inverse_rounds_up(alpha: float, change: Change) -> None:
    exact = as_decimal(alpha) * as_decimal(change.fraction)
    exact *= min(as_decimal(change.distance) / as_decimal(EARTH.diameter), 1)
    assert 0 <= as_decimal(epsilon_for(alpha, change, space=EARTH)) - exact <= exact * as_decimal(1e-15)


def test_farther_than_the_diameter_counts_as_the_diameter() -> None:
    assert protect(Change(0.5, 1e9, 0.2), space=EARTH) == protect(Change(0.5, 12930, 0.2), space=EARTH) == 0.4


def test_a_part_of_a_product_space_counts_with_its_share() -> None:
    moved = Change(0.5, 5.0, 0.2, part="lat")
    assert change_distance(moved, space=PLACE_AND_KIND) == 0.0375
    assert protect(moved, space=PLACE_AND_KIND) == pytest.approx(0.2 / 0.0375)
    assert protect(Change(0.5, 1.0, 0.2, part="kind"), space=PLACE_AND_KIND) == 1.6
    assert protect(Change(0.5, 1.0, 0.2, part=1), space=PLACE_AND_KIND) == 1.6


def test_a_product_space_needs_a_part() -> None:
    with pytest.raises(UsageError, match=r"part is missing for the parts 0 \(lat, lon\), 1 \(kind\)"):
        protect(Change(0.5, 5.0, 0.2), space=PLACE_AND_KIND)
    with pytest.raises(UsageError, match="'hour' names none"):
        protect(Change(0.5, 5.0, 0.2, part="hour"), space=PLACE_AND_KIND)
    with pytest.raises(UsageError, match="2 names none"):
        protect(Change(0.5, 5.0, 0.2, part=2), space=PLACE_AND_KIND)


def test_a_single_space_may_name_its_part() -> None:
    assert protect(Change(1, 100, 0.2, part="x"), space=EARTH) == 25.86


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((0.0, 1.0, 1.0), "fraction must be above 0"),
        ((1.5, 1.0, 1.0), "fraction must be between"),
        ((1.0, 0.0, 1.0), "distance must be above 0"),
        ((1.0, 1.0, -0.2), "epsilon must be above 0"),
        ((1.0, 1.0, 1.0, True), "part must be a column"),
        ((1.0, 1.0, 1.0, 0.5), "part must be a column"),
    ],
)
def test_malformed_changes_are_refused(values: tuple[float, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Change(*values)


def test_no_change_and_no_alpha_are_refused() -> None:
    with pytest.raises(UsageError, match="at least one change"):
        protect(space=EARTH)
    with pytest.raises(UsageError, match="alpha must be at least 0"):
        epsilon_for(-1.0, Change(1, 1, 1), space=EARTH)


class TestElsewhere:
    def test_known_answers(self) -> None:
        line = Interval("x", 0, 50, unit="km")
        for rho in (0.5, 0.75, 1.0):
            space = Elsewhere(line, rho)
            assert protect(Change(1, ELSEWHERE, 1), space=space) == pytest.approx(1 / rho)
            assert epsilon_for(81.585, Change(1 / 30, ELSEWHERE, 1), space=space) == pytest.approx(2.7195 * rho)
            assert protect(Change(0.1, 5, 0.2), space=space) == protect(Change(0.1, 5, 0.2), space=line)

    def test_it_is_of_whole_records_and_of_a_space_that_has_the_point(self) -> None:
        with pytest.raises(UsageError, match="part must be left out"):
            Change(1, ELSEWHERE, 1, part="x")
        with pytest.raises(UsageError, match="elsewhere=1"):
            protect(Change(1, ELSEWHERE, 1), space=Interval("x", 0, 50))
        with pytest.raises(UsageError, match="distance"):
            Change(1, "nowhere", 1)

    def test_a_product_needs_no_part(self) -> None:
        space = Elsewhere(Product(Interval("x", 0, 50), Interval("y", 0, 1)))
        assert protect(Change(0.5, ELSEWHERE, 1), Change(1, 5, 1, part="x"), space=space) == 2.0


@pytest.mark.parametrize("strange", [[Change(0.5, 1.0, 1.0)], 0.5, None])
def test_changes_are_passed_one_by_one(strange: object) -> None:
    with pytest.raises(UsageError, match="changes must each be an"):
        protect(strange, space=Interval("x", 0, 1))

"""Several mechanisms that an answer shows as one: nothing of what rounding costs is lost."""

from dataclasses import dataclass
from fractions import Fraction

import pytest

from emdp.mechanisms.release import JoinedMechanism


@dataclass(frozen=True)
class Made:
    theorem: str
    slack_epsilon: float
    slack_delta: float
    is_exact: bool

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        return (("sensitivity", f"{self.slack_epsilon} {unit}"),)


@pytest.mark.parametrize("costs", [(0.1, 0.2), (0.1, 0.2, 0.3, 1e-17), (1e-300, 0.7), (0.0,)])
def test_slacks_are_never_below_the_exact_sum(costs: tuple[float, ...]) -> None:
    joined = JoinedMechanism(tuple(Made("a theorem", cost, cost / 8, False) for cost in costs))
    epsilon, delta = (
        sum(Fraction(repr(share)) for share in shares) for shares in (costs, [cost / 8 for cost in costs])
    )
    for said, true in ((joined.slack_epsilon, epsilon), (joined.slack_delta, delta)):
        assert true <= Fraction(repr(said)) <= true * (1 + Fraction(1, 2**50)) + Fraction(1, 10**320)


def test_one_that_hides_is_enough_not_to_be_exact() -> None:
    exact, hiding = Made("first", 0.0, 0.0, True), Made("second", 0.5, 0.0, False)
    assert JoinedMechanism((exact, exact)).is_exact
    joined = JoinedMechanism((exact, hiding, hiding))
    assert not joined.is_exact
    assert joined.theorem == "first; second"
    assert joined.facts("d_em") == (
        ("sensitivity", "0.0 d_em"),
        ("sensitivity", "0.5 d_em"),
        ("sensitivity", "0.5 d_em"),
    )

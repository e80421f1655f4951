"""Claims at a distance: of every kind of guarantee, and of Gaussian noise by its profile."""

import math
from fractions import Fraction

import pytest
from scipy.stats import norm

from emdp.audit.claims import LARGER_DELTA, claims_at, default_distances, joint_claims
from emdp.base.errors import UsageError
from emdp.mechanisms import GaussianMechanism, LaplaceMechanism
from emdp.privacy import DiscreteEmdDP, EmdDP, GuaranteeEvent, UserDP


def test_every_kind_is_read_at_its_distance() -> None:
    slack = GuaranteeEvent(EmdDP(3.0, 1e-9), slack_epsilon=0.25)
    assert [(one.epsilon, one.delta) for one in claims_at(slack, 0.5)] == [(1.75, 1e-9)]
    assert claims_at(GuaranteeEvent(UserDP(2.0)), 0.01)[0].epsilon == 2.0
    discrete = GuaranteeEvent(DiscreteEmdDP(0.5, 1e-6, r=0.1))
    assert claims_at(discrete, 0.1)[0].epsilon == 0.5
    with pytest.raises(UsageError, match="beyond r"):
        claims_at(discrete, 0.11)


@pytest.mark.parametrize("distance", [0.2, 1.0])
def test_gaussian_noise_has_the_epsilon_of_its_profile(distance: float) -> None:
    """The exact hockey-stick divergence of two normal laws is the second way."""
    mechanism = GaussianMechanism(sensitivity=1.0, alpha=5.0, delta=1e-6)
    claims = claims_at(mechanism.event(), distance)
    assert [claim.delta for claim in claims] == [1e-6, LARGER_DELTA]
    epsilon, mu = claims[1].epsilon, distance / mechanism.scale
    delta = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert delta <= LARGER_DELTA * (1 + 1e-9)
    assert delta >= LARGER_DELTA * (1 - 1e-6) or epsilon < 1e-9
    assert epsilon < claims[0].epsilon or distance == 0.2


def test_releases_together_promise_the_sum() -> None:
    events = [LaplaceMechanism(sensitivity=1.0, alpha=alpha).event() for alpha in (1.0, 2.0)]
    (claim,) = joint_claims(events, 0.5)
    assert claim.epsilon >= 1.5
    assert claim.epsilon - 1.5 < 1e-10
    gaussian = [GaussianMechanism(sensitivity=1.0, alpha=2.0, delta=1e-6).event() for _ in range(2)]
    whole, profile = joint_claims(gaussian, 1.0)
    assert (whole.delta, profile.delta) == (2e-6, LARGER_DELTA)
    assert profile.epsilon < whole.epsilon
    assert Fraction(whole.epsilon) >= 4


def test_distances_are_where_losses_can_be_seen() -> None:
    assert default_distances([GuaranteeEvent(EmdDP(20.0))]) == (0.025, 0.05, 0.1, 0.2)
    assert default_distances([GuaranteeEvent(EmdDP(0.1))]) == (1.0,)
    assert default_distances([GuaranteeEvent(EmdDP(3.0)), GuaranteeEvent(EmdDP(1.0))]) == (0.125, 0.25, 0.5, 1.0)
    assert default_distances([GuaranteeEvent(UserDP(1.0))]) == (0.25, 1.0)
    assert default_distances([GuaranteeEvent(DiscreteEmdDP(0.5, 1e-6, r=0.1))]) == (0.1,)

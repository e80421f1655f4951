"""The price of disjoint groups of users is the largest of each number, also where groups pay different ones."""

import itertools

import pytest

from emdp.estimators.plan import parallel_event
from emdp.mechanisms import GaussianMechanism, LaplaceMechanism
from emdp.privacy import EmdDP, GaussianEvent, LaplaceEvent


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_groups_of_different_prices_cost_the_largest_of_each(order: tuple[int, ...]) -> None:
    alphas, errors = (1.0, 2.0, 0.5), (3e-9, 0.0, 1e-9)
    groups = [LaplaceMechanism(sensitivity=0.1, alpha=alphas[i], statistic_error=errors[i]) for i in order]
    event = parallel_event(groups, EmdDP(0.0))
    assert event.guarantee == EmdDP(2.0)
    assert event.slack_epsilon == max(group.slack_epsilon for group in groups)
    assert not isinstance(event, LaplaceEvent), "no one law has the largest alpha and the largest slack"


@pytest.mark.parametrize("order", list(itertools.permutations(range(2))))
def test_gaussian_groups_keep_the_largest_ratio_delta_and_slack(order: tuple[int, ...]) -> None:
    # The larger alpha with the smaller delta, so that neither group has the largest of all.
    mixed = [(1.0, 1e-6), (2.0, 1e-9)]
    groups = [GaussianMechanism(sensitivity=0.1, alpha=mixed[i][0], delta=mixed[i][1]) for i in order]
    assert parallel_event(groups, EmdDP(0.0)).guarantee == EmdDP(2.0, 1e-6)
    # One price, and ratios that differ by roundings alone.
    equal = [GaussianMechanism(sensitivity=s, alpha=1.0, delta=1e-6) for s in (0.1, 0.037, 1 / 3, 7.0)]
    event = parallel_event([equal[i] for i in (*order, 2, 3)], EmdDP(0.0))
    assert isinstance(event, GaussianEvent)
    ratios = {group.event().gaussian_mu for group in equal}
    assert len(ratios) > 1
    assert event.mu == max(ratios)

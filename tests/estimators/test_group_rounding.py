"""Prices of disjoint groups of users that differ in size, and so in the last bits of all that is derived from it."""

import numpy as np
import pytest

from emdp.estimators.plan import parallel_event
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
from emdp.privacy import Account, Budget, EmdDP, UserDP
from emdp.privacy.events.noise import GaussianEvent, LaplaceEvent


def groups(kind: type[AdditiveMechanism], rng: np.random.Generator, count: int) -> list[AdditiveMechanism]:
    delta = 1e-6 if kind is GaussianMechanism else 0.0
    sizes = rng.integers(1, 5000, count).tolist()
    return [
        kind(sensitivity=3 / n, alpha=2.0, delta=delta, dimension=4, statistic_error=1e-12 / n, magnitude=1.0)
        for n in sizes
    ]


@pytest.mark.parametrize("kind", [EmdDP(0.0), UserDP(0.0)])
@pytest.mark.parametrize("seed", range(10))
def test_one_event_covers_the_noise_of_every_group(seed: int, kind: EmdDP | UserDP) -> None:
    rng = np.random.default_rng(seed)
    for law, expected in ((LaplaceMechanism, LaplaceEvent), (GaussianMechanism, GaussianEvent)):
        mechanisms = groups(law, rng, int(rng.choice([1, 2, 20])))
        event, own = parallel_event(mechanisms, kind), [mechanism.event(kind) for mechanism in mechanisms]
        assert isinstance(event, expected)
        assert event.guarantee == own[0].guarantee
        assert event.slack_epsilon == max(one.slack_epsilon for one in own)
        assert event.slack[1] == max(one.slack[1] for one in own)
        if isinstance(event, GaussianEvent):
            assert event.mu == max(one.gaussian_mu or 0.0 for one in own)


def test_gaussian_noise_by_group_is_paid_from_the_gaussian_reserve_whatever_the_sizes() -> None:
    budget = Budget(EmdDP(10.0, 1e-3), gaussian_share=0.5)
    for seed in range(10):
        event = parallel_event(groups(GaussianMechanism, np.random.default_rng(seed), 20), EmdDP(0.0))
        account = Account(budget).charge(event)
        assert account.square > 0
        assert (account.level, account.delta) == (0, 0)


def test_groups_with_noise_of_different_laws_cost_the_larger_level_and_delta() -> None:
    laplace = LaplaceMechanism(sensitivity=0.1, alpha=3.0, statistic_error=1e-3)
    gaussian = GaussianMechanism(sensitivity=0.1, alpha=2.0, delta=1e-6)
    for mechanisms in ([laplace, gaussian], [gaussian, laplace]):
        event = parallel_event(mechanisms, EmdDP(0.0))
        assert event.guarantee == EmdDP(3.0, 1e-6)
        assert event.gaussian_mu is None
        assert event.slack_epsilon == laplace.slack_epsilon

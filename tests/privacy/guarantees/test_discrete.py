"""Discrete guarantees: composition at one r, other r's and metrics by name only, and who pays what."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from emdp.base.errors import BudgetExceededError, UsageError
from emdp.privacy import (
    Account,
    Budget,
    DiscreteEmdDP,
    EmdDP,
    Guarantee,
    GuaranteeEvent,
    UserDP,
    compose,
    group,
    tight,
    total_as_user,
)
from emdp.privacy.guarantees.conversions import paying
from emdp.privacy.guarantees.metrics import MetricTotal, change_metric, compose_metrics
from emdp.privacy.reduction import reduced_guarantee

NEAR = DiscreteEmdDP(1.0, 1e-9, r=0.05)


def event(guarantee: Guarantee) -> GuaranteeEvent:
    return GuaranteeEvent(guarantee)


def test_guarantees_at_one_r_add_up() -> None:
    total = compose([event(DiscreteEmdDP(0.1, 1e-10, 0.05))] * 3)
    assert total.guarantee == DiscreteEmdDP(0.3, 3e-10, 0.05)
    account = Account(Budget(NEAR))
    for _ in range(10):
        account = account.charge(event(DiscreteEmdDP(0.1, 1e-10, 0.05)))
    assert account.spent == NEAR
    with pytest.raises(BudgetExceededError):
        account.charge(event(DiscreteEmdDP(1e-12, 0.0, 0.05)))
    # loss distributions at the distance r say less than the sum
    assert tight([event(DiscreteEmdDP(0.1, 0.0, 0.05))] * 100, 1e-6).guarantee.level < 5


def test_what_holds_farther_pays_as_it_is_and_what_holds_less_far_is_refused() -> None:
    account = Account(Budget(NEAR))
    account = account.charge(event(DiscreteEmdDP(0.25, 1e-10, r=0.2)))
    account = account.charge(event(EmdDP(5.0, 1e-10)))  # 5 * 0.05
    account = account.charge(event(DiscreteEmdDP(0.25, 0.0, r=1.0)))
    assert account.spent == DiscreteEmdDP(0.75, 2e-10, 0.05)
    less = DiscreteEmdDP(0.05, 1e-12, r=0.01)
    with pytest.raises(
        UsageError, match=r"ask for it up to r = 0\.05, or convert it by emdp\.privacy\.group\(guarantee, 0\.05\)"
    ):
        account.charge(event(less))
    # the remedy works, and costs what group privacy costs: five steps
    grouped = group(less, 0.05)
    assert grouped.epsilon == 0.25
    assert account.charge(event(grouped)).spent.level == 1.0


def test_unlike_kinds_are_never_added_up() -> None:
    near, far = event(DiscreteEmdDP(0.1, 0.0, 0.05)), event(DiscreteEmdDP(0.1, 0.0, 0.2))
    for pair in ([near, far], [near, event(EmdDP(1.0))], [near, event(DiscreteEmdDP(0.1, 0.0, 0.05, "bounded"))]):
        with pytest.raises(UsageError, match="of one kind"):
            compose(pair)
    assert compose([near, far], kind=NEAR).guarantee == DiscreteEmdDP(0.2, 0.0, 0.05)
    with pytest.raises(UsageError, match=r"group\(guarantee, 0\.2\)"):
        compose([near, far], kind=far.guarantee)
    for refused in (UserDP(0.1), DiscreteEmdDP(0.1, 0.0, 0.05, "bounded"), EmdDP(1.0, sizes="bounded")):
        with pytest.raises(UsageError, match="is no unbounded central DiscreteEmdDP"):
            Account(Budget(NEAR)).charge(event(refused))
    with pytest.raises(UsageError, match=r"group\(\) to see what is left at distance 1"):
        total_as_user([Account(Budget(NEAR))])
    assert total_as_user([Account(Budget(DiscreteEmdDP(1.0, 0.0, r=1.0)))]).guarantee == UserDP(0.0)


def test_a_reduced_release_is_paid_by_the_discrete_budget() -> None:
    release = reduced_guarantee(EmdDP(10.0, 0.0, "bounded", "shuffle"), 0.05, 3000, 1e-10)
    account = Account(Budget(NEAR)).charge(event(release))
    assert account.spent.level == release.epsilon < 10 * 0.1
    with pytest.raises(UsageError, match="is no unbounded central EmdDP"):
        Account(Budget(EmdDP(10.0, 1e-9))).charge(event(release))


LOCAL = DiscreteEmdDP(1.0, 0.0, 0.05, model="local")


@pytest.mark.parametrize(
    ("release", "promises", "expected"),
    [
        (EmdDP(1.0), (UserDP(1.0), NEAR, EmdDP(60.0)), EmdDP(60.0)),
        (EmdDP(1.0), (UserDP(1.0), NEAR), NEAR),
        (EmdDP(1.0), (UserDP(1.0),), UserDP(1.0)),
        (EmdDP(1.0, model="shuffle"), (UserDP(1.0), LOCAL), UserDP(1.0)),
        (DiscreteEmdDP(0.1, 0.0, 0.05), (EmdDP(60.0), NEAR, UserDP(1.0)), NEAR),
        (DiscreteEmdDP(0.1, 0.0, 1.0), (EmdDP(60.0), NEAR, UserDP(1.0)), NEAR),
        (DiscreteEmdDP(0.1, 0.0, 1.0), (EmdDP(60.0), UserDP(1.0)), UserDP(1.0)),
        (UserDP(0.1), (EmdDP(60.0), NEAR, UserDP(1.0)), UserDP(1.0)),
        (DiscreteEmdDP(0.1, 0.0, 0.01), (EmdDP(60.0), NEAR, UserDP(1.0)), r"group\(guarantee, 0\.05\)"),
        (DiscreteEmdDP(0.1, 0.0, 0.5), (EmdDP(60.0), UserDP(1.0)), "does not get stronger as the distance falls"),
        (
            UserDP(0.1),
            (NEAR, EmdDP(60.0)),
            "needs a budget of the kind central UserDP, and the table has unbounded .* ask with alpha",
        ),
        (EmdDP(1.0, sizes="bounded"), (EmdDP(60.0), NEAR, UserDP(1.0)), "bags of other sizes"),
    ],
)
def test_which_of_several_budgets_pays(
    release: Guarantee, promises: tuple[Guarantee, ...], expected: Guarantee | str
) -> None:
    for order in itertools.permutations(promises):
        if isinstance(expected, Guarantee):
            assert paying(release, order) == expected
        else:
            with pytest.raises(UsageError, match=expected):
                paying(release, order)


def test_two_metrics_meet_in_their_mixture() -> None:
    total = compose_metrics(EmdDP(0.1, 1e-9), EmdDP(0.2, 2e-9))
    assert total == MetricTotal(EmdDP(0.3, 3e-9), (0.1, 0.2))
    rng = np.random.default_rng(5)
    for _ in range(40):
        k, a, b = 4, *rng.uniform(0.1, 5, 2)
        first, second = (_metric(rng.uniform(0.05, 1, (k, k))) for _ in range(2))
        p, q = rng.dirichlet(np.ones(k), 2)
        apart = a * _d_em(p, q, first) + b * _d_em(p, q, second)
        together = (a + b) * _d_em(p, q, (a * first + b * second) / (a + b))
        assert apart <= together + 1e-9


def test_a_metric_below_another_scales_the_guarantee() -> None:
    assert change_metric(EmdDP(2.0, 1e-9, "bounded", "local"), 0.5) == EmdDP(1.0, 1e-9, "bounded", "local")
    assert change_metric(DiscreteEmdDP(1.0, 1e-9, 0.3), 3.0) == DiscreteEmdDP(1.0, 1e-9, 0.1)
    assert change_metric(DiscreteEmdDP(1.0, 1e-9, 0.3), 0.1).r == 1.0  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compose_metrics(EmdDP(1.0), UserDP(1.0)), "state both by to_user"),  # type: ignore[arg-type]
        (lambda: compose_metrics(EmdDP(1.0), NEAR), "must be EmdDP, not DiscreteEmdDP"),  # type: ignore[arg-type]
        (lambda: compose_metrics(EmdDP(1.0), EmdDP(1.0, model="local")), "of one kind"),
        (lambda: compose_metrics(EmdDP(0.0), EmdDP(0.0)), "above 0"),
        (lambda: compose_metrics(EmdDP(1.0, 0.5), EmdDP(1.0, 0.5)), "add up to 1"),
        (lambda: change_metric(EmdDP(1.0), 0.0), "factor must be above 0"),
        (lambda: change_metric(UserDP(1.0), 2.0), "under no metric"),  # type: ignore[arg-type]
        (lambda: paying(EmdDP(1.0), ()), "at least one"),
    ],
)
def test_what_has_no_meaning_is_refused(call: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()  # type: ignore[operator]


def _metric(weights: np.ndarray) -> np.ndarray:
    """Return shortest paths over symmetric weights: a metric with values of at most 1."""
    found = np.minimum(weights, weights.T)
    np.fill_diagonal(found, 0.0)
    for middle in range(len(found)):
        found = np.minimum(found, found[:, [middle]] + found[[middle], :])
    return found


def _d_em(p: np.ndarray, q: np.ndarray, distances: np.ndarray) -> float:
    k = len(p)
    rows = [np.kron(np.eye(k)[x], np.ones(k)) for x in range(k)] + [np.kron(np.ones(k), np.eye(k)[x]) for x in range(k)]
    solved = linprog(distances.ravel(), A_eq=np.array(rows), b_eq=np.concatenate([p, q]), method="highs")
    assert solved.success
    return float(solved.fun)

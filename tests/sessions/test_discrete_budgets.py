"""Sessions whose budget is a discrete guarantee, alone and beside the other two kinds, end to end."""

from pathlib import Path

import polars as pl
import pytest

import emdp
from emdp.base.errors import BudgetExceededError, LedgerError, UsageError
from emdp.budgets.accounts import Accounts
from emdp.budgets.promises import make_budgets
from emdp.ledger import open_ledger
from emdp.privacy import DiscreteEmdDP, EmdDP, Guarantee, GuaranteeEvent, UserDP, group
from emdp.sessions.asking import declaration_of

NEAR = DiscreteEmdDP(1.0, 1e-9, r=0.05)
COUNT = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 0.5, max_records_per_user = 5) COUNT(*) AS k FROM data"
MEAN = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 4) AVG(x) AS x FROM data"


def table(high: float = 1.0) -> emdp.Table:
    rows = pl.DataFrame({"user": [1, 1, 2, 3], "x": [0.1, 0.4, 0.9, 0.5]})
    return emdp.read(rows, user="user", space=emdp.Interval("x", 0, high), users=3)


def charge(place: Path, release: Guarantee, budget: object = NEAR) -> None:
    """Charge a release that is known by its guarantee, as an item-wise release on sampled records is."""
    with open_ledger(place) as opened:
        accounts = Accounts(opened, "data", make_budgets(budget, 0.0), declaration_of(table()))  # type: ignore[arg-type]
        accounts.charge_all([(GuaranteeEvent(release, "item-wise release"), {"query": "itemwise"})])


def test_a_discrete_budget_pays_unbounded_releases_at_its_r_and_discrete_ones_that_reach_it(tmp_path: Path) -> None:
    place = tmp_path / "x.ledger"
    with emdp.Session(table(), budget=NEAR, ledger=place) as session:
        preview = session.preview(MEAN)
        assert preview.frame["affordable"].to_list() == [5]  # 4 * 0.05 = 0.2 of 1
        answer = session.sql(MEAN)
        assert answer.spent == EmdDP(4.0)
        assert session.spent() == DiscreteEmdDP(0.2, 0.0, 0.05)
    charge(place, DiscreteEmdDP(0.25, 1e-10, r=0.05))
    charge(place, DiscreteEmdDP(0.25, 1e-10, r=0.5, model="shuffle"))
    with emdp.Session(table(), budget=NEAR, ledger=place) as session:
        assert session.spent(DiscreteEmdDP) == DiscreteEmdDP(0.7, 2e-10, 0.05)
        assert session.remaining() == DiscreteEmdDP(0.3, 8e-10, 0.05)
        history = session.history()
        assert history["alpha"].to_list() == [4.0, 0.25, 0.25]
        assert history["kind"].to_list()[1:] == [
            "unbounded central DiscreteEmdDP up to d_em = 0.05",
            "unbounded shuffle DiscreteEmdDP up to d_em = 0.5",
        ]
        with pytest.raises(
            BudgetExceededError, match=r"epsilon = 0\.4 .* more than the budget has left, epsilon = 0\.3"
        ):
            session.mean(emdp.col("x"), alpha=8)
        assert session.sql(MEAN).frame.height == 1
        # several statements for one price
        batch = MEAN.replace("alpha = 4", "alpha = 0.5")
        assert len(session.sql_batch(f"{batch}; {batch}")) == 2
        assert session.remaining().level == pytest.approx(0.05)
        with pytest.raises(UsageError, match="needs a budget of the kind central UserDP"):
            session.sql(COUNT)


def test_a_release_that_reaches_less_far_is_refused_until_group_privacy_states_it(tmp_path: Path) -> None:
    place, less = tmp_path / "x.ledger", DiscreteEmdDP(0.1, 1e-11, r=0.02)
    with pytest.raises(
        UsageError, match=r"ask for it up to r = 0\.05, or convert it by emdp\.privacy\.group\(guarantee, 0\.05\)"
    ):
        charge(place, less)
    charge(place, group(less, 0.05))
    with emdp.Session(table(), budget=NEAR, ledger=place) as session:
        spent = session.spent()
        assert spent.level == pytest.approx(0.3)  # three steps of at most 0.02
        assert 3e-11 < spent.delta < 4e-11
    for refused in (DiscreteEmdDP(0.1, 0.0, r=0.05, sizes="bounded"), EmdDP(1.0, sizes="bounded"), UserDP(0.1)):
        with pytest.raises(
            UsageError, match=r"needs a budget of the kind .*, and the table has unbounded central Disc"
        ):
            charge(place, refused)


@pytest.mark.slow
def test_an_itemwise_release_on_sampled_records_is_paid_by_the_discrete_budget(tmp_path: Path) -> None:
    kinds = ["bar", "cafe", "park"]
    rows = pl.DataFrame({"user": [*(place % 20 for place in range(90)), *[3] * 30], "kind": kinds * 40})
    places = emdp.read(rows, user="user", space=emdp.Categories("kind", kinds), users=20, name="places")
    krr, sizes = emdp.randomizers.KRR, emdp.BoundedReduction(samples=100, r=0.1)
    with emdp.Session(places, budget=[EmdDP(4.0, 1e-9), NEAR], ledger=tmp_path / "x.ledger") as session:
        answer = session.itemwise(krr, epsilon=0.5, delta=1e-10, sizes=sizes)
        assert isinstance(answer.spent, DiscreteEmdDP)
        assert answer.spent.kind == DiscreteEmdDP(0.0, 0.0, 0.1)
        assert 0.45 < answer.spent.epsilon <= 0.5
        assert session.spent(DiscreteEmdDP) == DiscreteEmdDP(answer.spent.epsilon, answer.spent.delta, 0.05)
        assert session.spent(EmdDP).level == 0.0
        nearer = emdp.BoundedReduction(samples=100, r=0.01)
        with pytest.raises(UsageError, match=r"ask for it up to r = 0\.05"):
            session.itemwise(krr, epsilon=0.1, delta=1e-10, sizes=nearer)
        assert session.history().height == 1


def test_three_budgets_side_by_side_are_charged_apart(tmp_path: Path) -> None:
    place, budget = tmp_path / "x.ledger", [UserDP(1.0), NEAR, EmdDP(20.0, 1e-9)]
    with emdp.Session(table(), budget=budget, ledger=place) as session:
        session.sql(MEAN)
        session.sql(COUNT)
    charge(place, DiscreteEmdDP(0.25, 1e-10, r=0.1), budget)
    with emdp.Session(table(), budget=budget, ledger=place) as session:
        assert session.spent(EmdDP) == EmdDP(4.0)
        assert session.spent(DiscreteEmdDP) == DiscreteEmdDP(0.25, 1e-10, 0.05)
        assert session.spent(UserDP) == UserDP(0.5)
        assert session.remaining_all() == (UserDP(0.5), DiscreteEmdDP(0.75, 9e-10, 0.05), EmdDP(16.0, 1e-9))
        # what fits its own kind no more is not moved to another budget
        with pytest.raises(BudgetExceededError, match=r"alpha = 18\.0"):
            session.mean(emdp.col("x"), alpha=18)
    with pytest.raises(UsageError, match=r"group\(guarantee, 0\.05\)"):
        charge(place, DiscreteEmdDP(0.25, 0.0, r=0.01), budget)


def test_without_a_budget_of_its_kind_a_release_goes_to_the_nearest_one(tmp_path: Path) -> None:
    for number, budget in enumerate(([UserDP(10.0), NEAR], [NEAR, UserDP(10.0)])):
        with emdp.Session(table(), budget=budget, ledger=tmp_path / f"{number}.ledger") as session:
            session.sql(MEAN)
            assert (session.spent(DiscreteEmdDP).level, session.spent(UserDP).level) == (0.2, 0.0)


def test_two_budgets_of_one_class_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="pass one of each kind at most"):
        emdp.Session(table(), budget=[NEAR, DiscreteEmdDP(1.0, 0.0, r=0.2)], ledger=tmp_path / "x.ledger")
    with (
        emdp.Session(table(), budget=NEAR, ledger=tmp_path / "x.ledger") as session,
        pytest.raises(UsageError, match="must be that of one of the session's budgets"),
    ):
        session.spent(UserDP)


def test_a_ledger_holds_a_table_to_one_metric_and_one_r(tmp_path: Path) -> None:
    place = tmp_path / "x.ledger"
    with emdp.Session(table(), budget=NEAR, ledger=place) as session:
        session.sql(MEAN)
    with pytest.raises(LedgerError, match=r"under another space \(domain, diameter"):
        emdp.Session(table(high=2.0), budget=NEAR, ledger=place)
    with pytest.raises(LedgerError, match=r"holds another budget for table 'data', .* up to d_em = 0\.05\)"):
        emdp.Session(table(), budget=DiscreteEmdDP(1.0, 1e-9, r=0.1), ledger=place)
    with emdp.Session(table(), budget=NEAR, ledger=place) as session:
        assert session.spent() == DiscreteEmdDP(0.2, 0.0, 0.05)

"""Charges of lists of users: those without anybody in common cost as much as the dearest."""

import random

import pytest

from emdp.base.errors import BudgetExceededError, LedgerError
from emdp.privacy import Budget, EmdDP, GaussianEvent, GuaranteeEvent, UserDP
from emdp.privacy.account.filter import Account
from emdp.privacy.account.lists import ListCharge, account_of_list


def charge(alpha: float, users: str | None, *apart: str) -> ListCharge:
    return ListCharge(GuaranteeEvent(EmdDP(alpha)), users, frozenset(apart))


BUDGET = Budget(EmdDP(100.0))


def test_known_answers() -> None:
    """Levels 3, 5, 4: without anybody in common 5, with one user on the first and the third 7, of no lists 12."""
    assert account_of_list(BUDGET, [charge(3.0, "a"), charge(5.0, "b", "a"), charge(4.0, "c", "a", "b")]).level == 5
    chained = [charge(3.0, "a"), charge(5.0, "b", "a"), charge(4.0, "c", "b")]
    assert account_of_list(BUDGET, chained).level == 7
    assert [account_of_list(BUDGET, chained, users).level for users in "abc"] == [7, 5, 7]
    assert account_of_list(BUDGET, [charge(3.0, "a"), charge(5.0, None), charge(4.0, "c", "a")]).level == 9
    assert account_of_list(BUDGET, [charge(3.0, "a"), charge(5.0, "b"), charge(4.0, "c")]).level == 12
    assert account_of_list(BUDGET, chained, "d", "abc").level == 0
    assert account_of_list(BUDGET, chained, "d", "b").level == 7


@pytest.mark.quarter
@pytest.mark.parametrize("seed", range(150))
def test_no_user_is_charged_more_than_the_account_says(seed: int) -> None:
    """Random people on random lists, lists that are apart not always known to be: each person's own sum, by hand."""
    draw = random.Random(seed)
    lists = {name: {user for user in range(8) if draw.random() < 0.3} for name in "abcdef"}
    charges: list[ListCharge] = []
    seen: list[str] = []
    for _ in range(draw.randint(1, 15)):
        name = draw.choice([*lists, None])
        apart = {
            other
            for other in lists
            if name is not None and not lists[name] & lists[other] and (other != name) and draw.random() < 0.8
        }
        # Before an answer it must fit into what its list is told of: no user on it has had more.
        told = account_of_list(BUDGET, charges, name, apart) if name is not None else account_of_list(BUDGET, charges)
        mine = set(range(8)) if name is None else lists[name]
        for user in mine:
            own = sum(one.event.guarantee.level for one in charges if one.users is None or user in lists[one.users])
            assert own <= float(told.level) * (1 + 1e-12)
        charges.append(ListCharge(GuaranteeEvent(EmdDP(draw.uniform(0.1, 5))), name, frozenset(apart)))
        seen += [name] if name else []
    largest = account_of_list(BUDGET, charges).level
    for user in range(8):
        own = sum(one.event.guarantee.level for one in charges if one.users is None or user in lists[one.users])
        assert own <= float(largest) * (1 + 1e-12)


def test_what_was_decided_at_first_stays() -> None:
    """That two lists are apart is said by the first charge of the later one; what is said later changes no sum."""
    charges = [charge(3.0, "a"), charge(5.0, "b"), charge(1.0, "b", "a")]
    assert account_of_list(BUDGET, charges).level == 9
    assert account_of_list(BUDGET, charges[:2], "b", ["a"]).level == 8


def test_of_one_list_it_is_the_plain_account() -> None:
    """The same as without lists, with Gaussian noise that fills the reserve and then is paid as its level."""
    budget = Budget(UserDP(4.0, 1e-4), gaussian_share=0.5)
    event = GaussianEvent(1.0, 1e-6, 1, 1.0, 0.15, 2.0**-40, 1e-11, 1e-30, kind=UserDP(0.0))
    charges = [event] * 5 + [GuaranteeEvent(UserDP(0.5))]
    plain = Account.from_charges(budget, charges)
    for users in (None, "a"):
        found = account_of_list(budget, [ListCharge(own, users) for own in charges], users)
        assert (found.level, found.delta, found.square, found.count) == (
            plain.level, plain.delta, plain.square, plain.count,
        )  # fmt: skip


def test_more_than_the_budget_is_no_ledger_of_ours() -> None:
    with pytest.raises(LedgerError):
        account_of_list(BUDGET, [charge(60.0, "a"), charge(60.0, "b")])
    found = account_of_list(BUDGET, [charge(60.0, "a"), charge(60.0, "b", "a")], "b")
    with pytest.raises(BudgetExceededError):
        found.charge(GuaranteeEvent(EmdDP(41.0)))

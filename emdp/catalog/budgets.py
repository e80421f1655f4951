"""Budgets of a catalog as they were written: per user, per period, or both; and guarantees at user level."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from emdp.privacy import Change, DiscreteEmdDP, EmdDP, Guarantee, UserDP, protect
from emdp.spaces import Space

__all__ = ["read_budget"]

BUDGET_KEYS = ("alpha", "epsilon", "delta", "r", "sizes", "neighbours", "per_period", "history")
PER_PERIOD_KEYS = {"alpha", "delta"}
HISTORY_KEYS = {"alpha", "delta", "periods"}


def read_budget(
    budget: Mapping[str, Any],
    *,
    changes: Sequence[Change],
    space: Callable[[], Space],
    error: Callable[[str], Exception],
) -> tuple[Guarantee, ...]:
    """Return the guarantees that one table of a catalog's ``budget`` declares.

    Parameters
    ----------
    budget : mapping
        Such as ``{ alpha = 60.0, per_period = { alpha = 2.0 } }``; with ``per_period`` alone nothing is promised of all
        periods together. ``history = { alpha = 1040.0, periods = 52 }`` promises something of records in any of so many
        periods, beside these or alone; its ``alpha`` may be left out where there are changes.
    changes : sequence of Change
        What an ``alpha`` that is left out follows from.
    space : callable
        Returns the table's space.
    error : callable
        Makes an error of a problem with the budget.

    >>> read_budget({"per_period": {"alpha": 2.0}}, changes=[], space=None, error=ValueError)
    (EmdDP(alpha=2.0, delta=0.0, sizes='unbounded', model='central', unit='period'),)
    """
    unknown = set(budget) - set(BUDGET_KEYS)
    if unknown:
        raise error(f"budget has an unknown key {min(unknown)!r}; use {', '.join(BUDGET_KEYS)}")
    if "alpha" in budget and "epsilon" in budget:
        raise error("budget has both alpha and epsilon; keep one, or write a list of two budgets")
    if "r" in budget and "epsilon" not in budget:
        raise error("budget has r, which belongs to an epsilon up to that distance; add epsilon")
    if "sizes" in budget and "epsilon" in budget and "r" not in budget:
        raise error("budget has sizes, which mean nothing to an epsilon for a whole user; remove them")
    if "neighbours" in budget and ("epsilon" not in budget or "r" in budget):
        raise error("budget has neighbours, which belong to an epsilon for a whole user; remove them")
    history = (_per_history(budget, changes, space, error),) if "history" in budget else ()
    if "per_period" not in budget:
        is_alone = bool(history) and not {"alpha", "epsilon"} & set(budget)
        return history if is_alone else (_per_user(budget, changes, space, error), *history)
    own = budget["per_period"]
    if not isinstance(own, dict) or "alpha" not in own or set(own) - PER_PERIOD_KEYS:
        raise error("budget has a per_period that is not { alpha = ..., delta = ... }; write that, delta if it has one")
    if "epsilon" in budget:
        raise error("budget has per_period beside epsilon, and it belongs to alpha; write a list of two budgets")
    per_period = EmdDP(own["alpha"], own.get("delta", 0.0), budget.get("sizes", "unbounded"), unit="period")
    if "alpha" not in budget and "delta" in budget:
        raise error("budget has a delta without an alpha beside per_period; add alpha, or move delta into per_period")
    whole = (_per_user(budget, changes, space, error),) if "alpha" in budget else ()
    return (*whole, per_period, *history)


def _per_history(
    budget: Mapping[str, Any],
    changes: Sequence[Change],
    space: Callable[[], Space],
    error: Callable[[str], Exception],
) -> Guarantee:
    own = budget["history"]
    if not isinstance(own, dict) or "periods" not in own or set(own) - HISTORY_KEYS:
        raise error("budget has a history that is not { alpha = ..., periods = 52 }; write that, delta if it has one")
    if "epsilon" in budget:
        raise error("budget has history beside epsilon, and it belongs to alpha; write a list of two budgets")
    if "alpha" not in own and not changes:
        raise error("budget has a history without an alpha, and no protect = [...] that it follows from; add one")
    alpha = own["alpha"] if "alpha" in own else protect(*changes, space=space(), periods=own["periods"])
    sizes = budget.get("sizes", "unbounded")
    return EmdDP(alpha, own.get("delta", 0.0), sizes, unit="history", periods=own["periods"])


def _per_user(
    budget: Mapping[str, Any],
    changes: Sequence[Change],
    space: Callable[[], Space],
    error: Callable[[str], Exception],
) -> Guarantee:
    delta, sizes = budget.get("delta", 0.0), budget.get("sizes", "unbounded")
    if "r" in budget:
        return DiscreteEmdDP(budget["epsilon"], delta, budget["r"], sizes)
    if "epsilon" in budget:
        return UserDP(budget["epsilon"], delta, neighbours=budget.get("neighbours", "replace"))
    if "alpha" in budget:
        return EmdDP(budget["alpha"], delta, sizes)
    if not changes:
        raise error("needs budget = { alpha = ..., delta = ... } or protect = [...]; add one")
    return EmdDP(protect(*changes, space=space()), delta, sizes)

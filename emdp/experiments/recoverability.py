"""``recoverability``: bits of a key with which a private message gives the item back, by epsilon and number of items.

The published comparison (tiers-and-recoverability.md 3; the thesis's Fig. 7.11): a uniform key of ``log2 k`` bits
(trivial) against the least entropy that a key must have (proposed); and beside it the key of
:class:`emdp.randomizers.Recoverable`, which is also easy to estimate from. The second panel has what that costs an
outsider: ``n`` times the expected squared error of the shares, next to k-ary and Hadamard response, which have no keys.
All of it is computed, but for the points that are marked as drawn.
"""

from collections.abc import Iterator

import numpy as np

from emdp.experiments.base import USER, Experiment, Row, row_of
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.items.hadamard_response import HadamardResponse
from emdp.mechanisms.items.krr import KRR
from emdp.mechanisms.items.recoverable import Recoverable, least_key_bits
from emdp.spaces import Categories

__all__ = ["BITS", "ERROR", "run_recoverability"]

BITS, ERROR = "bits of a key", "n times the squared l2 error"
"""The measures."""

ITEMS, FULL_ITEMS = (2, 4, 10, 100), (2, 4, 10, 100, 1000)
"""Numbers of items, one a panel."""

PRICES = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
"""Epsilons."""

DRAWN_ITEMS, USERS = 10, 2000
"""Items and users of the panel of errors."""

RUNS, FULL_RUNS = 20, 200


def run_recoverability(*, full: bool = False, seed: int = 0, runs: int | None = None) -> Experiment:
    """Return bits of keys and errors of estimates; call it inside the test switch.

    Parameters
    ----------
    full, seed, runs
        As of :func:`emdp.experiments.frequency.run_local`.
    """
    draws = (FULL_RUNS if full else RUNS) if runs is None else runs
    rows = [row for items in (FULL_ITEMS if full else ITEMS) for row in _bits(items)]
    rows += list(_errors(draws))
    saved = ", ".join(
        f"{100 * (1 - least_key_bits(items, 5.0) / np.log2(items)):.1f} % for {items} items" for items in (2, 4, 10)
    )
    return Experiment(
        name="recoverability",
        title="Recoverable messages: bits of a key, and what an outsider's estimate costs",
        rows=tuple(rows),
        across=dict.fromkeys((row.panel for row in rows), "epsilon"),
        measures=(BITS, ERROR),
        sentences=(
            f"At epsilon = 5 the least key saves {saved} of a uniform one.",
            "Plain Hadamard response is not recoverable, as was published: its messages would need more keys than "
            "there are.",
            "Where nobody is to have the items back, k-ary or Hadamard response err as little, with no key to guard.",
        ),
        seed=seed,
        is_full=full,
    )


def _space(items: int) -> Categories:
    return Categories("item", [str(number) for number in range(items)])


def _bits(items: int) -> Iterator[Row]:
    for epsilon in PRICES:
        own = Recoverable(_space(items), epsilon)
        least = least_key_bits(items, epsilon)
        found = {"trivial": float(np.log2(items)), "proposed": least, "difference set": own.key_bits}
        for method, bits in found.items():
            yield row_of(
                [bits], panel=f"k = {items}", x=epsilon, method=f"{method}, {USER}", guarantee=USER, model="local",
                measure=BITS, parameters={"k": items, "epsilon": epsilon}, bound=least,
                bound_source="least entropy of a key (S0, 7.5.1)",
            )  # fmt: skip


def _errors(runs: int) -> Iterator[Row]:
    """Return drawn errors of the estimates of users who all have one item, beside what theory says."""
    space = _space(DRAWN_ITEMS)
    counts = np.zeros(DRAWN_ITEMS, dtype=np.int64)
    counts[0] = USERS
    truth = counts / USERS
    for epsilon in PRICES:
        for kind in (Recoverable, HadamardResponse, KRR):
            own: FiniteRandomizer = kind(space, epsilon)
            second = own.matrix[0] @ (own.right_inverse**2).sum(axis=1)
            drawn = [own.estimate(own.release(counts)) - truth for _ in range(runs)]
            yield row_of(
                [USERS * float((error**2).sum()) for error in drawn], panel=f"error, k = {DRAWN_ITEMS}", x=epsilon,
                method=f"{own.name}, {USER}", guarantee=USER, model="local", measure=ERROR,
                parameters={"k": DRAWN_ITEMS, "epsilon": epsilon, "n": USERS}, bound=float(second - 1.0),
                bound_source="exact, all users with one item",
            )  # fmt: skip

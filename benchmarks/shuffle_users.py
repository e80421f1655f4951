"""The accountants of shuffled user-level messages beside the theory's tables, and their times.

Run `python benchmarks/shuffle_users.py` from the project's root (a minute). First table: Renyi divergences (LSU 5.1):
the published bound, the exact mixture, the clone pair that is used, and the lower bound. Second: composed rounds
(LSU 5.2). Third: one round (LSU 5.3). Fourth: sampled rounds (LSU 5.4). Fifth: two rounds (LSU 2.3). Last: the time of
both directions from empty caches. A number in brackets is the theory's.
"""

import time
from collections.abc import Callable
from typing import Any

from emdp.privacy.shuffle import binary as shuffle_two
from emdp.privacy.shuffle import clones as shuffle_clones
from emdp.privacy.shuffle import renyi_law as shuffle_renyi_law
from emdp.privacy.shuffle.binary import binary_epsilon
from emdp.privacy.shuffle.place_sign import place_sign_epsilon
from emdp.privacy.shuffle.renyi import (
    renyi_clones,
    renyi_epsilon,
    renyi_shuffle,
    renyi_shuffle_bound,
    renyi_shuffle_lower,
    renyi_subsampled,
    renyi_subsampled_lower,
)
from emdp.privacy.shuffle.users import ShuffleRound, shuffle_epsilon, shuffle_epsilon0, shuffle_total

DIVERGENCES = [
    (1000, 0.5, 2, 8.42061e-4, 4.20751e-4, 2.55219e-4),
    (1000, 0.5, 10, 7.0034e-3, 2.09905e-3, 1.27436e-3),
    (1000, 1.0, 8, 0.059225, 0.0116564, 4.32355e-3),
    (10**4, 0.5, 32, 2.44058e-3, 6.72763e-4, 4.08189e-4),
    (10**4, 1.0, 16, 0.0108498, 2.35517e-3, 8.68002e-4),
    (10**4, 2.0, 8, 0.15331, 0.0160369, 2.20428e-3),
    (10**6, 0.5, 16, 6.97248e-6, 3.367e-6, 2.04193e-6),
    (10**6, 2.0, 16, 1.47706e-3, 3.265e-4, 4.41927e-5),
]
COMPOSED = [
    (10**5, 0.5, 10**4, 1e-8, 1.7123, 1.1118, 0.8549),
    (10**6, 0.5, 10**4, 1e-8, 0.5112, 0.3333, 0.2568),
    (10**6, 0.5, 10**5, 1e-8, 1.6398, 1.1117, 0.8549),
    (10**6, 2.0, 10**4, 1e-8, 6.4236, 3.7268, 1.2830),
    (10**5, 1.0, 100, 1e-6, 0.4788, 0.2248, 0.1322),
    (10**4, 1.0, 1, 1e-6, 0.1197, 0.0646, 0.0382),
    (10**5, 2.0, 1, 1e-6, 0.1898, 0.0764, 0.0267),
]
SINGLE = [
    (1000, 0.5, 0.07052, 0.06269, 0.0569, 0.27264),
    (1000, 1.0, 0.18241, 0.14867, 0.1266, 0.56620),
    (10**4, 1.0, 0.05301, 0.04321, 0.03566, 0.21403),
    (10**4, 3.0, 0.32072, 0.22608, None, 0.82411),
    (10**5, 1.0, 0.01528, 0.01243, 0.01014, 0.07255),
]
SAMPLED = [
    (10**6, 10**3, 2.0, 8, 1.3409e-6, 2.2098e-8),
    (10**6, 10**4, 2.0, 8, 1.43686e-5, 2.2098e-7),
    (60_000, 10**4, 1.5, 6, 1.1033e-3, 2.2541e-5),
]
ORDERS = [float(order) for order in range(2, 250)]
CACHES: tuple[Any, ...] = (
    shuffle_clones.clone_alpha,
    shuffle_clones.clone_alpha0,
    shuffle_renyi_law.ratio_law,
    shuffle_two.pair_epsilon,
    shuffle_two._binary_epsilon,
)


def milliseconds(run: Callable[..., Any], *arguments: Any, **options: Any) -> float:
    """Return the best of two times from empty caches."""
    best = float("inf")
    for _ in range(2):
        for cache in CACHES:
            cache.cache_clear()
        start = time.perf_counter()
        run(*arguments, **options)
        best = min(best, time.perf_counter() - start)
    return 1e3 * best


def composed(
    bound: Callable[..., float], n: int, epsilon0: float, rounds: int, delta: float, orders: list[float]
) -> float:
    return renyi_epsilon(lambda order: rounds * bound(order, n, epsilon0), delta, orders)


def print_divergences() -> None:
    print(f"{'n':>8} {'eps0':>5} {'order':>5} {'Thm 5.3.1':>24} {'mixture':>24} {'clones':>11} {'lower':>24}")
    for n, epsilon0, order, upper, mixture, lower in DIVERGENCES:
        print(f"{n:8d} {epsilon0:5g} {order:5d}", end=" ")
        print(f"{renyi_shuffle_bound(order, n, epsilon0):11.6g} ({upper:10.6g})", end=" ")
        print(f"{renyi_shuffle(order, n, epsilon0):11.6g} ({mixture:10.6g})", end=" ")
        print(f"{renyi_clones(order, n, epsilon0):11.6g}", end=" ")
        print(f"{renyi_shuffle_lower(order, n, epsilon0):11.6g} ({lower:10.6g})")


def print_composed() -> None:
    print(
        f"\n{'n':>8} {'eps0':>5} {'rounds':>7} {'delta':>6} {'Thm 5.3.1':>17} {'mixture':>17} {'best':>8} {'lower':>17}"
    )
    for n, epsilon0, rounds, delta, upper, mixture, lower in COMPOSED:
        bounds = (
            (renyi_shuffle_bound, ORDERS, upper),
            (renyi_shuffle, [*ORDERS, *range(250, 600, 5)], mixture),
            (renyi_shuffle_lower, [*ORDERS, *range(250, 600, 5)], lower),
        )
        found = []
        for bound, orders, value in bounds:
            level = composed(bound, n, epsilon0, rounds, delta, orders)
            found.append(f"{level:8.4f} ({value:6.4f})")
        best = shuffle_epsilon(epsilon0, n, delta, rounds)
        print(f"{n:8d} {epsilon0:5g} {rounds:7d} {delta:6.0e} {found[0]} {found[1]} {best.epsilon:8.4f} {found[2]}")


def print_single() -> None:
    print(f"\n{'n':>8} {'eps0':>5} {'clones':>17} {'clones 2RR':>17} {'exact 2RR':>17} {'closed form':>17}")
    for n, epsilon0, clones, two, exact, closed in SINGLE:
        found = {method.method: method.epsilon for method in shuffle_epsilon(epsilon0, n, 1e-6).methods}
        print(f"{n:8d} {epsilon0:5g} {found['exact clone pair']:8.5f} ({clones:6.5f})", end=" ")
        print(f"{place_sign_epsilon(epsilon0, n, 1e-6):8.5f} ({two:6.5f})", end=" ")
        print(f"{binary_epsilon(epsilon0, n, 1e-6):8.5f} ({exact or float('nan'):6.5f})", end=" ")
        print(f"{found['closed form']:8.5f} ({closed:6.5f})")


def print_sampled() -> None:
    print(f"\n{'n':>8} {'k':>6} {'eps0':>5} {'order':>5} {'Thm 5.4.1':>24} {'clones':>11} {'lower':>24}")
    for n, k, epsilon0, order, upper, lower in SAMPLED:
        print(f"{n:8d} {k:6d} {epsilon0:5g} {order:5d}", end=" ")
        print(f"{renyi_subsampled(order, n, k, epsilon0):11.6g} ({upper:10.6g})", end=" ")
        print(f"{renyi_clones(order, n, epsilon0, sampled=k):11.6g}", end=" ")
        print(f"{renyi_subsampled_lower(order, n, k, epsilon0):11.6g} ({lower:10.6g})")


def print_two_rounds() -> None:
    print("\ntwo rounds of eps0 = 1, n = 1e5, delta = 1e-6; theory: clones .03234, mixture .0279, closed form .1483")
    rounds = ShuffleRound(1.0, 10**5), ShuffleRound(1.0, 10**5, "binary")
    for name, bound in (
        ("any, any", shuffle_epsilon(1.0, 10**5, 1e-6, 2)),
        ("any, binary", shuffle_total(rounds, 1e-6)),
        ("binary, binary", shuffle_epsilon(1.0, 10**5, 1e-6, 2, randomizer="binary")),
    ):
        methods = ", ".join(f"{m.method} {m.epsilon:.5f}" for m in bound.methods if m.epsilon is not None)
        print(f"{name:>15}: {methods}")


def print_times() -> None:
    print(f"\n{'n':>9} {'rounds':>7} {'kind':>7} {'sampled':>8} {'epsilon ms':>11} {'epsilon0 ms':>12}")
    for n in (100, 10**4, 10**6, 10**8):
        for rounds in (1, 2, 1000):
            for kind, sampled in (("any", None), ("binary", None), ("any", n // 10)):
                options = {"randomizer": kind, "sampled": sampled}
                forth = milliseconds(shuffle_epsilon, 1.0, n, 1e-6, rounds, **options)
                level = shuffle_epsilon(1.0, n, 1e-6, rounds, randomizer=kind, sampled=sampled).epsilon
                back = milliseconds(shuffle_epsilon0, level, n, 1e-6, rounds, **options)
                print(f"{n:9d} {rounds:7d} {kind:>7} {sampled or '-':>8} {forth:11.1f} {back:12.1f}")


if __name__ == "__main__":
    print_divergences()
    print_composed()
    print_single()
    print_sampled()
    print_two_rounds()
    print_times()

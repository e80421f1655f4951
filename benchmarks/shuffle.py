"""The shuffle accountants side by side, the attack below them, and the time of both directions.

Run `python benchmarks/shuffle.py` from the project's root (a minute). First table: EMD 3's rows; every accountant
for any randomizer, in any space and with the 0/1 metric, the lower bound of an explicit attack in any space, the ratio
to it of the exact clone steps and of the best bound, and the time of the trade-off steps. Second table: the slowest of
each size over the corners of the ranges, both ways, of all accountants together without their caches.
"""

import itertools
import time
from collections.abc import Callable

from emdp.privacy.shuffle import clones as shuffle_clones
from emdp.privacy.shuffle import tradeoff as shuffle_tradeoff
from emdp.privacy.shuffle.attack import shuffle_attack
from emdp.privacy.shuffle.clones import clone_alpha
from emdp.privacy.shuffle.items import METHODS, ShuffleSetting, shuffle_alpha, shuffle_alpha0
from emdp.privacy.shuffle.tradeoff import tradeoff_steps_alpha
from emdp.privacy.tradeoff import composition as tradeoff

ROWS = [
    (1.0, 1000, 10**8, 1e-12),
    (2.0, 1000, 10**8, 1e-12),
    (3.0, 1000, 10**8, 1e-12),
    (3.5, 1000, 10**8, 1e-12),
    (4.0, 1000, 10**8, 1e-12),
    (0.5, 100, 10**5, 1e-6),
    (1.0, 100, 10**6, 1e-6),
    (1.0, 10, 10**3, 1e-6),
    (0.01, 1000, 10**3, 1e-12),
    (0.1, 1000, 10**3, 1e-6),
]
STRENGTHS = (1e-4, 0.01, 0.5, 3.0, 12.0)
DELTAS = (1e-2, 1e-12, 1e-30)
SIZES = (2, 10, 1000, 10**5, 10**7, 10**10)
CACHES = (
    shuffle_clones.clone_alpha,
    shuffle_clones.clone_alpha0,
    shuffle_tradeoff.tradeoff_steps_alpha,
    shuffle_tradeoff.tradeoff_steps_alpha0,
    tradeoff._alpha,
    tradeoff._lines,
)


def seconds(run: Callable[..., float], *arguments: float) -> tuple[float, float]:
    """Return the best of two times from empty caches, and the result."""
    best = float("inf")
    for _ in range(2):
        for cache in CACHES:
            cache.cache_clear()
        start = time.perf_counter()
        result = run(*arguments)
        best = min(best, time.perf_counter() - start)
    return best, result


def print_rows() -> None:
    names = [method.name for method in METHODS]
    print(f"{'alpha0':>7} {'m':>5} {'N':>10} {'delta':>6} {'space':>6}", *(f"{name:>18}" for name in names), end=" ")
    print(f"{'attack':>9} {'clones':>6} {'best':>6} {'ms':>7}")
    for alpha0, m, N, delta in ROWS:
        attack = shuffle_attack(alpha0, m, N, delta).alpha
        for space, w_min in (("any", 0.0), ("0/1", 1.0)):
            setting = ShuffleSetting(m, N, delta, w_min)
            found = [method.alpha(alpha0, setting)[0] for method in METHODS]
            taken, _ = seconds(tradeoff_steps_alpha, alpha0, m, N, delta, w_min)
            print(f"{alpha0:7g} {m:5d} {N:10d} {delta:6.0e} {space:>6}", end=" ")
            print(*(f"{'not valid':>18}" if alpha is None else f"{alpha:18.5g}" for alpha in found), end=" ")
            best = shuffle_alpha(alpha0, m, N, delta, w_min)
            clones = clone_alpha(alpha0, m, N, delta, w_min)
            below = f"{attack:9.5g} {clones / attack:6.3f} {best / attack:6.3f}" if w_min == 0 else " " * 23
            print(f"{below} {1e3 * taken:7.1f}")


def print_times() -> None:
    print(f"\n{'N':>11} {'cases':>6} {'alpha: worst ms':>16} {'alpha0: worst ms':>17}  slowest inversion")
    for N in SIZES:
        worst, slowest, cases = 0.0, (0.0, ""), 0
        for m, alpha0, delta, w_min in itertools.product(sorted({1, min(N, 100), N}), STRENGTHS, DELTAS, (0.0, 1.0)):
            forth, alpha = seconds(shuffle_alpha, alpha0, m, N, delta, w_min)
            back, _ = seconds(shuffle_alpha0, alpha, m, N, delta, w_min)
            worst, cases = max(worst, forth), cases + 1
            slowest = max(slowest, (back, f"m = {m}, alpha0 = {alpha0:g}, delta = {delta:g}, w_min = {w_min:g}"))
        print(f"{N:11d} {cases:6d} {1e3 * worst:16.1f} {1e3 * slowest[0]:17.1f}  {slowest[1]}")


if __name__ == "__main__":
    print_rows()
    print_times()

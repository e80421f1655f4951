"""Exact bulk draws: nanoseconds a draw, and ratios against numpy's Generator, in one run.

Run ``python benchmarks/draws.py`` from the project's root (half a minute on one core). numpy's draws are not private
and, in float64, not exact; they are here as the measure of what speed costs. Runs of both are interleaved and the best
of each is taken, so that what else the machine does hits them alike.
"""

import argparse
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from emdp.noise.binomial import draw_binomials, half_binomials
from emdp.noise.choices import draw_below, draw_bernoulli, draw_indices, draw_permutation, draw_sample_counts
from emdp.noise.discrete_gaussian import draw_discrete_gaussian
from emdp.noise.discrete_laplace import draw_discrete_laplace_bulk
from emdp.noise.multinomial import draw_multinomials, draw_outcomes
from emdp.noise.rng import random_words

FULL = 2**62
RNG = np.random.default_rng(1)


@dataclass(frozen=True)
class Case:
    """A sampler, how many draws a run makes, and numpy's way to the same, if there is one."""

    name: str
    draws: int
    run: Callable[[], object]
    numpy: Callable[[], object] | None = None


def best_times(case: Case, repetitions: int) -> tuple[float, float]:
    """Return the shortest times of a case and of numpy's way, in seconds."""
    best = [np.inf, np.inf]
    for _ in range(repetitions):
        for place, run in enumerate((case.run, case.numpy)):
            if run is not None:
                start = time.perf_counter()
                run()
                best[place] = min(best[place], time.perf_counter() - start)
    return best[0], best[1]


def weight_rows(shares: np.ndarray) -> np.ndarray:
    """Return integer weights with these shares, to rounding, each row with the sum 2^62."""
    rows = (shares / shares.sum(axis=1, keepdims=True) * FULL).astype(np.int64)
    rows[np.arange(len(rows)), rows.argmax(axis=1)] += FULL - rows.sum(axis=1)
    return rows


def binomial_cases(draws: int) -> list[Case]:
    """Return binomials with p = 1/2 and p = 0.3, small and large."""
    cases = []
    for n in (20, 64, 300, 1024, 1025, 10_000, 10**6, 2**40):
        counts = np.full(draws, n)
        cases.append(
            Case(
                f"half binomials of {n}",
                draws,
                lambda counts=counts: half_binomials(counts),
                lambda n=n: RNG.binomial(n, 0.5, draws),
            )
        )
    lower = np.full(draws, FULL)
    for n in (5, 20, 64, 300, 10_000, 10**6):
        counts = np.full(draws, n)
        cases.append(
            Case(
                f"binomials of {n}, p = 0.3",
                draws,
                lambda counts=counts: draw_binomials(counts, (0.3 * lower).astype(np.int64), lower),
                lambda n=n: RNG.binomial(n, 0.3, draws),
            )
        )
    return cases


def table_cases(draws: int) -> list[Case]:
    """Return multinomials and outcomes by tables of 1024 by 1024 weights: random ones, and a truncated geometric."""
    places = np.arange(1024)
    shares = {
        "random": RNG.random((1024, 1024)),
        "geometric": np.exp(-np.abs(places[:, None] - places) / 3.0),
    }
    cases = []
    for name, share in shares.items():
        weights, law = weight_rows(share), share / share.sum(axis=1, keepdims=True)
        for items in (10**6, 10**8, 10**10):
            counts = np.full(1024, items // 1024)
            cases.append(
                Case(
                    f"multinomials, {name}, {items:.0e} items",
                    1024 * 1024,
                    lambda counts=counts, weights=weights: draw_multinomials(counts, weights),
                    lambda counts=counts, law=law: RNG.multinomial(counts, law).sum(axis=0),
                )
            )
        codes = RNG.integers(0, 1024, draws)
        cases.append(
            Case(f"outcomes, {name}", draws, lambda codes=codes, weights=weights: draw_outcomes(codes, weights))
        )
    return cases


def choice_cases(draws: int, users: int) -> list[Case]:
    """Return indices, samples with replacement, coins, permutations and noise."""
    sizes = RNG.integers(50, 151, users)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    entries = RNG.integers(1, 4, int(offsets[-1]))
    limits, large = np.full(draws, 1000), np.full(draws, FULL - 1)
    numerators = RNG.integers(0, FULL, draws)
    return [
        Case("words", draws, lambda: random_words(draws), lambda: RNG.bytes(8 * draws)),
        Case("below 1000", draws, lambda: draw_below(limits), lambda: RNG.integers(0, limits)),
        Case("below 2^62 - 1", draws, lambda: draw_below(large), lambda: RNG.integers(0, large)),
        Case(
            f"1,000 indices for {users:,} users", 1000 * users, lambda: sum(x.size for x in draw_indices(sizes, 1000))
        ),
        Case(
            f"1,000 samples of each of {users:,} users, counted",
            int(offsets[-1]),
            lambda: draw_sample_counts(entries, offsets, 1000),
        ),
        Case("coins", draws, lambda: draw_bernoulli(numerators, 62)),
        Case("permutation", draws, lambda: draw_permutation(draws), lambda: RNG.permutation(draws)),
        Case("discrete Laplace, scale 3", draws, lambda: draw_discrete_laplace_bulk(3.0, draws)),
        Case("discrete Laplace, scale 2^40", draws, lambda: draw_discrete_laplace_bulk(2.0**40, draws)),
        Case("discrete Gaussian, scale 2^40", draws, lambda: draw_discrete_gaussian(2.0**40, draws)),
    ]


def main() -> None:
    """Print a line for each sampler."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=500_000, help="draws of a run")
    parser.add_argument("--users", type=int, default=100_000, help="users of the samples with replacement")
    parser.add_argument("--repetitions", type=int, default=3, help="runs of each, of which the best counts")
    given = parser.parse_args()
    print(f"{'sampler':55} {'seconds':>8} {'ns/draw':>8} {'/ numpy':>8}")
    for case in [*binomial_cases(given.draws), *table_cases(given.draws), *choice_cases(given.draws, given.users)]:
        own, other = best_times(case, given.repetitions)
        ratio = f"{own / other:8.2f}" if np.isfinite(other) else " " * 8
        print(f"{case.name:55} {own:8.3f} {own / case.draws * 1e9:8.1f} {ratio}", flush=True)
    print(f"largest memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()

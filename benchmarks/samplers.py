"""Discrete Laplace and Gaussian noise: microseconds a value, emdp's sampler beside opendp's, in one run.

Run ``python benchmarks/samplers.py`` from the project's root (ten seconds on one core). Runs of both are interleaved
and the best of each is taken, so that what else the machine does hits them alike. Both are exact; opendp is no part of
emdp's install and comes with its tests.
"""

import argparse
import time
from collections.abc import Callable

from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian, make_laplace
from opendp.metrics import l1_distance, l2_distance
from opendp.mod import enable_features

from emdp.noise.discrete_gaussian import draw_discrete_gaussian
from emdp.noise.discrete_laplace import draw_discrete_laplace

SCALES = (0.3, 3.0, 2.0**40, 2.0**40 / 3)
SIZES = (1, 10, 1000, 10_000)


def opendp_sampler(law: str, scale: float) -> Callable[[int], list[int]]:
    """Return opendp's sampler, made before any time is taken."""
    integers = vector_domain(atom_domain(T="i64"))
    if law == "laplace":
        measurement = make_laplace(integers, l1_distance(T="i64"), scale=scale)
    else:
        measurement = make_gaussian(integers, l2_distance(T="f64"), scale=scale)
    return lambda size: list(measurement([0] * size))


def emdp_sampler(law: str, scale: float) -> Callable[[int], list[int]]:
    """Return emdp's sampler."""
    draw = draw_discrete_laplace if law == "laplace" else draw_discrete_gaussian
    return lambda size: draw(scale, size)


def best_times(runs: tuple[Callable[[int], list[int]], ...], size: int, values: int, repetitions: int) -> list[float]:
    """Return the shortest seconds a value of each sampler, over rounds of about so many values."""
    calls = max(1, values // size)
    best = [float("inf")] * len(runs)
    for _ in range(repetitions):
        for place, run in enumerate(runs):
            start = time.perf_counter()
            for _ in range(calls):
                run(size)
            best[place] = min(best[place], (time.perf_counter() - start) / (calls * size))
    return best


def main() -> None:
    """Print a line for each law, scale and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--values", type=int, default=300, help="least values of a round")
    parser.add_argument("--repetitions", type=int, default=5, help="rounds of each, of which the best counts")
    given = parser.parse_args()
    enable_features("contrib")
    print(f"{'law':9} {'scale':>10} {'values':>8} {'emdp us':>9} {'opendp us':>10} {'opendp / emdp':>14}")
    for law in ("laplace", "gaussian"):
        for scale in SCALES:
            runs = (emdp_sampler(law, scale), opendp_sampler(law, scale))
            for size in SIZES:
                own, other = best_times(runs, size, given.values, given.repetitions)
                print(f"{law:9} {scale:10.3g} {size:8d} {own * 1e6:9.2f} {other * 1e6:10.2f} {other / own:14.1f}")


if __name__ == "__main__":
    main()

"""Frequency oracles side by side: time and error from 100 to a million items, up to ten million users.

Run `python benchmarks/oracles.py` from the project's root (some minutes on two cores; `--users 100000` for a quick
look). Users have one item each, drawn from a Zipf law. For every oracle it prints the time to draw all messages and
their tally, the time to decode, the squared 2-norm of the error, what the exact formula expects, the 1-norm raw and
after projection onto the simplex, and the largest memory of the process so far. An oracle that refuses says so.
"""

import argparse
import resource
import time
from typing import Any

import numpy as np

from emdp.base.errors import EmdpError
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.hadamard_bit import OneBitHadamardOracle
from emdp.mechanisms.oracles.hadamard_response import HadamardResponseOracle
from emdp.mechanisms.oracles.krr import KRROracle
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.mechanisms.oracles.projective import ProjectiveOracle
from emdp.mechanisms.oracles.rappor import RapporOracle
from emdp.mechanisms.oracles.subset import SubsetOracle
from emdp.mechanisms.oracles.unary import UnaryOracle

ORACLES: tuple[type[FrequencyOracle], ...] = (
    OneBitHadamardOracle,
    HadamardResponseOracle,
    KRROracle,
    RapporOracle,
    UnaryOracle,
    SubsetOracle,
    ProjectiveOracle,
)


def projected(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the nearest point of the simplex."""
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, len(values) + 1)
    return np.maximum(values - excess[np.flatnonzero(falling > excess)[-1]], 0.0)


def people(items: int, users: int) -> np.ndarray[Any, Any]:
    """Return one item a user, from a Zipf law."""
    weights = 1.0 / np.arange(1, items + 1)
    return np.random.default_rng(1).choice(items, size=users, p=weights / weights.sum())


def measure(kind: type[FrequencyOracle], bags: Bags, items: int, epsilon: float, truth: np.ndarray[Any, Any]) -> None:
    """Print one line."""
    head = f"  {kind.__name__:24s}"
    try:
        oracle = kind(items, bags.users, epsilon)
        start = time.perf_counter()
        tally = oracle.draw_tally(bags)
        drawn = time.perf_counter() - start
    except EmdpError as error:
        print(f"{head} refused: {str(error).split(';', maxsplit=1)[0]}")
        return
    start = time.perf_counter()
    estimates = oracle.decode(tally)
    decoded = time.perf_counter() - start
    squared = float(((estimates - truth) ** 2).sum())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{head} draw {drawn:7.3f} s, decode {decoded:7.3f} s, l2^2 {squared:.4g} (expected "
        f"{oracle.expected_l2_squared(truth, truth):.4g}), l1 {np.abs(estimates - truth).sum():.4g}, on the simplex "
        f"{np.abs(projected(estimates) - truth).sum():.3g}, memory {memory:.2f} GB"
    )


def main() -> None:
    """Run all settings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, nargs="*", default=[10**2, 10**3, 10**4, 10**5, 10**6])
    parser.add_argument("--users", type=int, nargs="*", default=[10**6, 10**7])
    parser.add_argument("--epsilon", type=float, nargs="*", default=[1.0, 4.0])
    arguments = parser.parse_args()
    for users in arguments.users:
        for items in arguments.items:
            codes = people(items, users)
            bags, truth = Bags.of_items(codes), np.bincount(codes, minlength=items) / users
            for epsilon in arguments.epsilon:
                print(f"{items:,} items, {users:,} users, epsilon = {epsilon:g}", flush=True)
                for kind in ORACLES:
                    measure(kind, bags, items, epsilon, truth)


if __name__ == "__main__":
    main()

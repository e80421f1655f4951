"""Means of users' vectors: the theory's table of local mechanisms, missed ranges, and all candidates side by side.

Run `python benchmarks/user_vector.py` from the project's root (about two minutes on two cores; `--runs 5` for a quick
look). Data are Gaussian around a mean that is uniform on [-8, 8] in each coordinate, bounds [-10, 10], sigma 1. The
first table is that of local-shuffle-userlevel.md 2.2: squared errors of the printed estimator (uncentred, Laplace
noise, at our ranges), of one bit, and of the best candidate, with predictions in brackets, and how many of all ranges
are missed with epsilon/(2d) a coordinate and with one coordinate a user. The second has all candidates of every model.
"""

import argparse
import time
from typing import Any

import numpy as np

from emdp.mechanisms.user_vector.base import UserVectorMechanism
from emdp.mechanisms.user_vector.local import LocalUserVector
from emdp.mechanisms.user_vector.plan import UserVectorSetting, best_user_vector, user_vector_candidates
from emdp.mechanisms.user_vector.setting import frames_of

UNIT = 40

Array = np.ndarray[Any, Any]


def people(rng: np.random.Generator, users: int, d: int, records: int) -> tuple[Array, Array]:
    """Return a mean and the means of all users."""
    mean = rng.uniform(-8.0, 8.0, d)
    return mean, mean + rng.normal(size=(users, d)) / np.sqrt(records)


def answer(mechanism: UserVectorMechanism, values: Array) -> Any:
    """Return a release."""
    d = values.shape[1]
    return mechanism.release(iter([np.rint(values * 2.0**UNIT).astype(np.int64)]), (UNIT,) * d, (0,) * d)


def square(released: Any, values: Array) -> float:
    """Return the squared error against the mean of the users' means."""
    return float(np.sum((np.array([float(one) for one in released.value]) - values.mean(axis=0)) ** 2))


def printed(values: Array, ranges: Any, rng: np.random.Generator) -> Array:
    """Return the printed estimator: uncentred, with Laplace noise for the whole range at epsilon 1."""
    users, d = values.shape
    chosen, (lows, highs) = rng.integers(d, size=users), np.array(ranges).T
    own = np.clip(values[np.arange(users), chosen], lows[chosen], highs[chosen])
    own = own + rng.laplace(scale=(highs - lows)[chosen])
    return np.bincount(chosen, weights=own, minlength=d) * d / users


def missed(ranges: Any, mean: Array) -> int:
    """Return how many ranges do not hold their mean."""
    return sum(not low < own < high for own, (low, high) in zip(mean, ranges, strict=True))


def theory(runs: int) -> None:
    """Print the table of LSU 2.2."""
    print("epsilon0 = 2, gamma = 0.01: squared errors, simulated (predicted)")
    print(f"{'n, d, m':>22s} {'tau, k':>12s} {'printed':>15s} {'one bit':>19s} {'best':>19s}  missed: e/(2d), sampled")
    for users, d, records in ((40_000, 16, 100), (40_000, 16, 10_000), (200_000, 16, 100), (20_000, 8, 100)):
        setting = UserVectorSetting(
            users, (-10.0,) * d, (10.0,) * d, 2.0, model="local", spread=(1.0,) * d, records=records, failure=0.02
        )
        frame, rng = frames_of(setting)[-1], np.random.default_rng(1)
        one = LocalUserVector(setting, frame, "two rounds", True, (1.0, 1.0), users, True)
        every = LocalUserVector(setting, frame, "two rounds", False, (1.0, 1.0), users, True)
        best, bins = best_user_vector(setting), frame.bins[0]
        sums, lost = np.zeros(3), np.zeros(2, dtype=int)
        for run in range(runs):
            mean, values = people(rng, users, d, records)
            released = answer(one, values)
            other = np.sum((printed(values, released.ranges, rng) - values.mean(axis=0)) ** 2)
            sums += (float(other), square(released, values), square(answer(best, values), values))
            lost[1] += missed(released.ranges, mean)
            lost[0] += missed(answer(every, values).ranges, mean) if run < 5 else 0
        sums /= runs
        noise = 2.0 * (6.0 * bins.radius * d) ** 2 / users + (d - 1) * d * 64.0 / 3.0 / users
        print(
            f"{users:>9d},{d:3d},{records:6d} {bins.radius:8.4f},{bins.count:4d} {sums[0]:7.3f} ({noise:5.3f})"
            f" {sums[1]:9.5f} ({one.deviation**2:7.5f}) {sums[2]:9.5f} ({best.deviation**2:7.5f})"
            f"  {lost[0] / (min(runs, 5) * d):.3f}, {lost[1] / (runs * d):.3f}"
        )


def candidates(runs: int) -> None:
    """Print every candidate of one setting in every model."""
    users, d, records = 20_000, 8, 100
    for model, epsilon, delta in (("local", 2.0, 0.0), ("shuffle", 1.0, 1e-6), ("central", 1.0, 1e-6)):
        start = time.perf_counter()
        setting = UserVectorSetting(
            users, (-10.0,) * d, (10.0,) * d, epsilon, delta, model, (1.0,) * d, 30.0, 0.0, records
        )
        ways = user_vector_candidates(setting)
        took = time.perf_counter() - start
        print(f"\n{model}, epsilon = {epsilon}, delta = {delta}, n = {users}, d = {d}; planned in {took:.2f} s")
        print(f"{'':72s}   error (expected)  missed  needs   time")
        for way in ways:
            rng, total, start = np.random.default_rng(2), 0.0, time.perf_counter()
            for _ in range(runs):
                _, values = people(rng, users, d, records)
                total += square(answer(way, values), values)
            spent = (time.perf_counter() - start) / runs
            root = np.sqrt(total / runs)
            print(
                f"{way.name:72s} {root:8.4f} ({way.expected_error:8.4f}) {way.missed_range:6.4f} {way.users_needed:6d}"
                f" {spent:5.2f} s"
            )


def main() -> None:
    """Run both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    theory(runs)
    candidates(max(1, runs // 4))


if __name__ == "__main__":
    main()

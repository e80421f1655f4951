"""Range-then-mean beside the theory's tables, and a curator's version beside bounded means on the wide bounds.

Run `python benchmarks/user_mean.py` from the project's root (about a minute on two cores; `--runs 2000` for steadier
numbers). It prints the users that round one needs, the RMSE of every way against the mean of the users' own means
beside what local-shuffle-userlevel.md 2.1 prints and what the mechanisms predict, the coverage of 95 % intervals, and
the RMSE of one Laplace draw on the bounds, which is what OpenDP's and diffprivlib's bounded means add, over that of the
central range.
"""

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from emdp.mechanisms.scalar.laplace import LaplaceScalar
from emdp.mechanisms.scalar.one_bit import OneBitScalar
from emdp.mechanisms.user_mean.central import CentralRange
from emdp.mechanisms.user_mean.local import BudgetSplit, OneRound, UserSplit
from emdp.mechanisms.user_mean.plan import UserMeanMechanism, UserMeanSetting, best_user_mean
from emdp.mechanisms.user_mean.range_bins import RangeBins
from emdp.mechanisms.user_mean.range_stage import HadamardRange, MedianRange, least_users, published_failure

EXPONENT = 40

NEEDED = {
    0.5: ((7651, 15134, 104386), (9152, 18104, 122316), (10614, 20997, 140245)),
    1.0: ((1996, 3902, 26910), (2387, 4667, 31532), (2769, 5413, 36154)),
    2.0: ((574, 1096, 7559), (687, 1311, 8858), (797, 1521, 10156)),
    4.0: ((220, 404, 2783), (263, 483, 3261), (305, 560, 3739)),
}
"""Users for a wrong bin at most 1 % of the time, k = 16, 64, 256: Bernstein, Hoeffding, published."""

ROWS: tuple[tuple[float, int, int, float, float, str, str, str, str, str], ...] = (
    (50, 2000, 100, 2, 0.05, ".4752, 106", ".070 (.069)", ".087 (.090)", "1.34", ".0020 (.0020)"),
    (50, 500, 100, 2, 0.05, ".4451, 113", ".135 (.129)", ".162 (.169)", "2.66", ".0076 (.0076)"),
    (50, 500, 100, 1, 0.05, ".4451, 113", "6.66 (.244)", "7.01", "4.64", ".0144 (.0151)"),
    (50, 2000, 100, 1, 0.05, ".4752, 106", ".132 (.130)", ".181 (.180)", "2.34", ".0036 (.0040)"),
    (50, 2000, 10**4, 1, 0.05, ".0475, 1053", ".0134 (.0130)", ".0182 (.0180)", "2.20", ".00040 (.00040)"),
    (10, 20_000, 100, 1, 0.01, ".5514, 19", ".0488 (.0478)", ".0647 (.0662)", ".156", ".00048"),
    (10, 20_000, 10**4, 1, 0.01, ".0551, 182", ".0045 (.0048)", ".0065 (.0066)", ".154", ".00005"),
)
"""B, n, m, epsilon, gamma; then what the theory prints: tau and k, one bit, Laplace, no range, central."""


def settings(row: tuple[Any, ...], model: str) -> UserMeanSetting:
    """Return the setting of a row."""
    bound, users, records, epsilon, gamma = row[:5]
    return UserMeanSetting(users, -bound, bound, epsilon, model=model, spread=1.0, records=records, failure=2 * gamma)  # type: ignore[arg-type]


def simulated(way: UserMeanMechanism, bound: float, runs: int) -> tuple[float, float]:
    """Return the RMSE of some releases against the users' own mean, and how often a 95 % interval held it."""
    setting, generator = way.setting, np.random.default_rng(1)
    square, held = 0.0, 0
    for _ in range(runs):
        centre = generator.uniform(-45, 45) if bound == 50 else 2.3
        means = generator.normal(centre, 1 / math.sqrt(setting.records), setting.users)
        values = np.rint(np.ldexp(np.clip(means, -bound, bound), EXPONENT)).astype(np.int64)
        truth = float(np.ldexp(values.astype(np.float64), -EXPONENT).mean())
        release = way.release(iter([values]), EXPONENT, 0)
        low, high = release.interval(0.95) if setting.failure < 0.05 else release.interval(0.85)
        square += (float(release.value) - truth) ** 2
        held += low <= truth <= high
    return math.sqrt(square / runs), held / runs


def print_needed() -> None:
    """Print the theory's table of users."""
    print("users for a wrong bin at most 1 % of the time, half of epsilon for the range (ours / Bernstein as in the")
    print("theory, recomputed / the theory's Bernstein, Hoeffding, published)")
    for epsilon, printed in NEEDED.items():
        cells = []
        for bins, known in zip((16, 64, 256), printed, strict=True):
            stage = HadamardRange(RangeBins(0.0, float(bins), 0.5), 10, epsilon / 2)
            again = least_users(lambda n, bins=bins, c=stage.factor: published_failure(bins, n, c), 0.01)
            cells.append(f"k={bins}: {stage.users_needed(0.01)} / {again} / {', '.join(map(str, known))}")
        print(f"  epsilon {epsilon}: " + "   ".join(cells))


def print_simulations(runs: int) -> None:
    """Print the theory's table of RMSE beside ours."""
    ways: tuple[tuple[str, int, Callable[[UserMeanSetting], UserMeanMechanism]], ...] = (
        (
            "one bit",
            6,
            lambda s: BudgetSplit(setting=s, first=s.epsilon / 2, second=s.epsilon / 2, scalar=OneBitScalar),
        ),
        (
            "Laplace",
            7,
            lambda s: BudgetSplit(setting=s, first=s.epsilon / 2, second=s.epsilon / 2, scalar=LaplaceScalar),
        ),
        ("no range", 8, lambda s: OneRound(setting=s, second=s.epsilon, scalar=OneBitScalar)),
        ("central", 9, lambda s: CentralRange(setting=s, first=s.epsilon / 2, kind=MedianRange)),
        ("our choice, local", 0, best_user_mean),
        ("our choice, central", 0, best_user_mean),
    )
    for row in ROWS:
        local = settings(row, "local")
        print(f"\nB = {row[0]}, n = {row[1]}, m = {row[2]}, epsilon = {row[3]}: tau, k = ", end="")
        print(f"{local.radius:.4f}, {local.bins.count} (theory {row[5]})")
        for name, column, make in ways:
            start = time.perf_counter()
            way = make(settings(row, "central" if "central" in name else "local"))
            planned = time.perf_counter() - start
            found, held = simulated(way, row[0], runs)
            known = f"theory {row[column]}" if column else way.name
            print(
                f"  {name:20s} RMSE {found:.5g}, predicted {way.deviation:.5g}, with failure {way.expected_error:.4g}, "
                f"missed range <= {way.missed_range:.3g}, intervals hold {held:.3f}; plan {planned:.3f} s; {known}"
            )


def print_user_split(runs: int) -> None:
    """Print the theory's two user splits."""
    print("\nuser split, B = 50, n = 2000, m = 100 (theory: .0845 (.0865) and .0430 (.0451))")
    for epsilon, chosen in ((1.0, 727), (2.0, 278)):
        setting = settings((50, 2000, 100, epsilon, 0.05), "local")
        way = UserSplit(setting=setting, first=epsilon, second=epsilon, chosen=chosen, scalar=OneBitScalar)
        found, held = simulated(way, 50, runs)
        print(
            f"  epsilon {epsilon}, {chosen} in round one: RMSE {found:.4f}, predicted {way.deviation:.4f}, {held:.3f}"
        )


def print_bounded(runs: int) -> None:
    """Print the central range beside one Laplace draw on the bounds."""
    print(
        "\ncentral, beside a bounded mean with Laplace noise (high - low)/(n epsilon): RMSE, and its quotient by ours"
    )
    for records in (1, 10, 100, 10**4):
        for epsilon in (1.0, 2.0):
            way = best_user_mean(settings((50, 2000, records, epsilon, 0.05), "central"))
            bounded = math.sqrt(2) * 100 / (2000 * epsilon)
            found, _ = simulated(way, 50, runs)
            print(
                f"  m = {records}, epsilon {epsilon}: bounded {bounded:.5f}, ours {found:.5f}, {bounded / found:.1f} x"
            )


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    runs = parser.parse_args().runs
    print_needed()
    print_simulations(runs)
    print_user_split(runs)
    print_bounded(runs)


if __name__ == "__main__":
    main()

"""Errors of streams by simulation, beside the formula: totals to date, last seven, one day, day on day.

    python benchmarks/streams.py [--periods 7 52 365] [--streams 20000]

Prints a Markdown table. Noise is drawn by the product's own mechanism, for as many streams at once as are asked for, on
statistics that are all 0; figures are the product's estimates. Unit: the deviation of one release with the same
guarantee, for histories that differ in one period. ``fresh`` is a release of its own for each total, priced together.
"""

import argparse
import math
from collections.abc import Sequence

import numpy as np

from emdp.mechanisms.streams.estimates import combination, estimate
from emdp.mechanisms.streams.mechanism import StreamMechanism
from emdp.mechanisms.streams.strategy import PLANS, SCALE, Strategy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--periods", type=int, nargs="+", default=[7, 52, 365])
    parser.add_argument("--streams", type=int, default=20_000)
    arguments = parser.parse_args()
    names = ("total to date", "last 7", "a day", "day on day")
    print(f"| T | plan | S | {' | '.join(f'{name}: formula | simulated' for name in names)} |")
    print("|---:|---|---:|" + "---:|" * 8)
    for periods in arguments.periods:
        print(f"| {periods} | fresh | {math.sqrt(periods):.3f} | {math.sqrt(periods):.3f} | | | | | | | |")
        for plan in PLANS:
            row(periods, plan, arguments.streams)


def row(periods: int, plan: str, streams: int) -> None:
    """Print one line: the deviation of each figure at the last period."""
    strategy = Strategy.of(plan, periods)  # type: ignore[arg-type]
    own = StreamMechanism(strategy, periods, "period", 1.0, streams, 1.0, 1e-9)
    released = tuple(range(1, periods + 1))
    rows = {period: own.draw() for period in released}
    norm = math.sqrt(strategy.period_square(periods)) / SCALE
    one = own.sigma / norm
    cells = []
    for weights in figures(periods):
        wanted = np.zeros(periods)
        for period, weight in weights.items():
            wanted[period - 1] = weight
        formula = float(np.linalg.norm(combination(strategy, released, wanted))) * norm
        found = estimate(strategy, rows, weights, sigma=own.sigma, grid=own.grid)
        simulated = float(np.sqrt(np.mean(found.values**2))) / one
        cells += [f"{formula:.3f}", f"{simulated:.3f}"]
    print(f"| {periods} | {plan} | {norm:.3f} | {' | '.join(cells)} |", flush=True)


def figures(periods: int) -> Sequence[dict[int, float]]:
    """Return weights of the sum to date, the sum of the last seven, the last day, and its change."""
    return (
        dict.fromkeys(range(1, periods + 1), 1.0),
        dict.fromkeys(range(max(1, periods - 6), periods + 1), 1.0),
        {periods: 1.0},
        {periods: 1.0, periods - 1: -1.0},
    )


if __name__ == "__main__":
    main()

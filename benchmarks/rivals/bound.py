"""What any mechanism can reach for a count, a sum and a mean of one group, beside what each system draws.

``python benchmarks/rivals/bound.py``. By removal, epsilon 1, at most 10 records a user with amounts in [0, 100], a mean
of 50; root mean square errors, of a mean times the number of records.

Theorem. Let ``A`` be the least mean squared error that an epsilon-private answer to a number can have on average over
``k + 1`` databases in a row, each one user larger than the last, in squares of what a user adds to the number. Then for
every epsilon-private mechanism some group has

1. errors of at least ``sqrt(A)`` times 10 of the count, 1,000 of the sum and, as groups grow, 500 of the mean;
2. ``(error of the count / 10)^2 + (error of the mean / 500)^2 >= 4 A``.

Proof. 1. Users who add 10 records of 100, one by one, move the count by 10 each and the sum by 1,000; users who add 10
records of 100 to a group whose mean is 50 move ``mean * records - 50 * records`` by 500 each, up to ``k^2`` over the
number of records. 2. Users who add 10 records of 0 or 10 of 100 make a square of databases, ``(k + 1)^2`` of them. In
units of 10 records let ``u`` and ``v`` be the numbers of records of 0 and of 100, ``e`` and ``d`` the errors of ``u +
v`` and ``v - u``: half of their difference and sum are answers to ``u`` and ``v``, with squared errors of at least
``A`` each on average over each row and each column of the square, thus over all of it. ``e^2 + d^2`` is twice the sum
of these two squares (parallelogram law), and some database has no less than the average.

``A`` is a linear program: the chance of each answer in each database, on a grid of answers of width ``h`` between the
first and the last. That is no loss but ``h^2/4``: what is outside is nearer when it is moved in, and an answer that is
rounded up or down at random, without bias, has at most so much more. As ``k`` grows ``A`` rises to the error of the
staircase mechanism, 1.918 at epsilon 1 (Geng and Viswanath 2014; 2 of Laplace noise).
"""

import math

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, vstack

__all__ = ["DRAWN", "least_squared_error"]

AIMS = (0.55, 0.40, 0.30)
"""What emdp's errors should be at most, of a rival's: count, sum, mean."""

DRAWN = {
    "three draws": (10 * 3, 1_000 * 3, 500 * 6),
    "two draws, of which the mean is made": (10 * 2, 1_000 * 2, math.hypot(1_000 * 2, 50 * 10 * 2)),
    "PipelineDP: the count and the sum of `amount - 50`": (10 * 2, math.hypot(500 * 2, 50 * 10 * 2), 500 * 2),
    "emdp: both ends": (10 * math.sqrt(2), 1_000, 500 * math.sqrt(2)),
}
"""Scales of Laplace noise at epsilon 1, or the root of the sum of squares of several: count, sum, mean times records.

Three draws have a third of epsilon each, and of the mean's third half is for a count and half for the centred sum."""


def least_squared_error(epsilon: float, databases: int = 80, parts: int = 4) -> float:
    """Return a lower bound of ``A``, for ``k = databases`` and a grid of width ``1/parts``.

    >>> 1.1 < least_squared_error(1.0, 8) < least_squared_error(1.0, 16) < 1.918
    True
    """
    answers = np.arange(databases * parts + 1) / parts
    width, rows = len(answers), databases + 1
    pairs = np.arange(databases * width)
    ones, factor = np.ones(databases * width), math.exp(epsilon)

    def above(one: int, other: int) -> coo_array:
        """Return the chance in one of two neighbours minus exp(epsilon) times that in the other."""
        places = np.r_[pairs + one * width, pairs + other * width]
        return coo_array((np.r_[ones, -factor * ones], (np.r_[pairs, pairs], places)), (len(pairs), rows * width))

    every = np.arange(rows * width)
    found = linprog(
        ((answers[None, :] - np.arange(rows)[:, None]) ** 2 / rows).ravel(),
        A_ub=vstack([above(0, 1), above(1, 0)]).tocsr(),
        b_ub=np.zeros(2 * len(pairs)),
        A_eq=coo_array((np.ones(rows * width), (every // width, every)), (rows, rows * width)).tocsr(),
        b_eq=np.ones(rows),
    )
    if not found.success:
        raise RuntimeError(f"the linear program was not solved: {found.message}")
    return float(found.fun) - 0.25 / parts**2


def main() -> None:
    """Print what each draws, emdp's part of it, the least part of each alone, and whether all three can be met."""
    least = least_squared_error(1.0)
    ours = DRAWN["emdp: both ends"]
    print(f"A >= {least:.4f}: a count alone {10 * math.sqrt(least):.1f}, a sum {1_000 * math.sqrt(least):,.0f}")
    print("| noise of | count | sum | mean | emdp's part | no mechanism below | aims together |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for name, scales in DRAWN.items():
        errors = [math.sqrt(2.0) * scale for scale in scales]
        part = ", ".join(f"{one / other:.2f}" for one, other in zip(ours, scales, strict=True))
        floor = ", ".join(
            f"{unit * math.sqrt(least) / error:.2f}" for unit, error in zip((10, 1_000, 500), errors, strict=True)
        )
        wanted = (AIMS[0] * errors[0] / 10) ** 2 + (AIMS[2] * errors[2] / 500) ** 2
        is_possible = wanted >= 4 * least and AIMS[1] * errors[1] >= 1_000 * math.sqrt(least)
        shown = " | ".join(f"{error:,.1f}" if error < 100 else f"{error:,.0f}" for error in errors)
        print(f"| {name} | {shown} | {part} | {floor} | {'possible' if is_possible else 'impossible'} |")


if __name__ == "__main__":
    main()

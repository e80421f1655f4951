"""The one question that every system answers: how many records, their sum and their mean in each of 50 groups.

The table has one row a record: `user_id`, `category` (one of a public list) and `amount` (a number in [0, 100]). Every
user has `CAP` records at most, and here exactly so many, so that no system has to drop any and all of them estimate the
same numbers. Neither the generator nor the exact answer is private.
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

__all__ = ["CAP", "EPSILON", "HIGH", "LOW", "MEASURES", "exact_answer", "keys_of", "squared_errors", "write_visits"]

CAP = 10
"""Most records of a user, told to every system."""

LOW, HIGH = 0.0, 100.0
"""Public bounds of an amount, told to every system."""

EPSILON = 1.0
"""The whole budget for the three numbers of all groups."""

MEASURES = ("count", "sum", "mean")
"""What is answered for a group, in this order."""


def keys_of(groups: int) -> list[str]:
    """Return the public list of categories.

    >>> keys_of(2)
    ['c00', 'c01']
    """
    return [f"c{index:02d}" for index in range(groups)]


def write_visits(path: Path, *, users: int, groups: int, seed: int = 1) -> None:
    """Write a table of `users` with `CAP` records each, in random order.

    Groups differ in size as 1 / sqrt(rank), seven to one for 50, and in their mean amount, from 20 to 57.
    """
    draws = np.random.default_rng(seed)
    weights = 1.0 / np.sqrt(np.arange(1, groups + 1))
    category = draws.choice(groups, size=users * CAP, p=weights / weights.sum())
    amount = draws.gamma(4.0, 5.0 + 10.0 * category / groups)
    order = draws.permutation(users * CAP)
    frame = pl.DataFrame(
        {
            "user_id": np.repeat(np.arange(1, users + 1), CAP)[order],
            "category": np.array(keys_of(groups))[category[order]],
            "amount": np.round(np.clip(amount, LOW, HIGH), 2)[order],
        }
    )
    frame.write_parquet(path)


def exact_answer(path: Path, groups: int) -> dict[str, list[float]]:
    """Return count, sum and mean of every listed group that has a record."""
    found = (
        pl.scan_parquet(path)
        .group_by("category")
        .agg(pl.len().alias("n"), pl.col("amount").sum().alias("total"), pl.col("amount").mean().alias("mean"))
        .collect()
    )
    listed = set(keys_of(groups))
    return {key: [float(n), total, mean] for key, n, total, mean in found.iter_rows() if key in listed}


def squared_errors(answer: dict[str, Any], exact: dict[str, list[float]]) -> list[float]:
    """Return the squared error of count, sum and mean, each averaged over the groups of the exact answer.

    A group that is missing from the answer is an error of ours, not a number: it raises `KeyError`.

    >>> squared_errors({"a": [1, 2, 3], "b": [4, 5, 6]}, {"a": [1, 2, 3], "b": [2, 5, 7]})
    [2.0, 0.0, 0.5]
    """
    given = np.array([answer[key] for key in exact], dtype=np.float64)
    return [float(value) for value in ((given - np.array(list(exact.values()))) ** 2).mean(axis=0)]

"""What the examples share: finding a table, and holding an answer against the truth.

Only somebody who has the records (or made them up) can do the latter, and what it prints is not private: in a release
show `answer.frame`, and leave these checks out.
"""

import argparse
import math
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

import emdp
from emdp.mechanisms import AdditiveMechanism

REAL = Path(__file__).resolve().parents[2] / "shared" / "data"
"""Where the real tables are, if anywhere: ../shared/data as seen from the project's root."""

DRAWS = 1000

STANDARD_ERRORS = 6
"""So far may a spread be off: in simulations none of 300,000 right ones was, and 99.8 % of those 1.3 times too large
were."""


MACROS = """
CREATE MACRO km(lat, lon) AS 2 * 6371.0088 * asin(sqrt(
    sin(radians(lat - 40.7484) / 2) ^ 2
    + cos(radians(lat)) * cos(radians(40.7484)) * sin(radians(lon + 73.9857) / 2) ^ 2));
CREATE MACRO ramp(x, zero, one) AS least(greatest((x - zero) / (one - zero), 0), 1);
"""

CHECK_IN_MEANS = """
WITH placed AS (  -- on_invalid="clamp": the nearest point of the box, or its centre where a coordinate is missing
    SELECT user_id, CASE WHEN lat IS NULL OR lon IS NULL OR isnan(lat) OR isnan(lon) THEN km(40.70, -73.98)
        ELSE km(least(greatest(lat, 40.48), 40.92), least(greatest(lon, -74.26), -73.70)) END AS km
    FROM read_parquet($path)
), people AS (    -- first a mean for each person, so that everybody weighs the same
    SELECT avg(km) AS km, avg(ramp(km, 2, 1)) AS near, avg(ramp(km, 6, 5)) AS around FROM placed GROUP BY user_id
), everybody AS ( -- a person without records counts with the centre of the box
    FROM people UNION ALL
    SELECT km(40.70, -73.98), ramp(km(40.70, -73.98), 2, 1), ramp(km(40.70, -73.98), 6, 5)
    FROM range($users - (SELECT count(*) FROM people))
)
SELECT avg(km), avg(near), avg(around) FROM everybody
"""


def paths(names: Sequence[str], generate: Callable[..., object], folder: str) -> list[Path]:
    """Return the real tables if they are all there, else generated ones of the same names, and say which."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--generated", action="store_true", help="generate tables even if the real ones are there")
    real = [REAL / name for name in names]
    if not parser.parse_args().generated and all(path.is_file() for path in real):
        print(f"data: real, {', '.join(map(str, real))}")
        return real
    made = [Path(folder, name) for name in names]
    generate(*made)
    print(f"data: generated (nobody is in it), in the shape of {', '.join(names)}")
    return made


def check_in_means(path: Path, users: int) -> dict[str, float]:
    """Return the exact means of the two check-in examples, by SQL written by hand."""
    with duckdb.connect() as connection:
        connection.execute(MACROS)
        (row,) = connection.execute(CHECK_IN_MEANS, {"path": str(path), "users": users}).fetchall()
    return dict(zip(["km_to_midtown", "within_1_km", "within_5_km"], row, strict=True))


def show(answer: emdp.Answer, exact: Mapping[str, float]) -> None:
    """Print the private values beside the exact ones, and check the noise."""
    for name, value, low, high in answer.interval(0.95).iter_rows():
        print(f"{name:<14} exact {exact[name]:>9.5f}   private {value:>9.5f}   95 % [{low:.5f}, {high:.5f}]")
    check_noise(answer.noise)


def check_noise(noise: AdditiveMechanism) -> None:
    """Draw the noise again and again and compare its spread with what the answer states."""
    # The very sampler that made the answer, on zeros: nothing private is touched, so nothing is spent.
    zeros = [Fraction(0)] * noise.dimension
    draws = np.array([[float(value) for value in noise.release(zeros)] for _ in range(DRAWS)])
    stated = noise.standard_deviation, noise.expected_absolute_error
    # The error of a mean of |x| follows from the two stated numbers; that of a standard deviation from the fourth
    # moment, which for all noise here is at most Laplace's, 6 times the squared variance.
    allowed = (
        STANDARD_ERRORS * stated[0] * math.sqrt((6 - 1) / (4 * DRAWS)),
        STANDARD_ERRORS * math.sqrt((stated[0] ** 2 - stated[1] ** 2) / DRAWS),
    )
    print(f"  {noise.name} noise; spread stated, and found in {DRAWS:,} draws of each column:")
    for column in draws.T:
        found = float(np.sqrt(np.mean(column**2))), float(np.mean(np.abs(column)))
        deviation, absolute = (f"{claim:.6f}, {number:.6f}" for claim, number in zip(stated, found, strict=True))
        print(f"    standard deviation {deviation}   mean absolute value {absolute}")
        for number, claim, room in zip(found, stated, allowed, strict=True):
            if not abs(number - claim) <= room:
                sys.exit(f"a spread of {number} is more than {room} away from the stated {claim}.")


def check_exact(table: emdp.Table, queries: Sequence[emdp.Mean | emdp.VectorMean], exact: Mapping[str, float]) -> None:
    """Check that what emdp adds noise to is the number that the hand-written SQL gives, within 1e-9."""
    # Only answers made under the test switch carry their exact value. They are not private, so they need a ledger of
    # their own, and charge nothing to the real one.
    with tempfile.TemporaryDirectory() as folder, emdp.testing.seeded(0):
        budget = emdp.EmdDP(alpha=math.fsum(query.price.level for query in queries))
        with emdp.Session(table, budget=budget, ledger=f"{folder}/test.ledger") as session:
            computed = {name: value for query in queries for name, value in session.answer(query).exact.items()}
    worst = max(abs(computed[name] - exact[name]) for name in computed)
    if not worst <= 1e-9:
        sys.exit(f"emdp's statistic is {worst} away from the value of the SQL written by hand.")
    print(f"emdp's statistics and the SQL written by hand agree to {worst:.1e}")

"""What the shares of TPC-H 8 and 14 can have at best: under the cap of least error, which only the data tell.

``python benchmarks/tpch_best.py --data FOLDER``; the tables are those of ``benchmarks/tpch.py``. Both sums of a share
are drawn together, Laplace noise at epsilon 1 by removal, of a customer's amounts under one cap. Printed is the median
relative error of the share, and that of the whole sum below it, each at its own best cap. Before them stand the known
answers about the tables: the most lines of a customer, lines of an order, orders of a customer, and the customers of
text 22 without orders whose balance is above 4,999.
"""

import argparse
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
from tpch import PRIVATE, PUBLIC

Numbers = npt.NDArray[np.float64]
VALUE = "l_extendedprice * (1 - l_discount)"
CAPS = (20_000, 40_000, 60_000, 80_000, 105_000, 150_000, 210_000, 300_000, 400_000)
DRAWS = 20_000

SHARES = {
    8: (
        "n2.n_name = 'BRAZIL'",
        "YEAR(o_orderdate)",
        "customer, part, supplier, nation n1, nation n2, region WHERE p_partkey = l_partkey AND s_suppkey = "
        "l_suppkey AND o_custkey = c_custkey AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND"
        " r_name = 'AMERICA' AND s_nationkey = n2.n_nationkey AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE "
        "'1996-12-31' AND p_type = 'ECONOMY ANODIZED STEEL'",
    ),
    14: (
        "p_type LIKE 'PROMO%'",
        "0",
        "part WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01'",
    ),
}
"""Of each text the condition of the part, the group, and the tables beside orders and lines with their condition."""


KNOWN = (
    "SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM lineitem JOIN orders ON l_orderkey = o_orderkey GROUP BY o_custkey)",
    "SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM lineitem GROUP BY l_orderkey)",
    "SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM orders GROUP BY o_custkey)",
    "SELECT COUNT(*) FROM customer WHERE SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') AND "
    "c_acctbal > 4999 AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)",
)
"""Known answers at scale factor 1: 178, 7, 41 and 6,392 (user-level-sql.md 6.8)."""


def rows(folder: Path, text: str) -> list[tuple[float, ...]]:
    """Return the rows of a statement over the tables."""
    with duckdb.connect() as connection:
        for name in (*PRIVATE, *PUBLIC):
            connection.execute(f"CREATE VIEW {name} AS FROM read_parquet('{folder}/{name}.parquet')")
        return connection.execute(text).fetchall()


def amounts(folder: Path, number: int) -> tuple[Numbers, ...]:
    """Return customers, groups, and what each customer adds to the part and to the rest in each group."""
    part, group, tables = SHARES[number]
    text = (
        f"SELECT o_custkey, {group} AS place, SUM(CASE WHEN {part} THEN {VALUE} ELSE 0 END)::DOUBLE, "
        f"SUM(CASE WHEN {part} THEN 0 ELSE {VALUE} END)::DOUBLE FROM lineitem, orders, {tables} "
        "AND l_orderkey = o_orderkey GROUP BY 1, 2"
    )
    return tuple(np.array(column, dtype=float) for column in zip(*rows(folder, text), strict=True))


def errors(columns: tuple[Numbers, ...], cap: float, draws: np.random.Generator) -> tuple[float, float]:
    """Return the median errors of the share and of the whole sum over groups and draws, in per cent."""
    customers, groups, part, rest = columns
    _, places = np.unique(customers, return_inverse=True)
    of_customer = np.bincount(places, part + rest)[places]
    weights = np.minimum(1.0, cap / of_customer)
    shares, wholes = [], []
    for group in np.unique(groups):
        own = groups == group
        true = part[own].sum(), (part[own] + rest[own]).sum()
        first, other = ((weights * column)[own].sum() + draws.laplace(0.0, cap, DRAWS) for column in (part, rest))
        shares.append(np.abs(first / (first + other) / (true[0] / true[1]) - 1))
        wholes.append(np.abs((first + other) / true[1] - 1))
    return 100 * float(np.median(shares)), 100 * float(np.median(wholes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    asked = parser.parse_args()
    print("known answers:", *(f"{rows(asked.data, text)[0][0]:,}" for text in KNOWN))
    for number in SHARES:
        columns, draws = amounts(asked.data, number), np.random.default_rng(0)
        found = [(*errors(columns, cap, draws), cap) for cap in CAPS]
        for place, name in enumerate(("share", "whole sum")):
            least = min(found, key=lambda one: one[place])
            print(f"text {number}: {name} {least[place]:.2g} % at a cap of {least[2]:,}")


if __name__ == "__main__":
    main()

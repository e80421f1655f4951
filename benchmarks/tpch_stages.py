"""TPC-H's texts 15, 17 and 22 in stages, the customer as the unit of privacy: their errors at scale factor 1.

``python benchmarks/tpch_stages.py --data /tmp/tpch --environment /tmp/tpch-environment``; the tables are those of
``benchmarks/tpch.py``. Text 22 is as it stands behind the header; 15 joins the suppliers, which lists its groups, and
17 is written as two sub-queries of WITH. Text 20 has 800,000 groups in its first stage, more than are answered, unless
the parts that it asks for are in there, as its refusal writes it.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import duckdb
import polars as pl
from tpch import BUDGET, PRIVATE, PUBLIC, customers, make_tables

import emdp

REVENUE = "SUM(CLAMP(l_extendedprice * (1 - l_discount), 0, 105000))"

TEXTS = {
    15: (
        "WITH revenue AS (SELECT s_suppkey AS supplier_no, {revenue} AS total_revenue FROM lineitem JOIN supplier ON "
        "s_suppkey = l_suppkey WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01' GROUP BY "
        "s_suppkey) {head} s_suppkey, total_revenue FROM supplier, revenue WHERE s_suppkey = supplier_no AND "
        "total_revenue = (SELECT MAX(total_revenue) FROM revenue)"
    ),
    17: (
        "WITH a AS (SELECT p_partkey AS k, 0.2 * AVG(l_quantity) AS q FROM lineitem JOIN part ON p_partkey = l_partkey "
        "WHERE p_brand = 'Brand#23' AND p_container = 'MED BOX' GROUP BY p_partkey), s AS (SELECT SUM(l_extendedprice) "
        "AS total FROM lineitem JOIN a ON l_partkey = k WHERE l_quantity < q) {head} total / 7.0 AS avg_yearly FROM s"
    ),
}
CAPS = {15: 2, 17: 1, 22: 1}
"""Caps on records of a customer in each stage."""


def text_of(folder: Path, number: int) -> tuple[str, str]:
    """Return a text with the header, and as plain SQL."""
    options = f"epsilon = 1, neighbours = 'remove', max_records_per_user = {CAPS[number]}"
    head = f"SELECT WITH USER_PRIVACY OPTIONS ({options})"
    if number == 22:
        written = (folder / "q22.sql").read_text().rstrip().rstrip(";")
        first = written.upper().index("SELECT")
        return written[:first] + head + written[first + len("SELECT") :], written
    text = TEXTS[number]
    plain = text.replace("{head}", "SELECT").replace("{revenue}", "SUM(l_extendedprice * (1 - l_discount))")
    return text.replace("{head}", head).replace("{revenue}", REVENUE), plain


def exact_of(folder: Path, text: str) -> pl.DataFrame:
    with duckdb.connect() as connection:
        for name in (*PRIVATE, *PUBLIC):
            connection.execute(f"CREATE VIEW {name} AS FROM read_parquet('{folder}/{name}.parquet')")
        return pl.DataFrame(connection.sql(text).to_arrow_table())


def error_of(frame: pl.DataFrame, exact: pl.DataFrame, number: int) -> float:
    """Return the median relative error of the numbers of all rows, in per cent; of 15 that of the largest revenue."""
    if number == 22:
        both = exact.join(frame, on="cntrycode", suffix="_found")
        names = ("numcust", "totacctbal")
        pairs = [(row[name], row[f"{name}_found"]) for row in both.iter_rows(named=True) for name in names]
    else:
        name = "total_revenue" if number == 15 else "avg_yearly"
        pairs = [(exact[name][0], frame[name][0])]
    return statistics.median(100 * abs(float(found) - float(true)) / abs(float(true)) for true, found in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--environment", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    make_tables(asked.data, asked.scale, asked.environment)
    public = {name: pl.read_parquet(asked.data / f"{name}.parquet") for name in PUBLIC}
    with tempfile.TemporaryDirectory() as scratch:
        table = customers(asked.data, asked.scale)
        with emdp.Session(table, budget=BUDGET, ledger=Path(scratch) / "l", public=public) as session:
            print("| text | cap | error, % | seconds |\n|---|---:|---:|---:|", flush=True)
            for number in (22, 17, 15):
                text, plain = text_of(asked.data, number)
                exact, found, seconds = exact_of(asked.data, plain), [], []
                for _ in range(asked.repeats):
                    begun = time.perf_counter()
                    found.append(error_of(session.sql(text).frame, exact, number))
                    seconds.append(time.perf_counter() - begun)
                print(
                    f"| {number} | {CAPS[number]} | {statistics.median(found):.2g} | {min(seconds):.1f} |", flush=True
                )


if __name__ == "__main__":
    main()

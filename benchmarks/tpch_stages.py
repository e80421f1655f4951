"""TPC-H's texts 15, 17, 20 and 22 in stages, the customer as the unit of privacy: their errors at scale factor 1.

``python benchmarks/tpch_stages.py --data /tmp/tpch --environment /tmp/tpch-environment``; the tables are those of
``benchmarks/tpch.py``. Text 22 is as it stands behind the header; 15 joins the suppliers, which lists its groups, 17
is written as two sub-queries of WITH, and 20 as its refusal says. Its error is that of the sums that it compares with;
beside it stands how many of the suppliers that it lists are right.
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
    20: (
        "WITH b AS (SELECT DISTINCT partsupp.ps_partkey AS key_1, partsupp.ps_suppkey AS key_2, "
        "partsupp.ps_partkey * 100000 + partsupp.ps_suppkey AS key_0 FROM partsupp WHERE {forest}), a AS "
        "(SELECT b.key_0 AS key_0, 0.5 * SUM(l_quantity) AS v FROM lineitem JOIN b ON l_partkey = b.key_1 AND"
        " l_suppkey = b.key_2 WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' GROUP "
        "BY b.key_0) {head} s_name, s_address FROM supplier, nation WHERE s_suppkey IN (SELECT ps_suppkey "
        "FROM partsupp JOIN a ON a.key_0 = partsupp.ps_partkey * 100000 + partsupp.ps_suppkey WHERE {forest} "
        "AND ps_availqty > a.v) AND s_nationkey = n_nationkey AND n_name = 'CANADA' ORDER BY s_name"
    ),
}
FOREST = "ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%')"
SUMS = (
    "SELECT l_partkey * 100000 + l_suppkey AS key_0, 0.5 * SUM(l_quantity) AS exact FROM lineitem, part WHERE "
    "l_partkey = p_partkey AND p_name LIKE 'forest%' AND l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE "
    "'1995-01-01' GROUP BY key_0"
)
"""What the first stage of text 20 finds."""

CAPS = {15: 2, 17: 1, 20: 1, 22: 1}
"""Caps on records of a customer in each stage."""


def text_of(folder: Path, number: int) -> tuple[str, str]:
    """Return a text with the header, and as plain SQL."""
    options = f"epsilon = 1, neighbours = 'remove', max_records_per_user = {CAPS[number]}"
    head = f"SELECT WITH USER_PRIVACY OPTIONS ({options})"
    if number == 22:
        written = (folder / "q22.sql").read_text().rstrip().rstrip(";")
        first = written.upper().index("SELECT")
        return written[:first] + head + written[first + len("SELECT") :], written
    text = TEXTS[number].replace("{forest}", FOREST)
    plain = text.replace("{head}", "SELECT").replace("{revenue}", "SUM(l_extendedprice * (1 - l_discount))")
    return text.replace("{head}", head).replace("{revenue}", REVENUE), plain


def exact_of(folder: Path, text: str) -> pl.DataFrame:
    with duckdb.connect() as connection:
        for name in (*PRIVATE, *PUBLIC):
            connection.execute(f"CREATE VIEW {name} AS FROM read_parquet('{folder}/{name}.parquet')")
        return pl.DataFrame(connection.sql(text).to_arrow_table())


def error_of(answer: emdp.Answer, exact: pl.DataFrame, folder: Path, number: int) -> float:
    """Return the median relative error of the numbers of all rows, in per cent; of 15 that of the largest revenue."""
    frame = answer.frame
    if number == 20:
        right = len(set(frame["s_name"]) & set(exact["s_name"]))
        print(
            f"text 20 lists {frame.height} suppliers, {right} of them of the {exact.height} that it should", flush=True
        )
        both = answer.stages["a"].join(exact_of(folder, SUMS), on="key_0")
        pairs = list(both.select("exact", "v").iter_rows())
    elif number == 22:
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
            for number in (22, 17, 15, 20):
                text, plain = text_of(asked.data, number)
                exact, found, seconds = exact_of(asked.data, plain), [], []
                for _ in range(asked.repeats):
                    begun = time.perf_counter()
                    answer = session.sql(text)
                    seconds.append(time.perf_counter() - begun)
                    found.append(error_of(answer, exact, asked.data, number))
                print(
                    f"| {number} | {CAPS[number]} | {statistics.median(found):.2g} | {min(seconds):.1f} |", flush=True
                )


if __name__ == "__main__":
    main()

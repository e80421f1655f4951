"""TPC-H's questions in stages (15, 17, 20, 22) and on public tables alone (2, 11, 16), the customer as the unit."""

import datetime
import random
from collections.abc import Iterator

import polars as pl
import pytest

import emdp

HEADER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 900, neighbours = 'remove', max_records_per_user = 178) "
CODES = "('13', '31', '23')"
REVENUE = "SUM(CLAMP(l_extendedprice * (1 - l_discount), 0, 100000))"
NATION = "ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'CANADA'"

QUESTIONS = {
    22: (
        f"{HEADER}cntrycode, COUNT(*) AS numcust, SUM(CLAMP(c_acctbal, 0, 10000)) AS total FROM (SELECT "
        f"SUBSTRING(c_phone, 1, 2) AS cntrycode, c_acctbal FROM customer WHERE SUBSTRING(c_phone, 1, 2) IN {CODES} AND "
        f"c_acctbal > (SELECT AVG(c_acctbal) FROM customer WHERE c_acctbal > 0 AND SUBSTRING(c_phone, 1, 2) IN {CODES})"
        " AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)) AS custsale GROUP BY cntrycode",
        ["value", "answer"],
        3,
    ),
    15: (
        f"WITH revenue (supplier_no, total_revenue) AS (SELECT s_suppkey, {REVENUE} FROM lineitem JOIN supplier ON "
        f"s_suppkey = l_suppkey WHERE l_shipdate >= DATE '1996-01-01' GROUP BY s_suppkey) {HEADER}s_name, total_revenue"
        " FROM supplier, revenue WHERE s_suppkey = supplier_no AND total_revenue = (SELECT MAX(total_revenue) FROM "
        "revenue) ORDER BY s_name",
        ["revenue"],
        1,
    ),
    17: (
        "WITH a AS (SELECT p_partkey AS k, 0.2 * AVG(CLAMP(l_quantity, 0, 50)) AS q FROM lineitem JOIN part ON "
        "p_partkey = l_partkey WHERE p_brand = 'Brand#23' GROUP BY p_partkey), s AS (SELECT "
        "SUM(CLAMP(l_extendedprice, 0, 105000)) AS total FROM lineitem JOIN a ON l_partkey = k WHERE l_quantity < q) "
        f"{HEADER}total / 7.0 AS avg_yearly FROM s",
        ["a", "s"],
        1,
    ),
    20: (
        "WITH q AS (SELECT ps_partkey, ps_suppkey, 0.5 * SUM(CLAMP(l_quantity, 0, 50)) AS half FROM lineitem JOIN "
        "partsupp ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey GROUP BY ps_partkey, ps_suppkey) "
        f"{HEADER}s_name FROM supplier, nation WHERE s_suppkey IN (SELECT ps.ps_suppkey FROM partsupp ps JOIN q ON "
        "q.ps_partkey = ps.ps_partkey AND q.ps_suppkey = ps.ps_suppkey WHERE ps_availqty > half - 1e9) AND s_nationkey "
        "= n_nationkey AND n_name = 'CANADA' ORDER BY s_name",
        ["q"],
        10,
    ),
    2: (
        f"{HEADER}s_name, p_partkey FROM part, supplier, partsupp, nation WHERE p_partkey = ps_partkey AND s_suppkey = "
        "ps_suppkey AND s_nationkey = n_nationkey AND ps_availqty = (SELECT MIN(ps_availqty) FROM partsupp, supplier, "
        f"nation WHERE p_partkey = ps_partkey AND {NATION}) ORDER BY s_name, p_partkey LIMIT 3",
        [],
        3,
    ),
    11: (
        f"{HEADER}ps_partkey, SUM(ps_availqty) AS value FROM partsupp, supplier, nation WHERE {NATION} GROUP BY "
        f"ps_partkey HAVING SUM(ps_availqty) > (SELECT SUM(ps_availqty) * 0.001 FROM partsupp, supplier, nation WHERE "
        f"{NATION}) ORDER BY value DESC",
        [],
        20,
    ),
    16: (
        f"{HEADER}p_brand, COUNT(DISTINCT ps_suppkey) AS supplier_cnt FROM partsupp, part WHERE p_partkey = ps_partkey "
        "AND p_brand <> 'Brand#45' AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_name LIKE '%9') "
        "GROUP BY p_brand ORDER BY supplier_cnt DESC",
        [],
        2,
    ),
}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[emdp.Session]:
    chance = random.Random(1)
    customer = pl.DataFrame(
        {
            "c_custkey": range(90),
            "c_acctbal": [chance.uniform(-999, 9999) for _ in range(90)],
            "c_phone": [f"{chance.choice([13, 31, 23])}-1" for _ in range(90)],
        }
    )
    orders = pl.DataFrame(
        {"o_orderkey": range(200), "o_custkey": [chance.randrange(60) for _ in range(200)], "o_total": [1.0] * 200}
    )
    first = datetime.date(1996, 1, 1)
    lines = [
        (chance.randrange(200), chance.randrange(20), chance.randrange(10), float(chance.randrange(1, 50)),
         chance.uniform(900, 99000), 0.1, first + datetime.timedelta(days=chance.randrange(300)))
        for _ in range(900)
    ]  # fmt: skip
    names = ["orderkey", "partkey", "suppkey", "quantity", "extendedprice", "discount", "shipdate"]
    lineitem = pl.DataFrame(lines, schema=[f"l_{name}" for name in names], orient="row")
    links = {
        "orders": {"source": orders, "column": "o_custkey", "table": "customer", "key": "c_custkey",
                   "space": emdp.Interval("o_total", 0, 9)},
        "lineitem": {"source": lineitem, "column": "l_orderkey", "table": "orders", "key": "o_orderkey",
                     "space": emdp.Interval("l_quantity", 0, 50)},
    }  # fmt: skip
    public = {
        "supplier": pl.DataFrame(
            {"s_suppkey": range(10), "s_name": [f"S{place}" for place in range(10)], "s_nationkey": [0] * 10}
        ),
        "part": pl.DataFrame({"p_partkey": range(20), "p_brand": ["Brand#23", "b"] * 10}),
        "partsupp": pl.DataFrame(
            {"ps_partkey": range(20), "ps_suppkey": [place % 10 for place in range(20)], "ps_availqty": [100] * 20}
        ),
        "nation": pl.DataFrame({"n_nationkey": [0], "n_name": ["CANADA"]}),
    }
    space = emdp.Interval("c_acctbal", -1000, 10000)
    table = emdp.read(customer, user="c_custkey", space=space, name="customer", links=links)
    budget = emdp.UserDP(1e9, 0.1, neighbours="remove")
    with (
        emdp.testing.seeded(3),
        emdp.Session(table, budget=budget, ledger=tmp_path_factory.mktemp("tpch") / "l", public=public) as made,
    ):
        yield made


@pytest.mark.quarter
@pytest.mark.parametrize("number", QUESTIONS)
def test_it_is_answered_by_its_stages(session: emdp.Session, number: int) -> None:
    text, labels, rows = QUESTIONS[number]
    answer = session.sql(text)
    assert [part.label for part in answer.parts] == labels
    assert answer.guarantee.level == pytest.approx(900 if labels else 0)
    assert answer.frame.height == rows

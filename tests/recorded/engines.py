"""The same answers on Spark: needs pyspark and Java; in tests the fixture ``spark`` has started the session."""

import os
import sys
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import polars as pl

import emdp
from emdp import randomizers

from ..support.sql_worlds import PUBLIC, USERS, WORLDS
from . import tables
from .asking import asked, shared_session
from .cases import Case

BUDGETS = (emdp.EmdDP(1e4, 0.1, sizes="bounded"), emdp.UserDP(1e4, 0.1))
SETTINGS = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Of a session that is started to record: statements are many and small."""

KM = emdp.distance_to((40.7484, -73.9857))
PRICES = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 5)"
CAPPED = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 2, max_records_per_user = 3)"

STATEMENTS: dict[str, str] = {
    "mean": f"{PRICES} AVG(price) AS p FROM visits",
    "hours": f'{PRICES} AVG(DISTANCE("hour(ts)", 8)) AS h FROM visits',
    "functions": f"{PRICES} AVG(EXP(-price / 50)) AS e, AVG(TANH(price) * SQRT(price + 1)) AS t FROM visits",
    "case": f"{PRICES} AVG(CASE category WHEN 'cafe' THEN 2 WHEN 'bar' THEN price ELSE 0 END) AS c FROM visits",
    "where": f"{PRICES} AVG(price) AS p, SHARE() AS s FROM visits WHERE category = 'cafe'",
    "users": f"{PRICES} plan, AVG(price) AS p FROM visits WHERE age > 20 GROUP BY plan",
    "joined": f"{PRICES} sector, AVG(rent) AS r FROM visits JOIN kinds USING (category) GROUP BY sector",
    "quantiles": f"{PRICES} QUANTILE(price, 0.1, 0.5) AS p FROM visits",
    "grid": f"{PRICES} FREQUENCY(GRID(price, 10)) AS f FROM visits",
    "listed": f"{PRICES} FREQUENCY(category) AS f FROM visits ORDER BY f DESC",
    "totals": f"{CAPPED} COUNT(*) AS n, SUM(price) AS s, AVG(price) AS p FROM visits",
    "totals chosen": f"{CAPPED} COUNT(*) AS n FROM visits WHERE category <> 'bar'",
    "refused": f"{PRICES} AVG(FLOOR(price)) FROM visits",
}
"""About the world ``city``."""

QUERIES: dict[str, Any] = {
    "python mean": emdp.mean(KM, alpha=4),
    "python vector": emdp.vector_mean([KM, emdp.col("lat")], alpha=4, by="category"),
    "python local": emdp.mean(KM, alpha=4, model="local"),
    "python categories": emdp.frequencies("category", alpha=9),
}
"""About check-ins."""

LETTERS: dict[str, Any] = {
    "letters": emdp.frequencies(epsilon=2),
    "letters local": emdp.frequencies(epsilon=2, model="local", method="krr"),
    "letters item-wise": emdp.itemwise(randomizers.KRR(emdp.Categories("k", tables.LETTERS), 2.0), delta=1e-4),
}
"""About letters; messages are drawn on the executors."""


def cases() -> Iterator[Case]:
    for name, text in STATEMENTS.items():
        yield Case(name, partial(_asked, "city", text))
    for name, query in QUERIES.items():
        yield Case(name, partial(_asked, "checkins", query))
    for name, query in LETTERS.items():
        yield Case(name, partial(_asked, "letters", query))


def _asked(name: str, request: Any, folder: Path) -> dict[str, Any]:
    return asked(_session(name), request, is_explained=False)


@cache
def _session(name: str) -> emdp.Session:
    if name == "city":
        own = WORLDS["city"]
        table = _on_spark(own.rows(1), own.space, USERS, "visits")
        return shared_session(table, "engines_city", public=PUBLIC)
    if name == "checkins":
        table = _on_spark(tables.frames()["checkins"], tables.checkins().space, 60, "visits")
        return shared_session(table, "engines_checkins")
    letters, rows = tables.letters(), tables.item_rows("k", tables.LETTERS)
    table = _on_spark(pl.DataFrame(rows), letters.space, 200, "items", records=5)
    return shared_session(table, "engines_letters", budget=BUDGETS)


def _on_spark(frame: pl.DataFrame, space: emdp.Space, users: Any, name: str, **more: Any) -> emdp.Table:
    times = pl.col(pl.Datetime("ms", "UTC"), pl.Datetime("ns", "UTC")).cast(pl.Datetime("us", "UTC"))
    rows = frame.with_columns(times).to_arrow(compat_level=pl.CompatLevel.oldest())
    own = _spark().createDataFrame(rows).repartition(3)
    return emdp.read(own, user="user_id", space=space, users=users, name=name, version="1", **more)


def _spark() -> Any:
    """Return the session that the tests share, or a small one of this process."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("emdp recorded")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    return SparkSession.getActiveSession() or builder.getOrCreate()

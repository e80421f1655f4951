"""OpenDP's Polars interface: count and clamped sum by group, at half of epsilon each; the mean is their quotient.

It is told the identifier of a user, at most 10 records each (sampled where there are more), the listed categories, the
range of an amount and the largest number of records. Laplace noise, its choice for a loss in epsilon alone.
"""

import os
import warnings
from collections.abc import Callable
from typing import Any

PACKAGES = ("opendp", "polars")


def start(task: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return the query; told `unit` is `contributions` (a user comes or goes) or `changes` (one is replaced).

    OpenDP looks for the noise by building the query many times, whatever the data, and makes a backtrace of each
    error inside. `task["option"]` is empty for all of that, `quiet` without backtraces, and `kept` where the query has
    been built before, so that an answer only runs it (and no longer counts what is spent).
    """
    # OpenDP sets it to 1 where nobody has set it, and so it is for the row "OpenDP".
    os.environ["RUST_BACKTRACE"] = "0" if task["option"] else "1"
    import opendp.prelude as dp
    import polars as pl

    warnings.simplefilter("ignore")
    dp.enable_features("contrib")
    amount = pl.col("amount").fill_null(task["low"]).fill_nan(task["low"])
    kept: dict[str, Any] = {}

    def query(told: dict[str, Any]) -> Any:
        context = dp.Context.compositor(
            data=pl.scan_parquet(task["path"]),
            privacy_unit=dp.unit_of(**{told["unit"]: 1}, identifier=pl.col("user_id")),
            privacy_loss=dp.loss_of(epsilon=told["epsilon"]),
            split_evenly_over=1,
            margins=[dp.polars.Margin(by=["category"], max_length=task["rows"])],
        )
        return (
            context.query()
            .truncate_per_group(task["cap"])
            .group_by("category")
            .agg(dp.len(signed=True).alias("n"), amount.dp.sum((task["low"], task["high"])).alias("total"))
            .with_keys(pl.LazyFrame({"category": task["keys"]}))
        )

    def answer(told: dict[str, Any]) -> dict[str, Any]:
        built = kept.get(told["unit"])
        release = query(told).release() if built is None else built(pl.scan_parquet(task["path"]))
        frame = release.collect().select("category", "n", "total")
        return {key: [n, total, total / n] for key, n, total in frame.iter_rows()}

    if task["option"] == "kept":
        for unit in ("contributions", "changes"):
            kept[unit] = query({"unit": unit, "epsilon": task["epsilon"]}).resolve()
    return answer

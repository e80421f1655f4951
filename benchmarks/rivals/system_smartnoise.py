"""SmartNoise SQL on a pandas frame: count and sum by group, at half of epsilon each; AVG reuses them.

It is told the identifier of a user, `max_ids: 10` (rows are sampled where there are more), that the categories are
public (`censor_dims: False`) and the range of an amount. Laplace noise, its default. A frame is copied into SQLite in
memory, which runs the statement.
"""

from collections.abc import Callable
from typing import Any

PACKAGES = ("smartnoise-sql", "opendp", "pandas", "pyarrow")

STATEMENT = """
SELECT category, COUNT(amount) AS n, SUM(amount) AS total, AVG(amount) AS mean FROM db.visits GROUP BY category"""

DELTA = 1e-9
"""The reader asks for one, though nothing here needs it."""


def start(task: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return the statement on a new reader."""
    import pandas as pd
    import snsql

    columns = {
        "user_id": {"type": "int", "private_id": True},
        "category": {"type": "string", "cardinality": len(task["keys"])},
        "amount": {"type": "float", "lower": task["low"], "upper": task["high"]},
    }
    rules = {"max_ids": task["cap"], "sample_max_ids": True, "row_privacy": False, "censor_dims": False}
    metadata = {"": {"db": {"visits": {**rules, "clamp_counts": False, "clamp_columns": True, **columns}}}}

    def answer(told: dict[str, Any]) -> dict[str, Any]:
        # Its epsilon is for each noisy number: the count and the sum.
        privacy = snsql.Privacy(epsilon=told["epsilon"] / 2, delta=DELTA)
        reader = snsql.from_df(pd.read_parquet(task["path"]), privacy=privacy, metadata=metadata)
        return {key: numbers for key, *numbers in reader.execute(STATEMENT)[1:]}

    return answer

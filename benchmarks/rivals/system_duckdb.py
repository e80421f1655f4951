"""Plain DuckDB without any privacy: the exact answer, and the exact answer under a cap on a user's records."""

from collections.abc import Callable
from typing import Any

PACKAGES = ("duckdb",)

RECORDS = "SELECT category, count(*), sum(amount), avg(amount) FROM '{path}' GROUP BY category"

CAPPED = """
WITH weights AS (SELECT user_id, least(1.0, {cap} / count(*)) AS w FROM '{path}' GROUP BY user_id)
SELECT category, sum(w), sum(w * amount), sum(w * amount) / sum(w)
FROM '{path}' JOIN weights USING (user_id) GROUP BY category"""


def start(task: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return the statement on a fresh connection; `task["option"]` is `capped` for weights of users."""
    import duckdb

    statement = (CAPPED if task["option"] == "capped" else RECORDS).format(path=task["path"], cap=task["cap"])

    def answer(told: dict[str, Any]) -> dict[str, Any]:
        with duckdb.connect() as connection:
            return {key: numbers for key, *numbers in connection.execute(statement).fetchall()}

    return answer

"""emdp: one SQL statement, one charge, one draw of noise for the three numbers of all groups.

It is told a cap of 10 records a user, the listed categories, the range of an amount and the public number of users. Its
guarantee is against the replacement of all of one user's records by others or, told `neighbours`, against a user who
comes or goes.
"""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

PACKAGES = ("emdp", "duckdb", "polars")

STATEMENT = """
SELECT WITH USER_PRIVACY OPTIONS (epsilon = {epsilon}, max_records_per_user = {cap}, neighbours = '{neighbours}')
       category, COUNT(*) AS n, SUM(amount) AS total, AVG(amount) AS mean
FROM visits GROUP BY category"""


def start(task: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return the statement in a new session with a new ledger; `task["option"]` is `checked` for new sessions with a
    ledger that has seen the data, `kept` for one session that has answered before.

    Every record is checked against the table's declared rules before the first answer; the ledger remembers that.
    """
    import emdp

    space = emdp.Product(
        emdp.Categories("category", task["keys"]), emdp.Interval("amount", low=task["low"], high=task["high"])
    )
    ledgers = (Path(task["folder"]) / f"{task['option']}{index}.ledger" for index in itertools.count())

    def opened(ledger: Path, epsilon: float, neighbours: Any = "replace") -> emdp.Session:
        table = emdp.read(task["path"], user="user_id", space=space, users=task["users"], name="visits")
        return emdp.Session(table, budget=emdp.UserDP(epsilon=epsilon, neighbours=neighbours), ledger=ledger)

    def ask(session: emdp.Session, told: dict[str, Any]) -> dict[str, Any]:
        kind = told.get("neighbours", "replace")
        frame = session.sql(STATEMENT.format(epsilon=told["epsilon"], cap=task["cap"], neighbours=kind)).frame
        return {key: numbers for key, *numbers in frame.select("category", "n", "total", "mean").iter_rows()}

    def answer(told: dict[str, Any]) -> dict[str, Any]:
        with opened(next(ledgers), told["epsilon"], told.get("neighbours", "replace")) as session:
            return ask(session, told)

    if task["option"] == "new":
        return answer
    known, budget = next(ledgers), 1e6
    kept = opened(known, budget)
    ask(kept, {"epsilon": 1.0})
    if task["option"] == "kept":
        return lambda told: ask(kept, told)
    kept.close()

    def again(told: dict[str, Any]) -> dict[str, Any]:
        with opened(known, budget) as session:
            return ask(session, told)

    return again

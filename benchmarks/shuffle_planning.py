"""The time that planning takes in the shuffle model, of every way that it has, for a million users.

Run `python benchmarks/shuffle_planning.py` from the project's root (a minute). What a preview needs: the search for
how strong a message may be, the comparison with a curator and with messages that nobody mixes. Each is planned with
empty caches; the first line also loads what all of them need. CPU seconds, so that a busy machine changes little.
"""

import gc
import time
from collections.abc import Iterator
from typing import Any

import emdp
from emdp.expressions import category_is, col
from emdp.questions import frequencies, mean, shares, user_mean, vector_mean
from emdp.questions.linear_fit import linear_fit_query
from emdp.questions.resolution import Query
from emdp.sessions.planning import plan_request

USERS, DELTA = 10**6, 1e-6
LEVELS = (0.1, 1.0, 4.0)
"""Epsilon, or alpha."""

LINE = emdp.Interval("x", 0, 100)
PLANE = emdp.Product(emdp.Interval("x", -1, 1), emdp.Interval("y", -1, 1))
KINDS = emdp.Categories("kind", [f"k{place}" for place in range(100)])


def ways(level: float) -> Iterator[tuple[str, emdp.Space, Query]]:
    """Yield a name, the space and the query of each way."""
    mixed: dict[str, Any] = {"delta": DELTA, "model": "shuffle"}
    paid = {"epsilon": level, **mixed}
    near: dict[str, Any] = {"records": 100, **paid}
    facts = [category_is(f"k{place}", column="kind") for place in range(20)]
    yield "mean, alpha", LINE, mean(col("x"), alpha=level, **mixed)
    yield "mean", LINE, mean(col("x"), **paid)
    yield "vector mean, alpha", PLANE, vector_mean([col("x"), col("y")], alpha=level, **mixed)
    yield "vector mean", PLANE, vector_mean([col("x"), col("y")], **paid)
    yield "frequencies, alpha", KINDS, frequencies(alpha=level, **mixed)
    yield "frequencies", KINDS, frequencies(**paid)
    yield "frequencies, 8 messages", KINDS, frequencies(method="hadamard", messages=8, **paid)
    yield "shares of 20 facts", KINDS, shares(facts, **paid)
    yield "user mean", LINE, user_mean(col("x"), spread=1.0, between=0.5, **near)
    yield "user mean, vector", PLANE, user_mean(["x", "y"], spread=(0.01, 0.01), between=0.01, **near)
    yield "fit", PLANE, linear_fit_query("x", "y", **paid)
    yield "fit, sampled", PLANE, linear_fit_query("x", "y", sampled=USERS // 10, **paid)
    yield "fit, users join", PLANE, linear_fit_query("x", "y", participation=0.1, **paid)


def forget() -> None:
    """Empty all caches."""
    for one in gc.get_objects():
        if type(one).__name__ == "_lru_cache_wrapper":
            one.cache_clear()


def seconds(space: emdp.Space, query: Query) -> float:
    """Return the CPU seconds of planning one query with empty caches."""
    row = {name: [space.labels[0] if space.labels else 0.5] for name in space.columns}
    table = emdp.read({"user": [1], **row}, user="user", space=space, users=USERS)
    forget()
    start = time.process_time()
    plan_request(query, table.names())
    return time.process_time() - start


def main() -> None:
    """Print the table."""
    print(f"{USERS} users, delta = {DELTA:g}; CPU seconds to plan, by epsilon or alpha\n")
    print(f"{'way':<24}" + "".join(f"{level:>8g}" for level in LEVELS))
    asked = [list(ways(level)) for level in LEVELS]
    for column in zip(*asked, strict=True):
        print(f"{column[0][0]:<24}" + "".join(f"{seconds(space, query):8.2f}" for _, space, query in column))


if __name__ == "__main__":
    main()

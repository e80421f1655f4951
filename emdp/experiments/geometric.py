"""``geometric``: shares that fall by 0.8 from item to item, k = 1000, by one-bit Hadamard.

The setting and its known answers are those of local-shuffle-userlevel.md 1.3.

Every user has one record and sends one bit. Compared are the raw estimate, clipping at 0 with division by the sum
(which the published plot shows), and Euclidean projection onto the simplex, in the 1-norm; and the squared 2-norm of
the raw estimate.

Two decoders of the same messages: the library's, with a public ``n``, whose error is ``(k c^2 - 1)/n`` exactly, and
the published grouped one, which divides by how many users drew each column. The latter takes the sampling of columns
out of the error, ``k (c^2 - sum_x p_x^2)/n`` up to a relative ``K/n``, which is less where ``c`` is near 1.

Users with one record each are 0 or 1 apart in ``d_em``, so d_EM-DP has nothing to hide better: at ``alpha = epsilon``
its message is weaker, ``epsilon0 = ln(1 + alpha)``, and it errs more. That is shown too.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from emdp.base.arrays import Floats, Integers
from emdp.experiments.base import EMD, ROOM, USER, Experiment, Kind, Row, asked, row_of, verdicts
from emdp.mechanisms.items.hadamard_response import walsh_hadamard
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.hadamard_bit import OneBitHadamardOracle
from emdp.privacy import UserDP
from emdp.sessions.session import read
from emdp.spaces import Categories
from emdp.transport.simplex import project_to_simplex

__all__ = ["ITEMS", "L1", "L2", "clipped", "falling_items", "grouped_estimate", "run_geometric"]

ITEMS, FALL = 1000, 0.8
"""Items, and the quotient of successive shares."""

L1, L2 = "l1 error", "squared l2 error"
"""The measures."""

SMALL: Sequence[tuple[int, float]] = ((50_000, 1.0), (150_000, 1.0), (850_000, 1.0), (500_000, 0.5), (500_000, 1.0),
                                      (500_000, 2.0))  # fmt: skip
FULL: Sequence[tuple[int, float]] = (*SMALL, (20_000, 1.0), (2_000_000, 1.0), (5_000_000, 1.0), (10_000_000, 1.0))
"""Users and epsilon of each point; those of the document are among them."""

RUNS, FULL_RUNS = 20, 100

SESSION_USERS = 50_000
"""Users of the point that a session draws."""

N, PRICE = "n, epsilon = 1", "epsilon, n = 500,000"
"""The two panels."""

PANELS = {N: "n, users", PRICE: "epsilon"}
"""Panels with the names of their axes."""


def run_geometric(*, full: bool = False, seed: int = 0, runs: int | None = None) -> Experiment:
    """Return the errors of one-bit Hadamard on falling shares; call it inside the test switch.

    Parameters
    ----------
    full, seed, runs
        As of :func:`emdp.experiments.frequency.run_local`.
    """
    draws = (FULL_RUNS if full else RUNS) if runs is None else runs
    rows: list[Row] = []
    for n, epsilon in FULL if full else SMALL:
        found = point_rows(n, epsilon, draws)
        rows += [row for row in found if row.panel == N or n == 500_000]
    return Experiment(
        name="geometric",
        title=f"Falling shares, k = {ITEMS}: l1 error of one-bit Hadamard by decoder",
        rows=(*rows, *session_rows()),
        across={panel: PANELS[panel] for panel in dict.fromkeys(row.panel for row in rows)},
        measures=(L1,),
        sentences=(
            *verdicts(rows, L1),
            "Users with one record each are 0 or 1 apart in d_em: d_EM-DP has no near pairs to hide better, and at "
            "alpha = epsilon its messages are weaker, epsilon0 = ln(1 + alpha). User-level DP is the better choice.",
            "Projection is biased: it takes noise away where there is little mass. The published plot is clipping with "
            "division by the sum.",
        ),
        seed=seed,
        is_full=full,
    )


def point_rows(n: int, epsilon: float, runs: int) -> list[Row]:
    """Return the rows of one point: the decoders at user level, and the projected estimate under d_EM-DP."""
    items = falling_items(n)
    truth = np.bincount(items, minlength=ITEMS) / n
    bags = Bags.of_items(items)
    rows: list[Row] = []
    strengths: tuple[tuple[Kind, float], ...] = ((USER, epsilon), (EMD, math.log1p(epsilon)))
    for kind, strength in strengths:
        oracle = OneBitHadamardOracle(ITEMS, n, strength)
        errors: dict[tuple[str, str], list[float]] = {}
        for _ in range(runs):
            tally = oracle.draw_tally(bags)
            for (method, measure), error in _errors(oracle, tally, truth).items():
                if kind == USER or method == "simplex projection":
                    errors.setdefault((method, measure), []).append(error)
        theory = _theory(oracle, truth)
        for (method, measure), found in errors.items():
            bound, source = theory.get((method, measure), (None, ""))
            shared = {
                "method": method if kind == USER else f"{method}, ln(1 + alpha)", "guarantee": kind, "model": "local",
                "measure": measure, "bound": bound, "bound_source": source,
                "parameters": {"k": ITEMS, "n": n, "m": 1, "epsilon": epsilon, "strength": oracle.epsilon},
            }  # fmt: skip
            places = [(N, float(n))] if epsilon == 1.0 else []
            places += [(PRICE, epsilon)] if n == 500_000 else []
            rows += [row_of(found, panel=panel, x=x, **shared) for panel, x in places]
    return rows


def falling_items(n: int) -> Integers:
    """Return the items of ``n`` users in order: as near to falling shares as whole numbers can be.

    >>> np.bincount(falling_items(100))[:4].tolist()
    [20, 16, 13, 10]
    """
    shares = FALL ** np.arange(ITEMS)
    ends = np.rint(n * np.cumsum(shares / shares.sum())).astype(np.int64)
    return np.repeat(np.arange(ITEMS), np.diff(ends, prepend=0))


def clipped(estimate: Floats) -> Floats:
    """Return the estimate without its negative entries, divided by its sum; even shares where nothing is left.

    >>> clipped(np.array([0.75, -0.5, 0.25])).tolist()
    [0.75, 0.0, 0.25]
    """
    kept = np.maximum(estimate, 0.0)
    total = float(kept.sum())
    return kept / total if total > 0 else np.full(kept.size, 1.0 / kept.size)


def grouped_estimate(oracle: OneBitHadamardOracle, tally: Integers) -> Floats:
    """Return the published decoder's estimate: each column's signs over the number of users who drew it.

    >>> oracle = OneBitHadamardOracle(4, 4, 1.0)
    >>> grouped_estimate(oracle, np.array([1, 0, 1, 0, 0, 1, 1, 0])).round(5).tolist()
    [1.08198, -1.08198, 1.08198, 1.08198]
    """
    plus, minus = tally[::2], tally[1::2]
    high, low = oracle.chances
    means = (plus - minus) / np.maximum(plus + minus, 1) / float(2 * (high - low))
    return np.asarray(walsh_hadamard(means)[: oracle.items] / means.size, dtype=np.float64)


def session_rows() -> list[Row]:
    """Return one draw through a session."""
    items = falling_items(SESSION_USERS)
    space = Categories("item", [f"i{item}" for item in range(ITEMS)])
    rows = {"user": list(range(SESSION_USERS)), "item": [f"i{item}" for item in items.tolist()]}
    table = read(rows, user="user", users=SESSION_USERS, space=space, records=1)
    budget = UserDP(ROOM, model="local")
    answer = asked(table, budget, lambda session: session.frequencies(method="hadamard", model="local", epsilon=1.0))
    truth = np.asarray(answer.exact["frequency"], dtype=np.float64)
    raw = np.asarray(answer.frame["frequency"].to_list(), dtype=np.float64)
    found = {("raw", L1): _l1(raw, truth), ("raw", L2): float(np.square(raw - truth).sum())}
    found[("simplex projection", L1)] = _l1(project_to_simplex(raw), truth)
    return [
        row_of(
            [error], panel=N, x=float(SESSION_USERS), method=method, guarantee=USER, model="local", measure=measure,
            parameters={"k": ITEMS, "n": SESSION_USERS, "m": 1, "epsilon": 1.0}, drawn="session",
        )
        for (method, measure), error in found.items()
    ]  # fmt: skip


def _errors(oracle: OneBitHadamardOracle, tally: Integers, truth: Floats) -> dict[tuple[str, str], float]:
    raw, grouped = oracle.decode(tally), grouped_estimate(oracle, tally)
    decoders: tuple[tuple[str, Callable[[Floats], Floats]], ...] = (
        ("clip at 0, divide by the sum", clipped), ("simplex projection", project_to_simplex),
    )  # fmt: skip
    found = {("raw", L1): _l1(raw, truth), ("raw", L2): float(np.square(raw - truth).sum())}
    found |= {("grouped, raw", L1): _l1(grouped, truth), ("grouped, raw", L2): float(np.square(grouped - truth).sum())}
    found |= {(name, L1): _l1(finish(grouped), truth) for name, finish in decoders}
    return found


def _theory(oracle: OneBitHadamardOracle, truth: Floats) -> dict[tuple[str, str], tuple[float, str]]:
    high, low = oracle.chances
    c = 1.0 / float(2 * (high - low))
    grouped = ITEMS * (c * c - float(truth @ truth)) / oracle.users
    exact = (ITEMS * c * c - 1.0) / oracle.users
    source, normal = "local-shuffle-userlevel.md 1.3", ", normal errors"
    to_l1 = math.sqrt(2.0 * ITEMS / math.pi)
    return {
        ("raw", L2): (exact, f"(k c^2 - 1)/n: {source}"),
        ("raw", L1): (to_l1 * math.sqrt(exact), f"(k c^2 - 1)/n: {source}{normal}"),
        ("grouped, raw", L2): (grouped, f"k (c^2 - sum p^2)/n: {source}"),
        ("grouped, raw", L1): (to_l1 * math.sqrt(grouped), f"k (c^2 - sum p^2)/n: {source}{normal}"),
    }


def _l1(estimate: Floats, truth: Floats) -> float:
    return float(np.abs(estimate - truth).sum())

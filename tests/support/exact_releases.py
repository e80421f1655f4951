"""The law of a whole release, draw by draw, and the smallest price that holds for all neighbouring tables.

Not a test file: tests ``load`` it by path (they share no package). Three parts:

* ``Replay`` puts other functions in the place of the exact samplers of ``emdp.noise`` and runs the product's release
  again and again, once for each outcome of each draw, with that outcome's probability. What comes out is the law of the
  release as it is coded, not as it is meant. A draw from more than ``FEW`` values may only be compared.
* ``d_em`` is the plain linear program of the definition (scipy's ``linprog``); nothing of ``emdp.transport`` is used.
* ``smallest_alpha`` is qif's ``smallest_epsilon`` with ``d_EM`` as the metric, and a delta.
"""

import importlib
import itertools
import math
import pkgutil
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy.optimize import linprog

import emdp
import emdp.estimators
import emdp.mechanisms
import emdp.noise
import emdp.tables
from emdp.estimators import MessagePlan, Plan
from emdp.noise import choices, multinomial
from emdp.questions.reading import Reading
from emdp.sessions.planning import plan_request
from emdp.tables.readings import read_items

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bag = tuple[int, ...]
Law = dict[Any, float]

FEW = 16
"""Most values of a uniform draw that are tried one by one."""

ONE = 2.0**62
"""What integer weights of a law sum to."""

LABELS = ("a", "b", "c")

NUMBERS = (0.0, 0.3, 1.0)
"""The items where the space is a line of numbers; the distances of ``LINE``."""

LINE = np.array([[0.0, 0.3, 1.0], [0.3, 0.0, 0.7], [1.0, 0.7, 0.0]])
CLUSTERED = np.array([[0.0, 0.25, 1.0], [0.25, 0.0, 1.0], [1.0, 1.0, 0.0]])
ZERO_ONE = 1.0 - np.eye(3)
"""Distances of the three items."""

NEUTRAL = 0
"""Who has no record counts with the first label."""


def bags(sizes: Iterable[int], items: int = 3) -> list[Bag]:
    """Return all multisets of these sizes."""
    return [bag for size in sizes for bag in itertools.combinations_with_replacement(range(items), size)]


@lru_cache(maxsize=4096)
def table(space: emdp.Space, users: tuple[Bag, ...], records: int | None = None) -> emdp.Table:
    """Return a table with these bags, kept; an empty one is a public user without records."""
    values, kind = (NUMBERS, pl.Float64) if isinstance(space, emdp.Interval) else (LABELS, pl.String)
    rows = [(user, values[item]) for user, bag in enumerate(users) for item in bag]
    frame = pl.DataFrame(rows, schema={"user": pl.Int64, "item": kind}, orient="row")
    return emdp.read(frame, user="user", space=space, users=len(users), records=records)


def planned(request: Any, source: emdp.Table) -> Plan | MessagePlan:
    """Return the plan of one statement, as a session makes it."""
    (only,) = plan_request(request, source.names())
    return only.plan


def shares(bag: Bag, items: int = 3) -> Floats:
    """Return a bag's normalised histogram."""
    return np.bincount(bag or (NEUTRAL,), minlength=items) / max(len(bag), 1)


@lru_cache(maxsize=4096)
def _d_em(one: Bag, two: Bag, metric: bytes) -> float:
    k = math.isqrt(len(metric) // 8)
    costs = np.frombuffer(metric).reshape(k, k)
    rows = [np.kron(np.eye(k)[x], np.ones(k)) for x in range(k)] + [np.kron(np.ones(k), np.eye(k)[x]) for x in range(k)]
    right = np.concatenate([shares(one, k), shares(two, k)])
    solved = linprog(costs.ravel(), A_eq=np.array(rows), b_eq=right, method="highs")
    assert solved.success
    return max(float(solved.fun), 0.0)


def d_em(one: Bag, two: Bag, metric: Floats = LINE) -> float:
    """Return the earth-mover distance of two bags: the linear program of its definition."""
    first, second = sorted((one, two))
    return _d_em(first, second, metric.tobytes())


class Compared:
    """A uniform draw from very many values, of which only the comparison with a limit is known."""

    def __init__(self, replay: "Replay", limits: Integers) -> None:
        self.replay, self.limits = replay, limits

    def __lt__(self, other: Integers) -> npt.NDArray[np.bool_]:
        chances = [float(b) / float(limit) for b, limit in zip(other.tolist(), self.limits.tolist(), strict=True)]
        return np.array([self.replay.choose([1 - min(c, 1.0), min(c, 1.0)]) == 1 for c in chances], dtype=np.bool_)


class Bits:
    """Uniform words of which only the last few bits are taken: each value of these is tried."""

    def __init__(self, replay: "Replay", count: int) -> None:
        self.replay, self.count = replay, count

    def __and__(self, mask: np.uint32) -> npt.NDArray[np.uint32]:
        values = int(mask) + 1
        assert values <= FEW
        assert values & int(mask) == 0
        return np.array([self.replay.choose([1 / values] * values) for _ in range(self.count)], dtype=np.uint32)


def import_all() -> None:
    """Import every module that draws: one that were first imported while samplers are replaced would keep those."""
    for package in (emdp.mechanisms, emdp.estimators, emdp.noise, emdp.tables):
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(found.name)


def replace_everywhere(monkeypatch: pytest.MonkeyPatch, source: Any, name: str, replacement: Any) -> None:
    """Put a function in the place of another in every module of emdp that has it."""
    original = getattr(source, name)
    for module in [own for key, own in sys.modules.items() if key.startswith("emdp")]:
        if vars(module).get(name) is original:
            monkeypatch.setattr(module, name, replacement)


class Replay:
    """All runs of a function, one for each outcome of its draws."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[tuple[int, list[float]]] = []
        self.place = 0
        import_all()
        for source, names in (
            (
                choices,
                ("draw_below", "draw_bernoulli", "draw_coins_and_bits", "draw_permutation", "draw_sample_counts"),
            ),
            (multinomial, ("draw_outcomes", "draw_multinomials")),
        ):
            for name in names:
                replace_everywhere(monkeypatch, source, name, getattr(self, name))

    def law(self, run: Callable[[], Any]) -> Law:
        """Return the law of what ``run`` returns."""
        found: Law = {}
        self.done = []
        while True:
            self.place = 0
            outcome = run()
            assert self.place == len(self.done)
            found[outcome] = found.get(outcome, 0.0) + math.prod(chances[taken] for taken, chances in self.done)
            if not self._advance():
                assert abs(math.fsum(found.values()) - 1) < 1e-12
                return found

    def choose(self, chances: Sequence[float]) -> int:
        """Return the next outcome of this draw; impossible ones are left out."""
        if self.place == len(self.done):
            first = next(number for number, chance in enumerate(chances) if chance > 0)
            self.done.append((first, list(chances)))
        taken, known = self.done[self.place]
        assert known == list(chances)
        self.place += 1
        return taken

    def _advance(self) -> bool:
        while self.done:
            taken, chances = self.done.pop()
            following = next((n for n in range(taken + 1, len(chances)) if chances[n] > 0), None)
            if following is not None:
                self.done.append((following, chances))
                return True
        return False

    def draw_below(self, limits: npt.ArrayLike) -> Any:
        bound = np.asarray(limits, dtype=np.int64)
        if bound.size and bound.max() > FEW:
            return Compared(self, bound)
        return np.array([self.choose([1 / limit] * limit) for limit in bound.tolist()], dtype=np.int64)

    def draw_bernoulli(self, numerators: npt.ArrayLike, bits: int) -> npt.NDArray[np.bool_]:
        chances = [numerator / 2**bits for numerator in np.asarray(numerators).tolist()]
        return np.array([self.choose([1 - chance, chance]) == 1 for chance in chances], dtype=np.bool_)

    def draw_coins_and_bits(self, numerator: int, count: int) -> tuple[npt.NDArray[np.bool_], Bits]:
        return self.draw_bernoulli([numerator] * count, 62), Bits(self, count)

    def draw_permutation(self, count: int) -> Integers:
        orders = list(itertools.permutations(range(count)))
        return np.array(orders[self.choose([1 / len(orders)] * len(orders))], dtype=np.int64)

    def draw_sample_counts(self, counts: npt.ArrayLike, offsets: npt.ArrayLike, samples: int) -> Integers:
        entries, ends = np.asarray(counts, dtype=np.int64), np.asarray(offsets).tolist()
        result = np.zeros_like(entries)
        for first, last in itertools.pairwise(ends):
            own = entries[first:last] / entries[first:last].sum()
            law = histogram_law(((samples, tuple(own.tolist())),))
            result[first:last] = list(law)[self.choose(list(law.values()))]
        return result

    def draw_outcomes(self, codes: npt.ArrayLike, weights: npt.ArrayLike) -> Integers:
        rows = np.asarray(weights) / ONE
        return np.array([self.choose(rows[code].tolist()) for code in np.asarray(codes).tolist()], dtype=np.int64)

    def draw_multinomials(self, counts: npt.ArrayLike, weights: npt.ArrayLike) -> Integers:
        rows = [
            (int(count), tuple(row)) for count, row in zip(counts, (np.asarray(weights) / ONE).tolist(), strict=True)
        ]
        law = histogram_law(tuple(rows))
        return np.array(list(law)[self.choose(list(law.values()))], dtype=np.int64)


@lru_cache(maxsize=4096)
def histogram_law(rows: tuple[tuple[int, tuple[float, ...]], ...]) -> dict[tuple[int, ...], float]:
    """Return the law of the histogram of independent outcomes, ``count`` of each row's law: one after the other."""
    found = {(0,) * len(rows[0][1]): 1.0}
    for count, row in rows:
        for _ in range(count):
            following: dict[tuple[int, ...], float] = {}
            for histogram, chance in found.items():
                for outcome, own in enumerate(row):
                    after = (*histogram[:outcome], histogram[outcome] + 1, *histogram[outcome + 1 :])
                    following[after] = following.get(after, 0.0) + chance * own
            found = following
    return found


def seen(released: Any) -> Any:
    """Return a release as something that can be compared: a frame as its rows, an array as its numbers."""
    if isinstance(released, pl.DataFrame):
        return tuple(released.rows())
    if isinstance(released, np.ndarray):
        return tuple(np.round(released.astype(np.float64), 9).ravel().tolist())
    if isinstance(released, tuple | list):
        return tuple(seen(member) for member in released)
    return (seen((released.value, released.range)),) if hasattr(released, "range") else released


@lru_cache(maxsize=4096)
def blocks_of(space: emdp.Space, users: tuple[Bag, ...], records: int | None, reading: Reading) -> Any:
    """Return what the engine reads of a table, kept."""
    read = read_items(table(space, users, records), reading).open()
    return read if isinstance(read, np.ndarray) else list(read)


def release_law(replay: Replay, plan: MessagePlan, space: emdp.Space, users: tuple[Bag, ...], records: Any) -> Law:
    """Return the law of a release of messages from a table with these bags, as the engine reads it."""
    blocks = blocks_of(space, users, records, plan.reading)

    def run() -> Any:
        given = blocks if isinstance(blocks, np.ndarray) else iter(blocks)
        return seen(plan.releaser.release(given, users=len(users), keep_exact=False)[0])

    return replay.law(run)


def aligned(laws: Sequence[Law]) -> Floats:
    """Return laws as rows over all outcomes of any of them."""
    outcomes = list(dict.fromkeys(itertools.chain.from_iterable(laws)))
    return np.array([[law.get(outcome, 0.0) for outcome in outcomes] for law in laws])


def hockey_stick(P: Floats, Q: Floats, levels: npt.ArrayLike) -> Floats:
    """Return ``H_exp(level)(P, Q)`` of each pair of rows."""
    return np.maximum(P - np.exp(np.asarray(levels))[:, None] * Q, 0.0).sum(axis=1)


def smallest_alpha(P: Floats, Q: Floats, apart: Floats, delta: float) -> float:
    """Return the smallest ``alpha`` with ``H_exp(alpha d)(P, Q) <= delta`` for all pairs of rows, to 1e-9."""
    if delta == 0:
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = np.where(P > 0, np.log(P) - np.log(Q), -np.inf).max(axis=1)
        return float((losses / apart).max())
    low, high = 0.0, 1.0
    while hockey_stick(P, Q, high * apart).max() > delta:
        high *= 2
        assert high < 1e6
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if hockey_stick(P, Q, middle * apart).max() <= delta else (middle, high)
    return high


def neighbours(laws: dict[tuple[Bag, ...], Law], metric: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Return the laws of all neighbouring tables, both orders, and how far the changed user's bags are apart.

    Bags of one normalised histogram are at distance 0, and must have one law: they are checked here and left out.
    Without a metric every change is at distance 1: the ordinary user level.
    """
    tables = list(laws)
    rows = aligned([laws[one] for one in tables])
    first, second, apart = [], [], []
    for one, two in itertools.permutations(range(len(tables)), 2):
        changed = [user for user, (a, b) in enumerate(zip(tables[one], tables[two], strict=True)) if a != b]
        if len(changed) != 1:
            continue
        own = tables[one][changed[0]], tables[two][changed[0]]
        distance = 1.0 if metric is None else d_em(*own, metric)
        if distance < 1e-12:
            assert np.abs(rows[one] - rows[two]).max() < 1e-12
            continue
        first.append(one)
        second.append(two)
        apart.append(distance)
    return rows[first], rows[second], np.array(apart)

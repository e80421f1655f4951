"""Search for the event that tells two tables apart: chosen on one half of the draws, judged on the other.

A draw is seen as a row of *scores*, numbers made from what was released; whatever the scores are, a bound on them holds
for the release, since they are post-processing. The first half of the draws chooses: among thresholds on each score in
both directions, unions of a histogram's bins in the order of their likelihood ratios, and the same on a projection
along the shift of the means, for both orders of the two tables. A quarter of the draws proposes events, a second one
says which is best, since bins that were put in order by the draws that count them always seem to tell. The second half
counts the chosen event alone, so that the bound is not wrong more often than one bound is (:mod:`emdp.audit.bounds`).
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from emdp.audit.bounds import epsilon_bounds
from emdp.base.arrays import Floats
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError

__all__ = ["DIGITS", "KNOWN", "LEAST_TRIALS", "Finding", "Scores", "find_losses"]

Mask = npt.NDArray[np.bool_]

LEAST_TRIALS = 100
"""Draws of each table below which nothing can be found."""

DIGITS = 9
"""Decimals of a score: where it is flat, floating point would tell equal values apart."""

KNOWN = "likelihood ratio"
"""Name of the first score where the law is known: best by itself, so that no projection is looked for."""

CAREFUL = 1e-3
"""Events are compared by bounds that fail this much more rarely than the final one: among hundreds of rare events some
are seen too often by luck, and would seem the best."""

MOST_COLUMNS = 8
"""Scores that are searched: those whose means differ most, and the projection."""

MOST_PROJECTED = 400
"""Scores up to which the projection uses their covariances; beyond it their variances."""

BINS = 64
"""Bins of a histogram of a score with more values than that."""

TAILS = 48
"""Thresholds in each tail, at quantiles that fall geometrically, besides those at even quantiles."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of the draws on two tables.

    Parameters
    ----------
    first, second : numpy.ndarray of float64, shape (trials, scores)
        Scores of independent draws on each table; finite.
    names : tuple of str
        What each score is.
    """

    first: Floats
    second: Floats
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        width = len(self.names)
        if any(one.ndim != 2 or one.shape[1] != width for one in (self.first, self.second)):
            raise UsageError(f"scores must be two tables of {width} columns, as there are names; pass those.")

    @property
    def trials(self) -> int:
        """Draws of each table, of the one with fewer."""
        return min(len(self.first), len(self.second))


@dataclass(frozen=True)
class Finding:
    """A lower bound.

    Parameters
    ----------
    delta : float
        For which it holds.
    epsilon : float
        The bound, at least 0.
    test : str
        The event that gave it.
    """

    delta: float
    epsilon: float
    test: str


@dataclass(frozen=True, eq=False)
class _Events:
    """Candidate events on one score: what they are, how often each happened, and how to look for them again."""

    counts: tuple[Floats, Floats]
    kind: str
    edges: Floats
    order: npt.NDArray[np.int64] | None = None

    def happened(self, values: Floats, place: int) -> Mask:
        """Say of each value whether the event of this place holds."""
        if self.kind == "above":
            return np.asarray(values >= self.edges[place])
        if self.kind == "below":
            return np.asarray(values <= self.edges[place])
        chosen = np.zeros(len(self.edges) + 1, dtype=bool)
        if self.order is not None:
            chosen[self.order[: place + 1]] = True
        return np.asarray(chosen[np.searchsorted(self.edges, values, side="right")])


WORDS = {"above": "threshold", "below": "threshold", "bins": "histogram"}


def find_losses(scores: Scores, deltas: Sequence[float], failure: float) -> tuple[Finding, ...]:
    """Return a lower bound of epsilon for each delta, each wrong with probability at most ``failure``.

    Parameters
    ----------
    scores : Scores
        The draws; the first half of each table's chooses events.
    deltas : sequence of float
        Each in [0, 1).
    failure : float
        In (0, 1).

    >>> first, second = (np.tile(one, 1000)[:, None] for one in ([1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0]))
    >>> finding, = find_losses(Scores(first, second, ("answer",)), [0.0], 1e-6)
    >>> 0.8 < finding.epsilon < 1.0987, finding.test
    (True, 'threshold on answer')
    """
    if scores.trials < LEAST_TRIALS:
        raise UsageError(f"scores must hold at least {LEAST_TRIALS} draws of each table, got {scores.trials}.")
    chosen, judged = _halves(_searched(scores))
    proposing, comparing = _halves(chosen)
    sizes = (len(comparing.first), len(comparing.second))
    candidates = [
        (column, events) for column in range(len(chosen.names)) for events in _candidates(proposing, comparing, column)
    ]
    found = []
    for delta in deltas:
        best, event = 0.0, None
        for column, events in candidates:
            for swapped in (False, True):
                hits, misses = events.counts[::-1] if swapped else events.counts
                trials = sizes[::-1] if swapped else sizes
                bounds = epsilon_bounds(hits, misses, trials, delta, min(failure, CAREFUL) * CAREFUL)
                place = int(np.argmax(bounds))
                if bounds[place] > best:
                    best, event = float(bounds[place]), (column, events, place, swapped)
        found.append(_judged(judged, delta, failure, event))
    return tuple(found)


def _judged(scores: Scores, delta: float, failure: float, event: tuple[int, _Events, int, bool] | None) -> Finding:
    if event is None:
        return Finding(delta, 0.0, "no event stood out")
    column, events, place, swapped = event
    happened = [events.happened(values[:, column], place) for values in (scores.first, scores.second)]
    if swapped:
        happened.reverse()
    hits, misses = (np.count_nonzero(one) for one in happened)
    bound = epsilon_bounds(hits, misses, (len(happened[0]), len(happened[1])), delta, failure)
    return Finding(delta, float(bound), f"{WORDS[events.kind]} on {scores.names[column]}")


def _halves(scores: Scores) -> tuple[Scores, Scores]:
    cuts = len(scores.first) // 2, len(scores.second) // 2
    return (
        Scores(scores.first[: cuts[0]], scores.second[: cuts[1]], scores.names),
        Scores(scores.first[cuts[0] :], scores.second[cuts[1] :], scores.names),
    )


def _searched(scores: Scores) -> Scores:
    """Return the scores that stand out on the first half, with a projection where there are several."""
    if len(scores.names) == 1 or scores.names[0] == KNOWN:
        return scores
    left, right = scores.first[: len(scores.first) // 2], scores.second[: len(scores.second) // 2]
    shift = left.mean(axis=0) - right.mean(axis=0)
    spread = 0.5 * (left.var(axis=0) + right.var(axis=0))
    noticed = np.abs(shift) / np.sqrt(np.where(spread > 0, spread, np.inf))
    noticed[(spread == 0) & (shift != 0)] = np.inf
    kept = np.sort(np.argsort(-noticed, kind="stable")[:MOST_COLUMNS])
    direction = _direction(left, right, shift, spread)
    first, second = ((one @ direction)[:, None] for one in (scores.first, scores.second))
    return Scores(
        np.hstack([scores.first[:, kept], first]),
        np.hstack([scores.second[:, kept], second]),
        (*(scores.names[place] for place in kept), "projection on the shift"),
    )


def _direction(left: Floats, right: Floats, shift: Floats, spread: Floats) -> Floats:
    """Return the direction along which two normal laws of these means and covariances differ most."""
    scale = np.sqrt(np.where(spread > 0, spread, 1.0))
    if len(shift) > MOST_PROJECTED:
        return np.asarray(shift / scale**2)
    whitened = [(one - one.mean(axis=0)) / scale for one in (left, right)]
    covariance = sum(one.T @ one / max(len(one), 1) for one in whitened) / 2
    # A small ridge: released counts add up to a constant, so that no inverse exists.
    ridge = covariance + 1e-6 * np.eye(len(shift))
    return np.asarray(np.linalg.solve(ridge, shift / scale) / scale)


def _candidates(proposing: Scores, comparing: Scores, column: int) -> Iterator[_Events]:
    given = [np.sort(one[:, column]) for one in (proposing.first, proposing.second)]
    left, right = (np.sort(one[:, column]) for one in (comparing.first, comparing.second))
    pooled = np.sort(np.concatenate(given))
    tails = np.geomspace(2.0 / len(pooled), 0.5, TAILS)
    levels = np.concatenate([tails, 1.0 - tails, np.linspace(0, 1, BINS + 1)])
    places = np.clip((levels * (len(pooled) - 1)).astype(np.int64), 0, len(pooled) - 1)
    edges = np.unique(pooled[places])
    below = [np.searchsorted(one, edges, side="left") for one in (left, right)]
    yield _Events((_float(len(left) - below[0]), _float(len(right) - below[1])), "above", edges)
    upto = [_float(np.searchsorted(one, edges, side="right")) for one in (left, right)]
    yield _Events((upto[0], upto[1]), "below", edges)
    if len(edges) < 3:
        return
    values = np.unique(pooled)
    even = np.unique(pooled[np.linspace(0, len(pooled) - 1, BINS + 1).astype(np.int64)])
    cuts = values[1:] if len(values) <= 4 * BINS else even[1:]
    counts = [_binned(one, cuts) for one in (left, right)]
    for order in _orders([_binned(one, cuts) for one in given]):
        totals = [_float(np.cumsum(one[order])) for one in counts]
        yield _Events((totals[0], totals[1]), "bins", cuts, order)


def _binned(ordered: Floats, cuts: Floats) -> npt.NDArray[np.int64]:
    return np.diff(np.searchsorted(ordered, cuts, side="left"), prepend=0, append=len(ordered))


def _orders(counts: Sequence[npt.NDArray[np.int64]]) -> Iterator[npt.NDArray[np.int64]]:
    # Half a draw in each bin, so that an empty one has no infinite ratio.
    ratio = np.log(counts[0] + 0.5) - np.log(counts[1] + 0.5)
    yield np.argsort(-ratio, kind="stable")
    yield np.argsort(ratio, kind="stable")


def _float(counts: npt.ArrayLike) -> Floats:
    return np.asarray(counts, dtype=np.float64)

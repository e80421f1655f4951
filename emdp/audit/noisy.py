"""Noise that a curator adds, drawn in bulk for releases that are no sum of a query: histograms, strings, descents.

Each has the likelihood ratio of its noise as the score, the law being known; where it is not the one that the mechanism
draws by, the score is worth less, but a bound on it is none the worse.
"""

import math
from collections.abc import Iterator, Sequence
from copy import copy
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from emdp.audit.flows import edge_ratio
from emdp.audit.tester import DIGITS, KNOWN, Scores
from emdp.base.arrays import Floats, Integers
from emdp.base.classes import dataclass
from emdp.estimators.frequency.histograms import HistogramRelease
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
from emdp.mechanisms.central.edges import EdgeMechanism
from emdp.mechanisms.descent.central import CentralDescent
from emdp.mechanisms.descent.loss import UserRecords, user_gradients
from emdp.mechanisms.local.noise import exact_sums
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.strings.stable_histogram import StableHistogram

__all__ = ["DescentRounds", "NoisyHistogram", "NoisyStrings", "log_ratio"]

SURELY = 30.0
"""Logarithm of the ratio of what cannot happen on one of the tables."""

UserStrings = Sequence[tuple[Integers, Integers]]
"""Codes of each user's strings, -1 for records without one, and the number of records of each."""


def log_ratio(mechanism: AdditiveMechanism, released: Floats, shift: Floats) -> Floats:
    """Return ``ln p(y)/q(y)`` for ``y`` in grid steps around the first centre, ``q`` around ``shift``.

    Parameters
    ----------
    mechanism : AdditiveMechanism
        Whose noise it is: Laplace, Gaussian, K-norm, or on edges: :func:`emdp.audit.flows.edge_ratio`.
    released : numpy.ndarray
        Shape (releases, dimension).
    shift : numpy.ndarray
        Shape (dimension,).
    """
    if isinstance(mechanism, EdgeMechanism):
        return np.asarray(np.round(edge_ratio(mechanism, released, shift), DIGITS), dtype=np.float64)
    units = mechanism.noise_units
    if isinstance(mechanism, LaplaceMechanism):
        ratio = (np.abs(released - shift) - np.abs(released)).sum(axis=1) / units
    elif isinstance(mechanism, GaussianMechanism):
        ratio = (shift * (shift - 2.0 * released)).sum(axis=1) / (2.0 * units * units)
    else:
        ratio = (np.linalg.norm(released - shift, axis=1) - np.linalg.norm(released, axis=1)) / units
    return np.asarray(np.round(ratio, DIGITS), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class NoisyHistogram:
    """Noise on the average of the users' histograms."""

    releaser: HistogramRelease
    blocks: tuple[Any, Any]
    users: int

    @cached_property
    def _centres(self) -> tuple[Floats, Floats]:
        """Output of ``release`` on each table where the noise is 0."""
        silent = copy(self.releaser)
        vars(silent)["_draw"] = lambda items: np.zeros(items, dtype=np.int64)
        found = [silent.release(iter(own), users=self.users, keep_exact=False)[0][0] for own in self.blocks]
        return found[0], found[1]

    def scores(self, trials: int) -> Scores:
        """Return the scores of draws; the same noise serves both tables."""
        mechanism, (first, second) = self.releaser.mechanism, self._centres
        shift = (second - first) / mechanism.grid
        if not shift.any():
            same = np.zeros((trials, 1))
            return Scores(same, same, (KNOWN,))
        noise = self._noise(trials)
        columns = [
            np.stack([log_ratio(mechanism, offset, shift), offset @ shift / (shift @ shift)], axis=1)
            for offset in (noise, noise + shift)
        ]
        return Scores(columns[0], columns[1], (KNOWN, "shift"))

    def releases(self, most: int) -> Iterator[Any]:
        for row in self._noise(most):
            yield (self._centres[0] + row * self.releaser.mechanism.grid,)

    def _noise(self, count: int) -> Floats:
        items = self.releaser.mechanism.dimension
        return np.asarray(self.releaser._draw(items * count), dtype=np.float64).reshape(count, items)


@dataclass(frozen=True, eq=False)
class NoisyStrings:
    """Noise on the slots of strings that occur."""

    histogram: StableHistogram
    strings: tuple[str, ...]  # All strings of both tables, in order; codes are places in it
    # first, second: Each user's strings on the two tables.
    first: UserStrings
    second: UserStrings

    def scores(self, trials: int) -> Scores:
        """Return the scores of draws, those of noise on the expected slots of each string."""
        drawn = [self._counts(own, trials) for own in (self.first, self.second)]
        means = [own.mean(axis=0) for own in drawn]
        seen = [self._noisy(own) for own in drawn]
        columns = [np.column_stack([self._ratio(own, *means), own]) for own in seen]
        return Scores(columns[0], columns[1], (KNOWN, *(f"slots of string {n + 1}" for n in range(len(self.strings)))))

    def releases(self, most: int) -> Iterator[Any]:
        for row in self._noisy(self._counts(self.first, most)):
            kept = sorted((-count, text) for text, count in zip(self.strings, row.tolist(), strict=True) if count >= 0)
            yield tuple(text for _, text in kept), tuple(-count / self.histogram.total for count, _ in kept)

    def _counts(self, users: UserStrings, trials: int) -> Integers:
        """Return how many slots each string has in each of so many deals, shape (trials, strings)."""
        fixed = np.zeros(len(self.strings) + 1, dtype=np.int64)
        total = np.zeros((trials, len(self.strings) + 1), dtype=np.int64)
        for codes, counts in users:
            if len(codes) == 1:
                # All slots go to the only string.
                fixed[codes[0]] += self.histogram.slots
                continue
            offsets = np.arange(trials + 1, dtype=np.int64) * len(codes)
            bags = Bags(offsets, np.tile(np.arange(len(codes)), trials), np.tile(counts, trials))
            total[:, codes] += self.histogram.draw_slots(bags).reshape(trials, -1)
        # The last place is that of records without a string.
        return (total + fixed)[:, :-1]

    def _noisy(self, counts: Integers) -> Integers:
        noisy = np.full(counts.shape, -1, dtype=np.int64)
        occurs = counts > 0
        noisy[occurs] = self.histogram.draw_counts(counts[occurs])
        return noisy

    def _ratio(self, noisy: Integers, first: Floats, second: Floats) -> Floats:
        scale = self.histogram.scale
        shown = (np.abs(noisy - second) - np.abs(noisy - first)) / scale
        shown = np.where(second == 0, SURELY, np.where(first == 0, -SURELY, shown))
        hidden = self._hidden(first) - self._hidden(second)
        return np.asarray(np.round(np.where(noisy >= 0, shown, hidden).sum(axis=1), DIGITS), dtype=np.float64)

    def _hidden(self, counts: Floats) -> Floats:
        """Return the logarithm of the probability that a string of so many slots is not shown, about."""
        away = (self.histogram.threshold - counts) / self.histogram.scale
        below = np.where(away > 0, np.log1p(-0.5 * np.exp(-np.abs(away))), math.log(0.5) - np.abs(away))
        return np.where(counts == 0, 0.0, below)


@dataclass(frozen=True, eq=False)
class DescentRounds:
    """The noisy gradients of all rounds of a curator's descent, each run as a whole."""

    descent: CentralDescent
    first: UserRecords
    second: UserRecords

    def scores(self, trials: int) -> Scores:
        """Return the scores of so many descents on each table: what each round released, by its known law."""
        columns = []
        for place, records in enumerate((self.first, self.second)):
            runs = [self._recorded(records) for _ in range(trials)]
            columns.append(np.array([[self._ratio(own, place), *np.concatenate([y for y, _ in own])] for own in runs]))
        shape = range(self.descent.rounds * self.descent.setting.dimension)
        return Scores(columns[0], columns[1], (KNOWN, *(f"gradient {place + 1}" for place in shape)))

    def releases(self, most: int) -> Iterator[Any]:
        for _ in range(most):
            yield self.descent.release(self.first)

    def _recorded(self, records: UserRecords) -> list[tuple[Floats, Floats]]:
        """Return the gradient that each round of one descent released, and the exact one."""
        found: list[tuple[Floats, Floats]] = []
        listening = copy(self.descent)

        def estimate(gradients: Integers) -> Floats:
            found.append((self.descent._estimate(gradients), self._mean(gradients)))
            return found[-1][0]

        vars(listening)["_estimate"] = estimate
        listening.release(records)
        return found

    def _ratio(self, rounds: Sequence[tuple[Floats, Floats]], place: int) -> float:
        """Return the likelihood ratio's logarithm: of each round given those before, whose weights it is taken at."""
        own, law = self.descent.setting, self.descent.law
        weights, total = np.zeros(own.dimension), 0.0
        others = self.first if place else self.second
        for estimate, mean in rounds:
            other = user_gradients(others, weights, loss=own.loss, clip=own.clip, exponent=own.exponent)
            first, second = (self._mean(other), mean) if place else (mean, self._mean(other))
            total += float(log_ratio(law, (estimate - first)[None, :] / law.grid, (second - first) / law.grid)[0])
            weights = weights - self.descent.step * estimate
            weights = weights * (own.radius / max(own.radius, math.sqrt(math.fsum(weights * weights))))
        return round(total, DIGITS)

    def _mean(self, gradients: Integers) -> Floats:
        """Return the exact mean gradient."""
        own = self.descent.setting
        unit = Fraction(2) ** -own.exponent / own.users
        return np.array([float(one * unit) for one in exact_sums(gradients)])

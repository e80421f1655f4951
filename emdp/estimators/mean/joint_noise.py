"""Noise of a select list in one draw: its law, its scales, one mechanism for each group of users."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from functools import cached_property, partial

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.mean.scales import Want, relative_errors, tuned_scales
from emdp.expressions.analysis.checker import Analysis, analyse, truncated_parts
from emdp.expressions.cells.aggregation import Aggregation
from emdp.expressions.cells.bounds import aggregation_lipschitz, aggregation_spread
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, KNormMechanism, LaplaceMechanism
from emdp.mechanisms.central.gaussian import least_gaussian_delta
from emdp.noise.k_norm import MAX_DIMENSION
from emdp.privacy.calibration import LARGEST_ALPHA
from emdp.privacy.rounding import float_at_least, quotient_up
from emdp.questions.means import VectorNoise
from emdp.questions.price import Price
from emdp.spaces import Space

__all__ = ["JointNoise", "Sensitivity", "joint_noise"]

KINDS: Mapping[str, type[AdditiveMechanism]] = {
    "laplace": LaplaceMechanism,
    "k_norm": KNormMechanism,
    "gaussian": GaussianMechanism,
}
"""Mechanism of each law that a statement may ask for."""


HOPEFUL = 1.5
"""A law whose error with another's scales is beyond this many times that one's is not given scales of its own."""

ROUNDED = 0.005
"""Relative difference of two numbers that a text rounds to about the same."""


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Sensitivity of the scaled coordinates of an aggregation to one user's contribution, for any scales.

    Under ``alpha`` per unit of ``d_em`` (EMD 2), under ``epsilon`` for replacement of all the user's records.

    Values ``c v_i`` with one filter ``c`` in [0, 1], replaced: a user's mean of ``c (v_i)`` has non-negative weights on
    the vectors ``(v_i(x))`` that add up to at most 1, so it is a capped total with ``cap = 1`` and ``chosen = c``. The
    bound of that does not add what numerators and denominator change by: of ``c (s (e - m), t)``, ``|e - m| <= h``, it
    is ``max(2 s h, s h + t)``, so that ``t = s h`` costs nothing. The smaller of the two bounds holds.
    """

    aggregation: Aggregation
    analyses: tuple[Analysis, ...]  # What is known of each value
    changes: tuple[float, ...]  # For each value alone the bound in the 1-norm, over all cells
    space: Space
    price: Price  # What the changes are of: a unit of `d_em`, or a replaced user
    noise: VectorNoise = "auto"  # Law of the noise, if one was asked for
    # Under `epsilon`, the values without their common filter, which is then `chosen`, with a cap of 1.
    filtered: Aggregation | None = None
    known: dict[tuple[float, ...], tuple[float, float]] = field(default_factory=dict, repr=False)

    def proven(self, scales: tuple[float, ...], *, norm: int) -> float:
        """Return the bound in the 1-norm or the 2-norm, on which the noise rests."""
        if scales not in self.known:
            self.known[scales] = self._norms(scales)
        first, second = self.known[scales]
        return first if norm == 1 else min(first, second)

    def modelled(self, scales: tuple[float, ...], *, norm: int) -> float:
        """Return about the same, without looking at the expressions again: for the search of good scales alone.

        Part by part the constants add up, weighted by the scales; a move between cells changes a value by its
        magnitude, times what makes up its own constant where moves within a cell do not.
        """
        found = 0.0
        for row in self._rows:
            terms = [scale * entry for scale, entry in zip(scales, row, strict=True)]
            found = max(found, math.fsum(terms) if norm == 1 else math.hypot(*terms))
        return found

    def _norms(self, scales: tuple[float, ...]) -> tuple[float, float]:
        if not self.price.is_user_level:
            return aggregation_lipschitz(self.aggregation, scales, self.space)
        first, second = aggregation_spread(self.aggregation, scales, self.space)
        if self.filtered is None:
            return first, second
        own = aggregation_spread(self.filtered, scales, self.space)
        return min(first, own[0]), min(second, own[1])

    @cached_property
    def _rows(self) -> tuple[tuple[float, ...], ...]:
        if self.filtered is not None:
            known = [analyse(value, self.space) for value in self.filtered.values]
            return tuple(own.spread for own in known), tuple(own.magnitude for own in known)
        if self.price.is_user_level:
            return (self.changes,)
        shares = [float(share) for share in self.space.exact_shares]
        parts = [
            [own / share for own, share in zip(truncated_parts(analysis, self.space), shares, strict=True)]
            for analysis in self.analyses
        ]
        within = tuple(zip(*parts, strict=True))
        if self.space.elsewhere is not None:
            leaving = tuple(analysis.magnitude / self.space.elsewhere for analysis in self.analyses)
            within = (*within, leaving)
        if not self.aggregation.axes:
            return within
        crossing = [
            (change / analysis.magnitude, change > 1.001 * max(own))
            for change, analysis, own in zip(self.changes, self.analyses, parts, strict=True)
        ]
        rate = max((rate for rate, is_crossing in crossing if is_crossing), default=min(rate for rate, _ in crossing))
        return (*within, tuple(rate * analysis.magnitude for analysis in self.analyses))


@dataclass(frozen=True, eq=False)
class JointNoise:
    """The noise of a statement."""

    scales: tuple[float, ...]  # One a value: what its coordinates are multiplied by before noise
    mechanisms: tuple[AdditiveMechanism, ...]
    choice: str

    @property
    def widest(self) -> AdditiveMechanism:
        """The mechanism with the largest noise: the smallest group's."""
        return max(self.mechanisms, key=lambda mechanism: mechanism.scale)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A law with its best scales, for a group of the given size."""

    kind: type[AdditiveMechanism]
    scales: tuple[float, ...]
    constant: float
    mechanism: AdditiveMechanism
    error: float


def joint_noise(
    sensitivity: Sensitivity,
    wants: Sequence[Want],
    denominator: int | None,
    *,
    errors: Sequence[float],
    sizes: Sequence[int],
    is_linear: bool,
) -> JointNoise:
    """Return the noise with the smallest sum over columns of expected error over that of separate Laplace draws.

    Laplace noise is always possible, Gaussian noise with a delta; K-norm noise, whose coordinates depend on one
    another, where every column is one coordinate, and there are at most 24 of these.

    Parameters
    ----------
    sensitivity : Sensitivity
        Of the values that have noise.
    wants : sequence of Want
        What each column that costs something asks of them.
    errors : sequence of float
        For each value the bound on the error of computing one user's contribution to a coordinate.
    sizes : sequence of int
        Public number of users of each group.
    is_linear : bool
        Whether every column is one coordinate.
    """
    smallest, changes = min(sizes), sensitivity.changes
    dimension = sensitivity.aggregation.dimension

    def build(kind: type[AdditiveMechanism], scales: tuple[float, ...], constant: float, n: int) -> AdditiveMechanism:
        error = max(Fraction(scale) * Fraction(own) for scale, own in zip(scales, errors, strict=True))
        magnitude = max(
            Fraction(scale) * Fraction(own.magnitude) for scale, own in zip(scales, sensitivity.analyses, strict=True)
        )
        return kind(
            alpha=sensitivity.price.level,
            delta=sensitivity.price.delta if kind is GaussianMechanism else 0.0,
            sensitivity=quotient_up(constant, n),
            dimension=dimension,
            statistic_error=float_at_least(error / n),
            magnitude=float_at_least(magnitude),
        )

    def candidate(kind: type[AdditiveMechanism], scales: tuple[float, ...]) -> _Candidate:
        constant = sensitivity.proven(scales, norm=kind.norm)
        mechanism = build(kind, scales, constant, smallest)
        # In units of 1/(alpha n), as a separate draw's error is.
        unit = mechanism.expected_absolute_error * sensitivity.price.level * smallest
        error = math.fsum(relative_errors(scales, unit, changes, wants)) / len(wants)
        return _Candidate(kind, scales, constant, mechanism, error)

    def tuned(kind: type[AdditiveMechanism]) -> _Candidate:
        proven, modelled = (partial(bound, norm=kind.norm) for bound in (sensitivity.proven, sensitivity.modelled))
        return candidate(kind, tuned_scales(changes, wants, denominator, proven, modelled))

    first, *more = _kinds(sensitivity.price, sensitivity.noise, dimension, is_linear)
    found = [tuned(first)]
    for kind in more:
        # Scales of its own only where that may change the choice.
        rough = candidate(kind, found[0].scales)
        found.append(tuned(kind) if rough.error < HOPEFUL * found[0].error else rough)
    found.sort(key=lambda candidate: candidate.error)
    best = found[0]
    made = {n: build(best.kind, best.scales, best.constant, n) for n in set(sizes) - {smallest}}
    made[smallest] = best.mechanism
    return JointNoise(best.scales, tuple(made[n] for n in sizes), _text(found, sensitivity, wants, denominator))


def _kinds(price: Price, noise: VectorNoise, dimension: int, is_linear: bool) -> list[type[AdditiveMechanism]]:
    """Return the laws that may be used: the one asked for, or all that fit."""
    if noise != "auto":
        kind = KINDS[noise]
        if kind is KNormMechanism and not is_linear:
            raise UsageError(
                "noise must be 'laplace' or 'gaussian' for quotients and variances, got 'k_norm', whose coordinates "
                "depend on one another; leave noise out or pass one of these."
            )
        if kind is GaussianMechanism and price.delta == 0:
            raise UsageError("noise 'gaussian' needs a delta above 0, got 0; pass a delta or leave noise out.")
        return [kind]
    kinds: list[type[AdditiveMechanism]] = [LaplaceMechanism]
    if is_linear and 1 < dimension <= MAX_DIMENSION:
        kinds.append(KNormMechanism)
    if price.delta > least_gaussian_delta(dimension) and price.level <= LARGEST_ALPHA:
        kinds.append(GaussianMechanism)
    return kinds


def _text(found: Sequence[_Candidate], sensitivity: Sensitivity, wants: Sequence[Want], denominator: int | None) -> str:
    best, *others = found
    asked = ", as asked for" if sensitivity.noise != "auto" else ""
    text = f"{best.mechanism.name} noise{asked}{_against_separate(best, sensitivity, wants, denominator)}"
    if others:
        against = " and ".join(
            f"{100 * other.error / best.error:.3g} % with {other.mechanism.name}" for other in others
        )
        text += f"; expected errors would be {against}"
    is_vector = sensitivity.aggregation.dimension > 1
    if sensitivity.price.delta == 0 and sensitivity.noise == "auto" and is_vector:
        text += "; Gaussian needs a delta"
    return f"{text}."


def _against_separate(
    best: _Candidate, sensitivity: Sensitivity, wants: Sequence[Want], denominator: int | None
) -> str:
    """Say how one draw compares with separate ones."""
    numbers = len(best.scales)
    if numbers == 1 and len(wants) == 1:
        return ""
    text = f", one draw for {_drawn(numbers, wants, denominator)}"
    if best.kind is not LaplaceMechanism:
        return f"{text}: errors are {100 * best.error:.3g} % of those of separate Laplace draws"
    apart = math.fsum(scale * own for scale, own in zip(best.scales, sensitivity.changes, strict=True))
    text += f": joint constant {best.constant / apart * numbers:.2f} against {numbers:.2f} for separate draws"
    if abs(best.constant / apart - best.error) <= ROUNDED:
        return f"{text}, so errors are {100 * best.error:.3g} % of theirs"
    shared = "values shared between columns and " if len(wants) > 1 else ""
    return f"{text}; with {shared}the best scales errors are {100 * best.error:.3g} % of theirs"


def _drawn(numbers: int, wants: Sequence[Want], denominator: int | None) -> str:
    if len(wants) > 1:
        return f"{len(wants)} columns"
    if denominator is None:
        return f"{numbers} means"
    return "numerator and denominator" if numbers == 2 else f"{numbers - 1} numerators and their denominator"

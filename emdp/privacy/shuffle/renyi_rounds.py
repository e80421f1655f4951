"""A round of shuffled user-level messages, and its epsilon at a delta of its own.

The setting and the theorems are those of :mod:`emdp.privacy.shuffle.users`.
"""

import math
from collections.abc import Callable
from dataclasses import replace

from emdp.base.checks import check_choice, check_count, check_finite, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.blanket.sets import SetLaw
from emdp.privacy.calibration import LARGEST_ALPHA, gaussian_mu
from emdp.privacy.rounding import as_decimal, float_down, float_up
from emdp.privacy.shuffle.binary import binary_epsilon
from emdp.privacy.shuffle.clones import clone_alpha
from emdp.privacy.shuffle.grid import LARGEST_ALPHA0
from emdp.privacy.shuffle.place_sign import place_sign_epsilon
from emdp.privacy.shuffle.renyi import clone_law, sampled_tilt
from emdp.privacy.shuffle.renyi_law import RatioLaw
from emdp.privacy.shuffle.renyi_product import LARGEST_ROUNDS, product_epsilon

__all__ = [
    "SMALLEST_EPSILON0",
    "ShuffleRound",
    "binary_round_epsilon",
    "check_own_strength",
    "clone_round_epsilon",
    "closed_form_epsilon",
    "likely_epsilon0",
    "place_sign_round_epsilon",
    "pure_strength",
    "quick_epsilon",
    "set_round_epsilon",
    "steep_epsilon0",
]

SMALLEST_EPSILON0 = 1e-8
"""Weaker randomizers count as this strong in the sums."""
SMALLEST_DELTA = 1e-30
"""Smallest delta of a round with a random number of messages: masses of its law are floats."""

_STEEP_CLONES, _STEEP_STEP, _STEEP_WIDTH = 2.25, 0.006, 1e-3
"""Clones that a message is expected to have, times ln(1/delta), about where its epsilon leaps to its own; the first
relative step of a search from there, and how near is near enough."""


@dataclass(frozen=True)
class ShuffleRound:
    """One round of shuffled messages, or several alike.

    Attributes
    ----------
    epsilon0 : float
        Pure user-level LDP of one message, above 0.
    n : int
        Public number of users who take part, at least 2.
    randomizer : str or SetLaw
        "any"; "place-sign" only if a message is a place, drawn without looking at data, and a sign (see
        :mod:`emdp.privacy.shuffle.place_sign`); "binary" only if the randomizer has two outputs, or is one of
        :mod:`emdp.privacy.shuffle.binary`; or the law of the one oracle that all users send by, of at most this
        ``epsilon0`` (:mod:`emdp.privacy.blanket.sets`).
    sampled : int, optional
        How many of the ``n`` users send, a uniform sample that stays secret; None if all do.
    rounds : int
        How often, each time with fresh randomness.
    participation : float, optional
        With what probability a user sends, each deciding afresh, by himself and in secret
        (:mod:`emdp.privacy.shuffle.sampled`); above 0, and 1 if all do.

    Raises
    ------
    UsageError
        If a value is out of its range.

    >>> ShuffleRound(1.0, 10**5, randomizer="binary").pure
    1.0
    """

    epsilon0: float
    n: int
    randomizer: "str | SetLaw" = "any"
    sampled: int | None = None
    rounds: int = 1
    participation: float | None = None

    def __post_init__(self) -> None:
        if check_finite("epsilon0", self.epsilon0) <= 0:
            raise UsageError(f"epsilon0 must be above 0, got {self.epsilon0}; pass a positive number.")
        check_count("n", self.n, minimum=2)
        if isinstance(self.randomizer, SetLaw):
            check_own_strength(self.epsilon0, self.randomizer)
        else:
            check_choice("randomizer", self.randomizer, ("any", "binary", "place-sign"))
        check_count("rounds", self.rounds)
        if self.sampled is not None and check_count("sampled", self.sampled) > self.n:
            raise UsageError(f"sampled must be at most n = {self.n}, got {self.sampled}; pass None if all users send.")
        if self.participation is not None:
            if self.sampled is not None:
                raise UsageError("sampled and participation must not both be given; pass one of them.")
            check_unit_interval("participation", self.participation, one=True)

    @property
    def kind(self) -> str:
        """Which pair its releases are below: of an oracle's law that of any randomizer."""
        return "any" if isinstance(self.randomizer, SetLaw) else self.randomizer

    @property
    def is_sampled(self) -> bool:
        return self.sampled is not None and self.sampled < self.n

    @property
    def is_joined(self) -> bool:
        """Whether the number of messages is random."""
        return self.participation is not None and self.participation < 1

    def law(self) -> RatioLaw:
        """Return the law of the likelihood ratio of one round, mirrored where not everybody sends."""
        joined = self.participation if self.is_joined else None
        return clone_law(self.n, self.epsilon0, self.kind, self.sampled, participation=joined)

    @property
    def pure(self) -> float:
        """The pure epsilon of one round, whoever sees its messages."""
        if self.sampled is None or self.epsilon0 > LARGEST_ALPHA0:
            return self.epsilon0
        return sampled_tilt(self.epsilon0, self.n, self.sampled)

    @property
    def is_amplified(self) -> bool:
        """Whether the sums are made: from 1e-8 to 12."""
        return self.pure >= SMALLEST_EPSILON0 and self.epsilon0 <= LARGEST_ALPHA0 and self.sampled != 1


def check_own_strength(epsilon0: float, law: SetLaw) -> None:
    """Raise ``UsageError`` if ``epsilon0`` is below that of the oracle's law, whose sums would be a weaker one's."""
    if as_decimal(epsilon0) < as_decimal(law.pure):
        raise UsageError(f"epsilon0 must be at least that of the randomizer, {law.pure}, got {epsilon0}; pass its own.")


def clone_round_epsilon(part: ShuffleRound, delta: float) -> float:
    """Return one round's epsilon at ``delta`` by the exact clone pair of any randomizer.

    >>> round(clone_round_epsilon(ShuffleRound(1.0, 1000), 1e-6), 5)
    0.18241
    """
    if not part.is_amplified:
        return part.pure
    if part.is_joined:
        return min(part.law().epsilon(delta), part.pure) if delta >= SMALLEST_DELTA else part.pure
    if not part.is_sampled:
        return min(clone_alpha(part.epsilon0, 1, part.n, delta, 1.0), part.pure)
    return min(part.pure, _amplified(part, delta, clone_round_epsilon))


def place_sign_round_epsilon(part: ShuffleRound, delta: float) -> float:
    """Return one round's epsilon at ``delta``, of place-sign messages by their pair; of any other as above.

    >>> round(place_sign_round_epsilon(ShuffleRound(1.0, 1000, "place-sign"), 1e-6), 5)
    0.14867
    """
    if part.kind == "any" or not part.is_amplified or part.is_joined:
        return clone_round_epsilon(part, delta)
    users = part.sampled or part.n
    found = place_sign_epsilon(part.epsilon0, users, delta, min(2 * users / part.n * (1 + 1e-15), 2.0))
    return min(found, part.pure)


def binary_round_epsilon(part: ShuffleRound, delta: float) -> float:
    """Return one round's epsilon at ``delta``, of a binary randomizer by its exact divergence.

    >>> round(binary_round_epsilon(ShuffleRound(1.0, 1000, "binary"), 1e-6), 3)
    0.127
    """
    found = place_sign_round_epsilon(part, delta)
    if part.randomizer != "binary" or not part.is_amplified or part.is_joined:
        return found
    if part.is_sampled:
        return min(found, _amplified(part, delta, binary_round_epsilon))
    return min(found, binary_epsilon(part.epsilon0, part.n, delta))


def set_round_epsilon(part: ShuffleRound, delta: float) -> float:
    """Return one round's epsilon at ``delta``, of an oracle's messages by the exact blanket of its sets.

    >>> from fractions import Fraction
    >>> law = SetLaw(Fraction(54), Fraction(1, 100), ((Fraction(1, 100), Fraction(0)),))
    >>> round(set_round_epsilon(ShuffleRound(4.0, 10_000, law), 1e-6), 3)
    0.231
    """
    found = binary_round_epsilon(part, delta)
    if not isinstance(part.randomizer, SetLaw) or part.is_joined:
        return found
    if part.is_sampled:
        return min(found, _amplified(part, delta, set_round_epsilon))
    return min(found, part.randomizer.epsilon(part.n, delta))


def _amplified(part: ShuffleRound, delta: float, whole: Callable[[ShuffleRound, float], float]) -> float:
    """Return a sampled round's epsilon from that of its ``k`` users alone (:mod:`emdp.privacy.shuffle.sampled`)."""
    sampled = part.sampled or part.n
    inner = delta * (part.n / sampled) * (1 - 1e-15)
    if inner >= 1 or sampled < 2:
        return part.pure
    return sampled_tilt(whole(replace(part, n=sampled, sampled=None), inner), part.n, sampled)


def quick_epsilon(part: ShuffleRound, delta: float) -> float:
    """Return an epsilon of all rounds of a part by the one method that is nearly always best: for searches.

    Of one round it is that of its pair, of several the product of their pairs, or infinity where there is none.

    >>> round(quick_epsilon(ShuffleRound(1.0, 10**5, rounds=8), 1e-6), 4)
    0.047
    """
    own = replace(part, epsilon0=max(part.epsilon0, SMALLEST_EPSILON0))
    whole = float_up(as_decimal(part.pure) * part.rounds)
    if part.rounds == 1:
        return min(whole, set_round_epsilon(own, delta))
    if part.rounds > LARGEST_ROUNDS or not own.is_amplified:
        return math.inf
    return min(whole, product_epsilon([(own.law(), own.rounds)], delta))


def closed_form_epsilon(epsilon0: float, n: int, delta: float) -> float | None:
    """Return the closed form of Feldman, McMillan and Talwar 2020, or None where its condition fails (LSU 5.3).

    ``ln(1 + tanh(epsilon0/2) (8 sqrt(e^epsilon0 ln(4/delta)/n) + 8 e^epsilon0/n))`` for ``epsilon0 <= ln(n/(16
    ln(2/delta)))``. Beyond that it falls below the exact value.

    >>> round(closed_form_epsilon(1.0, 10**4, 1e-6), 5), closed_form_epsilon(4.0, 1000, 1e-6)
    (0.21403, None)
    """
    # Of the logarithms' quotients none may leave the doubles, however small delta is.
    half = math.log(2) - math.log(delta)
    if epsilon0 * (1 + 1e-12) > math.log(n) - math.log(16 * half):
        return None
    strength = math.exp(epsilon0)
    factor = 8 * math.sqrt(strength * (math.log(2) + half) / n) + 8 * strength / n
    return math.log1p(math.tanh(epsilon0 / 2) * factor) * (1 + 1e-12)


def pure_strength(epsilon: float, part: ShuffleRound) -> float:
    """Return the largest ``epsilon0`` by composition, rounded down."""
    level = float_down(as_decimal(epsilon) / part.rounds)
    if not part.is_sampled or level > LARGEST_ALPHA0:
        return level
    found = math.log1p(math.expm1(level) * (part.n / (part.sampled or part.n))) * (1 - 1e-12)
    return max(found, level) if found <= LARGEST_ALPHA0 else max(level, LARGEST_ALPHA0 * (1 - 1e-12))


def likely_epsilon0(epsilon: float, delta: float, part: ShuffleRound, share: float = 1.0) -> float:
    """Return ``epsilon0`` at which the rounds' Gaussian limit has this epsilon, or a share of ``mu^2``: no bound.

    >>> part, exact = ShuffleRound(1.0, 10**4, "place-sign", rounds=32), 2.43
    >>> abs(likely_epsilon0(1.0, 1e-6, part) / exact - 1) < 0.01
    True
    """
    sent = part.sampled or part.n * (part.participation or 1.0)
    wanted = gaussian_mu(min(epsilon, LARGEST_ALPHA), delta) * part.n * math.sqrt(share / (sent * part.rounds))
    low, high = 1e-9, LARGEST_ALPHA0
    for _ in range(30):
        middle = math.sqrt(low * high)
        clone = math.exp(-middle) if part.kind == "any" else 2 / (math.exp(middle) + 1)
        is_low = 2 * math.tanh(middle / 2) / math.sqrt(clone) < wanted
        low, high = (middle, high) if is_low else (low, middle)
    return low


def steep_epsilon0(part: ShuffleRound, delta: float, guess: float, is_good: Callable[[float], bool]) -> float:
    """Return the largest ``epsilon0`` that is good where a message has few clones, to 1 part in 1000; 0 elsewhere.

    There epsilon leaps from a few units to the message's own within a few parts in 100, so that no slope leads on.

    Parameters
    ----------
    part : ShuffleRound
        Whose ``epsilon0`` is looked for.
    delta : float
        Of all its rounds.
    is_good : callable
        Whether a strength is allowed.

    >>> steep_epsilon0(ShuffleRound(1.0, 10**6), 1e-6, 5.0, lambda own: True)
    0.0
    >>> round(steep_epsilon0(ShuffleRound(1.0, 10**6), 1e-6, 11.0, lambda own: own <= 10.4), 2)
    10.39
    """
    clones = part.n / (_STEEP_CLONES * math.log(1.0 / delta))
    point = math.log(max(clones if part.kind == "any" else 2.0 * clones, 1.0))
    if part.is_sampled or not 1.0 < point < min(guess, LARGEST_ALPHA0):
        return 0.0
    good, bad, step = 0.0, math.inf, _STEEP_STEP
    while not bad < good * (1 + _STEEP_WIDTH) and point > 1.0:
        if is_good(point):
            good = point
        else:
            bad = point
        if good and bad < math.inf:
            point = math.sqrt(good * bad)
        else:
            point, step = point * (1 + step if good else 1 - step), 2 * step
            if point > LARGEST_ALPHA0:
                return good
    return good

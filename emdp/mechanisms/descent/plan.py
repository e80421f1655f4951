"""Choice of the descent and its number of rounds, by the bound of :mod:`emdp.mechanisms.descent.rounds`.

Of every kind the numbers of rounds are those of a public grid; of all descents of a kind, the one with the fewest
rounds is taken whose bound is within a fifth of the kind's least, since rounds cost time. Of the kinds, that of the
least bound. Ranges are tried on fewer numbers of rounds, and only where it is known how much users differ, and
they have records enough for three bins.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from emdp.base.checks import check_count
from emdp.base.errors import RefusedError, UsageError
from emdp.mechanisms.central.gaussian import least_gaussian_delta
from emdp.mechanisms.descent.central import CentralDescent
from emdp.mechanisms.descent.messages import MessageDescent
from emdp.mechanisms.descent.rounds import MOST_ROUNDS, Descent, DescentSetting
from emdp.mechanisms.strength import LARGEST_EPSILON, SMALLEST_EPSILON
from emdp.mechanisms.user_mean.choice import preference
from emdp.mechanisms.user_vector.plan import UserVectorSetting, user_vector_candidates
from emdp.mechanisms.user_vector.setting import frames_of
from emdp.mechanisms.vector.best import best_vector
from emdp.mechanisms.vector.randomizer import VectorRandomizer
from emdp.privacy.rounding import as_decimal
from emdp.privacy.shuffle.users import shuffle_epsilon0

__all__ = ["best_descent", "descent_candidates"]

GRID = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
SHUFFLE_GRID = (1, 2, 4, 8, 16, 32, 64, 128, 256)
REPEATED_GRID = (8, 32, 128)
RANGE_GRID = (4, 16, 64, 256)
SHUFFLE_RANGE_GRID = (4, 16)
"""Numbers of rounds that are tried: of each kind as many as planning takes a few seconds for."""

NEAR = 1.2
"""Largest loss in the bound that fewer rounds may cost, as a factor."""

_PARTS = (0.999, 0.99, 0.9, 0.5)
# Of a message's epsilon, should the accountant say more for it than for the search's: monotone to 1 part in 100.

Kind = TypeVar("Kind", bound=Descent)

MISSED = 0.01
"""Probability with which a range of any round may miss a user, all rounds together."""


def best_descent(setting: DescentSetting, rounds: int | None = None) -> Descent:
    """Return the best of :func:`descent_candidates`.

    >>> best = best_descent(DescentSetting(20_000, 3, "squared", 3.0, 1.0, 4.0, model="local"))
    >>> best.rounds, best.users_a_round, round(best.expected_excess, 3)
    (128, 156, 0.124)
    """
    return min(descent_candidates(setting, rounds), key=lambda found: found.expected_excess)


def descent_candidates(setting: DescentSetting, rounds: int | None = None) -> tuple[Descent, ...]:
    """Return one descent of every kind that the setting allows.

    Parameters
    ----------
    setting : DescentSetting
        The public numbers.
    rounds : int, optional
        How many rounds; by default what the module's text says.

    Raises
    ------
    UsageError
        If there are too few users for so many rounds.
    RefusedError
        If messages would have to be weaker than randomizers go.
    """
    if rounds is not None and check_count("rounds", rounds) > MOST_ROUNDS:
        raise UsageError(f"rounds must be at most {MOST_ROUNDS}, got {rounds}; more hardly tell more.")
    if setting.model == "central":
        counts = tuple(_counts(rounds, GRID))
        has_delta = setting.delta > least_gaussian_delta(max(counts) * setting.dimension)
        return tuple(
            _fewest([CentralDescent(setting, count, is_gaussian) for count in counts])
            for is_gaussian in ((False, True) if has_delta else (False,))
        )
    if rounds is not None and rounds > setting.users:
        raise UsageError(f"rounds must be at most the {setting.users} users, got {rounds}; ask for fewer rounds.")
    is_shuffled = setting.model == "shuffle"
    kinds = [
        [_dealt(setting, count) for count in _counts(rounds, SHUFFLE_GRID if is_shuffled else GRID, setting.users)],
        [_repeated(setting, count) for count in _counts(rounds, REPEATED_GRID) if is_shuffled],
        [_ranged(setting, count) for count in _counts(rounds, SHUFFLE_RANGE_GRID if is_shuffled else RANGE_GRID)],
    ]
    found = tuple(_affordable(_fewest(own)) for kind in kinds if (own := [one for one in kind if one is not None]))
    if not found:
        raise RefusedError(f"epsilon = {setting.epsilon} is too small for messages of gradients; ask more.")
    return found


def _counts(rounds: int | None, grid: Sequence[int], users: int | None = None) -> Iterable[int]:
    if rounds is not None:
        return (rounds,)
    return grid if users is None else [count for count in grid if count <= users]


def _fewest(descents: Sequence[Kind]) -> Kind:
    least = min(found.expected_excess for found in descents)
    return min((one for one in descents if one.expected_excess <= NEAR * least), key=lambda found: found.rounds)


def _affordable(descent: MessageDescent) -> MessageDescent:
    """Return a descent within its budget: an accountant's epsilon rises with epsilon0 but for its numerics."""
    own, found = descent.setting, descent
    for part in _PARTS:
        if as_decimal(found.epsilon) <= as_decimal(own.epsilon):
            return found
        if isinstance(descent.law, VectorRandomizer):
            law = best_vector(2.0, own.dimension, own.clip, descent.law.requested * part, descent.law.users)
            found = replace(descent, law=law)
    raise RefusedError(f"epsilon = {own.epsilon} is too small for messages of gradients; ask more.")


def _dealt(setting: DescentSetting, rounds: int) -> MessageDescent | None:
    users = setting.users // rounds
    if setting.model == "shuffle" and users < 2:
        # Nobody's message is mixed with another's.
        return None
    return _one_shot(setting, rounds, users, _strength(setting, users, 1), is_dealt=True)


def _repeated(setting: DescentSetting, rounds: int) -> MessageDescent | None:
    return _one_shot(setting, rounds, setting.users, _strength(setting, setting.users, rounds), is_dealt=False)


def _one_shot(
    setting: DescentSetting, rounds: int, users: int, strength: float, *, is_dealt: bool
) -> MessageDescent | None:
    if strength < SMALLEST_EPSILON:
        return None
    law = best_vector(2.0, setting.dimension, setting.clip, min(strength, LARGEST_EPSILON), users)
    return MessageDescent(setting, rounds, law, is_dealt)


def _strength(setting: DescentSetting, users: int, rounds: int) -> float:
    """Return epsilon of one user's message of a round."""
    if setting.model == "local":
        return float(setting.epsilon)
    if users < 2:
        return float(setting.epsilon) / rounds
    return _shuffled_strength(float(setting.epsilon), users, setting.delta, rounds)


@lru_cache(maxsize=1024)
def _shuffled_strength(epsilon: float, users: int, delta: float, rounds: int) -> float:
    return shuffle_epsilon0(epsilon, users, delta, rounds=rounds)


def _ranged(setting: DescentSetting, rounds: int) -> MessageDescent | None:
    """Return range-then-mean in each round, None where no range can be found."""
    users, dimension = setting.users // rounds, setting.dimension
    if setting.between is None or users < 2 * dimension or dimension < 2:
        return None
    # A coordinate of a vector in the ball is within C of 0, hence sub-Gaussian with C: case A besides case B.
    inner = UserVectorSetting(
        users, (-setting.clip,) * dimension, (setting.clip,) * dimension, setting.epsilon, setting.delta, setting.model,
        (setting.clip,) * dimension, setting.clip, setting.between, setting.records, MISSED / rounds,
    )  # fmt: skip
    if not any(frame.ranged for frame in frames_of(inner)):
        return None
    try:
        found = [one for one in user_vector_candidates(inner) if one.users_needed > 1]
    except RefusedError:
        return None
    affordable = [one for one in found if as_decimal(one.epsilon) <= as_decimal(setting.epsilon)]
    return MessageDescent(setting, rounds, min(affordable, key=preference)) if affordable else None

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
from emdp.mechanisms.descent.messages import MessageDescent, rounded_participation
from emdp.mechanisms.descent.rounds import MOST_ROUNDS, Descent, DescentSetting
from emdp.mechanisms.strength import LARGEST_EPSILON, SMALLEST_EPSILON
from emdp.mechanisms.user_mean.choice import preference
from emdp.mechanisms.user_vector.plan import UserVectorSetting, user_vector_candidates
from emdp.mechanisms.user_vector.setting import frames_of
from emdp.mechanisms.vector.best import best_vector
from emdp.mechanisms.vector.direction import VectorDirection
from emdp.privacy.rounding import as_decimal
from emdp.privacy.shuffle.renyi_rounds import ShuffleRound, likely_epsilon0
from emdp.privacy.shuffle.users import shuffle_epsilon0

__all__ = ["best_descent", "descent_candidates"]

GRID = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
SHUFFLE_GRID = (1, 2, 4, 8, 16, 32, 64, 128, 256)
REPEATED_GRID = (8, 32, 128)
RANGE_GRID = (4, 16, 64, 256)
SHUFFLE_RANGE_GRID = (4, 16)
"""Numbers of rounds that are tried: of each kind as many as planning takes a few seconds for."""

NEAR = 1.2
"""Largest loss in the bound that fewer rounds may cost, or in the noise that fewer messages may, as a factor."""

MOST_MESSAGES, MOST_WORK = 512, 2**34
"""Most shuffled messages of a user in all rounds that are chosen, and numbers that their directions are made of."""

_PARTS = (1.0, 0.999, 0.99, 0.9, 0.5)
# Of a message's epsilon, should the accountant say more for it than for the search's: monotone to 1 part in 100.

Kind = TypeVar("Kind", bound=Descent)

MISSED = 0.01
"""Probability with which a range of any round may miss a user, all rounds together."""


def best_descent(
    setting: DescentSetting,
    rounds: int | None = None,
    *,
    sampled: int | None = None,
    participation: float | None = None,
) -> Descent:
    """Return the best of :func:`descent_candidates`; where users are to be drawn anew, that one.

    >>> best = best_descent(DescentSetting(20_000, 3, "squared", 3.0, 1.0, 4.0, model="local"))
    >>> best.rounds, best.users_a_round, round(best.expected_excess, 3)
    (128, 156, 0.124)
    """
    found = descent_candidates(setting, rounds, sampled=sampled, participation=participation)
    if sampled is not None or participation is not None:
        return found[0]
    return min(found, key=lambda one: one.expected_excess)


def descent_candidates(
    setting: DescentSetting,
    rounds: int | None = None,
    *,
    sampled: int | None = None,
    participation: float | None = None,
) -> tuple[Descent, ...]:
    """Return one descent of every kind that the setting allows; first the one of users drawn anew, if asked for.

    Parameters
    ----------
    setting : DescentSetting
        The public numbers.
    rounds : int, optional
        How many rounds; by default what the module's text says.
    sampled : int, optional
        How many users each round draws anew, in secret; of the shuffle model.
    participation : float, optional
        With what probability a user joins each round; of the shuffle model.

    Raises
    ------
    UsageError
        If there are too few users for so many rounds, or users cannot be drawn so.
    RefusedError
        If messages would have to be weaker than randomizers go.
    """
    if rounds is not None and check_count("rounds", rounds) > MOST_ROUNDS:
        raise UsageError(f"rounds must be at most {MOST_ROUNDS}, got {rounds}; more hardly tell more.")
    is_drawn = sampled is not None or participation is not None
    if is_drawn and setting.model != "shuffle":
        raise UsageError(f"users are drawn anew in the shuffle model alone, not the {setting.model} one; leave it out.")
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
        [_drawn(setting, count, sampled, participation) for count in _counts(rounds, REPEATED_GRID) if is_drawn],
        [_dealt(setting, count) for count in _counts(rounds, SHUFFLE_GRID if is_shuffled else GRID, setting.users)],
        [_repeated(setting, count) for count in _counts(rounds, REPEATED_GRID) if is_shuffled],
        [_ranged(setting, count) for count in _counts(rounds, SHUFFLE_RANGE_GRID if is_shuffled else RANGE_GRID)],
    ]
    found = tuple(_exact(_fewest(own)) for kind in kinds if (own := [one for one in kind if one is not None]))
    if not found or (is_drawn and all(one is None for one in kinds[0])):
        raise RefusedError(f"epsilon = {setting.epsilon} is too small for messages of gradients; ask more.")
    return found


def _counts(rounds: int | None, grid: Sequence[int], users: int | None = None) -> Iterable[int]:
    if rounds is not None:
        return (rounds,)
    return grid if users is None else [count for count in grid if count <= users]


def _fewest(descents: Sequence[Kind]) -> Kind:
    least = min(found.expected_excess for found in descents)
    return min((one for one in descents if one.expected_excess <= NEAR * least), key=lambda found: found.rounds)


def _exact(descent: MessageDescent) -> MessageDescent:
    """Return a descent with messages as strong as its budget allows, where they were guessed to choose by."""
    if descent.shuffled is None:
        return descent
    own, law, told = descent.setting, descent.law, descent.told
    if not isinstance(law, VectorDirection) or told is None:
        return descent
    each = _shuffled_strength(float(own.epsilon), told.n, own.delta, told.rounds, told.sampled, told.participation)
    for part in _PARTS:
        if each * part < SMALLEST_EPSILON:
            break
        epsilon = min(each * part * law.reports, LARGEST_EPSILON)
        found = replace(descent, law=_directions(own, epsilon, law.users, law.reports))
        # an accountant's epsilon rises with epsilon0 but for its numerics
        if as_decimal(found.epsilon) <= as_decimal(own.epsilon):
            return found
    raise RefusedError(f"epsilon = {own.epsilon} is too small for messages of gradients; ask more.")


def _dealt(setting: DescentSetting, rounds: int) -> MessageDescent | None:
    users = setting.users // rounds
    if setting.model == "local":
        return _whole(setting, rounds, users, float(setting.epsilon))
    # Of fewer than two nobody's message is mixed with another's.
    return None if users < 2 else _apart(setting, rounds, users, is_dealt=True)


def _repeated(setting: DescentSetting, rounds: int) -> MessageDescent | None:
    if setting.users < 2:
        return _whole(setting, rounds, setting.users, float(setting.epsilon) / rounds, is_dealt=False)
    return _apart(setting, rounds, setting.users, is_dealt=False)


def _whole(
    setting: DescentSetting, rounds: int, users: int, strength: float, *, is_dealt: bool = True
) -> MessageDescent | None:
    """Return a descent of messages that nobody takes apart."""
    if strength < SMALLEST_EPSILON:
        return None
    law = best_vector(2.0, setting.dimension, setting.clip, min(strength, LARGEST_EPSILON), users)
    return MessageDescent(setting, rounds, law, is_dealt)


def _apart(setting: DescentSetting, rounds: int, users: int, *, is_dealt: bool) -> MessageDescent | None:
    """Return a descent of directions, as many of each user in a round as are of use, each mixed by itself."""
    sent = 1 if is_dealt else rounds
    found = []
    for reports in (1, 4, 16):
        if reports > 1 and (reports * sent > MOST_MESSAGES or reports * rounds * users * setting.dimension > MOST_WORK):
            continue
        each = _guessed_strength(setting, users, reports * sent)
        if each >= SMALLEST_EPSILON:
            law = _directions(setting, min(each * reports, LARGEST_EPSILON), users, reports)
            found.append(MessageDescent(setting, rounds, law, is_dealt))
    if not found:
        return None
    least = min(one.noise for one in found)
    return next(one for one in found if one.noise <= NEAR * least)


def _drawn(
    setting: DescentSetting, rounds: int, sampled: int | None, participation: float | None
) -> MessageDescent | None:
    """Return a descent of users who are drawn anew in each round."""
    share = None if participation is None else rounded_participation(participation)
    strength = _guessed_strength(setting, setting.users, rounds, sampled, share)
    if strength < SMALLEST_EPSILON:
        return None
    users = setting.users if sampled is None else sampled
    law = _directions(setting, min(strength, LARGEST_EPSILON), users, 1)
    return MessageDescent(setting, rounds, law, False, sampled, share)


def _directions(setting: DescentSetting, epsilon: float, users: int, reports: int) -> VectorDirection:
    return VectorDirection(setting.dimension, setting.clip, epsilon, users, reports=reports)


def _guessed_strength(
    setting: DescentSetting, users: int, rounds: int, sampled: int | None = None, participation: float | None = None
) -> float:
    part = ShuffleRound(1.0, users, "place-sign", sampled, rounds, participation)
    return likely_epsilon0(float(setting.epsilon), setting.delta, part)


@lru_cache(maxsize=1024)
def _shuffled_strength(
    epsilon: float,
    users: int,
    delta: float,
    rounds: int,
    sampled: int | None = None,
    participation: float | None = None,
) -> float:
    """Return epsilon of one report of a place and a sign."""
    return shuffle_epsilon0(
        epsilon, users, delta, rounds, randomizer="place-sign", sampled=sampled, participation=participation
    )


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

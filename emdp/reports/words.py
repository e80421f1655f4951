"""The promise of a report in plain sentences, for the people whose records they are and for readers of the page."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from emdp.base.errors import UsageError
from emdp.privacy import Change, DiscreteEmdDP, EmdDP, Guarantee, UserDP, change_distance, convert
from emdp.privacy.guarantees.kinds import is_by_removal, is_per_history, is_per_period
from emdp.privacy.guarantees.units import of_one_period
from emdp.privacy.rounding import as_decimal, float_up
from emdp.spaces import Space

__all__ = ["one_record_in_words", "protection_sentences", "share_in_words"]

NAMES = {1: "all", 2: "half", 3: "a third", 4: "a quarter", 5: "a fifth", 10: "a tenth", 20: "a twentieth"}
NAMES |= {30: "a thirtieth", 50: "a fiftieth", 100: "a hundredth"}
"""Shares ``1/n`` that have a name."""

COUNTS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 10: "ten", 20: "twenty", 30: "thirty", 50: "fifty"}
COUNTS |= {100: "a hundred"}
"""Numbers of records that have a word."""

EPSILON, NOTHING = "epsilon ", "no promise at all"
"""Begins what is said of a loss, and stands where nothing is promised."""

USUAL_FRACTION, USUAL_DISTANCE = 0.1, 0.01
"""Change where the owner declared none: a tenth of the records, by a hundredth of the largest distance."""


def protection_sentences(
    spent: Sequence[Guarantee],
    promises: Sequence[Guarantee],
    changes: Sequence[Change],
    space: Space,
    *,
    period: str | None = None,
    is_growing: bool = False,
) -> tuple[str, ...]:
    """Return one sentence for each declared change: what this report hides, and what all budgets together hide.

    Parameters
    ----------
    spent : sequence of Guarantee
        What the report's entries cost together, one of each kind.
    changes : sequence of Change
        As the owner declared them; none: a small change of the space's own.
    period : str, optional
        Which records the page is about. Distances are those of this period's records, and what all budgets hide is
        hidden if as much changes in every other period, too (:mod:`emdp.privacy.account.periods`).
    is_growing : bool
        Whether answers were given on several versions of the data, without periods.

    Returns
    -------
    tuple of str
        Nothing where nothing was spent.

    Guarantee
    ---------
    For a change of a given ``d_em``, ``(alpha d_em, delta)`` of d_EM-DP and ``(epsilon, delta)`` of user-level privacy
    add up to ``(alpha d_em + epsilon, delta + delta)``: EMD 1, "Conversions", and composition (EMD 7). A guarantee up
    to a distance has its whole epsilon within it, and beyond it nothing is promised. Rounded up.

    >>> from emdp.privacy import EmdDP, UserDP
    >>> from emdp.spaces import Interval
    >>> changes, space = [Change(1 / 30, 5, 0.2)], Interval("x", 0, 50)
    >>> protection_sentences([EmdDP(6.0)], [EmdDP(60.0)], changes, space)[0]
    'A change of a thirtieth of your records by 5 is hidden with epsilon 0.02 by this page, and with epsilon 0.2 by \
all that is ever answered.'
    >>> protection_sentences([EmdDP(6.0), UserDP(1.0)], [EmdDP(60.0), UserDP(2.0)], changes, space)[0][45:85]
    'is hidden with epsilon 1.02 by this page'
    """
    if not any(own.level or own.delta for own in spent):
        return ()
    records = "your records" if period is None else f"your records of {period}"
    everything, per_period = _of_all(promises), [own for own in promises if is_per_period(own)]
    spent = [of_one_period(own) for own in spent]
    if not any(isinstance(own, EmdDP | DiscreteEmdDP) for own in spent):
        # What holds by replacement holds by removal, so one removal among them says the weaker of the two.
        is_removal = any(map(is_by_removal, (*spent, *promises)))
        hidden = f"That {records} are there at all" if is_removal else f"That {records} are what they are"
        others = "" if is_removal else ", and not any others,"
        return (
            f"{hidden}{others} is hidden with {_loss(spent, 1.0, is_removal=is_removal)} by this "
            f"page, and with {_loss(everything, 1.0, is_removal=is_removal)} by all that is ever answered.",
        )
    sentences = []
    for change in changes or (_usual(space),):
        named = _as_named(change)
        distance = change_distance(named, space=space)
        sentences.append(
            f"{_moved(named, records, space)} is hidden with {_loss(spent, distance)} by this page, and with "
            f"{_loss(everything, distance)} by all that is ever answered"
            + _reach(everything, per_period, distance, period, is_growing=is_growing)
            + ("" if period is None else _one_record(everything, named, space))
            + "".join(_of_history(own, everything, named, space) for own in promises if is_per_history(own))
        )
    return tuple(sentences)


def _moved(change: Change, records: str, space: Space) -> str:
    """Return a change as the beginning of a sentence."""
    share = share_in_words(change.fraction) if change.records is None else str(change.records)
    if isinstance(change.distance, str):
        is_any = space.elsewhere == 1 or space.slots is not None
        any_way = "changed in any way, added, removed or gone," if is_any else "gone,"
        return f"That {share} of {records} {'is' if change.records in (None, 1) else 'are'} {any_way}"
    return f"A change of {share} of {records} by {change.distance:g}{_unit(change, space)}"


def one_record_in_words(promises: Sequence[Guarantee], change: Change, space: Space) -> str:
    """Return with how much one record is hidden, by the number of records that a user has where an answer reads them.

    >>> from emdp.privacy import EmdDP
    >>> from emdp.spaces import Interval
    >>> one_record_in_words([EmdDP(60.0)], Change(1 / 30, 5, 0.2), Interval("x", 0, 50))
    'with one record epsilon 6, with ten 0.6, with thirty 0.2'
    """
    named, stated = _as_named(change), [_by_replacement(own) for own in promises]
    if any(own is None for own in stated):
        return f"with {NOTHING}"
    if space.slots is not None:
        own = replace(change, fraction=0.0, records=1)
        return _stated([one for one in stated if one is not None], change_distance(own, space=space))
    counts = sorted({1, 10, _named_parts(named.fraction) or 1})
    said = []
    for count in counts:
        own = replace(named, fraction=1 / count)
        loss = _stated([one for one in stated if one is not None], change_distance(own, space=space))
        said.append(f"with {COUNTS.get(count, count)} {f'record {loss}' if count == 1 else loss.removeprefix(EPSILON)}")
    return ", ".join(said)


def _of_all(promises: Sequence[Guarantee]) -> list[Guarantee]:
    """Return the budgets that bound all answers: without one per period, where one per user counts the same answers."""
    per_user = [own for own in promises if not is_per_period(own)]
    whole = [own for own in per_user if not is_per_history(own)]
    if any(isinstance(own, EmdDP) for own in whole):
        return whole
    return [_of_user(own) for own in (per_user if any(isinstance(own, EmdDP) for own in per_user) else promises)]


def _of_user(own: Guarantee) -> Guarantee:
    """Return what a guarantee per history says of a user; others as they are."""
    return convert(own, EmdDP(0.0, sizes=own.sizes)) if isinstance(own, EmdDP) and is_per_history(own) else own


def _of_history(own: Guarantee, everything: Sequence[Guarantee], change: Change, space: Space) -> str:
    """Return a sentence on what a budget per history hides of a change in whichever periods."""
    periods = own.periods or 1 if isinstance(own, EmdDP) else 1
    if change.records is None and space.slots is not None:
        # Whoever has more records than slots in one period has records that weigh less there, and no share of them.
        change = replace(change, fraction=0.0, records=1)
    beside = [other for other in everything if not isinstance(other, EmdDP)]
    distance = change_distance(change, space=space, periods=periods)
    records = f"your records of all {periods} periods together"
    # All of them may be of one period, whose bags are then that many times as far apart.
    nearest = min((as_decimal(other.r) for other in beside if isinstance(other, DiscreteEmdDP)), default=Fraction(1))
    loss = NOTHING if nearest < 1 and as_decimal(distance) * periods > nearest else _loss([own, *beside], distance)
    twice = "; one that moves to another period counts as two" if isinstance(change.distance, str) else ""
    return (
        f" {_moved(change, records, space)} is hidden with {loss} by all that is ever answered, in whichever periods "
        f"they are{twice}."
    )


def _reach(
    everything: Sequence[Guarantee],
    per_period: Sequence[Guarantee],
    distance: float,
    period: str | None,
    *,
    is_growing: bool,
) -> str:
    """Return the end of a sentence: which changes beside the one named are hidden with the same epsilon."""
    if period is None:
        return ", if they changed so as they were when each answer was given." if is_growing else "."
    if any(map(is_per_period, everything)):
        return (
            f" about {period}. What you did in k periods is hidden with k times that, totals to date of a stream "
            "excepted, which go on counting it; that you have been in the data for long is not."
        )
    also = ", even if as large a part of every other period's changes too."
    if not per_period:
        return also
    alone = [*per_period, *(own for own in everything if not isinstance(own, EmdDP))]
    return f"{also} If only {period} changes, it is hidden with {_loss(alone, distance)} by all that is ever answered."


def _one_record(everything: Sequence[Guarantee], change: Change, space: Space) -> str:
    said = one_record_in_words(everything, change, space)
    if space.slots is not None:
        return f" One record counts as 1/{space.slots} of that period's, however many you have: {said}."
    return f" One record counts as 1/m of them if you have m in that period: {said}."


def share_in_words(fraction: float) -> str:
    """Return a share in words.

    >>> share_in_words(1 / 30), share_in_words(0.0333), share_in_words(0.37)
    ('a thirtieth', 'a thirtieth', '37 %')
    """
    parts = _named_parts(fraction)
    return f"{100 * float(f'{fraction:.3g}'):.3g} %" if parts is None else NAMES[parts]


def _named_parts(fraction: float) -> int | None:
    return next((parts for parts in NAMES if math.isclose(fraction, Fraction(1, parts), rel_tol=2e-3)), None)


def _as_named(change: Change) -> Change:
    """Return a change whose words promise no more than its number: 0.0333 is a little less than a thirtieth."""
    if change.records is not None:
        return change
    parts = _named_parts(change.fraction)
    named = float(f"{change.fraction:.3g}") if parts is None else 1 / parts
    return replace(change, fraction=min(max(change.fraction, named), 1.0))


def _loss(guarantees: Sequence[Guarantee], distance: float, *, is_removal: bool = False) -> str:
    """Say what guarantees together allow for two bags at a distance: their epsilons and deltas add up.

    A guarantee by removal says as much of records that change as it does by replacement, unless it is about removal.
    """
    stated = list(guarantees if is_removal else map(_by_replacement, guarantees))
    if any(own is None for own in stated):
        return NOTHING
    known = [own for own in stated if own is not None]
    delta = sum((as_decimal(own.delta) for own in known), Fraction(0))
    said = _stated(known, distance)
    is_bounded = delta and said != NOTHING
    return f"{said} (and a failure probability of {_up(float_up(delta))})" if is_bounded else said


def _stated(guarantees: Sequence[Guarantee], distance: float) -> str:
    """Say what guarantees allow together for two bags at a distance, without their deltas, rounded up."""
    if any(isinstance(own, DiscreteEmdDP) and distance > own.r for own in guarantees):
        return NOTHING
    epsilon = Fraction(0)
    for own in guarantees:
        epsilon += as_decimal(own.level) * as_decimal(distance if isinstance(own, EmdDP) else 1.0)
    return f"{EPSILON}{_up(float_up(epsilon))}"


def _by_replacement(own: Guarantee) -> Guarantee | None:
    """Return what a guarantee says of records that are replaced; None where nothing is left of it."""
    try:
        return convert(own, UserDP(0.0)) if is_by_removal(own) else own
    except UsageError:
        return None


def _usual(space: Space) -> Change:
    part = space.parts[0]
    distance = float(f"{part.diameter * USUAL_DISTANCE:.1g}")
    return Change(USUAL_FRACTION, distance, 1.0, part=0 if len(space.parts) > 1 else None)


def _unit(change: Change, space: Space) -> str:
    parts = space.parts
    found = [part for place, part in enumerate(parts) if change.part in (None, place) or change.part in part.columns]
    unit = found[0].unit if found else None
    where = f" in {', '.join(found[0].columns)}" if len(parts) > 1 and found else ""
    return (f" {unit}" if unit else "") + where


def _up(number: float) -> str:
    """Return a number with three digits, rounded up.

    >>> _up(0.0131001), _up(7.0), _up(1e-9), _up(123456.0)
    ('0.0132', '7', '1e-09', '1.24e+05')
    """
    if number <= 0:
        return "0"
    place = Fraction(10) ** (math.floor(math.log10(number)) - 2)
    # A rounding error of the sum is no further digit.
    return f"{float(math.ceil(Fraction(number) / place * (1 - Fraction(1, 10**12))) * place):.3g}"

"""What is protected, in plain sentences: for whoever's records they are, and whoever reads the page."""

import math
from collections.abc import Sequence
from fractions import Fraction

from emdp.privacy import Change, EmdDP, Guarantee, UserDP, epsilon_for
from emdp.spaces import Space

__all__ = ["protection_sentences", "share_in_words"]

NAMES = {1: "all", 2: "half", 3: "a third", 4: "a quarter", 5: "a fifth", 10: "a tenth", 20: "a twentieth"}
NAMES |= {30: "a thirtieth", 50: "a fiftieth", 100: "a hundredth"}
"""Shares ``1/n`` that have a name."""

USUAL_FRACTION, USUAL_DISTANCE = 0.1, 0.01
"""Where the owner declared no change: a tenth of the records, by a hundredth of the largest distance."""


def protection_sentences(
    spent: Sequence[Guarantee], promise: Guarantee, changes: Sequence[Change], space: Space
) -> tuple[str, ...]:
    """Return one sentence for each declared change: what this report hides, and what the whole budget hides.

    Parameters
    ----------
    spent : sequence of Guarantee
        What the report's entries cost together, by kind.
    promise : Guarantee
        The budget of that kind.
    changes : sequence of Change
        As the owner declared them; none: a small change of the space's own.
    space : Space
        The space of the guarantee.

    Returns
    -------
    tuple of str

    Guarantee
    ---------
    ``epsilon = alpha d_em`` for a change of that ``d_em`` (EMD 1, "Conversions"), rounded up.

    >>> from emdp.privacy import EmdDP
    >>> from emdp.spaces import Interval
    >>> change = Change(1 / 30, 5, 0.2)
    >>> protection_sentences([EmdDP(6.0)], EmdDP(60.0), [change], Interval("x", 0, 50))
    ('A change of a thirtieth of your records by 5 is hidden with epsilon 0.02 by this page, and with epsilon 0.2 by \
all that is ever answered.',)
    """
    sentences = []
    for own in spent:
        if isinstance(own, UserDP):
            sentences.append(
                f"Whatever your records are, and if all of them were others, is hidden with epsilon {_up(own.epsilon)}"
                f"{_delta(own)} by this page."
            )
        elif isinstance(own, EmdDP):
            known = changes or (_usual(space),)
            sentences += [_sentence(change, own, promise, space) for change in known]
    return tuple(sentences)


def _sentence(change: Change, own: EmdDP, promise: Guarantee, space: Space) -> str:
    here = epsilon_for(own.alpha, change, space=space)
    text = (
        f"A change of {share_in_words(change.fraction)} of your records by {change.distance:g}{_unit(change, space)} "
        f"is hidden with epsilon {_up(here)}{_delta(own)} by this page"
    )
    if isinstance(promise, EmdDP):
        text += (
            f", and with epsilon {_up(epsilon_for(promise.alpha, change, space=space))} by all that is ever answered"
        )
    return f"{text}."


def share_in_words(fraction: float) -> str:
    """Return a share in words.

    >>> share_in_words(1 / 30), share_in_words(0.0333), share_in_words(0.37)
    ('a thirtieth', 'a thirtieth', '37 %')
    """
    for parts, name in NAMES.items():
        if math.isclose(fraction, Fraction(1, parts), rel_tol=2e-3):
            return name
    return f"{100 * fraction:.3g} %"


def _usual(space: Space) -> Change:
    part = space.parts[0]
    distance = float(f"{part.diameter * USUAL_DISTANCE:.1g}")
    return Change(USUAL_FRACTION, distance, 1.0, part=0 if len(space.parts) > 1 else None)


def _unit(change: Change, space: Space) -> str:
    parts = space.parts
    found = [part for place, part in enumerate(parts) if change.part in (None, place) or change.part in part.columns]
    unit = found[0].unit if found else None
    where = f" of {', '.join(found[0].columns)}" if len(parts) > 1 and found else ""
    return (f" {unit}" if unit else "") + where


def _up(epsilon: float) -> str:
    """Return an epsilon with three digits, rounded up."""
    if epsilon <= 0:
        return "0"
    digits = 2 - math.floor(math.log10(epsilon))
    # What is within a rounding of three digits is those three digits.
    shown = round(epsilon, digits)
    if shown < epsilon * (1 - 1e-12):
        shown = math.ceil(epsilon * 10**digits) / 10**digits
    return f"{shown:.{max(digits, 0)}f}".rstrip("0").rstrip(".") if digits > 0 else f"{shown:g}"


def _delta(own: Guarantee) -> str:
    return f" (and a failure probability of {own.delta:.3g})" if own.delta else ""

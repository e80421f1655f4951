"""Sentences, warnings and numbers in words: percent, before and after, "at most", rounded outward."""

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from emdp.pictures.beliefs import Belief
from emdp.privacy import DiscreteEmdDP, EmdDP, Guarantee, UserDP
from emdp.privacy.guarantees.kinds import is_by_removal
from emdp.spaces import Space

__all__ = ["belief", "failing", "head", "percent", "percent_down", "sentence", "warnings_of"]

DIGITS = 3
"""Digits of a percentage."""

CERTAIN = 0.9995
"""Probability from which on a percentage is 100: below it would say that something is left."""

OPEN = "no protection: assume that it is known"


def percent(probability: float) -> str:
    """Return a probability as per cent, rounded up; never 0 and, unless it is nearly certain, never 100.

    >>> percent(0.7311), percent(0.0267), percent(0.99), percent(0.99951), percent(1e-9)
    ('73.2 %', '2.67 %', '99 %', '100 %', 'below 0.1 %')
    """
    if probability >= CERTAIN:
        return "100 %"
    return "below 0.1 %" if probability < 1e-3 else f"{_digits(100 * probability, ROUND_CEILING)} %"


def percent_down(probability: float) -> str:
    """Return a probability as per cent, rounded down.

    >>> percent_down(0.2689), percent_down(0.0)
    ('26.8 %', '0 %')
    """
    return f"{_digits(100 * probability, ROUND_FLOOR)} %"


def head(guarantee: Guarantee) -> str:
    """Return the first line of every page: who the attacker is."""
    seen = {
        "central": "all that is released",
        "local": "the messages of this person and all that is released",
        "shuffle": "the mixed messages of all people and all that is released",
    }[guarantee.model]
    return (
        f"An attacker sees {seen}, and knows everything but one thing: all other people's records, all else of this "
        "person, and every detail of the noise. Real attackers know less: each number is a ceiling, not a forecast."
    )


def sentence(title: str, priors: Sequence[float], beliefs: Sequence[float] | None, caught: float) -> str:
    """Return what is bounded of one story, in one sentence; ``beliefs`` are None where nothing is protected.

    >>> sentence("home is 5 km away", (0.5,), (0.707,), 0.024)[:79]
    'Home is 5 km away: who thought 50 % before can be at most 70.7 % sure afterward'
    """
    begin = title[0].upper() + title[1:]
    if beliefs is None:
        return f"{begin}: {OPEN}."
    more = f", from {percent_down(priors[-1])} at most {percent(beliefs[-1])}" if len(priors) > 1 else ""
    return (
        f"{begin}: who thought {percent_down(priors[0])} before can be at most {percent(beliefs[0])} sure "
        f"afterwards{more}; the best detector with one false alarm in 100 people catches at most {_people(caught)} of "
        "100."
    )


def belief(title: str, prior: float, ends: tuple[float, float] | None) -> Belief:
    """Return a story's row of the picture of beliefs; ``ends`` are None where nothing is protected."""
    if ends is None:
        return Belief(title, prior, 0.0, 1.0, OPEN)
    return Belief(title, prior, *ends, f"{percent_down(prior)} → at most {percent(ends[1])}")


def failing(failure: float) -> str:
    """Return how often a belief may lie outside its bounds, where there is a delta.

    >>> failing(2.1e-7)[:63]
    'There is a delta: about once in 4,760,000 releases a belief may'
    """
    often = "always" if failure >= 1 else f"about once in {_digits(1 / failure, ROUND_FLOOR)} releases"
    return (
        f"There is a delta: {often} a belief may lie outside its bounds. What it usually stays below is a "
        "quantile of one law, and no promise for each answer."
    )


def warnings_of(space: Space, guarantees: Sequence[Guarantee]) -> tuple[str, ...]:
    """Return what a reader must know beside the numbers of what holds together; each is computed from public facts."""
    found: list[str] = []
    if not all(map(is_by_removal, guarantees)):
        found.append(
            "Whether somebody is in the table at all is not hidden: the list or number of users is public. To hide it, "
            "declare a list that is wider than the table."
        )
    else:
        found.append(
            "Whether somebody is in the table at all is hidden with epsilon "
            f"{_rate(math.fsum(own.level for own in guarantees))}. A story changes records of somebody who stays: that "
            "is one person less and one more, and costs twice that."
        )
    for own in guarantees:
        found += _of_one(space, own)
    found.append("Friends' records tell of a person too; what is bounded is what the person's own records tell.")
    found.append("A stored answer that is shown again tells nothing new, however often.")
    return tuple(found)


def _of_one(space: Space, guarantee: Guarantee) -> list[str]:
    found: list[str] = []
    if isinstance(guarantee, EmdDP):
        found += _of_metric(space, guarantee)
        if space.slots is None:
            found.append(
                "What is said of one record among several does not hold for somebody with fewer: one of m records may "
                f"cost epsilon {_rate(guarantee.level)}/m, which is all of it with one record, and "
                f"{_rate(guarantee.level / 5)} with five."
            )
        if guarantee.level > 3:
            found.append(
                f"If everything about a person were different it would show (epsilon {_rate(guarantee.level)}): this "
                "budget does not hide who has a wholly different life."
            )
    if isinstance(guarantee, DiscreteEmdDP):
        found.append(f"Changes farther than {guarantee.r:g} of all of a person's data are not covered at all.")
    if isinstance(guarantee, UserDP) and guarantee.level > 3:
        found.append(f"Epsilon {_rate(guarantee.level)} hides little, whatever a person changes.")
    return found


def _of_metric(space: Space, guarantee: EmdDP) -> list[str]:
    rates = []
    for share, part in zip(space.exact_shares, space.parts, strict=True):
        if part.labels is not None:
            rates.append(f"{_rate(guarantee.level * float(share))} for another value of {', '.join(part.columns)}")
        else:
            unit = part.unit or "unit"
            each = guarantee.level * float(share) / part.diameter
            rates.append(f"{_rate(each)} per {unit} of {', '.join(part.columns)}")
    return [
        "Alpha is per diameter of the space. All of a person's records together cost epsilon "
        f"{'; '.join(rates)}. The same alpha on a larger box hides less of the same way."
    ]


def _rate(number: float) -> str:
    return _digits(number, ROUND_CEILING)


def _people(rate: float) -> str:
    """Return how many of a hundred, rounded up to a tenth.

    >>> _people(0.0272), _people(1.0)
    ('2.8', '100')
    """
    return f"{math.ceil(round(1000 * rate, 9)) / 10:g}"


def _digits(number: float, rounding: str) -> str:
    text = Context(prec=DIGITS, rounding=rounding).plus(Decimal(repr(number)))
    return f"{float(text):,.10g}"

"""What the answers of a page may tell about one person: the picture of beliefs before and after, for its own cost."""

from collections.abc import Sequence

from emdp.disclosure.consequences import Consequences, consequences_of
from emdp.disclosure.stories import default_stories, protected
from emdp.disclosure.words import failing
from emdp.privacy import Change, Guarantee
from emdp.privacy.guarantees.kinds import is_by_source
from emdp.privacy.guarantees.units import of_one_period
from emdp.spaces import Space

__all__ = ["meaning", "meaning_in_words"]


def meaning(spent: Sequence[Guarantee], changes: Sequence[Change], space: Space) -> Consequences | None:
    """Return the consequences of all that a page's answers cost, for the declared changes and what the space suggests.

    Parameters
    ----------
    spent : sequence of Guarantee
        What the answers cost together, one of each kind: their losses add up.

    Returns
    -------
    Consequences or None
        None where nothing was spent. A guarantee per period, or history, is taken for changes in one period alone.

    >>> from emdp.privacy import EmdDP, UserDP
    >>> from emdp.spaces import Interval
    >>> found = meaning([EmdDP(6.0), UserDP(1.0)], [], Interval("x", 0, 50))
    >>> found.rows[-1].epsilon
    7.0
    """
    told = [of_one_period(own) for own in spent if own.level or own.delta]
    if not told:
        return None
    stories = (*protected(changes, space), *default_stories(space))
    return consequences_of(space, told[0], stories=stories, beside=told[1:])


def meaning_in_words(found: Consequences, spent: Sequence[Guarantee], period: str | None) -> str:
    """Return what stands below the picture: whose knowledge it is, which records it counts, how often it may fail."""
    where = f" from {period}" if period else " from one period" if any(map(is_by_source, spent)) else ""
    text = (
        "What all answers on this page together may tell about one person, at most, to somebody who knows all but one "
        "thing: everybody else's records and all else of this person. The numbers of records are those"
        f"{where} that the person has. All that is ever answered may tell more."
    )
    return f"{text} {failing(found.failure)}" if found.failure else text

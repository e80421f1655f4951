"""What of an answer an entry shows: its picture and, of a release with several readers, its tier."""

from collections.abc import Iterator
from typing import Any

from emdp.reports.definition import Entry

__all__ = ["shown_problems"]


def shown_problems(entry: Entry, plan: Any) -> Iterator[tuple[str, str]]:
    """Return what of an entry does not fit its statement: the key, and what is wrong with it."""
    from emdp.pictures import fitting_kinds

    fitting = fitting_kinds(plan.finisher.shape)
    if entry.picture not in fitting:
        yield "picture", f'picture = "{entry.picture}" does not fit the answer; choose one of {", ".join(fitting)}'
    tiers = len(getattr(plan, "weaker", ())) + 1
    if entry.tier is not None and tiers == 1:
        yield "tier", "the query has no tiers; write alpha = TIERS(8, 1) into it, or remove tier"
    elif entry.tier is not None and not 1 <= entry.tier <= tiers:
        yield "tier", f"tier is {entry.tier}, and the query has the tiers 1 to {tiers}; write one of these"

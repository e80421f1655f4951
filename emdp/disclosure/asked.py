"""``emdp.consequences``: of a session, a table or a space, and files with all of it."""

import json
from collections.abc import Sequence
from pathlib import Path

from emdp.base.errors import UsageError
from emdp.disclosure.consequences import PRIORS, Consequences, consequences_of
from emdp.disclosure.page import Block, page
from emdp.disclosure.stories import Story, protected
from emdp.pictures import picture_file
from emdp.privacy import Change, EmdDP, Guarantee
from emdp.privacy.account.budget import SLACK_LIMIT
from emdp.privacy.guarantees.kinds import is_by_source
from emdp.sessions.session import Session
from emdp.spaces import Space
from emdp.tables import Table

__all__ = ["BUDGET_TEXT", "consequences", "write"]

BUDGET_TEXT = "Whatever is asked until the budget is used up, and however the questions are chosen, this is all."


def consequences(
    subject: Session | Table | Space,
    budget: Guarantee | None = None,
    *,
    changes: Sequence[Change | Story] | None = None,
    priors: Sequence[float] = PRIORS,
    reports: int = 1,
    group: int = 1,
) -> Consequences:
    """Return what a budget lets an attacker learn about one person, in percent; touches no record and spends nothing.

    Parameters
    ----------
    subject : Session, Table or Space
        Whose space it is about; of a session the budget too.
    budget : Guarantee, optional
        What may be released in all; needed unless a session is given, all of whose budgets are taken then.
    changes : sequence of Change or Story, optional
        What is to be found out; by default what the space suggests.
    priors : sequence of float
        Beliefs before, each in (0, 1).
    reports : int
        How many such releases there are, fixed in advance, the change being in each of them.
    group : int
        How many people change together.

    Returns
    -------
    Consequences
        Rows, sentences, a table (``.frame``), a picture; :func:`emdp.disclosure.asked.write` makes a page.

    Raises
    ------
    UsageError
        If there is no budget, or an argument is out of its range.

    References
    ----------
    :mod:`emdp.privacy.inference`, T1 to T8.

    >>> import emdp
    >>> found = consequences(emdp.Interval("x", 0, 40), emdp.EmdDP(1.0))
    >>> print(found.sentences()[-1])
    Everything is different: who thought 50 % before can be at most 73.2 % sure afterwards, from 1 % at most 2.68 %; \
the best detector with one false alarm in 100 people catches at most 2.8 of 100.
    """
    space = subject if isinstance(subject, Space) else _table(subject).space
    slack = 0.0
    beside: tuple[Guarantee, ...] = ()
    if budget is None:
        own = _own(subject)
        budget, beside, slack = own[0], own[1:], SLACK_LIMIT
    if not isinstance(budget, Guarantee):
        raise UsageError(f"budget must be a guarantee, not {type(budget).__name__}; pass one such as emdp.EmdDP(20.0).")
    stories = None
    if changes is not None:
        stories = [one if isinstance(one, Story) else protected([one], space)[0] for one in changes]
    return consequences_of(
        space, budget, stories=stories, priors=priors, slack=slack, reports=reports, group=group, beside=beside
    )


def write(folder: str | Path, title: str, space: Space, blocks: Sequence[Block]) -> tuple[Path, ...]:
    """Write the page, the main picture and the tables (CSV, JSON) into a folder, made if absent."""
    place, first = Path(folder), blocks[0].found
    tables = [{"title": block.title, "rows": block.found.frame.to_dicts()} for block in blocks]
    texts = {
        "index.html": page(title, space, blocks),
        "consequences.svg": picture_file(first.picture),
        "consequences.csv": first.frame.write_csv(),
        "consequences.json": json.dumps(tables, indent=1),
    }
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (place / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"folder {str(place)!r} cannot be written ({error.strerror}); pass another folder.") from None
    return tuple(place / name for name in texts)


def _table(subject: object) -> Table:
    if isinstance(subject, Session):
        return subject.table
    if isinstance(subject, Table):
        return subject
    raise UsageError(f"subject must be a session, a table or a space, not {type(subject).__name__}; pass one of them.")


def _own(subject: object) -> tuple[Guarantee, ...]:
    promises = subject.promises if isinstance(subject, Session) else ()
    whole = tuple(promise for promise in promises if not is_by_source(promise))
    # A budget by periods that pays by itself bounds no whole, and what others tell is not all.
    if not whole or (len(whole) < len(promises) and not any(isinstance(promise, EmdDP) for promise in whole)):
        raise UsageError("budget is missing; pass what may be released in all, such as emdp.EmdDP(20.0).")
    return whole

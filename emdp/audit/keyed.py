"""Draws of messages with keys, as an audit sees them: what each tier's readers have, and what two questions tell.

A user's message and its keys are drawn by the release's own code. Beside what each tier's readers have there is what
everybody has after a second question, whose true symbol is known: the difference of the two messages. It tells nothing
if their keys are independent, and everything if a key served both.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np

from emdp.audit.bulk import read_blocks
from emdp.audit.changes import Floats
from emdp.audit.neighbours import Neighbours
from emdp.audit.releases import MOST_DRAWS
from emdp.audit.tester import Scores
from emdp.base.errors import InternalError, UsageError
from emdp.estimators import MessagePlan
from emdp.estimators.keyed import KeyedMeans, KeyedRelease, KeyedShares

__all__ = ["keyed_scores"]


def keyed_scores(plan: MessagePlan, tables: Neighbours, trials: int) -> Scores | None:
    """Return scores of one user's message with keys; None for other releases.

    Raises
    ------
    UsageError
        If the tables have several users.
    """
    releaser = plan.releaser
    if not isinstance(releaser, KeyedRelease):
        return None
    if tables.first.n > 1:
        raise UsageError(
            "an audit of messages with keys is of one user's; declare users by their number in place of a list."
        )
    drawn = min(trials, MOST_DRAWS // releaser.tiers)
    first, second = (_columns(releaser, read_blocks(plan, table), drawn) for table in (tables.first, tables.second))
    names = [f"what tier {tier} has" for tier in range(1, releaser.tiers + 1)]
    return Scores(first, second, (*names, "messages of two questions"))


def _columns(releaser: KeyedRelease, blocks: Any, trials: int) -> Floats:
    """Return the scores of so many messages of the table's one user."""
    places, sent, keys = _drawn(releaser, blocks, trials)
    seen = [releaser.opened(sent, key) for key in keys] + [sent, releaser.opened(sent, releaser.drawn_known(trials))]
    places, each = releaser.of_each(places, seen)
    return np.stack([(places * releaser.symbols + own).astype(np.float64) for own in each], axis=1)


def _drawn(releaser: KeyedRelease, blocks: Any, trials: int) -> Any:
    own = [block for block in blocks if len(getattr(block, "means", getattr(block, "users", ())))]
    if not own:
        return releaser.drawn_absent(trials)
    (block,) = own
    if isinstance(releaser, KeyedMeans):
        many: Any = SimpleNamespace(means=np.repeat(block.means, trials, axis=0), exponents=block.exponents)
    elif isinstance(releaser, KeyedShares):
        size = len(block.codes)
        many = SimpleNamespace(
            offsets=np.arange(trials + 1) * size,
            codes=np.tile(block.codes, trials),
            counts=np.tile(block.counts, trials),
        )
    else:
        raise InternalError("an audit does not know how to draw these messages; please report it.")
    return releaser.drawn(many)

"""What an answer for several readers has: a view for each, and messages with keys where users sent some."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from emdp.base.errors import UsageError
from emdp.questions.keyed import KeyedMessages

__all__ = ["Tiered", "tier_of"]


class Tiered:
    """Tiers of an answer; other answers refuse them."""

    released: Any
    guarantee: Any
    weaker: tuple[Any, ...]

    def tier(self, number: int) -> Any:
        """Return the answer for the readers of one tier, of a release that was asked with :func:`emdp.tiers`.

        Parameters
        ----------
        number : int
            From 1, the strongest reader's, to the number of levels.

        Returns
        -------
        Answer
            With the guarantee, the noise and the intervals of that tier. Give no reader the whole answer, which holds
            all of them.

        Raises
        ------
        UsageError
            If there is no such tier.

        Guarantee
        ---------
        Readers of several tiers together have the guarantee of the strongest (:mod:`emdp.mechanisms.central.tiers`).
        """
        found = tier_of(self, number)
        return replace(found, released=_without_messages(found.released))

    @property
    def messages(self) -> KeyedMessages | None:
        """Messages and keys of a release in the local model that has tiers; None of other answers."""
        kept = [own for own in self.released if isinstance(own, KeyedMessages)] if _is_row(self.released) else []
        return kept[0] if kept else None

    def write_messages(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write the messages of all users, for everybody, and a file of keys for each stronger reader.

        Parameters
        ----------
        folder : path
            A folder, made if it is not there, that has none of these files yet: ``messages.json``, and
            ``tier-1.keys`` and on, which only their owner can read (mode 0600). Keys are written first: a process
            that is killed leaves no messages whose keys are missing.

        Returns
        -------
        tuple of Path
            The messages, and the keys of tier 1 and on.

        Raises
        ------
        UsageError
            If the answer has no messages, or a file is there already: no keys are ever written over.
        """
        # Loaded where it is needed.
        from emdp.answers.message_files import write_messages

        if self.messages is None:
            raise UsageError(
                "the answer has no messages with keys; ask for a mean or frequencies with model='local' and "
                "epsilon=emdp.tiers([2, 1])."
            )
        levels = [self.guarantee, *(own.guarantee for own in self.weaker)]
        return write_messages(self.messages, Path(folder), [str(own) for own in levels])


def tier_of(answer: Any, number: int) -> Any:
    """Return one tier of an answer, or of a stored one."""
    if not answer.weaker:
        raise UsageError("the answer has no tiers; ask with alpha=emdp.tiers([8, 1]), or take it as it is.")
    last = len(answer.weaker) + 1
    if type(number) is not int or not 1 <= number <= last:
        raise UsageError(f"number must be a tier from 1 to {last}, got {number!r}; 1 is the strongest reader's.")
    return replace(answer, weaker=()) if number == 1 else answer.weaker[number - 2]


def _is_row(released: Any) -> bool:
    return isinstance(released, tuple)


def _without_messages(released: Any) -> Any:
    if not _is_row(released):
        return released
    return tuple(own for own in released if not isinstance(own, KeyedMessages))

"""Releases that randomize items or users one by one: what is settled of them before the data is touched."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

from emdp.base.classes import dataclass
from emdp.base.statistic import Hidden, HiddenBlocks
from emdp.estimators.contract import Records
from emdp.mechanisms.release import Mechanism
from emdp.privacy import Event, Guarantee
from emdp.questions.columns import Finisher, PlannedColumn, Released
from emdp.questions.comparison import ComparedMethod
from emdp.questions.reading import BlockEncoder, EncodedReleaser, Reading
from emdp.spaces import Space

__all__ = [
    "SIMULATED",
    "SPLIT",
    "TRUST",
    "WEIGHING",
    "MessagePlan",
    "MessageRelease",
    "Releaser",
    "WrappedRelease",
    "release_steps",
    "trust",
    "weighing_of",
]

WEIGHING = "every user counts once, whatever the number of records"

SIMULATED = "messages are drawn by the table's owner as each user's device would draw them; nobody else need be trusted"

TRUST: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "central": (),
        "shuffle": ("whoever sees messages before they are mixed is trusted not to look (shuffle model)",),
        "local": (SIMULATED,),
    }
)
"""Assumptions of each model about those who see messages."""


SPLIT = ("the messages of one user are mixed apart from each other, each among those of all users",)
"""Assumption of several messages a user."""


def trust(model: str, epsilon0: float | None = None, *, is_apart: bool = False) -> tuple[str, ...]:
    """Return the assumptions of a model, and what holds where they fail and each user's messages have ``epsilon0``.

    Parameters
    ----------
    model : {"central", "shuffle", "local"}
        Who is trusted.
    epsilon0 : float, optional
        Of all messages of a user, in the shuffle model.
    is_apart : bool
        Whether these are several.

    >>> trust("shuffle", 5.8066)[1]
    'whoever mixes and tells who sent what leaves each user epsilon0 = 5.807, that of the own message, and no more'
    """
    if model != "shuffle" or epsilon0 is None:
        return TRUST[model]
    alone = f"whoever mixes and tells who sent what leaves each user epsilon0 = {float(f'{epsilon0:.4g}'):g}, that of "
    alone += f"the own message{'s' if is_apart else ''}, and no more"
    return (*TRUST[model], alone, *SPLIT[:is_apart])


class Releaser(Mechanism, Protocol):
    """A mechanism that makes messages of what an engine read."""

    def release(self, read: Any, *, users: int, keep_exact: bool) -> tuple[Any, Released | None]:
        """Draw the messages: this spends.

        Parameters
        ----------
        read : numpy.ndarray or iterator of blocks
            What :class:`Reading` asked for, opened.
        keep_exact : bool
            Whether the test switch is on, so that the exact statistic is kept beside what is released.

        Returns
        -------
        released : object
            What the plan's finisher makes rows of.
        exact : tuple or None
            The same without randomness, where it is kept and there is such a thing.
        """


class MessageRelease:
    """Common part of releasers: every message is random, and drawn exactly."""

    is_exact: ClassVar[bool] = False
    """Whether no table changes what is released: False, since messages have another law for some."""

    @property
    def slack_delta(self) -> float:
        """The part of delta that covers rounding: 0."""
        return 0.0


class WrappedRelease(MessageRelease):
    """A releaser that stands before one mechanism, whose theorem, facts and slack are its own."""

    mechanism: Mechanism

    @property
    def theorem(self) -> str:
        return self.mechanism.theorem

    @property
    def slack_epsilon(self) -> float:
        return self.mechanism.slack_epsilon

    @property
    def slack_delta(self) -> float:
        return self.mechanism.slack_delta

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        return self.mechanism.facts(unit)


def release_steps(releaser: Any, *, keep_exact: bool) -> tuple[BlockEncoder | None, Callable[..., tuple[Any, Any]]]:
    """Return the encoder of a releaser that has one, and what makes the release of what was read.

    Parameters
    ----------
    keep_exact : bool
        Whether the test switch is on, so that the exact statistic is kept.
    """
    encoder = releaser.encoder(keep_exact=keep_exact) if isinstance(releaser, EncodedReleaser) else None
    finish = releaser.release if encoder is None else releaser.merge
    return encoder, partial(finish, keep_exact=keep_exact)


@dataclass(frozen=True, eq=False)
class MessagePlan:
    """A priced release of messages.

    Parameters
    ----------
    reading : Reading
        What the engine reads.
    releaser : Releaser
        What makes messages of it.
    event : Event
        What the ledger is charged.
    columns : tuple of PlannedColumn
        The answer's columns that are estimates with intervals; none where the answer is the messages alone.
    choice : str
        Why this randomizer, accountant and strength, in a few sentences.
    finisher : Finisher
        What makes rows of what was released.
    weighing : str
        How much a user and a record count, in words.
    notes, assumptions : tuple of str
        Further facts for the reader; what is the data owner's to know.
    comparison : tuple of ComparedMethod
        The methods that were compared, if any were.
    without_records : str
        What a public user without records counts with; empty: the neutral item.
    """

    is_constant: ClassVar[bool] = False
    """Whether no table changes what is released: False, since messages have another law for some."""

    reading: Reading
    releaser: Releaser
    event: Event
    columns: tuple[PlannedColumn, ...]
    choice: str
    finisher: Finisher
    weighing: str
    notes: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    comparison: tuple[ComparedMethod, ...] = ()
    without_records: str = ""

    @property
    def guarantee(self) -> Guarantee:
        return self.event.guarantee

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        return (self.releaser,)

    def group_sizes(self, users: int) -> tuple[int, ...]:
        return (users,)

    def check(self, records: Records) -> None:
        records.check_items(self.reading)

    def work(self, records: Records) -> tuple[tuple[str, str], ...]:
        return records.explain_reading(self.reading)

    def statistic(self, records: Records, *, keep_exact: bool) -> tuple[Hidden[Any] | HiddenBlocks[Any]]:
        """Return the data that messages are made of; where it has an encoder, messages of blocks."""
        encoder, _ = release_steps(self.releaser, keep_exact=keep_exact)
        return (records.read_items(self.reading, encoder),)

    def release(self, opened: Sequence[Any], records: Records, *, keep_exact: bool) -> tuple[Any, Released | None]:
        _, finish = release_steps(self.releaser, keep_exact=keep_exact)
        (read,) = opened
        return finish(read, users=records.users)


def weighing_of(space: Space) -> str:
    """Return how records weigh in what is drawn of bags: users alike, or records where bags are filled up to slots."""
    return WEIGHING if space.slots is None else f"every record counts, a user's as {space.slots} at most"

"""Records that an engine reads for releases which randomize items or users one by one, and their blocks.

Some releases fall into two steps, so that the first can run wherever the records are: a :class:`BlockEncoder` makes
random output of one block, and the rest of the release merges the outputs of all blocks.

Others work in rounds, each on what the one before has released, or deal users out to what they are asked. Where the
records are on workers, :class:`RepeatedBlocks` are gone over there as often as there are rounds.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Protocol, runtime_checkable

import polars as pl

from emdp.base.arrays import Floats, Integers
from emdp.base.classes import dataclass
from emdp.expressions.nodes.base import Expression

__all__ = [
    "BagBlock",
    "BlockEncoder",
    "EncodedReleaser",
    "FinishingEncoder",
    "MeanBlock",
    "PointBlock",
    "Reading",
    "RepeatedBlocks",
    "SettlingBlocks",
    "SettlingEncoder",
    "TextBlock",
    "TextColumn",
    "UserEncoder",
    "UserPreparer",
]


@dataclass(frozen=True)
class TextColumn:
    """A column of strings."""

    name: str
    words: bool = False  # Whether every token is a record, as `emdp.Words` makes them, or every text is
    lower: bool = True  # Whether ASCII capitals of texts are small letters; those of words always are
    length: int | None = None  # Most bytes of a string in UTF-8; longer ones are none
    alphabet: str | None = None  # The ASCII characters of a string; one with others is none
    tokenizer: Literal["words", "unicode"] = "words"  # Which tokens, with words


@dataclass(frozen=True)
class Reading:
    """Request for private records in one of the forms of ``what``."""

    # How many records each item of a finite space has; each user's histogram over them; the items of a continuous
    # space; each user's mean of some expressions; each user's strings of a column.
    what: Literal["counts", "bags", "points", "means", "texts"]
    by_user: bool = False  # For points: whether blocks hold whole users
    expressions: tuple[Expression, ...] = ()  # For means
    column: TextColumn | None = None  # For texts


class BagBlock(Protocol):
    """Histograms of some whole users: entry ``e`` of user ``u``, ``offsets[u] <= e < offsets[u + 1]``."""

    @property
    def users(self) -> Integers:
        """Number of each user."""

    @property
    def offsets(self) -> Integers:
        """Bounds of each user's entries, shape (users + 1,): where they begin, and where the last one's end."""

    @property
    def codes(self) -> Integers:
        """Code of each entry's item, as in :func:`emdp.spaces.items.finite_items`."""

    @property
    def counts(self) -> Integers:
        """Number of the user's records that are that item, at least 1."""


class PointBlock(Protocol):
    """Items of some records; of whole users where ``offsets`` is not None."""

    @property
    def users(self) -> Integers | None:
        """Number of each user, or None."""

    @property
    def offsets(self) -> Integers | None:
        """Bounds of each user's items, shape (users + 1,); None where users do not matter."""

    @property
    def items(self) -> Floats:
        """Encoded items, shape (n, width)."""


class MeanBlock(Protocol):
    """Means of some users' records, in fixed point."""

    @property
    def means(self) -> Integers:
        """Shape (users, expressions): the mean times ``2**exponent``, rounded."""

    @property
    def exponents(self) -> tuple[int, ...]:
        """Exponent of each expression."""


class TextBlock(Protocol):
    """Strings of some whole users: entry ``e`` of user ``u``, ``offsets[u] <= e < offsets[u + 1]``."""

    @property
    def users(self) -> Integers:
        """Number of each user."""

    @property
    def offsets(self) -> Integers:
        """Bounds of each user's entries, shape (users + 1,): where they begin, and where the last one's end."""

    @property
    def texts(self) -> pl.Series:
        """String of each entry, null for records without one; a user's entries are of different strings."""

    @property
    def counts(self) -> Integers:
        """Number of the user's records that have that string, at least 1."""


class BlockEncoder(Protocol):
    """Makes random output of one block of whole users or of records, on whatever machine reads it.

    Blocks are independent: how records are divided into them does not change the law of what all outputs together are.
    An encoder is a frozen value that is pickled to workers, so it holds public facts alone. A block's users are
    numbered by whatever integers; equal numbers are one user.
    """

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """Columns of the output: 64-bit integers, doubles and strings."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns by which rows are the same; the others of such rows may be added up. Empty: every row counts."""

    def encode(self, block: Any) -> Iterator[pl.DataFrame]:
        """Draw the output of a block, in frames of bounded size: this spends."""


@runtime_checkable
class FinishingEncoder(Protocol):
    """An encoder that does one thing more, once on each worker, with the sums over all blocks that it read."""

    def finish(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Return an output of the same columns in place of such sums, which the releaser takes as well: this spends.

        Parameters
        ----------
        sums : polars.DataFrame
            Of at least one row, no two of the same keys.
        """


@runtime_checkable
class EncodedReleaser(Protocol):
    """A releaser that encodes block by block, and then merges."""

    def encoder(self, *, keep_exact: bool) -> BlockEncoder | None:
        """Return the encoder of blocks; None where what is read comes in none.

        Parameters
        ----------
        keep_exact : bool
            Whether the test switch is on, so that what the exact statistic needs is kept beside the output.
        """

    def merge(self, frames: Iterator[pl.DataFrame], *, users: int, keep_exact: bool) -> tuple[Any, Any]:
        """Return the release, from the outputs of all blocks in any order; as ``release`` does."""


class UserEncoder(Protocol):
    """Makes output of blocks of whole users in one pass over them; otherwise as :class:`BlockEncoder`."""

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """Columns of the output: 64-bit integers, doubles and strings."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns by which rows are the same; the others of such rows may be added up."""

    def encode(self, block: Any, parts: Integers | None = None) -> Iterator[pl.DataFrame]:
        """Return the output of a block: this spends.

        Parameters
        ----------
        block : MeanBlock, PointBlock or TextBlock
            Whole users.
        parts : numpy.ndarray of int64, shape (users,), or None
            What each user is asked, by the pass's own numbers; negative: nothing. None: all are asked the same.
        """


@runtime_checkable
class SettlingEncoder(UserEncoder, Protocol):
    """A user encoder whose sums over all users, by one column of text, are settled key by key: noise, and what is left
    out.
    """

    def settle(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Return the release of sums over all users, of some of the keys: this spends.

        Parameters
        ----------
        sums : polars.DataFrame
            No two rows of the same key. Keys are independent: how they are divided does not change the law.
        """


class UserPreparer(Protocol):
    """Makes of users' items what is kept of them for all passes, on whatever machine reads them; otherwise as
    :class:`BlockEncoder`.
    """

    @property
    def width(self) -> int:
        """Numbers kept of a record."""

    def prepare(self, block: PointBlock) -> tuple[Integers, Floats]:
        """Return where each user's records begin and end, at least one each, and their numbers, shape (rows, width)."""


@runtime_checkable
class RepeatedBlocks(Protocol):
    """Blocks of whole users that stay where they are, to be gone over as often as a release has rounds.

    Users have places, ``0, ..., present - 1``, in an order that tells nothing and is the same in every pass; a pass
    that meets other users than the first one fails. Whoever opens them closes them.
    """

    def prepare(self, preparer: UserPreparer) -> None:
        """Have what a preparer makes of items take their place in all passes; before the first one."""

    def present(self) -> int:
        """Return how many users are in the blocks."""

    def encode(
        self, encoder: UserEncoder, parts: Integers | None = None, *, is_last: bool = False
    ) -> Iterator[pl.DataFrame]:
        """Go over all blocks once, and return the sums of an encoder's output, each of some users.

        Parameters
        ----------
        parts : numpy.ndarray of int64, shape (present,), or None
            What the user of each place is asked.
        is_last : bool
            Whether this is the last pass.
        """

    def close(self) -> None:
        """Let go of the blocks."""


@runtime_checkable
class SettlingBlocks(RepeatedBlocks, Protocol):
    """Blocks that stay where they are, of which sums are settled there."""

    def settled(self, encoder: SettlingEncoder) -> Iterator[pl.DataFrame]:
        """Draw what users send, add it up over all of them, and return what an encoder makes of the sums.

        The blocks are read for it, once; nothing is to be kept of them before.
        """

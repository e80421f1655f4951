"""Estimates from a file of messages and a tier's keys: without a table, a ledger or a charge.

The messages are one release, which was charged when they were drawn; whoever has a file of keys has that tier's answer.
"""

import os

import polars as pl

from emdp.answers.message_files import read_keys, read_messages
from emdp.base.checks import check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import EmdpError, UsageError
from emdp.estimators.decoding import decoded_frame

__all__ = ["Decoded", "decode_messages"]


@dataclass(frozen=True, eq=False)
class Decoded:
    """What a tier's readers estimate.

    Attributes
    ----------
    frame : polars.DataFrame
        Rows with intervals, as of the answer's tier.
    tier, users : int
        Whose it is, and how many users sent messages.
    guarantee : str
        What readers of this tier and of weaker ones together are promised.
    """

    frame: pl.DataFrame
    tier: int
    users: int
    guarantee: str


def decode_messages(
    messages: str | os.PathLike[str],
    *,
    keys: str | os.PathLike[str] | None = None,
    tier: int | None = None,
    level: float = 0.95,
) -> Decoded:
    """Return what the readers of a tier estimate from a file of messages.

    Parameters
    ----------
    messages : path
        ``messages.json`` of :meth:`emdp.Answer.write_messages`.
    keys : path, optional
        The tier's keys; without them the last tier, which has none.
    tier : int, optional
        Whose keys they are said to be; by default as the file says.
    level : float
        Coverage of each interval, in (0, 1).

    Raises
    ------
    UsageError
        If a file is malformed, keys are of another release or tier, or others may read them.
    """
    level = check_unit_interval("level", level)
    read = read_messages(messages)
    public = read.messages
    number = public.tiers
    symbols = public.sent
    if keys is not None:
        own = read_keys(keys)
        number = own.tier
        is_own = (own.release, own.digest) == (public.release, read.digest)
        if not is_own or not 1 <= number < public.tiers or len(own.keys) != len(public.sent):
            raise UsageError(
                f"keys {os.fspath(keys)!r} are of another release than these messages, and a key opens the one that it "
                "was drawn for alone; pass the keys that were written with them."
            )
        symbols = (public.sent - own.keys) % public.symbols
    if tier is not None and tier != number:
        have = "without keys there is" if keys is None else "the keys are of"
        raise UsageError(f"tier {tier} was asked for, and {have} tier {number}; pass that tier's keys.")
    try:
        frame = decoded_frame(public, symbols, number, level)
    except (ArithmeticError, EmdpError, LookupError, TypeError, ValueError):
        raise UsageError("messages say of themselves what cannot be; pass them as they were written.") from None
    return Decoded(frame, number, int(public.facts["users"]), read.levels[number - 1])

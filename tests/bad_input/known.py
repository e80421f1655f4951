"""Promises that are known not to be kept, each in a part of emdp that is to be mended; empty when all are.

A fault that is mended makes its entry useless, not wrong: take it out then.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["KNOWN", "Known", "known_fault"]


@dataclass(frozen=True)
class Known:
    """A known fault.

    Parameters
    ----------
    name : str
        What is wrong, in a few words.
    readers : tuple of str
        The readers that meet it.
    promise : str
        Pattern of the promise that is broken.
    place : str
        Pattern of a function of emdp on the way to the error, ``emdp/file.py:function``.
    """

    name: str
    readers: tuple[str, ...]
    promise: str
    place: str


KNOWN: tuple[Known, ...] = ()


def known_fault(reader: str, promise: str, places: Sequence[str]) -> str | None:
    """Return the name of the known fault that an error of a reader is, if it is one."""
    for fault in KNOWN:
        is_such = reader in fault.readers and re.search(fault.promise, promise, re.DOTALL) is not None
        # What a command printed came from no place that could be named.
        if is_such and any(re.search(fault.place, place) for place in places or [""]):
            return fault.name
    return None

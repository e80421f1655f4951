"""Messages with keys on disk: one file for everybody, and one of keys for each stronger reader, its owner's alone.

Both are JSON. A file of keys names the one release that its keys were drawn for, by the release's random name and by a
digest of its messages and of what its tiers promise. It opens no other: with a key that served two messages their
difference would be plain to everybody, so that keys are drawn anew for every release, are written once, and are refused
for any other messages.
"""

import hashlib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.base.files import flush, read_bounded
from emdp.questions.keyed import MOST_KEYED, KeyedMessages

__all__ = ["ReadKeys", "ReadMessages", "read_keys", "read_messages", "write_messages"]

MESSAGES, KEYS = "emdp messages 1", "emdp keys 1"
"""Marks of the two formats."""

LARGEST = 64 * MOST_KEYED
"""Bytes of a file at most."""

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ReadMessages:
    """Messages as they were read: without keys; ``levels`` are the guarantees of the tiers, in words."""

    messages: KeyedMessages
    digest: str
    levels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ReadKeys:
    """Keys of one tier of one release, as they were read."""

    release: str
    digest: str
    tier: int
    keys: Integers


def write_messages(messages: KeyedMessages, folder: Path, levels: Sequence[str]) -> tuple[Path, ...]:
    """Write the files of a release; see :meth:`emdp.Answer.write_messages`."""
    digest = _digest(messages, levels)
    public = folder / "messages.json"
    made = [folder / f"tier-{tier}.keys" for tier in range(1, messages.tiers)]
    for path in (*made, public):
        if os.path.lexists(path):
            raise UsageError(
                f"folder {str(folder)!r} has {path.name!r} already, and no keys are written over; pass another folder."
            )
    shared = {"release": messages.release, "tiers": messages.tiers}
    written: list[Path] = []
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for tier, path in enumerate(made, 1):
            keys = {
                "format": KEYS,
                **shared,
                "tier": tier,
                "messages": digest,
                "keys": messages.keys[tier - 1].tolist(),
            }
            _write(path, keys, 0o600, written)
        whole = {
            "format": MESSAGES,
            **shared,
            "levels": list(levels),
            "symbols": messages.symbols,
            "facts": dict(messages.facts),
            "places": messages.places.tolist(),
            "sent": messages.sent.tolist(),
        }
        _write(public, whole, 0o644, written)
        flush(folder)
    except OSError as error:
        for path in written:
            with suppress(OSError):
                os.unlink(path)
        raise UsageError(
            f"folder {str(folder)!r} cannot take the files ({error.strerror}); pass one that can be written."
        ) from None
    return (public, *made)


def read_messages(path: str | os.PathLike[str]) -> ReadMessages:
    """Return the messages of a file that :func:`write_messages` wrote."""
    found = _read(path, MESSAGES)
    try:
        tiers, symbols, facts = found["tiers"], found["symbols"], found["facts"]
        sent = _integers(found["sent"], symbols)
        places = _integers(found["places"], 2**62)
        levels = tuple(map(str, found["levels"]))
        if not isinstance(facts, dict) or type(tiers) is not int or not 2 <= tiers == len(levels):
            raise ValueError
        if not all(map(str.isprintable, levels)):
            raise ValueError
        if (
            not isinstance(found["release"], str)
            or sent.shape != places.shape
            or facts["users"] * facts.get("each", 1) != len(sent)
        ):
            raise ValueError
    except (LookupError, OverflowError, TypeError, ValueError):
        raise _malformed(path, "messages") from None
    messages = KeyedMessages(
        found["release"], facts, places, sent, (np.zeros(0, dtype=np.int64),) * (tiers - 1), symbols
    )
    return ReadMessages(messages, _digest(messages, levels), levels)


def read_keys(path: str | os.PathLike[str]) -> ReadKeys:
    """Return the keys of a file that :func:`write_messages` wrote, which others must not be able to read."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        mode = 0
    if stat.S_ISREG(mode) and mode & 0o077:
        raise UsageError(
            f"keys {str(path)!r} may be read by others, who would then have this tier's answer; run chmod 600 on it."
        )
    found = _read(path, KEYS)
    try:
        keys = _integers(found["keys"], 2**62)
        if type(found["tier"]) is not int or not all(isinstance(found[name], str) for name in ("release", "messages")):
            raise ValueError
    except (LookupError, OverflowError, TypeError, ValueError):
        raise _malformed(path, "keys") from None
    return ReadKeys(found["release"], found["messages"], found["tier"], keys)


def _digest(messages: KeyedMessages, levels: Sequence[str]) -> str:
    """Return a digest of all that is public of a release, what its tiers promise included."""
    public = [messages.release, dict(messages.facts), messages.symbols, list(levels)]
    found = hashlib.sha256(json.dumps(public, sort_keys=True).encode())
    for column in (messages.places, messages.sent):
        found.update(np.ascontiguousarray(column, dtype="<i8").tobytes())
    return found.hexdigest()


def _write(path: Path, content: Mapping[str, Any], mode: int, written: list[Path]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    written.append(path)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())


def _read(path: str | os.PathLike[str], mark: str) -> Mapping[str, Any]:
    try:
        found = json.loads(read_bounded(path, LARGEST))
    except (OSError, ValueError, RecursionError):
        raise _malformed(path, mark.split()[1]) from None
    if not isinstance(found, dict) or found.get("format") != mark:
        raise _malformed(path, mark.split()[1])
    return found


def _integers(values: Any, limit: int) -> Integers:
    """Return whole numbers from 0 to below a limit as an array."""
    if not isinstance(values, list) or len(values) > MOST_KEYED or any(type(own) is not int for own in values):
        raise ValueError
    found = np.array(values, dtype=np.int64)
    if found.size and (int(found.min()) < 0 or int(found.max()) >= limit):
        raise ValueError
    return found


def _malformed(path: str | os.PathLike[str], what: str) -> UsageError:
    # Nothing of what is in it: it may be of somebody else.
    return UsageError(f"{what} {str(path)!r} cannot be read as such; pass a file that answer.write_messages wrote.")

"""Folders for what memory does not hold: only their owner reads them, and they go, however their process ends.

A folder is held by a lock that the system takes back when the process is gone; by the lock, not by a process's number,
others know it is in use, also in another container that shares the temporary folder. What nobody holds any more is
removed when the next process makes a folder there.
"""

import fcntl
import os
import re
import shutil
import stat
import struct
import tempfile
from contextlib import suppress

__all__ = ["HeldFolder"]

PREFIX = "emdp-held-"
NAME = re.compile(rf"{PREFIX}[0-9a-f]{{32}}")

ACCESS_LIST, OWNER_ALONE = "system.posix_acl_default", ((1, 7), (4, 0), (32, 0))
"""Linux' attribute for the rights of what is made in a folder, and those: all for the owner, none for anybody else."""

NOBODY = 0xFFFFFFFF
"""Stands in the list where a right is of no named user."""

_searched: set[str] = set()
"""Folders in which this process has removed what others left."""


class HeldFolder:
    """A folder of this process in the one for temporary files.

    Attributes
    ----------
    path : str
        Its path: known before it is made, so that no signal can come between.
    """

    def __init__(self) -> None:
        self.path = ""
        self._lock = -1

    def make(self) -> str:
        """Make the folder, and return its path; remove those of processes that are gone.

        Files that others make in it get mode 0600 where the file system has lists of rights; where it has none, the
        folder's own 0700 has to do.
        """
        place = tempfile.gettempdir()
        _remove_dead(place)
        while True:
            self.path = os.path.join(place, f"{PREFIX}{os.urandom(16).hex()}")
            os.mkdir(self.path, 0o700)
            if self._hold():
                return self.path

    def remove(self) -> None:
        """Remove the folder with all that is in it; nothing where it was not made."""
        if self.path:
            shutil.rmtree(self.path, ignore_errors=True)
        self._let_go()

    def _hold(self) -> bool:
        """Take the lock; False where another process took the folder for a dead one before that."""
        try:
            self._lock = _open_folder(self.path)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.stat(self.path), os.fstat(self._lock)):
                raise FileNotFoundError
        except (BlockingIOError, FileNotFoundError):
            self._let_go()
            return False
        except OSError:
            # A file system without locks, where nobody else can take it either.
            self._let_go()
        with suppress(OSError, AttributeError):
            os.setxattr(self.path, ACCESS_LIST, _packed(OWNER_ALONE))
        return True

    def _let_go(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _packed(rights: tuple[tuple[int, int], ...]) -> bytes:
    """Return a list of rights as Linux has it: its version, then for each whose it is, what it allows, and to whom."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", whose, what, NOBODY) for whose, what in rights)


def _open_folder(name: str, place: int | None = None) -> int:
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)


def _remove_dead(place: str) -> None:
    """Remove the folders in a place that nobody holds, once in a process."""
    if place in _searched:
        return
    _searched.add(place)
    with suppress(OSError):
        handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if not _is_safe(os.fstat(handle)):
                return
            for name in filter(NAME.fullmatch, os.listdir(handle)):
                # Held, gone meanwhile, a link, or somebody else's.
                with suppress(OSError):
                    _remove_unheld(handle, name)
        finally:
            os.close(handle)


def _is_safe(status: os.stat_result) -> bool:
    """Say whether nobody else can put another folder of ours under a name that stands there."""
    is_others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX
    return not is_others and status.st_uid in {0, os.geteuid()}


def _remove_unheld(place: int, name: str) -> None:
    folder = _open_folder(name, place)
    try:
        status = os.fstat(folder)
        if status.st_uid == os.geteuid() and not status.st_mode & 0o077:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(name, ignore_errors=True, dir_fd=place)
    finally:
        os.close(folder)

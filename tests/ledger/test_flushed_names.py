"""A new ledger is on the disk before anybody is told of it: its name, too, which is the folder's."""

import os
import stat
from pathlib import Path

import pytest

from emdp.ledger import open_ledger


def test_a_new_ledger_is_whole_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[tuple[int, bool, bytes]] = []
    flush = os.fsync

    def spy(handle: int) -> None:
        status = os.fstat(handle)
        if stat.S_ISREG(status.st_mode):
            others = [name for name in os.listdir(tmp_path) if name.endswith(("-wal", "-journal"))]
            assert not others, "nothing of it is left in a log"
            flushed.append((status.st_ino, (tmp_path / "new.ledger").exists(), os.pread(handle, 2**20, 0)))
        flush(handle)

    monkeypatch.setattr(os, "fsync", spy)
    open_ledger(tmp_path / "new.ledger").close()
    path = tmp_path / "new.ledger"
    assert flushed == [(path.stat().st_ino, False, path.read_bytes())]


def test_the_folder_of_a_new_ledger_is_flushed_after_its_name_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[bool] = []
    flush = os.fsync

    def spy(handle: int) -> None:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode) and os.path.samestat(status, os.stat(tmp_path)):
            flushed.append((tmp_path / "new.ledger").exists())
        flush(handle)

    monkeypatch.setattr(os, "fsync", spy)
    open_ledger(tmp_path / "new.ledger").close()
    assert flushed == [True]
    open_ledger(tmp_path / "new.ledger").close()
    assert flushed == [True], "an old ledger has its name already"

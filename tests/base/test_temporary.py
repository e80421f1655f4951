"""Folders for temporary files: their owner's alone, and gone with their process, even where that was killed."""

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import pytest

from emdp.base import temporary
from emdp.base.temporary import HeldFolder

HOLDING = """
import os, sys
from emdp.base.temporary import HeldFolder
path = HeldFolder().make()
open(os.path.join(path, "records"), "w").close()
print(path, flush=True)
sys.stdin.read()
"""
NAME = f"emdp-held-{'0' * 32}"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(temporary, "_searched", set())
    (tmp_path / "tmp").mkdir(mode=0o700)
    return tmp_path / "tmp"


def make_one() -> None:
    """Make a folder as the next process does, and remove it."""
    temporary._searched.clear()
    folder = HeldFolder()
    folder.make()
    folder.remove()


def test_a_folder_is_its_owners_alone_and_goes(place: Path) -> None:
    folder = HeldFolder()
    path = Path(folder.make())
    assert path.parent == place
    assert path.stat().st_mode & 0o777 == 0o700
    (path / "x").write_text("x")
    folder.remove()
    assert list(place.iterdir()) == []
    folder.remove()


def test_a_folder_that_was_not_made_removes_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(place / "nowhere"))
    folder = HeldFolder()
    with pytest.raises(OSError, match="No such file"):
        folder.make()
    folder.remove()


def has_lists_of_rights(folder: str) -> bool:
    try:
        os.setxattr(folder, temporary.ACCESS_LIST, temporary._packed(temporary.OWNER_ALONE))
    except (AttributeError, OSError):
        return False
    return True


def test_what_others_make_in_it_is_the_owners_alone(place: Path) -> None:
    folder = HeldFolder()
    path = folder.make()
    before = os.umask(0)
    try:
        with duckdb.connect(config={"memory_limit": "20MB", "threads": "1", "temp_directory": path}) as connection:
            connection.execute("CREATE TABLE t AS SELECT range AS a, range * 7 AS b FROM range(4000000)")
            spilled = list(Path(path).iterdir())
            modes = {file.stat().st_mode & 0o777 for file in spilled}
        os.close(os.open(f"{path}/x", os.O_CREAT | os.O_WRONLY, 0o666))
        os.mkdir(f"{path}/below")
        os.close(os.open(f"{path}/below/x", os.O_CREAT | os.O_WRONLY, 0o666))
        modes |= {Path(path, name).stat().st_mode & 0o777 for name in ("x", "below/x")}
    finally:
        os.umask(before)
    assert spilled
    has_lists = has_lists_of_rights(path)
    folder.remove()
    if not has_lists:
        pytest.skip("this file system has no lists of rights")
    assert modes == {0o600}


def test_the_folder_of_a_process_that_was_killed_goes_when_the_next_is_made(place: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(place)},
    )
    with process:
        assert process.stdout is not None
        path = Path(process.stdout.readline().strip())
        make_one()
        assert (path / "records").exists()
        process.kill()
        process.wait()
    assert (path / "records").exists()
    make_one()
    assert list(place.iterdir()) == []


def test_two_folders_of_one_process_leave_each_other_alone(place: Path) -> None:
    one, other = HeldFolder(), HeldFolder()
    paths = {one.make()}
    temporary._searched.clear()
    paths.add(other.make())
    assert {str(path) for path in place.iterdir()} == paths
    one.remove()
    other.remove()


@pytest.mark.parametrize("kind", ["link", "link inside", "open to others", "another name", "file", "another's"])
def test_what_is_not_ours_stays(place: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    precious = place.parent / "precious"
    precious.mkdir(mode=0o700)
    (precious / "x").write_text("x")
    dead = place / NAME
    if kind == "link":
        dead.symlink_to(precious)
    elif kind == "file":
        dead.write_text("x")
    else:
        dead.mkdir(mode=0o755 if kind == "open to others" else 0o700)
        (dead / "inside").symlink_to(precious)
    if kind == "another name":
        dead = dead.rename(place / f"{NAME}0")
    if kind == "another's":
        other = os.geteuid() + 1
        monkeypatch.setattr(temporary, "_is_safe", lambda status: True)
        monkeypatch.setattr(os, "geteuid", lambda: other)
    make_one()
    assert os.path.lexists(dead) == (kind != "link inside")
    assert (precious / "x").read_text() == "x"


@pytest.mark.parametrize(("mode", "is_removed"), [(0o700, True), (0o1777, True), (0o777, False), (0o770, False)])
def test_nothing_is_removed_where_others_can_rename_it(place: Path, mode: int, is_removed: bool) -> None:
    (place / NAME).mkdir(mode=0o700)
    place.chmod(mode)
    make_one()
    assert (place / NAME).exists() != is_removed


def test_a_folder_that_is_taken_for_a_dead_one_before_it_is_held_is_made_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, taken = os.mkdir, []

    def taken_at_once(path: str, mode: int) -> None:
        make(path, mode)
        if len(taken) < 2:
            taken.append(os.open(path, os.O_RDONLY))
            fcntl.flock(taken[-1], fcntl.LOCK_EX)
            if len(taken) == 1:
                os.rmdir(path)

    monkeypatch.setattr(os, "mkdir", taken_at_once)
    folder = HeldFolder()
    path = folder.make()
    assert len(taken) == 2
    for handle in taken:
        os.close(handle)
    make_one()
    assert [str(path) for path in place.iterdir()] == [path]
    folder.remove()


def test_where_there_are_no_locks_folders_are_made_and_none_is_removed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(handle: int, how: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    (place / NAME).mkdir(mode=0o700)
    make_one()
    assert [path.name for path in place.iterdir()] == [NAME]

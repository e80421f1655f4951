"""Only a plain local file of one name is a ledger; a new one appears whole, for its owner, or not at all."""

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import emdp
from emdp.base.errors import LedgerError, UsageError
from emdp.ledger import open_ledger, read_ledger
from emdp.ledger import place as place_module

# Children load the ledger without the rest of emdp, which takes longer than what they do.
ALONE = f"""
import sys, types
package = types.ModuleType("emdp")
package.__path__ = {[str(Path(emdp.__file__).parent)]!r}
sys.modules["emdp"] = package
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "city.ledger"


def test_a_new_ledger_is_one_file_for_its_owner_alone(path):
    with open_ledger(path) as ledger:
        ledger.append("charge", "visits", {"cost": 1})
        assert ledger.path == str(path)
    assert os.listdir(path.parent) == [path.name]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "address", ["mysql://me:secret@host/ledger", "s3://bucket/a", "file:///tmp/a", "postgresql//me:secret@host/ledger"]
)
def test_an_address_is_refused_without_showing_a_password(address):
    for opener in (open_ledger, read_ledger):
        with pytest.raises(UsageError, match="looks like a server's connection") as caught:
            opener(address)
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal", ".lock", "-WAL"])
@pytest.mark.parametrize("is_open", [True, False])
def test_no_ledger_is_made_under_the_name_of_a_file_of_another(path, suffix, is_open):
    other = f"{path}{suffix}"
    with open_ledger(path) as ledger:
        ledger.append("charge", "visits", {"cost": 1})
        if not is_open:
            ledger.close()
        if os.path.lexists(other):
            return
        if suffix == "-WAL" and not is_open:
            # As on a file system that does not tell capitals apart.
            other = f"{path.parent}/CITY.LEDGER-WAL"
            os.symlink(path, path.with_name("CITY.LEDGER"))
        with pytest.raises(LedgerError, match="has the name of a file of ledger"):
            open_ledger(other)
    assert not os.path.lexists(other)


@pytest.mark.parametrize("name", ["", ":memory:", "a\0b"])
def test_what_names_no_file_is_refused(name):
    with pytest.raises(LedgerError, match="names no file"):
        open_ledger(name)


@pytest.mark.parametrize("argument", [None, 3, b"city.ledger"])
def test_what_is_no_path_is_misuse(argument):
    with pytest.raises(UsageError, match="ledger must be a path"):
        open_ledger(argument)


@pytest.mark.parametrize("name", ["a ledger?mode=memory#x.db", "%41.ledger", "größe.ledger", ":memory:x", "'; --"])
def test_odd_names_are_files_like_any_other(tmp_path, name):
    with open_ledger(tmp_path / name) as ledger:
        entry = ledger.append("charge", "visits", {})
    assert os.listdir(tmp_path) == [name]
    assert read_ledger(tmp_path / name).head() == (2, entry.hash)


def test_a_relative_path_keeps_its_meaning_when_the_folder_changes(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    ledger = open_ledger(path.name)
    monkeypatch.chdir("/")
    assert ledger.append("charge", "visits", {}).sequence == 2
    assert ledger.path == str(path)


def test_a_missing_ledger_is_made_only_on_demand(path):
    for opener in (read_ledger, lambda where: open_ledger(where, create=False)):
        with pytest.raises(LedgerError, match="does not exist"):
            opener(path)
    assert os.listdir(path.parent) == []
    open_ledger(path)
    assert open_ledger(path, create=False).head()[0] == 1


def test_an_empty_file_is_refused_and_left_alone(path):
    path.touch()
    for opener in (open_ledger, read_ledger):
        with pytest.raises(LedgerError, match="is empty"):
            opener(path)
    assert path.read_bytes() == b""


def test_links_folders_and_devices_are_refused(path, tmp_path):
    target = tmp_path / "real.ledger"
    open_ledger(target)
    (tmp_path / "folder.ledger").mkdir()
    os.mkfifo(tmp_path / "fifo.ledger")
    (tmp_path / "soft.ledger").symlink_to(target)
    (tmp_path / "broken.ledger").symlink_to(tmp_path / "nothing")
    for name in ("folder.ledger", "fifo.ledger", "soft.ledger", "broken.ledger"):
        with pytest.raises(LedgerError, match="a link, a folder or a device"):
            open_ledger(tmp_path / name)
    assert not (tmp_path / "nothing").exists()


def test_a_second_name_is_refused_under_both(path):
    open_ledger(path)
    other = path.with_name("other.ledger")
    os.link(path, other)
    for name in (path, other):
        with pytest.raises(LedgerError, match="second name"):
            open_ledger(name)
    other.unlink()
    assert open_ledger(path).head()[0] == 1


def test_a_journal_that_sqlite_would_replay_is_refused(path):
    ledger = open_ledger(path)
    path.with_name(path.name + "-journal").touch()
    with pytest.raises(LedgerError, match="-journal"):
        open_ledger(path)
    with pytest.raises(LedgerError, match="-journal"):
        ledger.append("charge", "visits", {})


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_the_log_of_a_lost_ledger_stops_a_new_one(path, suffix):
    path.with_name(path.name + suffix).write_bytes(b"charges, perhaps")
    with pytest.raises(LedgerError, match="is left of it"):
        open_ledger(path)
    assert os.listdir(path.parent) == [path.name + suffix]


@pytest.mark.parametrize("folder", ["missing", "file"])
def test_a_folder_that_cannot_hold_a_ledger(tmp_path, folder):
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError, match=r"cannot be (created|reached)"):
        open_ledger(tmp_path / folder / "city.ledger")


def test_a_name_too_long_for_the_disk(tmp_path):
    with pytest.raises(LedgerError, match=r"cannot be (created|reached)"):
        open_ledger(tmp_path / ("a" * 300))


# No file of the process may grow, as on a disk without room.
NO_ROOM = """
import resource, sys
from emdp.base.errors import LedgerResourceError
from emdp.ledger import open_ledger
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
try:
    open_ledger(sys.argv[1])
except LedgerResourceError as error:
    print(error.exit_status, error)
"""


@pytest.mark.parametrize("room", [0, 5000, 20_000])
def test_a_full_disk_takes_no_ledger_and_says_so(path, room):
    command = [sys.executable, "-c", ALONE + NO_ROOM, str(path), str(room)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith(f"1 ledger {path} cannot be created, for the disk is full or fails; make room")
    assert os.listdir(path.parent) == []


def test_of_two_that_create_at_once_the_second_opens_the_firsts(path, monkeypatch):
    write = place_module._write_first_entry

    def write_late(temporary, *, test):
        write(temporary, test=test)
        monkeypatch.undo()
        winner.append(open_ledger(path).append("charge", "visits", {"cost": 1}))

    winner = []
    monkeypatch.setattr(place_module, "_write_first_entry", write_late)
    assert open_ledger(path).head() == (2, winner[0].hash)
    assert os.listdir(path.parent) == [path.name]


def test_a_log_opened_by_the_one_that_came_first_is_no_leftover(path, monkeypatch):
    exists = iter([True, True])
    monkeypatch.setattr(place_module.os.path, "lexists", lambda _: next(exists, False))
    place_module.create_file(path, test=False)


# Run as nobody where the tests run as root, since root may write everywhere; nobody may be unable to import.
UNPRIVILEGED = """
import os, sys
import emdp.ledger.sqlite
from emdp.base.errors import LedgerError
from emdp.ledger import open_ledger, read_ledger
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
for opener in (open_ledger, read_ledger):
    try:
        print(opener(sys.argv[1]).head()[0])
    except LedgerError as error:
        print(error)
"""


@pytest.fixture
def open_folder():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


def as_nobody(path):
    command = [sys.executable, "-c", ALONE + UNPRIVILEGED, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.splitlines()


def test_a_folder_without_permission(open_folder):
    open_folder.chmod(0o555)
    written, read = as_nobody(open_folder / "city.ledger")
    assert "cannot be created" in written
    assert "does not exist" in read
    assert os.listdir(open_folder) == []


def test_a_file_that_may_be_read_is_read_and_not_charged(open_folder):
    path = open_folder / "city.ledger"
    with open_ledger(path) as ledger:
        ledger.append("charge", "visits", {})
    path.chmod(0o444)
    open_folder.chmod(0o555)
    written, read = as_nobody(path)
    assert "cannot be written" in written
    assert read == "2"
    assert os.listdir(open_folder) == [path.name]


def test_a_file_that_may_not_be_read(open_folder):
    path = open_folder / "city.ledger"
    open_ledger(path).close()
    path.chmod(0o000)
    written, read = as_nobody(path)
    if os.getuid() == 0:
        assert "cannot be written" in written
        assert "cannot be opened" in read

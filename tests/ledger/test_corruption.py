"""Damaged bytes: whatever happens to the file, it is refused or reads exactly as it was."""

import random

import pytest

from emdp.base.errors import LedgerError
from emdp.ledger import open_ledger, read_ledger

MARK = "a query that marks its place"


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Return bytes and entries of a ledger of several pages, one payload spread over pages of its own."""
    path = tmp_path_factory.mktemp("sound") / "city.ledger"
    with open_ledger(path) as ledger:
        ledger.append("budget", "visits", {"budget": {"alpha": 60.0, "delta": 1e-8}})
        for number in range(30):
            ledger.append("charge", "visits", {"query": MARK, "number": number})
        ledger.append("charge", "visits", {"query": "long " * 2500})
    return path.read_bytes(), read_ledger(path).entries()


def is_noticed(folder, damaged, entries):
    """Say whether a damaged file is refused; raise if it opens and reads otherwise than before."""
    path = folder / "damaged.ledger"
    path.write_bytes(damaged)
    try:
        found = read_ledger(path).entries()
    except LedgerError:
        return True
    finally:
        for left in folder.iterdir():
            left.unlink()
    assert found == entries
    return False


def flipped(content, offset, mask):
    changed = bytearray(content)
    changed[offset] ^= mask
    return bytes(changed)


def check_flips(folder, sound, offsets):
    content, entries = sound
    generator = random.Random(1)
    return [
        is_noticed(folder, flipped(content, offset, generator.choice((1, 2, 4, 8, 16, 32, 64, 128, 255))), entries)
        for offset in offsets
    ]


@pytest.mark.slow
def test_flipped_bytes_of_the_header(sound, tmp_path):
    noticed = check_flips(tmp_path, sound, [offset for offset in range(100) for _ in range(4)])
    assert any(noticed)


def test_damage_beside_the_entries_is_refused_before_an_append_meets_it(sound, tmp_path):
    content, _ = sound
    path = tmp_path / "city.ledger"
    path.write_bytes(flipped(content, 39, 1))
    for opener in (open_ledger, read_ledger):
        with pytest.raises(LedgerError, match="damaged SQLite file"):
            opener(path)


def test_flipped_bytes_anywhere(sound, tmp_path):
    noticed = check_flips(tmp_path, sound, range(100, len(sound[0]), 97))
    assert sum(noticed) > len(noticed) / 2


@pytest.mark.full
def test_every_flipped_byte(sound, tmp_path):
    noticed = check_flips(tmp_path, sound, range(len(sound[0])))
    assert sum(noticed) > len(noticed) / 2


def test_every_flip_in_a_payload_is_noticed(sound, tmp_path):
    content, entries = sound
    places = [content.find(MARK.encode())]
    while places[-1] >= 0:
        places.append(content.find(MARK.encode(), places[-1] + 1))
    assert len(places) == 31
    noticed = [is_noticed(tmp_path, flipped(content, place + 3, 1 << (place % 8)), entries) for place in places[:-1]]
    assert all(noticed)


def test_truncated_files_are_refused(sound, tmp_path):
    content, entries = sound
    lengths = {
        *range(0, len(content), 251),
        *range(0, len(content), 4096),
        1,
        15,
        16,
        99,
        100,
        len(content) - 1,
    }
    for length in sorted(lengths):
        # The space after the last payload holds nothing.
        assert is_noticed(tmp_path, content[:length], entries) or not any(content[length:]), length


def test_blocks_of_zeros_and_garbage(sound, tmp_path):
    content, entries = sound
    generator = random.Random(2)
    for start in range(0, len(content), 512):
        end = min(start + 512, len(content))
        for block in (bytes(end - start), generator.randbytes(end - start)):
            is_noticed(tmp_path, content[:start] + block + content[end:], entries)
    for start in range(0, len(content), 4096):
        assert is_noticed(tmp_path, content[:start] + bytes(4096) + content[start + 4096 :], entries), start
    assert is_noticed(tmp_path, generator.randbytes(len(content)), entries)
    assert is_noticed(tmp_path, b"time,query,alpha\n" * 100, entries)


def test_swapped_pages(sound, tmp_path):
    content, entries = sound
    pages = [content[start : start + 4096] for start in range(0, len(content), 4096)]
    for first in range(len(pages)):
        for second in range(first):
            changed = list(pages)
            changed[first], changed[second] = pages[second], pages[first]
            assert is_noticed(tmp_path, b"".join(changed), entries), (first, second)


def test_bytes_after_the_end_do_no_harm_or_are_refused(sound, tmp_path):
    content, entries = sound
    for tail in (b"\0", bytes(4096), b"more" * 2048):
        is_noticed(tmp_path, content + tail, entries)


def test_a_damaged_ledger_is_never_charged(sound, tmp_path):
    content, _ = sound
    path = tmp_path / "city.ledger"
    path.write_bytes(content)
    ledger = open_ledger(path)
    damaged = flipped(content, content.find(MARK.encode()), 1)
    path.write_bytes(damaged)
    with pytest.raises(LedgerError):
        open_ledger(path)
    with pytest.raises(LedgerError):
        ledger.verify()
    assert path.read_bytes() == damaged

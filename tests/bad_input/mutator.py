"""Mutations of bytes, of texts and of trees of values, each drawn from a seeded generator."""

import copy
import math
import random
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["mutated_bytes", "mutated_text", "mutated_tree"]

ODD_NUMBERS = (0, 1, 2, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)

ODD_BYTES = (
    b"\x00", b"\xff", b"\n", b"\r\n", b'"', b"'", b",", b"\t", b";", b"\x00" * 64, b"\xff" * 16, b"\xef\xbb\xbf",
    b"\xc3\x28", b"\xed\xa0\x80", b"\xf0\x9f\x92\xa9", b"PAR1", b"PK\x03\x04", b"\x1f\x8b\x08", b"nan", b"inf",
    b"-1e999", b"1e308", b"9" * 40, b"NULL", b'""', b"=cmd()",
)  # fmt: skip
"""What a mutation puts between bytes."""

ODD_TEXTS = (
    "", " ", "\n", "\n\n", "\t", "\x00", "\x07", "\x1b[31m", "\u202e", "\ufeff", "\ud800", "é", "\U0001f4a9", '"',
    "'", '"""', "'''", "[", "]", "[[", "]]", "{", "}", "{{", "(", ")", "=", "==", ",", ".", "..", "#", "\\", "\\u0000",
    "\\ud800", "/", "%", "*", "?", "[a]", "$", ";", "--", "-", "+", "~", "null", "true", "false", "none", "nan", "inf",
    "-inf", "-0", "0", "1", "-1", "0.5", "1e308", "1e999", "-1e999", "1e-400", "0x1F", "0b1", "1_000", "01", "9" * 25,
    "9" * 5000, "2026-11-20", "2026-02-30", "23:59:60", "1979-05-27T07:32:00Z", "[" * 3000, "{a=" * 800, "a." * 2000,
    "A" * 3000, "FILL IN", "{period}", "{other}", "::", "a::b", "main.visits", "unknown", "visits", "who", "x",
)  # fmt: skip
"""What a mutation puts into a text: quotes, brackets, numbers of every size, controls, words of the formats."""

ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 7, 0.0, -0.0, 0.5, 1.0, -1.5, 1e-320, 1e308, -1e308, math.nan, math.inf,
    -math.inf, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**25, 10**400, "", " ", "x", "0", "1.5", "nan", "\x00",
    "\x1b[31m", "\u202e", "\ud800", "é", "A" * 3000, "unknown", "km", "error", "neutral", "clamp", "interval", "grid",
    "product", [], {}, [[]], [{}], {"": ""}, {"kind": "product"}, [None], [0, 0], [1, 2], [1, 2, 3, 4], ["a", "a"],
    ["a", 1], [True, 1], {"a": "b"}, {"x": {"x": {"x": {}}}},
)  # fmt: skip
"""What stands in a tree in place of something else."""

WORDS = re.compile(r"[A-Za-z_]\w*|-?[\d.]+|\s+|.", re.DOTALL)


def mutated_bytes(rng: random.Random, content: bytes, others: Sequence[bytes] = (), *, tail: int = 0) -> bytes:
    """Return a changed copy of ``content``; half of all places lie in its last ``tail`` bytes, where that is given."""
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 1, 2, 3, 8))):
        start = _place(rng, len(changed), tail)
        _BYTE_WAYS[rng.randrange(len(_BYTE_WAYS))](rng, changed, start)
        if others and rng.random() < 0.05:
            other = rng.choice(others)
            changed[_place(rng, len(changed), tail) :] = other[rng.randrange(len(other) + 1) :]
    return bytes(changed)


def mutated_text(rng: random.Random, text: str, others: Sequence[str] = ()) -> str:
    """Return a changed copy of a text, a word, a line or a character at a time."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        way = rng.randrange(8)
        if way < 5:
            pieces = WORDS.findall(text) or [""]
            _change_list(rng, pieces, (*ODD_TEXTS, *pieces[:1]))
            text = "".join(pieces)
        elif way < 7:
            lines = text.split("\n")
            _change_list(rng, lines, (rng.choice(ODD_TEXTS), rng.choice((*others, text)).split("\n")[0]))
            text = "\n".join(lines)
        else:
            text = text[: rng.randrange(len(text) + 1)]
    return text[:200_000]


def mutated_tree(rng: random.Random, tree: Any) -> Any:
    """Return a changed copy of nested mappings and lists, as JSON and TOML have them."""
    root = [copy.deepcopy(tree)]
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        holders = list(_holders(root))
        holder, key = rng.choice(holders)
        way = rng.randrange(6)
        if holder is root:
            # The whole is rarely exchanged: nothing would be left to read.
            if rng.random() < 0.1:
                root[0] = copy.deepcopy(rng.choice(ODD_VALUES))
        elif way == 0:
            del holder[key]
        elif way == 1 and isinstance(holder, dict):
            holder[rng.choice(("", "x", "kind", "\x00", "unknown", str(key).upper(), "é"))] = holder.pop(key)
        elif way == 2:
            source, place = rng.choice(holders)
            holder[key] = copy.deepcopy(source[place])
        elif way == 3 and isinstance(holder[key], str):
            holder[key] = mutated_text(rng, holder[key])
        elif way == 4 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(rng.choice(holder)))
        else:
            holder[key] = copy.deepcopy(rng.choice(ODD_VALUES))
    return root[0]


def _place(rng: random.Random, length: int, tail: int) -> int:
    low = max(0, length - tail) if tail and rng.random() < 0.5 else 0
    return rng.randrange(low, length) if length > low else 0


def _flip(rng: random.Random, changed: bytearray, start: int) -> None:
    if changed:
        changed[start] ^= 1 << rng.randrange(8)


def _set(rng: random.Random, changed: bytearray, start: int) -> None:
    if changed:
        changed[start] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))


def _number(rng: random.Random, changed: bytearray, start: int) -> None:
    packed = struct.pack("<Q", rng.choice(ODD_NUMBERS))[: rng.choice((1, 2, 4, 8))]
    changed[start : start + len(packed)] = packed if rng.random() < 0.5 else packed[::-1]


def _delete(rng: random.Random, changed: bytearray, start: int) -> None:
    del changed[start : start + _run(rng)]


def _insert(rng: random.Random, changed: bytearray, start: int) -> None:
    changed[start:start] = rng.choice((*ODD_BYTES, rng.randbytes(rng.randrange(1, 9))))


def _replace(rng: random.Random, changed: bytearray, start: int) -> None:
    put = rng.choice(ODD_BYTES)
    changed[start : start + len(put)] = put


def _repeat(rng: random.Random, changed: bytearray, start: int) -> None:
    changed[start:start] = changed[start : start + _run(rng)]


def _swap(rng: random.Random, changed: bytearray, start: int) -> None:
    size = _run(rng)
    other = rng.randrange(len(changed)) if changed else 0
    first, second = sorted((start, other))
    if first + size <= second:
        one, two = changed[first : first + size], changed[second : second + size]
        changed[second : second + size], changed[first : first + size] = one, two


def _zero(rng: random.Random, changed: bytearray, start: int) -> None:
    size = min(_run(rng), len(changed) - start)
    changed[start : start + size] = bytes(size)


def _cut(rng: random.Random, changed: bytearray, start: int) -> None:
    # Most cuts leave nothing that could be read, so not every draw is one.
    if rng.random() < 0.4:
        del changed[start:]


_BYTE_WAYS: tuple[Callable[[random.Random, bytearray, int], None], ...] = (
    _flip, _flip, _set, _set, _number, _delete, _insert, _replace, _repeat, _swap, _zero, _cut,
)  # fmt: skip


def _run(rng: random.Random) -> int:
    return rng.choice((1, 1, 2, 4, 8, 32, 128, 512))


def _change_list(rng: random.Random, pieces: list[str], odd: Sequence[str]) -> None:
    place, other = rng.randrange(len(pieces)), rng.randrange(len(pieces))
    way = rng.randrange(7)
    if way == 0:
        del pieces[place : place + rng.randint(1, 3)]
    elif way == 1:
        pieces.insert(place, rng.choice(odd))
    elif way in (2, 3):
        pieces[place] = rng.choice(odd)
    elif way == 4:
        pieces[place], pieces[other] = pieces[other], pieces[place]
    elif way == 5:
        pieces[place:place] = pieces[min(place, other) : max(place, other) + 1]
    else:
        pieces[place] = pieces[other]


def _holders(tree: Any) -> Any:
    """Yield every place in a tree: what holds it, and its key there."""
    keys: Any = list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield tree, key
        yield from _holders(tree[key])

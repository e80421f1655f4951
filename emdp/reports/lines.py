"""Places of the keys of a TOML text: ``tomllib`` reads values without their lines."""

import tomllib
from collections.abc import Mapping

from emdp.base.classes import dataclass

__all__ = ["KeyPath", "Place", "line_of", "locate"]

KeyPath = tuple[str | int, ...]
"""Keys and positions in arrays, from the outermost: ``("entry", 0, "query")``."""

_SPACE = " \t"
_QUOTES = ('"""', "'''", '"', "'")
"""Quotes around a string, the longer ones first."""

_DIGITS = {"x": 2, "u": 4, "U": 8}
"""Escapes by number, and how many hexadecimal digits they have."""


@dataclass(frozen=True)
class Place:
    """Place of a key."""

    line: int  # Line of the key, or of the header of its table; the first line is 1
    # For a string the line that each line of its value stands in; empty for any other value.
    lines: tuple[int, ...] = ()


def locate(text: str) -> dict[KeyPath, Place]:
    """Return where every key, table and member of an array of tables stands in a text that ``tomllib`` has read.

    Parameters
    ----------
    text : str
        Valid TOML; what it returns for any other text means nothing.

    >>> places = locate(chr(10).join(["title = 'x'", "[[entry]]", "query = '''", "SELECT", "1'''"]))
    >>> places["title",].line, places["entry", 0].line, places["entry", 0, "query"].lines
    (1, 2, (4, 5))
    """
    return _Scanner(text.replace("\r\n", "\n")).run()


def line_of(places: Mapping[KeyPath, Place], *path: str | int) -> int:
    """Return the line of a key, or of the nearest table around it that has one; 1 where there is none.

    >>> line_of({("entry", 0): Place(7)}, "entry", 0, "query")
    7
    """
    for length in range(len(path), 0, -1):
        if path[:length] in places:
            return places[path[:length]].line
    return 1


class _Scanner:
    """Steps through a text once, and notes the places of what it passes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 1
        self.places: dict[KeyPath, Place] = {}
        self.counts: dict[KeyPath, int] = {}

    def run(self) -> dict[KeyPath, Place]:
        table: KeyPath = ()
        while self.skip():
            if self.take("[["):
                table = self.header("]]", is_array=True)
            elif self.take("["):
                table = self.header("]", is_array=False)
            else:
                self.pair(table)
        return self.places

    def skip(self) -> bool:
        """Go past blanks, ends of lines and comments; say whether anything is left."""
        while self.at < len(self.text):
            if self.text[self.at] == "#":
                self.go(self.text.find("\n", self.at))
            elif self.text[self.at] in f"{_SPACE}\n":
                self.go(self.at + 1)
            else:
                return True
        return False

    def go(self, place: int) -> str:
        """Move to a place, -1 for the end; return the text on the way."""
        passed = self.text[self.at : place if place >= 0 else len(self.text)]
        self.line += passed.count("\n")
        self.at += len(passed)
        return passed

    def take(self, word: str) -> bool:
        is_there = self.text.startswith(word, self.at)
        if is_there:
            self.go(self.at + len(word))
        return is_there

    def header(self, closing: str, *, is_array: bool) -> KeyPath:
        line = self.line
        *around, last = self.key()
        self.take(closing)
        path = (*self.resolved(around), last)
        if is_array:
            number = self.counts.get(path, 0)
            self.counts[path] = number + 1
            self.places.setdefault(path, Place(line))
            path = (*path, number)
        self.places[path] = Place(line)
        return path

    def resolved(self, keys: list[str]) -> KeyPath:
        """Return the path of a table in a header, which within an array of tables is in its last member."""
        path: KeyPath = ()
        for key in keys:
            path = (*path, key)
            if path in self.counts:
                path = (*path, self.counts[path] - 1)
        return path

    def key(self) -> list[str]:
        """Return a key, dots and quotes resolved, and stand behind it."""
        parts = []
        while True:
            self.go_blank()
            opening = self.text[self.at : self.at + 1]
            if opening and opening in "\"'":
                parts.append(self.quoted_key(opening))
            else:
                start = self.at
                while self.at < len(self.text) and self.text[self.at] not in f"{_SPACE}.=]\n":
                    self.at += 1
                parts.append(self.text[start : self.at])
            self.go_blank()
            if not self.take("."):
                return parts

    def go_blank(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in _SPACE:
            self.at += 1

    def quoted_key(self, quote: str) -> str:
        start = self.at
        self.string(quote)
        (key,) = tomllib.loads(f"{self.text[start : self.at]} = 0")
        return key

    def pair(self, table: KeyPath) -> None:
        line = self.line
        keys = self.key()
        self.take("=")
        self.go_blank()
        for length in range(1, len(keys) + 1):
            self.places.setdefault((*table, *keys[:length]), Place(line))
        path = (*table, *keys)
        lines = self.value(path)
        if lines:
            self.places[path] = Place(line, lines)

    def value(self, path: KeyPath) -> tuple[int, ...]:
        """Go past a value; return the lines of a string's lines."""
        for quote in _QUOTES:
            if self.text.startswith(quote, self.at):
                return self.string(quote)
        if self.take("["):
            number = 0
            while self.skip() and not self.take("]"):
                if not self.take(","):
                    self.places[*path, number] = Place(self.line)
                    self.value((*path, number))
                    number += 1
        elif self.take("{"):
            while self.skip() and not self.take("}"):
                if not self.take(","):
                    self.pair(path)
        else:
            start = self.at
            while self.at < len(self.text) and self.text[self.at] not in ",]}#\n":
                self.at += 1
            if self.at == start:
                # Only in text that is no TOML, which must not keep the scan in one place.
                self.go(start + 1)
        return ()

    def string(self, quote: str) -> tuple[int, ...]:
        """Go past a string; return the line of each line of its value."""
        self.take(quote)
        if len(quote) == 3:
            self.take("\n")
        lines, is_empty = [self.line], True
        while self.at < len(self.text) and not self.text.startswith(quote, self.at):
            sign = self.sign(is_literal=quote[0] == "'")
            if sign == "\n":
                lines.append(self.line)
            elif not sign and is_empty:
                lines[-1] = self.line
            is_empty = sign == "\n" or (is_empty and not sign)
        self.take(quote)
        # Up to two quotes may stand right before the three that close.
        while len(quote) == 3 and self.text.startswith(quote[0], self.at):
            self.at += 1
        return tuple(lines)

    def sign(self, *, is_literal: bool) -> str:
        """Go past one character of a string; return it, or nothing for a backslash that joins two lines."""
        if is_literal or self.text[self.at] != "\\":
            return self.go(self.at + 1)
        self.at += 1
        mark = self.text[self.at : self.at + 1]
        if mark and mark in f"{_SPACE}\n":
            while self.at < len(self.text) and self.text[self.at] in f"{_SPACE}\n":
                self.go(self.at + 1)
            return ""
        digits = self.text[self.at + 1 : self.at + 1 + _DIGITS.get(mark, 0)]
        self.at += 1 + len(digits)
        is_end = mark == "n" or (digits != "" and int(digits, 16) == ord("\n"))
        return "\n" if is_end else "x"

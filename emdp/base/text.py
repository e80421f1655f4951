"""Text of several lines that a notebook and the prompt of Python show as it is."""

__all__ = ["Text"]


class Text(str):
    """A text whose ``repr`` is itself, so that the last line of a cell shows its lines and no ``\\n``.

    >>> Text("two\\nlines")
    two
    lines
    >>> Text("a") == "a", Text("a") + "b"
    (True, 'ab')
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

"""Problems of a definition, each with its line."""

from emdp.base.classes import dataclass

__all__ = ["Problem"]


@dataclass(frozen=True)
class Problem:
    """Problem of a definition.

    >>> print(Problem(12, "the entry has no title; add one.", "places.toml"))
    places.toml:12: the entry has no title; add one.
    """

    line: int  # In the definition's file, from 1
    text: str
    file: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"

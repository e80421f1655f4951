"""Public facts about an engine before it is loaded: its constructor, and the sources that are its own."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from emdp.base.classes import dataclass
from emdp.tables.base import Source

if TYPE_CHECKING:
    from emdp.tables.engines.base import Engine
    from emdp.tables.facts import TableFacts
    from emdp.tables.statements.rules import Breach

__all__ = ["EngineKind", "Opener"]


class Opener(Protocol):
    """Opener of rows that an engine reads where they are. Nothing heavy is loaded before something is opened."""

    def is_frame(self, source: object) -> bool:
        """Say whether something is a frame of the engine, without loading the engine."""

    def open_frame(self, frame: object) -> Source:
        """Return the source of a frame.

        Raises
        ------
        UsageError
            If it is one that the engine does not take.
        """

    def open_table(self, table: str) -> Source:
        """Return the source of the table that ``"engine::table"`` names; whether there is one is looked at later."""

    def is_same(self, one: object, other: object) -> bool:
        """Say whether both are sources of the engine and compute the same rows."""

    def comparable(self, one: str, other: str) -> tuple[str, str]:
        """Return the names of two tables, in small letters, as far as they can differ if they are one table."""


@dataclass(frozen=True)
class EngineKind:
    """An entry of the table of engines.

    Parameters
    ----------
    make : callable
        Loads and returns the engine.
    opener : Opener, optional
        For an engine with frames and tables of its own; files and frames in memory are DuckDB's.
    broken_links : callable, optional
        For an engine that joins tables which are linked: the broken rules of the links of a table, with numbers of rows
        or users, for the owner alone.
    """

    make: "Callable[[], Engine]"
    opener: Opener | None = None
    broken_links: "Callable[[TableFacts], tuple[Breach, ...]] | None" = None

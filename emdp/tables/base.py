"""Base class of sources of rows, and the closing off of a DuckDB connection that is given their rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, ClassVar

from emdp.base.errors import DataRuleError, EmdpError, raise_alone

__all__ = [
    "CLOSED",
    "DUCKDB",
    "DUCKDB_SEPARATOR",
    "OTHER_COLUMNS",
    "Source",
    "SourceBusyError",
    "check_types",
    "create_view",
    "lock",
    "quote_list",
    "quote_name",
    "quote_text",
    "type_name",
]

DUCKDB_SEPARATOR = "::"

DUCKDB = "duckdb"
"""Name of the engine of all other sources."""

OTHER_COLUMNS = (
    "the source has other columns, or columns of other types, than it was opened with; open it again, and leave it as "
    "it is while it is read; what was charged stays charged."
)
"""Error of a statement that an engine could compute on no rows, and then could not."""

CLOSED: Mapping[str, str] = MappingProxyType(
    {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",
        "default_collation": "",
        "default_order": "ASCENDING",
        "default_null_order": "NULLS_LAST",
        "integer_division": "false",
        "ieee_floating_point_ops": "true",
        "error_on_division_by_zero": "true",
    }
)
"""Settings of every connection: nothing is loaded, no Python variable can be reached, and what a statement means is
what it means with these."""


class SourceBusyError(EmdpError):
    """A source is held for writing, and was not released within the time that its owner is ready to wait."""


class Source(ABC):
    """A place that rows can be read from, again and again.

    Attributes
    ----------
    is_text : bool
        Whether every column is text, whatever the space makes of it.
    is_opened_anew : bool
        Whether a statement opens all that it reads, as a frame and single files: an instance may run one after the
        other. A database that is attached needs an instance of its own.
    engine : str
        What runs statements on its rows: a name of :data:`emdp.tables.registry.ENGINES`.
    """

    default_name: str
    is_text: ClassVar[bool] = False
    is_opened_anew: ClassVar[bool] = False
    engine: ClassVar[str] = DUCKDB

    @abstractmethod
    def schema(self) -> dict[str, str]:
        """Return column names and DuckDB types, in order."""

    def paths(self) -> list[str]:
        """Return the files that a statement opens, where it opens all that it reads."""
        return []

    def check_files(self, columns: Sequence[str]) -> None:
        """Check that all files have the columns alike, where there may be several.

        Raises
        ------
        DataRuleError
            Naming the first column that differs.
        """
        del columns

    def check_schema(self, declared: Mapping[str, str], columns: Sequence[str]) -> None:
        """Check that all files have the declared columns, of the declared types.

        Raises
        ------
        DataRuleError
            Naming the first column that differs.
        """
        self.check_files(columns)
        check_types(self.schema(), declared, columns)

    def folder_columns(self) -> tuple[str, ...]:
        """Return the names that stand in the folders' names alone, as ``week`` in ``week=2026-W47``; no columns."""
        return ()

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a data version: a hash of public metadata that changes when the data may have changed."""

    def marks(self) -> tuple[list[str], list[str], list[str]]:
        """Return marks of the files: to keep, to look for under other names of a table, and of their state alone.

        See :func:`emdp.tables.files.file_marks` and :func:`emdp.tables.files.state_marks`; the last are kept, too.
        """
        return [], [], []

    def places(self) -> list[str]:
        """Return marks of where the data are, whatever state they are in; see :func:`emdp.tables.files.place_marks`."""
        return []

    @property
    def view_digest(self) -> str | None:
        """Hash of the view that the owner wrote of the files; None where the rows are theirs."""
        return None

    @abstractmethod
    def attach(self, connection: Any, view: str = "source_rows") -> list[str]:
        """Make the rows a view of an instance of their own; return the files it must still open.

        It is made where the statement looks for names, which is no place of the source's: nothing in a file is found
        there. Nor is it temporary: temporary names come before those that a view of a file means.
        """

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep writers out meanwhile, where the source knows of writers; see :meth:`emdp.tables.Table.held`."""
        yield


def check_types(found: Mapping[str, str], declared: Mapping[str, str], columns: Sequence[str]) -> None:
    """Check that some columns were found with their declared types.

    Raises
    ------
    DataRuleError
        Naming the first column that differs.

    >>> check_types({"x": "DOUBLE"}, {"x": "DOUBLE"}, ["x"])
    """
    for column in columns:
        if _compared(found.get(column)) != _compared(declared[column]):
            other = f" (it is of type {type_name(found[column])} now)" if column in found else ""
            raise DataRuleError(
                f"source has no column {column!r} of type {type_name(declared[column])}{other}; open it again, or "
                "correct the declared columns, or the file."
            )


def _compared(kind: str | None) -> str | None:
    # The values that an ENUM lists may be private: whether they were guessed right must not be said.
    return "ENUM" if kind is not None and type_name(kind) == "ENUM" else kind


def quote_name(name: str) -> str:
    """Return an SQL identifier in double quotes.

    >>> quote_name('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """Return an SQL string literal; DuckDB's plain literals know no escapes but the doubled quote.

    >>> quote_text("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def quote_list(texts: Sequence[str]) -> str:
    """Return an SQL list of string literals.

    >>> quote_list(["a", "b"])
    "['a', 'b']"
    """
    return "[" + ", ".join(quote_text(text) for text in texts) + "]"


def type_name(kind: str) -> str:
    """Return a DuckDB type without its parameters, which may list private values.

    >>> type_name("DECIMAL(10,2)"), type_name("ENUM('a', 'b')")
    ('DECIMAL', 'ENUM')
    """
    return kind.split("(", maxsplit=1)[0].strip().upper()


def create_view(connection: Any, relation: str, view: str = "source_rows", *, columns: str = "*") -> None:
    """Make some columns of a relation a view of a DuckDB instance.

    Raises
    ------
    DataRuleError
        If DuckDB cannot read the relation.
    """
    import duckdb

    try:
        connection.execute(f"CREATE VIEW {quote_name(view)} AS SELECT {columns} FROM {relation}")
    except duckdb.Error:
        raise_alone(
            DataRuleError(
                "source cannot be read as what its name says it is; check that the file is whole and of that format."
            )
        )


def lock(connection: Any) -> None:
    """Leave a connection what was allowed so far, and let nothing change that."""
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")

"""A private table as its owner declares it: where its rows are, who its users are, what distance means in it."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from emdp.base.checks import check_finite, check_table_name
from emdp.base.classes import dataclass
from emdp.base.errors import DataRuleError, UsageError
from emdp.base.forks import check_fork
from emdp.base.frames import find_component
from emdp.questions.names import Names, PrivateNames
from emdp.spaces import Grid, Space
from emdp.spaces.combined.elsewhere import COLUMN
from emdp.tables.column_types import parsed_columns
from emdp.tables.declared import check_arguments, check_records, check_text_types, check_version, column_remedy
from emdp.tables.engines.duckdb.source import DEFAULT_WAIT
from emdp.tables.facts import TableFacts, UserList
from emdp.tables.links import linked_tables
from emdp.tables.public import is_same_source, make_user_list, read_public
from emdp.tables.released import of_public
from emdp.tables.row_kinds import public_kinds, record_kinds
from emdp.tables.source import CsvSource, open_source
from emdp.tables.space_types import check_space_types, extended_space
from emdp.tables.statements.bags import ELSEWHERE

if TYPE_CHECKING:
    from emdp.tables.engines.base import Engine

__all__ = ["Table", "UserList", "read"]


@dataclass(frozen=True, eq=False)
class Table(TableFacts):
    """A private table, as declared to :func:`emdp.read`; no record of it has been looked at.

    Attributes
    ----------
    name : str
        Its name in SQL and in the ledger.
    user : str
        The column that says whose record a row is.
    space : Space
        The item space of its records.
    users : UserList
        The public users.
    records : int or None
        The public number of records that every user has, where declared.
    schema : mapping of str to str
        Column names and DuckDB types.
    version : str or None
        The declared data version, where there is one.
    shares : str or None
        Name of the table whose budget pays, where it is not this one's own.
    users_period : str or None
        The period that the list of users is of, where a catalog has one for each; ``users_of`` returns others'.
    linked : mapping of str to LinkedTable
        Private tables of the same people, by name (:mod:`emdp.tables.links`).
    """

    version: str | None = None
    shares: str | None = None
    users_period: str | None = None
    users_of: Callable[[str], UserList] | None = field(default=None, repr=False)

    @property
    def account(self) -> str:
        """The name under which a ledger keeps its budget."""
        return self.shares or self.name

    @property
    def engine(self) -> "Engine":
        """Engine that computes exact statistics of the records."""
        from emdp.tables.engine import engine_of

        return engine_of(self.source)

    def names(self, public: Mapping[str, object] | None = None) -> Names:
        """Return all that a statement may name: columns, users with their public columns, public tables.

        Parameters
        ----------
        public : mapping of str to path or frame, optional
            Public tables, by the name under which SQL may join them. They are read here.

        Returns
        -------
        Names
            Its ``user_frame`` is None where only the number of users is public.

        Raises
        ------
        UsageError
            If a name is taken, or a source is no table or is the private one.
        """
        if public is not None and not isinstance(public, Mapping):
            raise UsageError("public must map names to paths or frames; pass {name: table, ...}.")
        taken = {own.lower() for own in self.private_tables()}
        tables = {}
        for name, source in (public or {}).items():
            # SQL does not tell small letters from capitals.
            if not isinstance(name, str) or not name or name.lower() in taken:
                raise UsageError(f"public has a table named {name!r}, which is no name or taken; name it otherwise.")
            if any(is_same_source(own.source, source) for own in self.private_tables().values()):
                raise UsageError(f"public table {name!r} is the private table; leave it out, or pass a public one.")
            taken.add(name.lower())
            tables[name] = read_public(name, source)
        frame = self.users.frame
        if frame is None and self.users.keys is not None:
            frame = pl.DataFrame({self.user: self.users.keys})
        return Names(
            self.name,
            self.user,
            self.space,
            self.schema,
            self.users.count,
            frame,
            tables,
            self.records,
            record_kinds(self),
            {name: public_kinds(own) for name, own in tables.items()},
            {
                name: PrivateNames(record_kinds(own), own.space, self.keys_of(name))
                for name, own in self.private_tables().items()
            }
            if self.linked
            else {},
            of_public,
        )

    def data_version(self) -> str:
        """Return what changes with the data: ``declared:`` and the declared version, or a fingerprint.

        A fingerprint is a hash of public metadata (files, sizes, times); that of a frame is new in every process. With
        linked tables it is one of all their fingerprints.
        """
        if self.version is not None:
            return f"declared:{self.version}"
        if not self.linked:
            return self.source.fingerprint()
        found = [(name, own.source.fingerprint()) for name, own in self.private_tables().items()]
        return f"linked:{hashlib.sha256(repr(found).encode()).hexdigest()}"

    def marks(self) -> tuple[list[str], list[str], list[str]]:
        """Return the marks of the files of all tables; see :meth:`emdp.tables.base.Source.marks`."""
        kept: list[str] = []
        sought: list[str] = []
        states: list[str] = []
        for own in self.private_tables().values():
            for every, found in zip((kept, sought, states), own.source.marks(), strict=True):
                every += [mark for mark in found if mark not in every]
        return kept, sought, states

    def places(self) -> list[str]:
        """Return marks of where the data of the table are, of a table with links those of all."""
        return [mark for own in self.private_tables().values() for mark in own.source.places()]

    @contextmanager
    def held(self) -> Iterator[None]:
        """Return a context in which no other process can begin to write the source, as far as it knows of writers.

        A session is in it from before the look at the data version until the noise is drawn, so that what was
        validated and charged can be read. A DuckDB file is held open for reading: it is waited for as
        :func:`emdp.read` says, other readers come and go, and writers get DuckDB's own refusal until the end. For
        other sources it does nothing.

        Raises
        ------
        SourceBusyError
            If another process has the DuckDB file open for writing for longer than ``wait``, or this process has.
        DataRuleError
            If the file is damaged, or no DuckDB file.
        """
        with ExitStack() as stack:
            for source in dict.fromkeys(own.source for own in self.private_tables().values()):
                stack.enter_context(source.held())
            yield

    def validate(self) -> None:
        """Check every declared rule against the records: users, ``records``, ``on_invalid="error"``.

        This is the owner's act: whether it raises, and what it says, are facts about the private records and cost no
        budget. A session checks the same rules before the first charge on a data version, so that no later error
        depends on the data, and says of a broken one no count.

        Raises
        ------
        DataRuleError
            Naming each rule that is broken, a line each: its columns, how many records and users break it, the remedy,
            never a value. Its ``breaches`` have the counts.
        """
        from emdp.tables.engine import broken_rules, count_breaches

        broken = broken_rules(self)
        if not broken:
            return
        breaches = count_breaches(self)
        counted = [breach.rule for breach in breaches]
        lines = [breach.sentence() for breach in breaches]
        lines += [rule.sentence() for rule in broken if rule not in counted]
        raise DataRuleError("\n".join(lines), breaches=breaches)

    def check_rules(self) -> None:
        """Check every declared rule as :meth:`validate` does, and say of a broken one no count: for a session.

        Raises
        ------
        DataRuleError
            Naming the first rule that is broken, its columns and the remedy, and nothing more.
        """
        from emdp.tables.engine import check_rules

        check_rules(self)

    def bag(self, user: Any) -> pl.DataFrame:
        """Return one user's items after the ``on_invalid`` rule: for the table's owner, and not private.

        Parameters
        ----------
        user : int or str
            The user's key.

        Returns
        -------
        polars.DataFrame
            The space's columns, one row an item; the neutral item alone for a listed user without records. Where the
            space has the point elsewhere, a column ``elsewhere`` says which records are there, and they have no values.

        Raises
        ------
        UsageError
            If the public users are listed and this is none of them, or they are not and this one has no record.
        """
        listed = self.users.keys
        if listed is not None and str(user) not in listed:
            raise UsageError(f"user {user!r} is not among the listed users; pass the key of one of them.")
        bag = self.engine.fetch_bag(self, user)
        if bag is None and listed is None:
            raise UsageError(
                f"user {user!r} has no record, and may be mistyped; pass the key of a user, or list the users."
            )
        if bag is not None:
            return self._labelled(bag)
        neutral: pl.DataFrame = pl.DataFrame(self.space.decode(self.space.neutral_item), strict=False)
        return neutral if self.space.elsewhere is not None else neutral.select(list(self.space.columns))

    def _labelled(self, bag: pl.DataFrame) -> pl.DataFrame:
        """Return a bag in the space's own values: labels, which the engine gives as text, in their type, and for the
        number of a grid's cell its centre.
        """
        columns: list[pl.Expr | pl.Series] = []
        for part in self.space.parts:
            first = part.columns[0]
            if isinstance(part, Grid):
                centres = part.decode(bag.get_column(first).to_numpy()[:, None])
                columns += [pl.Series(name, values, dtype=pl.Float64) for name, values in centres.items()]
            elif part.labels is not None and isinstance(part.labels[0], bool):
                columns.append(pl.col(first) == "true")
            elif part.labels is not None and isinstance(part.labels[0], int):
                columns.append(pl.col(first).cast(pl.Int64))
        items = bag.with_columns(columns).select(list(self.space.columns))
        if self.space.elsewhere is None:
            return items
        absent = bag.get_column(ELSEWHERE)
        known = [pl.when(~absent).then(pl.col(name)).alias(name) for name in items.columns]
        return items.with_columns(known).with_columns(absent.alias(COLUMN))


def read(
    source: object,
    *,
    user: str,
    space: Space,
    users: object = None,
    name: str | None = None,
    records: int | None = None,
    columns: Mapping[str, str] | None = None,
    version: str | None = None,
    wait: float = DEFAULT_WAIT,
    shares: str | None = None,
    header: bool | None = None,
    links: Mapping[str, Mapping[str, object]] | None = None,
    elsewhere: float | str | None = None,
    slots: int | None = None,
) -> Table:
    """Declare a private table. Only its public schema is looked at, never a record.

    Parameters
    ----------
    source : path or frame
        A Parquet or CSV file, a folder or pattern of Parquet files, ``"file.duckdb::table"``, a frame with the Arrow C
        stream interface, which must not be changed in place afterwards, a Spark DataFrame, or ``"spark::table"``, a
        table or view of the active Spark session (one is started where there is none). Of Spark nothing but statistics
        comes to this process, and each row must be made from rows of its own user. Remote addresses are refused. Every
        row is one record (in a ``Words`` space, every word is), exact duplicates included. In place of a table a
        view of tables of the same DuckDB file may stand, each row made from rows of its own user and from nothing
        that changes by itself; one that reads other files is refused. Files of a Delta Lake, Iceberg, Hudi, Paimon or
        DuckLake table are refused, since rows that its log calls deleted would count: pass the frame of a library that
        reads the log (``deltalake``, ``pyiceberg``), a table of that format in Spark, or a snapshot written elsewhere.
    user : str
        The column that says whose record a row is.
    space : Space
        The item space; its columns must be in the source. One may also be a component of a column of timestamps or
        dates, in UTC: ``hour(ts)``, ``minute``, ``day``, ``dow`` (0 is Sunday), ``isodow``, ``month``, ``quarter``,
        ``year``, ``week`` (ISO), ``doy``, and with fractions ``epoch`` (seconds) and ``time`` (hours since midnight).
        All but ``epoch`` may name a zone whose clocks show the time: ``hour(ts, 'America/New_York')``.
        Where there is no time, and outside the years 1 to 9999, the item is invalid.
    users : int, sequence, path or frame
        The public users: their number, a list of keys, or a table with one row a user, whose further columns are
        public too. They do not come from the private table: a user without records is still counted. Left out where
        nothing about the users is public; only questions with ``neighbours="remove"`` are answered then.
    name : str, optional
        The table's name: by default the file's stem, the DuckDB table's name, or ``data``.
    records : int, optional
        Declares that every user has exactly so many records.
    columns : mapping of str to str, optional
        Column names and DuckDB types, for a source whose data is not at hand: nothing is opened then. Types are written
        as DuckDB's DESCRIBE does: ``DOUBLE``, ``VARCHAR``, ``DECIMAL(18,3)``, ``ENUM('a', 'b')``; nested ones are none.
        All columns of a CSV file are ``VARCHAR``: those of the space are read as numbers and times from that.
    version : str, optional
        Declares which state of the data this is, in place of the fingerprint: for files that are rewritten without
        a change, for frames, and for Spark, whose data has no fingerprint. The rules are validated once for a version
        and never again, and stored answers are taken for those of their version: the owner promises another text
        whenever the source or its rows change.
    wait : float
        Seconds to wait for a DuckDB file that another process has open for writing; 0 tries once.
    shares : str, optional
        Name of the table whose budget pays for this one too, for the same people's records under another name. Space,
        user column, users, records and budget must be those of that table.
    header : bool, optional
        Whether the first row of a CSV file has the names of its columns; without one they are ``column1``, ``column2``,
        and so on. By default it has, and a first row that looks like a record is refused.
    links : mapping of str to mapping, optional
        Further private tables of the same people, by name: each ``{"source": .., "column": .., "table": .., "key": ..,
        "space": ..}``, where a row belongs to the user of the row of ``table`` whose ``key`` is its ``column``. The
        table is this one or another linked one; the key is the user column, or a column in which each value stands
        once. ``columns`` and ``header`` may stand there as here. ``USER_PRIVACY`` reads and joins them
        (queries/README.md); what is promised is about all rows of a user in all of the tables.
    elsewhere : float or "neutral", optional
        Distance, from 0.5 to 1, of one more point from every item of the space: users without records are there, and
        records whose value is invalid in a part with ``on_invalid="elsewhere"``. Means and maps are then among what is
        somewhere. 1 is right nearly always. ``"neutral"``, the default, has the space's neutral item stand for such
        users. See :class:`emdp.spaces.Elsewhere`.
    slots : int, optional
        Records up to which bags are filled with that point, so that one is ``1/slots``. Implies ``elsewhere=1``.

    Returns
    -------
    Table

    Raises
    ------
    UsageError
        If an argument is malformed, a column is missing, or its type does not fit the space.
    SourceBusyError
        If a DuckDB file is not released within ``wait``.

    >>> from emdp.spaces import Interval
    >>> table = read({"user": [1, 1, 2], "x": [0.1, 0.4, 0.9]}, user="user", space=Interval("x", 0, 1), users=3)
    >>> table.name, table.n
    ('data', 3)
    """
    check_fork()
    check_arguments(user, space, name, columns)
    space = extended_space(space, elsewhere, slots)
    check_version(version)
    if check_finite("wait", wait) < 0:
        raise UsageError(f"wait must be at least 0 seconds, got {wait}; pass 0 to try once.")
    opened = open_source(source, wait=float(wait), header=header)
    if users is not None and is_same_source(opened, users):
        raise UsageError("users must not be read off the private table; pass the public list, or its length.")
    schema = parsed_columns(columns) if columns is not None else opened.schema()
    if isinstance(opened, CsvSource):
        opened.check_names((user, *space.columns, *schema), where="in user=, then space=, then columns=")
        check_text_types(schema)
    for column in (user, *space.columns):
        if column not in schema and (column == user or find_component(column, schema) is None):
            raise UsageError(f"source has no column {column!r}; {column_remedy(column, opened, schema, columns)}.")
    check_space_types(schema, user, space, is_text=opened.is_text)
    if shares is not None and not isinstance(shares, str):
        raise UsageError(f"shares must be the name of a table, not {type(shares).__name__}; pass a text.")
    table = Table(
        name=check_table_name(name or opened.default_name),
        user=user,
        space=space,
        users=make_user_list(users, user),
        source=opened,
        schema=schema,
        records=check_records(records, space),
        version=version,
        shares=None if shares is None else check_table_name(shares),
    )
    linked = linked_tables(table, links, float(wait)) if links else {}
    if users is not None and any(is_same_source(own.source, users) for own in linked.values()):
        raise UsageError("users must not be read off a linked table; pass the public list, or its length.")
    return replace(table, linked=linked) if linked else table

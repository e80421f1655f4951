"""The catalog ``emdp.toml``: which tables there are, what distance means in them, and where the ledger lies.

Written by the owner (design.md, "Files"). Paths in it are relative to its own folder. A table may list its
``columns`` with their types, so that previews work without the data. A ``source`` and the path of its ``users`` may
hold ``{period}``, for which the name of a period is put: a public part of the data, such as a week's folder or view.
A table's budget is for all its periods together, and for the tables that have ``shares`` with its name too. An entry
with ``link`` is no table by itself: its rows belong to the users whom its links lead to (:mod:`emdp.tables.links`).
"""

import glob
import os
import re
from collections.abc import Mapping
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from emdp.base.checks import check_period
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.base.files import read_toml
from emdp.catalog.budgets import read_budget
from emdp.catalog.entries import (
    LINK_KEYS,
    LINKED_KEYS,
    NOWHERE,
    PERIOD,
    PUBLIC_KEYS,
    TABLE_KEYS,
    absolute_vectors,
    find_blank,
    paths_in,
    roots_of,
    sections_of,
    version_of,
)
from emdp.catalog.views import viewed, without_view
from emdp.ledger import ledger_files, place_beside
from emdp.privacy import Change, Guarantee
from emdp.privacy.guarantees.kinds import is_by_source
from emdp.privacy.guarantees.units import side_of
from emdp.questions.names import Names
from emdp.sessions.session import Session, read
from emdp.spaces import Space, from_json
from emdp.tables import Table, UserList, read_public
from emdp.tables.engines.duckdb.source import MAIN_SCHEMA
from emdp.tables.public import is_same_source, make_user_list
from emdp.tables.registry import named_opener, named_table
from emdp.tables.source import DUCKDB_SEPARATOR
from emdp.tables.space_types import extended_space

__all__ = ["Catalog", "load_catalog"]

CATALOG_KEYS = {"ledger", "public", "tables"}


@dataclass(frozen=True)
class Catalog:
    """A checked catalog.

    Parameters
    ----------
    path : Path
        Where it was read from.
    ledger : str or None
        Path of the ledger, made absolute, or its address; not shown, since an address may hold a password.
    tables : mapping
        The entries under ``[tables.NAME]`` without a link, as they were written.
    public_tables : mapping
        The entries under ``[public.NAME]``, as they were written.
    linked : mapping
        The entries under ``[tables.NAME]`` with a link, as they were written.
    """

    path: Path
    ledger: str | None = field(repr=False)
    tables: Mapping[str, Mapping[str, Any]]
    public_tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    linked: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def roots(self) -> Mapping[str, str]:
        """For each entry, linked or not, the table that a session on it is of."""
        return {name: root or name for name, root in roots_of({**self.tables, **self.linked}).items()}

    def table(self, name: str | None = None, *, period: str | None = None) -> Table:
        """Return a table of the catalog: the only one where no name is given.

        Parameters
        ----------
        name : str, optional
            Which table.
        period : str, optional
            Fills ``{period}`` in its paths. Where there is none, a period only names what the data is of.

        Raises
        ------
        UsageError
            If there is no such table, a value of its entry is malformed, or its paths need a period and none is given.
        """
        name = self._name(name)
        entry = self._entry(name)
        # Before anything asks for a period: whoever names one would be refused all the same.
        if PERIOD in entry["source"] and "elsewhere" not in entry and self._space(name).elsewhere is None:
            raise self._error(name, NOWHERE)
        users, own, links = entry.get("users"), without_view(entry), self._links(name, period)
        has_lists = isinstance(users, str) and PERIOD in users
        if period is not None:
            check_period(period)
        if isinstance(users, str):
            if self._is_part_of(entry["source"], self._filled(name, users, period)):
                raise self._error(
                    name, "has users that are read off the table itself, or a period of it; name a public list"
                )
            users = self._path(self._filled(name, users, period))
        table = read(
            viewed(self._path(self._filled(name, entry["source"], period)), entry),
            user=entry["user"],
            space=self._space(name),
            users=users,
            name=name,
            version=version_of([entry, *(self.linked[linked] for linked in links)], period),
            shares=None if "shares" not in entry else self.account(name),
            links=links,
            **{key: entry[key] for key in ("records", "columns", "wait", "header") if key in own},
        )
        if not has_lists:
            return table

        def users_of(other: str) -> UserList:
            return make_user_list(self._path(self._filled(name, entry["users"], other)), entry["user"])

        return replace(table, users_period=period, users_of=users_of)

    def account(self, name: str | None = None) -> str:
        """Return the name under which the ledger keeps a table's budget: its own, or that of ``shares``."""
        name = self._name(name)
        shared = self._entry(name).get("shares")
        if shared is None:
            return name
        if shared == name or "shares" in self.tables.get(shared, {"shares": shared}):
            raise self._error(
                name, f"has shares = {shared!r}, which is no table of the catalog with a budget of its own; name one"
            )
        return str(shared)

    def budget(self, name: str | None = None) -> Guarantee | tuple[Guarantee, ...]:
        """Return what a session takes as its budget: a guarantee, or a tuple of one of each kind."""
        budgets = self.budgets(name)
        return budgets[0] if len(budgets) == 1 else budgets

    def budgets(self, name: str | None = None) -> tuple[Guarantee, ...]:
        """Return the budgets of a table; an ``alpha`` left out follows from its protections."""
        name = self._name(name)
        if "budget" not in self._entry(name) and self.account(name) != name:
            return self.budgets(self.account(name))
        listed = self._entry(name).get("budget", {})
        if isinstance(listed, dict):
            listed = [listed]
        if not listed or not all(isinstance(budget, dict) for budget in listed):
            raise self._error(name, "has a budget that is no table; write { alpha = 60.0 }, or a list of two such")
        read_one = partial(
            read_budget,
            changes=self.protections(name),
            space=partial(self._space, name),
            error=partial(self._error, name),
        )
        budgets = tuple(guarantee for budget in listed for guarantee in read_one(budget))
        kinds = {(type(budget), *side_of(budget)) for budget in budgets}
        if len(kinds) < len(budgets):
            raise self._error(name, "budget has a kind twice; keep one with alpha and one with epsilon at most")
        own = [self._entry(name), *(self.linked[other] for other, root in self.roots.items() if root == name != other)]
        if any(map(is_by_source, budgets)) and any(PERIOD not in str(entry.get("source")) for entry in own):
            raise self._error(
                name,
                f"has a budget per_period, or history, and no {PERIOD} in its source, or in that of a table linked to "
                "it, so that answers may read all periods; name a file a period, or leave that budget out",
            )
        return budgets

    def protections(self, name: str | None = None) -> tuple[Change, ...]:
        """Return the changes that a table declares as protected, in order; for pages in words."""
        name = self._name(name)
        entry = self._entry(self.account(name) if "protect" not in self._entry(name) else name)
        return tuple(self._change(name, change) for change in entry.get("protect", []))

    def public(self) -> dict[str, pl.DataFrame]:
        """Return the public tables of the catalog, read whole.

        Raises
        ------
        UsageError
            If an entry is malformed or has a blank left, or its source is that of a private table of the catalog.
        """
        found = {}
        entries = (*self.tables.values(), *self.linked.values())
        private = [entry["source"] for entry in entries if isinstance(entry.get("source"), str)]
        for name, entry in self.public_tables.items():
            self._check_entry("public", name, entry, PUBLIC_KEYS, needed=("source",))
            wrong = partial(self._error, name, section="public")
            if "{" in entry["source"] or "}" in entry["source"]:
                raise wrong("has a brace in its path; periods are for private tables, so name one file")
            if any(self._is_part_of(path, entry["source"]) for path in private):
                raise wrong("has the source of a private table, or of a period of it; name a public file")
            found[name] = read_public(name, self._path(entry["source"]), header=entry.get("header"))
        return found

    def names(self, name: str | None = None, *, period: str | None = None) -> Names:
        """Return all that a statement on a table may name; see :meth:`emdp.tables.Table.names`."""
        return self.table(name, period=period).names(self.public())

    def session(self, name: str | None = None, *, period: str | None = None) -> Session:
        """Return a session on a table with the catalog's public tables, budget and ledger.

        Parameters
        ----------
        name, period : str, optional
            As for :meth:`table`; the period stands with every charge.
        """
        return Session(
            self.table(name, period=period),
            budget=self.budget(name),
            ledger=self.ledger_path,
            public=self.public(),
            period=period,
        )

    def paths(self) -> tuple[str, ...]:
        """Return what the catalog names on disk, itself and every period included: files, folders, patterns.

        Those with ``{period}`` are patterns. Of a DuckDB file it is the file, without its table; of a ledger also what
        lies beside it, or will.
        """
        entries = [*self.tables.values(), *self.linked.values(), *self.public_tables.values()]
        named = [text for entry in entries for text in paths_in(entry)]
        texts = [
            text.replace(PERIOD, "*").partition(DUCKDB_SEPARATOR)[0] for text in named if named_table(text) is None
        ]
        return (str(self.path), *(() if self.ledger is None else ledger_files(self.ledger)), *map(self._path, texts))

    @property
    def ledger_path(self) -> str:
        """Place of the ledger.

        Raises
        ------
        UsageError
            If the catalog names none.
        """
        if self.ledger is None:
            raise UsageError(f"{self.path} names no ledger; add a line such as ledger = 'city.ledger'.")
        return self.ledger

    def _name(self, name: str | None) -> str:
        if name is None:
            if len(self.tables) != 1:
                raise UsageError(
                    f"table must be named, since {self.path} has {len(self.tables)}: {', '.join(self.tables)}; "
                    "name one of them."
                )
            return next(iter(self.tables))
        name = self.roots.get(name, name)
        if name not in self.tables:
            raise UsageError(f"table {name!r} is not in {self.path}, which has {', '.join(self.tables)}; name one.")
        return name

    def _entry(self, name: str) -> Mapping[str, Any]:
        entry = self.tables[name]
        self._check_entry("tables", name, entry, TABLE_KEYS, needed=("source", "user", "space"))
        return entry

    def _links(self, name: str, period: str | None) -> dict[str, dict[str, Any]]:
        """Return the tables that are linked to one, as :func:`emdp.read` takes them."""
        found = {}
        for own, entry in self.linked.items():
            if self.roots[own] != name:
                continue
            self._check_entry("tables", own, entry, LINKED_KEYS, needed=("source", "space", "link"))
            link = entry["link"]
            if set(link) != set(LINK_KEYS) or not all(isinstance(value, str) and value for value in link.values()):
                raise self._error(own, "has a link that is not { column, table, key }; write the three as texts")
            found[own] = {
                "source": viewed(self._path(self._filled(own, entry["source"], period)), entry),
                "space": from_json(absolute_vectors(entry["space"], self.path.parent)),
                **link,
                **{key: entry[key] for key in ("columns", "header") if key in without_view(entry)},
            }
        return found

    def _check_entry(
        self,
        section: str,
        name: str,
        entry: Mapping[str, Any],
        allowed: Mapping[str, tuple[type | tuple[type, ...], str]],
        *,
        needed: tuple[str, ...],
    ) -> None:
        wrong = partial(self._error, name, section=section)
        unknown = set(entry) - set(allowed)
        if unknown:
            raise wrong(f"has an unknown key {min(unknown)!r}; use {', '.join(sorted(allowed))}")
        for key, value in entry.items():
            blank = find_blank(key, value)
            if blank is not None:
                raise wrong(f"has its {blank[0]!r} left blank; {blank[1]}")
        for key in needed:
            if key not in entry:
                raise wrong(f"lacks {key!r}; add it")
        for key, value in entry.items():
            kinds, meaning = allowed[key]
            if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
                raise wrong(f"has a {key!r} that is not {meaning}; correct it")
            if isinstance(value, str) and (not value or "\0" in value):
                raise wrong(f"has a {key!r} that is no usable text; correct it")

    def _space(self, name: str) -> Space:
        entry = self._entry(name)
        space = from_json(absolute_vectors(entry["space"], self.path.parent))
        return extended_space(space, entry.get("elsewhere"), entry.get("slots"))

    def _filled(self, name: str, text: str, period: str | None) -> str:
        """Return a path with the period in it."""
        rest = text.replace(PERIOD, "")
        if "{" in rest or "}" in rest:
            raise self._error(name, f"has a brace in the path {text!r} that is not part of {PERIOD}; correct it")
        if rest == text:
            return text
        if period is None:
            raise self._error(
                name, f"has {PERIOD} in the path {text!r}, and no period is given; name one, such as 2026-W47"
            )
        if "." in period and PERIOD in text.partition(DUCKDB_SEPARATOR)[2]:
            raise self._error(name, f"cannot take the period {period!r}, whose dot would part schema and table")
        return text.replace(PERIOD, period)

    def _is_part_of(self, private: str, source: str) -> bool:
        """Say whether two paths of the catalog share a file or table, in any period of the first."""
        other = self._path(source)
        if PERIOD not in private:
            return is_same_source(self._path(private), other)
        file, separator, table = self._path(private).partition(DUCKDB_SEPARATOR)
        opener = named_opener(file) if separator else None
        if separator:
            # Of all tables of the file it can only be the one that the other path names.
            named = other.partition(DUCKDB_SEPARATOR)[2]
            own, public = (text.lower().removeprefix(MAIN_SCHEMA) for text in (table, named))
            if opener is not None:
                own, public = opener.comparable(own, public)
            if re.fullmatch(re.escape(own).replace(re.escape(PERIOD), "[^.]+"), public) is None:
                return False
            table = named
        places = [file] if opener is not None else glob.glob(file.replace(PERIOD, "*"), recursive=True)
        return any(is_same_source(f"{place}{separator}{table}", other) for place in places)

    def _change(self, name: str, change: Any) -> Change:
        much = "records" if isinstance(change, dict) and "records" in change else "fraction"
        if not isinstance(change, dict) or set(change) - {"part"} != {much, "distance", "epsilon"}:
            raise self._error(name, f"has a protection that is not {{ {much}, distance, epsilon }}; write all three")
        return Change(**change)

    def _path(self, text: str) -> str:
        return text if "://" in text or named_table(text) is not None else os.path.join(self.path.parent, text)

    def _error(self, name: str, problem: str, *, section: str = "tables") -> UsageError:
        return UsageError(f"[{section}.{name}] of {self.path} {problem}.")


def load_catalog(path: str | os.PathLike[str]) -> Catalog:
    """Read and check a catalog.

    Raises
    ------
    UsageError
        If the file is absent, is no TOML, or has unknown keys.
    """
    place = Path(path)
    data = read_toml("catalog", place, "an emdp.toml")
    unknown = set(data) - CATALOG_KEYS
    if unknown:
        raise UsageError(f"catalog {str(place)!r} has an unknown key {min(unknown)!r}; use {sorted(CATALOG_KEYS)}.")
    tables, public = sections_of(place, data)
    ledger = data.get("ledger")
    blank = find_blank("ledger", ledger)
    if blank is not None:
        raise UsageError(f"catalog {str(place)!r} has its {blank[0]!r} left blank; {blank[1]}.")
    if ledger is not None and (not isinstance(ledger, str) or not ledger or "\0" in ledger):
        raise UsageError(f'catalog {str(place)!r} has a ledger that is no path; write ledger = "city.ledger".')
    if ledger is not None and ("{" in ledger or "}" in ledger):
        # A ledger for each period would let each of them spend the whole budget.
        raise UsageError(f"catalog {str(place)!r} has a ledger with a brace; one ledger is for all periods, name it.")
    linked = {name: entry for name, entry in tables.items() if "link" in entry}
    own = {name: entry for name, entry in tables.items() if name not in linked}
    return Catalog(place, None if ledger is None else place_beside(place.parent, ledger), own, public, linked)

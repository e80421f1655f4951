"""The catalog ``emdp.toml``: which tables there are, what distance means in them, and where the ledger lies.

Written by the owner (design.md, "Files"). Paths in it are relative to its own folder. A table may list its
``columns`` with their types, so that previews work without the data.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emdp.errors import UsageError
from emdp.privacy import Change, EmdDP, Guarantee, UserDP, protect
from emdp.session import Session, read
from emdp.spaces import Space, from_json
from emdp.tables import Table

__all__ = ["Catalog", "load_catalog"]

CATALOG_KEYS = {"ledger", "tables"}
TABLE_KEYS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "source": (str, "a path"),
    "user": (str, "the name of a column"),
    "users": ((int, str, list), "a number, a path or a list of keys"),
    "space": (dict, 'a table such as { kind = "interval", ... }'),
    "budget": (dict, "a table such as { alpha = 60.0 }"),
    "protect": (list, "a list of tables"),
    "records": (int, "a whole number"),
    "columns": (dict, "a table of names and types"),
}
"""What an entry may have: the type that TOML gives it, and what that is called."""

BUDGET_KEYS = {"alpha", "epsilon", "delta"}


@dataclass(frozen=True)
class Catalog:
    """A checked catalog.

    Parameters
    ----------
    path : Path
        Where it was read from.
    ledger : str or None
        Address of the ledger, with its path made absolute.
    tables : mapping
        The entries under ``[tables.NAME]``, as they were written.
    """

    path: Path
    ledger: str | None
    tables: Mapping[str, Mapping[str, Any]]

    def table(self, name: str | None = None) -> Table:
        """Return a table of the catalog: the only one where no name is given.

        Raises
        ------
        UsageError
            If there is no such table, or a value of its entry is malformed.
        """
        name = self._name(name)
        entry = self._entry(name)
        users = entry["users"]
        if isinstance(users, str):
            users = self._path(users)
        return read(
            self._path(entry["source"]),
            user=entry["user"],
            space=self._space(name),
            users=users,
            name=name,
            records=entry.get("records"),
            columns=entry.get("columns"),
        )

    def budget(self, name: str | None = None) -> Guarantee:
        """Return the budget of a table; an ``alpha`` left out follows from its protections."""
        name = self._name(name)
        entry = self._entry(name)
        budget = dict(entry.get("budget", {}))
        unknown = set(budget) - BUDGET_KEYS
        if unknown:
            raise self._error(name, f"budget has an unknown key {min(unknown)!r}; use alpha or epsilon, and delta")
        if "alpha" in budget and "epsilon" in budget:
            raise self._error(name, "budget has both alpha and epsilon; keep the one of the kind you mean")
        changes = [self._change(name, change) for change in entry.get("protect", [])]
        delta = budget.get("delta", 0.0)
        if "epsilon" in budget:
            return UserDP(budget["epsilon"], delta)
        if "alpha" in budget:
            return EmdDP(budget["alpha"], delta)
        if not changes:
            raise self._error(name, "needs budget = { alpha = ..., delta = ... } or protect = [...]; add one")
        return EmdDP(protect(*changes, space=self._space(name)), delta)

    def session(self, name: str | None = None) -> Session:
        """Return a session on a table with the catalog's budget and ledger."""
        return Session(self.table(name), budget=self.budget(name), ledger=self.ledger_path)

    @property
    def ledger_path(self) -> str:
        """Where the ledger is.

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
        if name not in self.tables:
            raise UsageError(f"table {name!r} is not in {self.path}, which has {', '.join(self.tables)}; name one.")
        return name

    def _entry(self, name: str) -> Mapping[str, Any]:
        entry = self.tables[name]
        unknown = set(entry) - set(TABLE_KEYS)
        if unknown:
            raise self._error(name, f"has an unknown key {min(unknown)!r}; use {', '.join(sorted(TABLE_KEYS))}")
        for key in ("source", "user", "users", "space"):
            if key not in entry:
                raise self._error(name, f"lacks {key!r}; add it")
        for key, value in entry.items():
            kinds, meaning = TABLE_KEYS[key]
            if not isinstance(value, kinds) or isinstance(value, bool):
                raise self._error(name, f"has a {key!r} that is not {meaning}; correct it")
            if isinstance(value, str) and (not value or "\0" in value):
                raise self._error(name, f"has a {key!r} that is no usable text; correct it")
        return entry

    def _space(self, name: str) -> Space:
        return from_json(_absolute_vectors(self._entry(name)["space"], self.path.parent))

    def _change(self, name: str, change: Any) -> Change:
        wanted = {"fraction", "distance", "epsilon"}
        if not isinstance(change, dict) or set(change) - {"part"} != wanted:
            raise self._error(name, "has a protection that is not { fraction, distance, epsilon }; write all three")
        return Change(**change)

    def _path(self, text: str) -> str:
        return text if "://" in text else os.path.join(self.path.parent, text)

    def _error(self, name: str, problem: str) -> UsageError:
        return UsageError(f"[tables.{name}] of {self.path} {problem}.")


def load_catalog(path: str | os.PathLike[str]) -> Catalog:
    """Read and check a catalog.

    Raises
    ------
    UsageError
        If the file is absent, is no TOML, or has unknown keys.
    """
    place = Path(path)
    try:
        data = tomllib.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"catalog {str(place)!r} does not exist; pass the path of an emdp.toml.") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"catalog {str(place)!r} cannot be read as TOML ({error}); correct it.") from None
    unknown = set(data) - CATALOG_KEYS
    if unknown:
        raise UsageError(f"catalog {str(place)!r} has an unknown key {min(unknown)!r}; use {sorted(CATALOG_KEYS)}.")
    tables = data.get("tables", {})
    if not isinstance(tables, dict) or not tables or not all(isinstance(entry, dict) for entry in tables.values()):
        raise UsageError(f"catalog {str(place)!r} has no [tables.NAME], or one that is no table; add one.")
    ledger = data.get("ledger")
    if ledger is not None and (not isinstance(ledger, str) or not ledger or "\0" in ledger):
        raise UsageError(f'catalog {str(place)!r} has a ledger that is no path; write ledger = "city.ledger".')
    if ledger is not None and "://" not in ledger:
        ledger = os.path.join(place.parent, ledger)
    return Catalog(place, ledger, tables)


def _absolute_vectors(space: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Resolve the path of a vectors table, which is relative to the catalog like every other."""
    resolved = dict(space)
    if isinstance(resolved.get("vectors"), str):
        resolved["vectors"] = os.path.join(folder, resolved["vectors"])
    parts = resolved.get("parts")
    if isinstance(parts, list):
        resolved["parts"] = [_absolute_vectors(part, folder) if isinstance(part, dict) else part for part in parts]
    return resolved

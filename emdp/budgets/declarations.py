"""Declarations that a ledger holds a table to, beside its budget: its rules, and which data are its own.

**Why rules are pinned.** :meth:`emdp.tables.Table.validate` compares what was declared with the records, and whether it
raises costs no budget. Somebody who could declare anew as often as they like would read the records off the answers:
``users=`` without one person tells whether that person has a record, ``users=N`` by bisection how many people have
one, ``records=m`` whether all have the same number, and the box of a space with ``on_invalid="error"`` the extreme
values. So all that is compared with records belongs to the table's identity in the ledger: the space (with its
columns, domain and rules for invalid values), the user column, the users (their number or keys) and ``records``. Not
pinned is what is compared with public facts alone, or with nothing: types and ``columns=`` with the schema, further
public columns of the users, ``version=`` and ``wait=``.

**From when on.** From the first validation on, whatever becomes of it: an entry says that it begins, and is on the
disk before the first record is read, so that a validation that fails tells once what it tells. Before it nothing was
compared with a record, and a declaration may be corrected by declaring another one (on a server only an owner may). To
pin at the writing of the budget would forbid no question that is left open so; to pin at the first charge would leave
the answers of all validations that fail. From then on a rule changes by :func:`emdp.budgets.redeclaring.redeclare`
alone, the owner's explicit act, which is an entry of the chain. Space and user column stay as they are after the first
charge: the same promise in another metric is another promise.

**What carries over.** A table may declare the point elsewhere at distance 1 after charges, where users without records
had the neutral item ``c0`` before. Let ``T`` put that point on ``c0`` and leave items as they are. ``d(T(elsewhere),
x) = d(c0, x) <= 1``, so ``T`` never makes distances larger, and a charge ``(alpha, delta)`` for the bags ``T(K)`` is
one for the bags ``K``, as it stands. A rule ``"error"`` may become ``"elsewhere"``: that no record was invalid then is
public. A rule ``"neutral"`` may where the space is of one part: an invalid record had ``c0``. In a product it kept its
other parts, so that two of them had different items and are one point now, at distance 0; and two clamped records had
the opposite borders. Neither carries over, nor a distance below 1, nor slots: an only record moved ``q``, now ``q/M``.

**Lists by period.** Where a catalog has ``{period}`` in the path of its users, each period has a list of its own,
pinned when its data are first validated, and data validated for one period are refused under another period's list,
whatever their files or version are called by then.

**Whose data.** The entry also keeps marks of the files (:func:`emdp.tables.files.file_marks`). A table whose data have
a mark, or the fingerprint, of those of another table is refused: the same records would have a second budget. An owner
can give both names one budget (``shares``), or say that the two are apart (:func:`emdp.budgets.redeclaring.set_apart`).
Everything here is public: names, hashes of declarations, hashes of facts of files.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from emdp.base.checks import table_key
from emdp.base.classes import dataclass
from emdp.base.errors import LedgerError
from emdp.ledger import Entry
from emdp.ledger.entries import of_kinds, tables_of

__all__ = [
    "BY_PERIOD",
    "Declaration",
    "Held",
    "begun",
    "carried_spaces",
    "check_apart",
    "check_held",
    "is_pinned",
    "links_digest",
    "space_digest",
]

BY_PERIOD = "by period"
"""Entry in place of the users of a table that has a list for each period."""

COMPARED = {
    "space": "another space (domain, diameter, on_invalid, slots or neutral item)",
    "user": "another user column",
    "users": "other users (their number or keys)",
    "records": "another number of records",
    "view": "another view of the files",
    "links": "other linked tables (their links, keys or spaces)",
}
"""Pinned facts, each with its name in messages."""

UNCOUNTED = ("declared:",)
"""Beginnings of data versions that say nothing of where the data are."""


@dataclass(frozen=True)
class Declaration:
    """Declaration of a table, but for its budget."""

    # space, user: Hash of the space, and the user column.
    space: str
    user: str
    users: str  # Hash of the users' number and keys
    records: int | None
    period: str | None = None  # The period that the list of users is of, where each has its own
    listed: str = ""  # Hash of the users with their further columns, which earlier versions kept in place of `users`
    view: str | None = None  # Hash of the view of the files that its rows are; None where they are the files' own
    links: str | None = None  # Hash of the linked tables with their links; None where there are none
    carried: tuple[str, ...] = ()  # Hashes of the spaces whose charges hold in this one as they are (`carried_spaces`)

    def to_json(self) -> dict[str, Any]:
        """Return what a budget's entry holds of it."""
        users = self.users if self.period is None else BY_PERIOD
        more = {name: value for name, value in (("view", self.view), ("links", self.links)) if value is not None}
        return {"space": self.space, "user": self.user, "users": users, "records": self.records, **more}


@dataclass(frozen=True)
class Held:
    """Facts that the entries of one table hold it to."""

    # By the names of `COMPARED`; what an old ledger does not tell is absent.
    rules: Mapping[str, Any] = field(default_factory=dict)
    # Users and records that an earlier version validated, where nothing else was said since.
    old: Mapping[str, Any] = field(default_factory=dict)
    lists: Mapping[str, str] = field(default_factory=dict)  # Hashes of the users by period
    is_declared: bool = False  # Whether there is a budget

    @classmethod
    def by(cls, entries: Sequence[Entry]) -> "Held":
        """Read entries of one table, in order."""
        rules: dict[str, Any] = {}
        lists: dict[str, str] = {}
        for entry in of_kinds(entries, "budget", "redeclare", "validated"):
            known = entry.payload
            if entry.kind == "budget":
                # One that an earlier version writes beside this one says nothing of users and records.
                rules.update({name: known[name] for name in COMPARED if name in known})
                for name in ("view", "links"):
                    if name not in known and ("users" in known or name not in rules):
                        # There were none; only what an old version writes later says nothing of them.
                        rules[name] = None
            elif _is_change(entry):
                _change(rules, lists, known["rules"], known.get("period"))
            elif _is_begin(entry):
                # It pins what nothing was said of before, and changes nothing: whoever may charge can write it.
                _pin(rules, lists, known)
        old = {name: value for name, value in _of_old(entries).items() if name not in rules}
        return cls(rules, old, lists, bool(of_kinds(entries, "budget")))

    def differing(self, wanted: Declaration) -> list[str]:
        """Return the names of what a declaration has otherwise."""
        declared = {**wanted.to_json(), "view": wanted.view, "links": wanted.links}
        found = {name for name, value in self.rules.items() if declared[name] != value}
        if self.old.get("records", wanted.records) != wanted.records:
            found.add("records")
        if wanted.period is None and self.old.get("users", wanted.users) not in {wanted.users, wanted.listed}:
            found.add("users")
        if wanted.period is not None and self.lists.get(wanted.period, wanted.users) != wanted.users:
            found.add("users")
        return [name for name in COMPARED if name in found]


def is_pinned(entries: Sequence[Entry]) -> bool:
    """Say whether a table's rules were ever compared with its records, or anything was charged."""
    kinds = ("validated", "redeclare", "charge")
    return any(entry.kind != "redeclare" or _is_change(entry) for kind in kinds for entry in of_kinds(entries, kind))


def check_held(entries: Sequence[Entry], wanted: Declaration, name: str) -> None:
    """Raise ``LedgerError`` if a table is declared otherwise than its entries hold it to."""
    found = Held.by(entries).differing(wanted)
    if not found:
        return
    what = " and ".join(COMPARED[key] for key in found)
    if found == ["space"] and Held.by(entries).rules["space"] in wanted.carried:
        raise LedgerError(
            f"table {name!r} is declared with people who are elsewhere, and the ledger holds it to a neutral item; its "
            "charges hold for both, so let the owner write it down by emdp ledger redeclare."
        )
    if {"space", "user"} & set(found) and any(entry.kind == "charge" for entry in entries):
        raise LedgerError(
            f"the ledger holds charges of table {name!r} under {what}; declare it as it was then: what was "
            "promised in one metric is not promised in another."
        )
    raise LedgerError(
        f"table {name!r} is declared with {what} than the ledger holds it to, and whether its records keep to that "
        "would be told for nothing; declare it as it was then, or let the owner change it by emdp ledger redeclare."
    )


def begun(entries: Sequence[Entry], wanted: Declaration, version: str, marks: Sequence[str]) -> dict[str, Any] | None:
    """Return what is to be written before the records are first compared with a declaration; None if it stands there.

    Parameters
    ----------
    marks : sequence of str
        Of the data's files; those that stand there are not written again.
    """
    own = {"data_version": version, "users": wanted.users, "records": wanted.records, "period": wanted.period}
    anew = _last_change(of_kinds(entries, "redeclare"))
    before = [entry.payload for entry in of_kinds(entries, "validated") if entry.sequence > anew and _is_begin(entry)]
    known = {mark for payload in before for mark in payload["marks"]}
    new = [mark for mark in marks if mark not in known]
    if not new and any({name: payload.get(name) for name in own} == own for payload in before):
        return None
    return {"begins": True, **own, "marks": new}


def check_apart(
    entries: Sequence[Entry],
    name: str,
    wanted: Declaration,
    version: str,
    marks: Iterable[str],
    states: Iterable[str],
) -> None:
    """Check that data are no other table's, and no other period's under another list.

    Parameters
    ----------
    entries : sequence of Entry
        Of the whole ledger.
    marks : iterable of str
        By which the files are looked for among those of other tables.
    states : iterable of str
        By which they are looked for among those of other periods, whose files may have been at the same place.
    """
    apart = {name, *_apart_from(entries, name)}
    sought, own = set(marks), set(states)
    anew = _last_change(entry for entry in of_kinds(entries, "redeclare") if entry.table == name)
    for entry in of_kinds(entries, "validated"):
        known = entry.payload
        is_same = known.get("data_version") == version
        if entry.table == name:
            is_other = _is_begin(entry) and known["period"] != wanted.period and known["users"] != wanted.users
            # One state of the data has one list, whatever its files and its version are called.
            if is_other and entry.sequence > anew and (is_same or not own.isdisjoint(known["marks"])):
                raise LedgerError(
                    f"the data of table {name!r} were validated under the users of period {known['period']}, so that "
                    f"those of period {wanted.period} would tell of the records for nothing; name this period's data."
                )
        elif entry.table not in apart and (
            (is_same and not version.startswith(UNCOUNTED))
            or (_is_begin(entry) and not sought.isdisjoint(known["marks"]))
        ):
            raise LedgerError(
                f"the data of table {name!r} are, or lie where there were, those of table {entry.table!r} of the "
                f"ledger, and a second budget would be spent on the same records; give both one budget by shares = "
                f"{entry.table!r}, or let the owner set them apart by emdp ledger redeclare --apart."
            )


def space_digest(description: Mapping[str, Any]) -> str:
    """Return a hash of a space's JSON form that names vectors by their contents, wherever their file lies.

    >>> one, other = ({"kind": "embedding", "vectors": path, "sha256": "ab"} for path in ("v.csv", "/x/v.csv"))
    >>> space_digest(one) == space_digest(other)
    True
    """
    return hashlib.sha256(json.dumps(_without_places(description), sort_keys=True).encode()).hexdigest()


def links_digest(links: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return a hash of linked tables by name, with column, table, key and the JSON form of the space; None of none.

    >>> links_digest({}) is None
    True
    """
    if not links:
        return None
    told = {name: {**own, "space": space_digest(own["space"])} for name, own in links.items()}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def carried_spaces(description: Mapping[str, Any]) -> tuple[str, ...]:
    """Return hashes of the spaces whose charges hold as they are in a space, by its JSON form; itself not among them.

    >>> inner = {"kind": "interval", "col": "x", "on_invalid": "elsewhere"}
    >>> found = carried_spaces({"kind": "elsewhere", "inner": inner, "distance": 1.0})
    >>> space_digest({**inner, "on_invalid": "neutral"}) in found, len(found)
    (True, 2)
    """
    if description["kind"] != "elsewhere" or description["distance"] != 1 or "slots" in description:
        return ()
    inner = description["inner"]
    rules = ("error",) if "parts" in inner else ("error", "neutral")
    return tuple(dict.fromkeys(space_digest(_with_rule(inner, rule)) for rule in rules))


def _with_rule(description: Mapping[str, Any], rule: str) -> dict[str, Any]:
    """Return a description with a rule in the place of ``"elsewhere"``."""
    made = dict(description)
    if made.get("on_invalid") == "elsewhere":
        made["on_invalid"] = rule
    if "parts" in made:
        made["parts"] = [_with_rule(part, rule) for part in made["parts"]]
    if "inner" in made:
        made["inner"] = _with_rule(made["inner"], rule)
    return made


def _without_places(description: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in description.items() if key != "vectors" or "sha256" not in description}
    # That a name or a box is meant as it stands changes nothing of the space.
    kept.pop("as_given", None)
    if "parts" in kept:
        kept["parts"] = [_without_places(part) for part in kept["parts"]]
    if "inner" in kept:
        kept["inner"] = _without_places(kept["inner"])
    return kept


def _apart_from(entries: Sequence[Entry], name: str) -> set[str]:
    """Return the tables that an owner set apart from one, by their names in the ledger."""
    keys = set()
    for entry in of_kinds(entries, "redeclare"):
        if other := entry.payload.get("apart"):
            pair = {table_key(entry.table), table_key(other)}
            keys |= pair if table_key(name) in pair else set()
    return {table for table in tables_of(entries) if table and table_key(table) in keys}


def _is_change(entry: Entry) -> bool:
    return entry.kind == "redeclare" and "rules" in entry.payload


def _last_change(entries: Iterable[Entry]) -> int:
    """Return the number of the last entry that declares anew: what began before it is compared with nothing after."""
    return max((entry.sequence for entry in entries if _is_change(entry)), default=0)


def _is_begin(entry: Entry) -> bool:
    """Say whether an entry is what :func:`begun` returns; one that somebody wrote by hand may be anything."""
    known = entry.payload if entry.kind == "validated" else {}
    return (
        known.get("begins") is True
        and {"data_version", "users", "records", "period"} <= set(known)
        and isinstance(known.get("marks"), list)
        and all(isinstance(mark, str) for mark in known["marks"])
        and (known["period"] is None or isinstance(known["period"], str))
    )


def _pin(rules: dict[str, Any], lists: dict[str, str], known: Mapping[str, Any]) -> None:
    rules.setdefault("records", known["records"])
    if known["period"] is None:
        rules.setdefault("users", known["users"])
    else:
        rules.setdefault("users", BY_PERIOD)
        lists.setdefault(known["period"], known["users"])


def _change(rules: dict[str, Any], lists: dict[str, str], new: Mapping[str, Any], period: str | None) -> None:
    new = dict(new)
    if period is not None and "users" in new:
        lists[period] = new["users"]
        new["users"] = BY_PERIOD
    rules.update(new)


def _of_old(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the users and records that an earlier version validated, where it was always the same ones."""
    found = [
        {name: entry.payload[name] for name in ("users", "records")}
        for entry in of_kinds(entries, "validated")
        if {"users", "records"} <= set(entry.payload)
    ]
    return found[0] if found and all(one == found[0] for one in found) else {}

"""Whether a report's manifest agrees with the ledger that paid for it: what an auditor runs, with no private table.

Checked against the ledger are its id and head, every charge and answer that the manifest lists, the table, period,
data version and number of users, and what was promised and spent; against the manifest itself the definition's digest
and its titles; against the folder every file. What no ledger knows cannot be checked: when the page was made, by which
versions, the words of an error, that ``remaining`` is not too small, and that what lies in a file is what was
answered, where the file and its digest were exchanged together.
"""

import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import NoneType
from typing import Any

from emdp.base.classes import dataclass
from emdp.base.errors import EmdpError, LedgerError, SqlError
from emdp.base.files import open_regular
from emdp.budgets.spending import account_of, budgets_of, charges_of
from emdp.ledger import Entry, Ledger
from emdp.privacy import Account, Guarantee, guarantee_from_json
from emdp.privacy.guarantees.kinds import is_by_source
from emdp.privacy.rounding import as_decimal
from emdp.reports.readings import reading_problems
from emdp.sql import parse, spelled

__all__ = ["FORMAT", "check_manifest"]

FORMAT = 1
"""Version of the manifests that this version writes and checks."""

BLOCK = 1 << 20
"""Bytes of a file that are hashed at a time."""

_Types = Mapping[str, tuple[type, ...]]

_WHOLE: _Types = {
    "made": (str,),
    "versions": (dict,),
    "report": (dict,),
    "table": (str,),
    "period": (str, NoneType),
    "data_version": (str,),
    "users": (int, NoneType),
    "guarantees": (list,),
    "ledger": (dict,),
    "entries": (list,),
    "files": (dict,),
}
_REPORT: _Types = {"title": (str,), "definition": (str,), "sha256": (str,)}
_LEDGER: _Types = {"id": (str,), "sequence": (int,), "head": (str,)}
_GUARANTEE: _Types = {"kind": (str,), "promise": (dict,), "spent": (dict,), "remaining": (dict,)}
_ENTRY: _Types = {
    "title": (str,),
    "query": (str,),
    "reused": (bool,),
    "error": (str, NoneType),
    "charge": (dict, NoneType),
    "answer": (dict, NoneType),
    "files": (list,),
}
_CHARGE: _Types = {"sequence": (int,), "hash": (str,), "event": (dict,)}
_ANSWER: _Types = {"sequence": (int,), "hash": (str,), "content": (str,)}


def check_manifest(manifest: Mapping[str, Any], folder: Path, ledger: Ledger) -> list[str]:
    """Return everything in which a manifest disagrees with its ledger, or with the files beside it.

    Parameters
    ----------
    manifest : mapping
        What was read from ``manifest.json``; anything at all, for it may be forged.
    folder : Path
        Where it lies; its files are relative to this folder, and no file outside is opened.
    ledger : Ledger
        The ledger, of which the chain was verified.

    Returns
    -------
    list of str
        One sentence a mismatch, each beginning with the place in the manifest; empty if all agrees.

    Raises
    ------
    LedgerError
        If the ledger is damaged.

    >>> import tempfile
    >>> from emdp.ledger import open_ledger
    >>> with tempfile.TemporaryDirectory() as folder, open_ledger(f"{folder}/city.ledger") as ledger:
    ...     check_manifest({"format": 2}, Path(folder), ledger)
    ['format: is 2, and this version checks format 1; use the emdp that wrote it']
    """
    found = manifest.get("format") if isinstance(manifest, Mapping) else None
    if type(found) is not int or found != FORMAT:
        return [f"format: is {found!r}, and this version checks format {FORMAT}; use the emdp that wrote it"]
    malformed = list(_malformed(manifest))
    if malformed:
        return malformed
    against = _Against(manifest, ledger, tuple(ledger.entries()))
    return [
        *_of_report(manifest),
        *against.ledger_problems(),
        *against.guarantee_problems(),
        *(problem for place in range(len(manifest["entries"])) for problem in against.entry_problems(place)),
        *_of_files(manifest, folder),
    ]


def _malformed(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is missing or of another type, so that everything after may be read without care."""
    yield from _mistyped("", manifest, _WHOLE)
    for name, types in (("report", _REPORT), ("ledger", _LEDGER)):
        yield from _mistyped(f"{name}.", manifest.get(name), types)
    for name, types in (("guarantees", _GUARANTEE), ("entries", _ENTRY)):
        listed = manifest.get(name)
        for place, member in enumerate(listed if isinstance(listed, list) else ()):
            yield from _mistyped(f"{name}[{place}].", member, types)
            for inner, own in (("charge", _CHARGE), ("answer", _ANSWER)) if isinstance(member, dict) else ():
                if member.get(inner) is not None:
                    yield from _mistyped(f"{name}[{place}].{inner}.", member[inner], own)


def _mistyped(prefix: str, value: object, types: _Types) -> Iterator[str]:
    if not isinstance(value, dict):
        if prefix.endswith("]."):
            yield f"{prefix[:-1]}: is no object"
        return
    for name, allowed in types.items():
        if name not in value:
            yield f"{prefix}{name}: is missing"
        elif type(value[name]) not in allowed:
            yield f"{prefix}{name}: is of the wrong type, {type(value[name]).__name__}"


def _of_report(manifest: Mapping[str, Any]) -> Iterator[str]:
    report = manifest["report"]
    if hashlib.sha256(report["definition"].encode("utf-8", "surrogatepass")).hexdigest() != report["sha256"]:
        yield "report.sha256: is not that of report.definition"
    try:
        defined = tomllib.loads(report["definition"])
    except ValueError:
        yield "report.definition: is no TOML"
        return
    if defined.get("title") != report["title"]:
        yield "report.title: is not that of report.definition"
    listed = defined.get("entry", [])
    titles = [own.get("title") if isinstance(own, dict) else None for own in listed] if isinstance(listed, list) else []
    if len(titles) != len(manifest["entries"]):
        yield f"entries: are {len(manifest['entries'])}, and report.definition has {len(titles)}"
    for place, (title, entry) in enumerate(zip(titles, manifest["entries"], strict=False)):
        if title != entry["title"]:
            yield f"entries[{place}].title: is not that of report.definition"


@dataclass(frozen=True)
class _Against:
    """A well-formed manifest beside a ledger."""

    manifest: Mapping[str, Any]
    ledger: Ledger
    entries: Sequence[Entry]

    def ledger_problems(self) -> Iterator[str]:
        stated, last = self.manifest["ledger"], len(self.entries)
        if stated["id"] != self.ledger.ledger_id:
            yield f"ledger.id: is {stated['id']!r}, and the ledger's is {self.ledger.ledger_id!r}"
        if all(entry.hash != stated["head"] for entry in self.entries):
            yield "ledger.head: is the hash of no entry of the ledger"
        entry = self._entry(stated["sequence"])
        if entry is None:
            yield f"ledger.sequence: is {stated['sequence']}, and the ledger's entries are 1 to {last}"
        elif entry.hash != stated["head"]:
            yield f"ledger.sequence: entry {entry.sequence} of the ledger has another hash than ledger.head"

    def guarantee_problems(self) -> Iterator[str]:
        own = [entry for entry in self.entries if entry.table == self.manifest["table"]]
        declared = {budget.guarantee: budget for budget in budgets_of(own)}
        if not declared:
            yield f"table: the ledger holds no budget of table {self.manifest['table']!r}"
            return
        if len(self.manifest["guarantees"]) != len(declared):
            yield f"guarantees: are {len(self.manifest['guarantees'])}, and the table has {len(declared)} budgets"
        for place, stated in enumerate(self.manifest["guarantees"]):
            where = f"guarantees[{place}]"
            try:
                promise, spent, remaining = (
                    guarantee_from_json(stated[name]) for name in ("promise", "spent", "remaining")
                )
            except EmdpError as error:
                yield f"{where}: holds no guarantees ({error})"
                continue
            if promise not in declared:
                yield f"{where}.promise: is no budget of the table in the ledger"
                continue
            if stated["kind"] != promise.kind_name:
                yield f"{where}.kind: is not that of its promise, {promise.kind_name!r}"
            states = self._states(own, promise)
            match = [account for account in states if account.spent == spent]
            if not match:
                yield f"{where}.spent: is not what the ledger holds, {states[-1].spent}"
            if not any(_is_within(remaining, account.remaining) for account in match or states):
                yield f"{where}.remaining: is more than the ledger leaves, {states[-1].remaining}"

    def entry_problems(self, place: int) -> Iterator[str]:
        stated, where = self.manifest["entries"][place], f"entries[{place}]"
        charge, answer = stated["charge"], stated["answer"]
        if (answer is None) == (stated["error"] is None):
            yield f"{where}.error: stands beside an answer, or is missing where there is none"
        if (answer is None) != (charge is None):
            yield f"{where}.charge: an answer and the charge that paid for it must stand together"
        if stated["reused"] and answer is None:
            yield f"{where}.reused: there is no answer that could be reused"
        paid = kept = None
        if charge is not None:
            paid = self._entry(charge["sequence"])
            yield from self._entry_problems(f"{where}.charge", charge, paid, "charge")
            if paid is not None:
                yield from self._charge_problems(where, stated, paid)
        if answer is not None:
            kept = self._entry(answer["sequence"])
            yield from self._entry_problems(f"{where}.answer", answer, kept, "answer")
            if kept is not None:
                yield from self._answer_problems(where, stated, kept)
        # An entry's own, for the data may change while a report runs.
        version = stated.get("data_version", self.manifest["data_version"])
        for own in (paid, kept):
            if own is not None and own.payload.get("data_version", version) != version:
                yield f"data_version: entry {own.sequence} of the ledger has {own.payload['data_version']!r}"
        if paid is not None and kept is not None and kept.payload.get("charge") != paid.sequence:
            yield f"{where}.answer: the ledger says that another charge paid for it"

    def _entry_problems(self, where: str, stated: Mapping[str, Any], entry: Entry | None, kind: str) -> Iterator[str]:
        """Yield what is wrong with the place of an entry and with all that charges and answers have in common."""
        if entry is None or entry.sequence > self.manifest["ledger"]["sequence"]:
            yield f"{where}.sequence: the ledger holds no entry {stated['sequence']} up to ledger.sequence"
            return
        if entry.hash != stated["hash"]:
            yield f"{where}.hash: is not that of entry {entry.sequence} of the ledger"
        if entry.kind != kind:
            yield f"{where}.sequence: entry {entry.sequence} of the ledger is no {kind}"
        if entry.table != self.manifest["table"]:
            yield f"table: entry {entry.sequence} of the ledger is about table {entry.table!r}"
        for name in ("period", "users"):
            # Only a charge has the users; charges of earlier versions have no period, which is none.
            if (name in entry.payload or name == "period") and entry.payload.get(name) != self.manifest[name]:
                yield f"{name}: entry {entry.sequence} of the ledger has {entry.payload.get(name)!r}"

    def _charge_problems(self, where: str, stated: Mapping[str, Any], paid: Entry) -> Iterator[str]:
        if paid.payload.get("event") != stated["charge"]["event"]:
            yield f"{where}.charge.event: is not that of entry {paid.sequence} of the ledger"
        if not stated["reused"] and paid.payload.get("report") != self.manifest["report"]["title"]:
            yield f"{where}.reused: entry {paid.sequence} of the ledger was charged for another report"

    def _answer_problems(self, where: str, stated: Mapping[str, Any], kept: Entry) -> Iterator[str]:
        digest = kept.payload.get("content")
        if digest != stated["answer"]["content"]:
            yield f"{where}.answer.content: is not the digest in entry {kept.sequence} of the ledger"
        elif isinstance(digest, str):
            try:
                # A text that is still kept is compared with its digest whenever it is read.
                self.ledger.content(digest)
            except LedgerError as error:
                yield f"{where}.answer.content: {error}"
        if "reads" in stated:
            yield from (f"{where}.{one}" for one in reading_problems(stated, self.entries, self.manifest["table"]))
            return
        # A charge whose run was killed may be of an entry that had another title then; the answer is of this one.
        if not stated["reused"] and kept.payload.get("entry") != stated["title"]:
            yield f"{where}.reused: entry {kept.sequence} of the ledger was stored for another entry"
        if _spelled(stated["query"]) != _spelled(str(kept.payload.get("query", ""))):
            yield f"{where}.query: is not what entry {kept.sequence} of the ledger answers"

    def _states(self, own: Sequence[Entry], promise: Guarantee) -> list[Account]:
        """Return a budget's account at every moment from the last entry that the manifest lists to its head.

        Another process may spend between the moment at which a report adds up what was spent and that of its head.
        """
        listed = [
            one["sequence"] for entry in self.manifest["entries"] for one in (entry["charge"], entry["answer"]) if one
        ]
        first, last = max(listed, default=0), self.manifest["ledger"]["sequence"]
        budget = next(budget for budget in budgets_of(own) if budget.guarantee == promise)
        charges = [one for one in charges_of(own) if one.budget == budget and one.entry.sequence <= last]
        if is_by_source(budget.guarantee) or any(one.users is not None for one in charges):
            places = range(sum(one.entry.sequence <= first for one in charges), len(charges) + 1)
            return [account_of(budget, charges[:place], self.manifest["period"]) for place in places]
        account, states = Account(budget), []
        for charge in charges:
            if charge.entry.sequence > first:
                states.append(account)
            account = account.replay([charge.event])
        return [*states, account]

    def _entry(self, sequence: int) -> Entry | None:
        return self.entries[sequence - 1] if 1 <= sequence <= len(self.entries) else None


def _of_files(manifest: Mapping[str, Any], folder: Path) -> Iterator[str]:
    files = manifest["files"]
    for place, entry in enumerate(manifest["entries"]):
        for name in entry["files"]:
            if not isinstance(name, str) or name not in files:
                yield f"entries[{place}].files: {name!r} is not among files"
    for name, digest in files.items():
        parts = PurePosixPath(name).parts
        if not parts or name.startswith("/") or ".." in parts or "\\" in name or "\0" in name:
            yield f"files: {name!r} is no file below the manifest's folder"
            continue
        path = folder.joinpath(*parts)
        if not path.is_file() or not path.resolve().is_relative_to(folder.resolve()):
            yield f"files: {name!r} is missing"
        elif _sha256(path) != digest:
            yield f"files: {name!r} was changed"


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open_regular(path) as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _is_within(one: Guarantee, other: Guarantee) -> bool:
    pairs = ((one.level, other.level), (one.delta, other.delta))
    return one.kind == other.kind and all(as_decimal(left) <= as_decimal(right) for left, right in pairs)


def _spelled(query: str) -> str:
    """Return the words and signs of a statement, as the store compares questions; of what is none, the text itself."""
    try:
        parse(query)
    except SqlError:
        return query
    return spelled(query)

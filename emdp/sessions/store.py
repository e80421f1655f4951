"""Asking with a memory: what was released once is given again for nothing (``emdp query``, ``emdp report``).

The order is: charge, release, store, and only then show. So a charge without a stored answer bought nothing that
anybody saw. Where it is certain that the process which made the charge is gone (a report holds a lock while it runs),
the same question may be answered under that charge: seen from outside there is one release, and one charge for it.

What reads released measures alone is no release. It has neither a charge nor a stored answer of its own, not even one
of cost 0, for a charge says that something was released; it stands under the charge of the first release that it reads.
"""

import hashlib
import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from emdp.answers import Answer, Receipt
from emdp.answers.stored import StoredAnswer
from emdp.base.charged import CHARGED
from emdp.base.classes import dataclass
from emdp.base.errors import LedgerError, LedgerResourceError, UsageError
from emdp.budgets.accounts import Limit, Tags
from emdp.ledger import Entry, Ledger
from emdp.ledger.chain import canonical_json
from emdp.ledger.entries import later
from emdp.noise import rng
from emdp.questions.columns import unordered
from emdp.sessions.asking import Asking
from emdp.sessions.planning import Planned
from emdp.sessions.scans import SharedScans
from emdp.sql import spelled
from emdp.sql.text.tokens import read_tokens

__all__ = ["Kept", "Store", "kept_answer", "same_plan"]

SALT_BYTES = 32
"""Length of what is stored with tiers, so that nobody can find their numbers from a digest by trying."""


@dataclass(frozen=True, eq=False)
class Kept:
    """An answer that lies in the ledger."""

    answer: StoredAnswer
    charge: Entry
    stored: Entry
    is_reused: bool = True  # Whether it was there before, so that nothing was paid for it now


class Store:
    """The stored answers of one session's table, and a way to ask that looks there first.

    Parameters
    ----------
    tags : Tags, optional
        What charges are for; the period is the session's.
    resumes : bool
        Whether a charge with these tags that has no answer is completed rather than paid again. Only for one who
        holds the lock under which all such charges are made.
    limit : callable, optional
        What may refuse a charge besides the table's budgets.
    """

    def __init__(
        self,
        session: Asking,
        *,
        tags: Tags | None = None,
        resumes: bool = False,
        limit: Limit | None = None,
        scans: SharedScans | None = None,
    ) -> None:
        self._session = session
        self._tags = session.tags if tags is None else tags
        self._resumes = resumes
        self._limit = limit
        self._scans = scans
        self._digests: dict[str, str] = {}
        self._questions: dict[tuple[str, str, tuple[int, ...]], str] = {}
        # Entries and the texts under them never change, so what one of them keeps is read once.
        self._read_before: dict[int, Kept | None] = {}

    def find(self, planned: Planned) -> Kept | None:
        """Return the stored answer to a statement, for the data as they are now; None if there is none.

        Two questions are the same if their words, the table's declared rules, the version of its data, the period, the
        public tables they join and the releases they read are. The newest answer counts. What reads released measures
        alone is answered from them, whatever is stored.

        Raises
        ------
        LedgerError
            If the ledger is damaged.
        """
        if planned.reads:
            return self._read(planned)
        kept = self._found(self.question(planned, self._session.table.data_version()))
        return None if kept is None else _drawable(kept, planned)

    def ask(self, planned: Sequence[Planned], *, fresh: bool = False) -> tuple[Kept, ...]:
        """Answer statements: those with a stored answer for nothing, the others as one batch, stored before it returns.

        Parameters
        ----------
        fresh : bool
            Whether all are asked anew and paid for.
        """
        found = [None if fresh and not one.reads else self.find(one) for one in planned]
        # A statement that stands twice is one question, and has one answer.
        missing = {spelled(one.text): one for one, kept in zip(planned, found, strict=True) if kept is None}
        released = self.release(list(missing.values())) if missing else []
        made = dict(zip(missing, (kept for _, kept in released), strict=True))
        return tuple(
            made[spelled(one.text)] if kept is None else kept for one, kept in zip(planned, found, strict=True)
        )

    def is_paid(self, planned: Planned, *, fresh: bool = False) -> bool:
        """Say whether asking would cost nothing: the answer is stored, a charge for it bought nothing yet, or it reads
        measures alone."""
        if planned.reads or planned.is_awaited or (not fresh and self.find(planned) is not None):
            return True
        return self._unfinished(planned, self.question(planned, self._session.table.data_version())) is not None

    def question(self, planned: Planned, version: str) -> str:
        """Return the digest of a question; see :meth:`find`."""
        key = (planned.text, version, tuple(planned.reads))
        if key not in self._questions:
            self._questions[key] = self._question(planned, version)
        return self._questions[key]

    def _question(self, planned: Planned, version: str) -> str:
        rules = self._session.rules
        # Every word counts: SQL finds a table by any case, and WITH may name what it makes as the table it is made of.
        words = {token.text.lower() for token in read_tokens(planned.text)}
        public = {name: self._digest(name) for name in self._public if name.lower() in words}
        asked: dict[str, Any] = {
            "query": spelled(planned.text),
            "data_version": version,
            "period": self._tags.period,
            "rules": rules,
            "public": public,
        }
        if planned.reads:
            asked["releases"] = list(planned.reads)
        return hashlib.sha256(canonical_json(asked).encode("ascii")).hexdigest()

    @property
    def _ledger(self) -> Ledger:
        return self._session.ledger

    @property
    def _public(self) -> Any:
        return self._session.names.public

    def _digest(self, name: str) -> str:
        if name not in self._digests:
            stream = io.BytesIO()
            self._public[name].write_ipc_stream(stream)
            self._digests[name] = hashlib.sha256(stream.getvalue()).hexdigest()
        return self._digests[name]

    def _read(self, planned: Any) -> Kept:
        """Return the answer of a statement over released measures, under what the first of them cost and is kept by."""
        first: Kept = planned.releases[0]
        own = first.answer
        stored = StoredAnswer.of(
            planned.answer(), period=own.period, data_version=own.data_version, receipt=own.receipt
        )
        return replace(first, answer=replace(stored, time=own.time))

    def _found(self, question: str) -> Kept | None:
        words = canonical_json({"question": question})[1:-1]
        for entry in reversed(self._ledger.search("answer", self._session.table.account, words=words)):
            if entry.payload["question"] == question:
                if entry.sequence not in self._read_before:
                    self._read_before[entry.sequence] = kept_answer(self._ledger, entry)
                if (kept := self._read_before[entry.sequence]) is not None:
                    return kept
        return None

    def release(self, planned: Sequence[Planned]) -> list[tuple[Answer, Kept]]:
        """Release statements as one batch, whatever is stored; return each answer, and the same as it is kept."""
        planned = [self._session.replanned(one) for one in planned]
        if any(getattr(one.plan, "has_keys", False) for one in planned):
            raise UsageError(
                "tiers of messages have keys, which no stored answer and no page holds; ask in Python, write them by "
                "answer.write_messages, or leave model out."
            )
        if not self._resumes:
            self._session.check_affordable(planned)
        with self._session.releasing(planned, self._scans) as release:
            questions = [self.question(one, release.version) for one in planned]
            entries = [self._unfinished(one, question) for one, question in zip(planned, questions, strict=True)]
            due = [place for place, entry in enumerate(entries) if entry is None]
            paid = release.charge(
                [planned[place] for place in due], self._tags, [questions[place] for place in due], limit=self._limit
            )
            for place, entry in zip(due, paid, strict=True):
                entries[place] = entry
            made = [
                (release.answer(one, entry), entry, question)
                for one, entry, question in zip(planned, entries, questions, strict=True)
                if entry is not None
            ]
            release.check_unchanged()
            kept = [
                _drawable(self._kept(answer, entry, question, release.version), one)
                for one, (answer, entry, question) in zip(planned, made, strict=True)
            ]
        CHARGED.store()
        return [(answer, own) for (answer, _, _), own in zip(made, kept, strict=True)]

    def _unfinished(self, planned: Planned, question: str) -> Entry | None:
        """Return a charge for this very release that bought nothing yet."""
        if not self._resumes:
            return None
        name = self._session.table.account
        done = {(entry.payload["charge"], entry.payload["question"]) for entry in self._ledger.entries(name, "answer")}
        event = planned.plan.event.to_json()
        for entry in self._ledger.entries(name, "charge"):
            known = entry.payload
            is_own = known.get("questions") == [question] and known.get("report") == self._tags.report is not None
            if is_own and known["event"] == event and (entry.sequence, question) not in done:
                return entry
        return None

    def _kept(self, answer: Answer, charge: Entry, question: str, version: str) -> Kept:
        receipt = Receipt(self._ledger.path, charge.sequence, charge.hash)
        salt = rng.random_bytes(SALT_BYTES).hex() if answer.weaker else ""
        stored = StoredAnswer.of(answer, period=self._tags.period, data_version=version, receipt=receipt, salt=salt)
        payload = {
            "question": question,
            "charge": charge.sequence,
            "query": stored.query,
            "period": self._tags.period,
            "report": self._tags.report,
            "entry": self._tags.entry,
            "data_version": version,
        }
        table = self._session.table.account
        admit = _once(charge.sequence, question)
        try:
            entry = self._ledger.append("answer", table, payload, admit=admit, content=stored.to_text())
        except _KeptAlreadyError:
            raise
        except LedgerError as error:
            raise _not_kept(error, charge.sequence) from error
        return Kept(replace(stored, time=entry.time), charge, entry, is_reused=False)


def _drawable(kept: Kept, planned: Planned) -> Kept:
    """Return a stored measure with what a picture of it shows, which its plan makes where it is drawn."""
    stored = kept.answer
    plan = same_plan(planned.plan, stored) if stored.measured else None
    rows: Any = None if plan is None else unordered(plan.finisher)
    if not hasattr(rows, "drawn"):
        return kept
    return replace(kept, answer=replace(stored, redrawn=partial(rows.drawn, (stored.measured,))))


def same_plan(plan: Any, stored: StoredAnswer) -> Any:
    """Return the plan whose nodes and noise a stored measure has: this one, or one of other noise; None if none has."""
    for one in (plan, *getattr(plan, "others", ())):
        new, old = ([(own.expression, own.noise_scale) for own in side.columns] for side in (one, stored))
        if new == old and len(stored.measured) == getattr(one.mechanisms[0], "dimension", -1):
            return one
    return None


class _KeptAlreadyError(LedgerError):
    """Another process stored the answer first."""


def _not_kept(error: LedgerError, charge: int) -> LedgerError:
    """Return the error of a ledger that took a charge and then no answer; its own words know of no charge."""
    kind = LedgerResourceError if isinstance(error, LedgerResourceError) else LedgerError
    return kind(
        error.problem,
        remedy=f"entry {charge} stays charged, and its answer may be lost, so see to the ledger before asking again",
    )


def _once(charge: int, question: str) -> Callable[[Sequence[Entry]], None]:
    def admit(entries: Sequence[Entry]) -> None:
        for entry in later(entries, charge, "answer"):
            if (entry.payload["charge"], entry.payload["question"]) == (charge, question):
                raise _KeptAlreadyError(
                    f"the answer that entry {charge} paid for is stored already; ask again to be given that one."
                )

    return admit


def kept_answer(ledger: Ledger, entry: Entry) -> Kept | None:
    """Return the answer that an entry stored; None if its text was dropped when its time was over.

    Raises
    ------
    LedgerError
        If the ledger lacks what the entry names.
    """
    text = ledger.content(entry.payload["content"])
    if text is None:
        return None
    number = entry.payload["charge"]
    paid = [own for own in ledger.search("charge", entry.table, sequence=number) if own.sequence == number]
    if not paid:
        raise LedgerError(f"entry {entry.sequence} stores an answer that no charge paid for; compare with a copy.")
    receipt = Receipt(ledger.path, paid[0].sequence, paid[0].hash)
    return Kept(StoredAnswer.from_text(text, entry.payload, receipt, entry.time), paid[0], entry)

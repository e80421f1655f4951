"""A released answer as it lies in a ledger: rows, promise and derivation, for whoever asks the same again."""

import base64
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from emdp.answers.answer import Answer, Receipt, plot
from emdp.answers.tiered import tier_of
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, StoredTextError
from emdp.base.text import Text
from emdp.privacy import Guarantee
from emdp.privacy.guarantees.kinds import guarantee_from_json
from emdp.questions.columns import PlannedColumn
from emdp.questions.shape import Shape

if TYPE_CHECKING:
    from emdp.pictures import Picture

__all__ = ["StoredAnswer"]

POLARS_ERRORS = (ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""Errors of Polars at a stream that is damaged or of a later version."""


@dataclass(frozen=True, eq=False)
class StoredAnswer:
    """A released answer; all of it is post-processing of what was paid for, so showing it again costs nothing.

    Parameters
    ----------
    query : str
        The statement, with its header.
    frame : polars.DataFrame
        As :attr:`Answer.frame`: keys, values and the ends of their 95 % intervals.
    shape : Shape
        What the frame's columns are.
    columns : tuple of PlannedColumn
        What is public about each.
    guarantee : Guarantee
        What holds for the release.
    choice : str
        Why this noise, and how the budget is split.
    notes, of_table, assumptions, caveats : tuple of str
        As in :class:`Answer`.
    explanation : str
        The whole derivation as text.
    is_private : bool
        False for answers made under the test switch.
    period, data_version : str or None, str
        Which part of the table it is about, and which state of that.
    receipt : Receipt
        The ledger entry that paid.
    time : str
        When it was stored, UTC, ISO 8601; empty before.
    weaker : tuple of StoredAnswer
        Answers for the readers of further tiers; see :meth:`tier`.
    salt : str
        Random text that is stored with tiers: a reader of a weaker tier sees digests of what is stored (on pages, in
        manifests, in copies of the ledger), and must not be able to find the stronger answers by trying.
    measured : tuple of float
        Of a measure the released shares of all nodes in their order, whatever rows the frame has.
    redrawn : callable, optional
        Returns the rows that a picture shows, where these are other ones; not stored.
    """

    query: str
    frame: pl.DataFrame
    shape: Shape
    columns: tuple[PlannedColumn, ...]
    guarantee: Guarantee
    choice: str
    notes: tuple[str, ...]
    assumptions: tuple[str, ...]
    caveats: tuple[str, ...]
    explanation: str
    is_private: bool
    period: str | None
    data_version: str
    receipt: Receipt
    time: str = ""
    weaker: tuple["StoredAnswer", ...] = ()
    salt: str = ""
    measured: tuple[float, ...] = ()
    of_table: tuple[str, ...] = ()
    redrawn: Callable[[], pl.DataFrame] | None = None

    @classmethod
    def of(
        cls, answer: Answer, *, period: str | None, data_version: str, receipt: Receipt, salt: str = ""
    ) -> "StoredAnswer":
        """Return an answer as it is stored; ``salt`` is needed where it has tiers."""
        if answer.weaker and not salt:
            raise InternalError("an answer with tiers is stored with a salt; please report the statement.")
        shared: dict[str, Any] = {"period": period, "data_version": data_version, "receipt": receipt, "salt": salt}
        return cls(
            query=answer.query,
            frame=answer.frame,
            shape=answer.shape,
            columns=answer.columns,
            guarantee=answer.guarantee,
            choice=answer.choice,
            caveats=answer.caveats,
            notes=answer.notes,
            of_table=answer.of_table,
            assumptions=answer.assumptions,
            explanation=answer.explain(),
            is_private=answer.is_private,
            period=period,
            data_version=data_version,
            receipt=receipt,
            weaker=tuple(cls.of(own, **shared) for own in answer.weaker),
            salt=salt,
            measured=answer.measured,
        )

    def tier(self, number: int) -> "StoredAnswer":
        """Return the answer for the readers of one tier; see :meth:`Answer.tier`."""
        found: StoredAnswer = tier_of(self, number)
        return found

    @property
    def spent(self) -> Guarantee:
        """Charge of the release."""
        return self.guarantee

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks that follow from the released numbers: caveats that are neither notes nor of all answers."""
        own = self.caveats[0 if self.is_private else 1 : -1]
        return own[: len(own) - len(self.notes)]

    @property
    def drawn(self) -> pl.DataFrame:
        """The rows that a picture shows: of a measure the fit at the released nodes."""
        return self.frame if self.redrawn is None else self.redrawn()

    def explain(self) -> Text:
        """Return the whole derivation as text."""
        return Text(self.explanation)

    def plot(self, kind: str = "auto") -> "Picture":
        """Return a picture of it; see :meth:`Answer.plot`."""
        return plot(self.drawn, self.columns, self.shape, kind=kind)

    def to_text(self) -> str:
        """Return it as JSON text; the frame as an Arrow stream in base 64, so that every type and bit stays."""
        tiers: dict[str, Any] = {}
        if self.weaker:
            tiers = {"weaker": [own._to_json() for own in self.weaker], "salt": self.salt}
        return json.dumps({**self._to_json(), **tiers}, sort_keys=True)

    def _to_json(self) -> dict[str, Any]:
        stream = io.BytesIO()
        self.frame.write_ipc_stream(stream)
        return {
            "query": self.query,
            "frame": base64.b64encode(stream.getvalue()).decode("ascii"),
            "shape": asdict(self.shape),
            "columns": [asdict(column) for column in self.columns],
            "guarantee": self.guarantee.to_json(),
            "choice": self.choice,
            "caveats": self.caveats,
            "notes": self.notes,
            "assumptions": self.assumptions,
            "explanation": self.explanation,
            "is_private": self.is_private,
            **({"measured": self.measured} if self.measured else {}),
            **({"of_table": self.of_table} if self.of_table else {}),
        }

    @classmethod
    def from_text(cls, text: str, payload: Mapping[str, Any], receipt: Receipt, time: str) -> "StoredAnswer":
        """Return what :meth:`to_text` wrote.

        Parameters
        ----------
        text : str
            The stored text.
        payload : mapping
            Of the ledger entry that stored it.
        receipt : Receipt
            The entry that paid.
        time : str
            When it was stored.
        """
        try:
            made = json.loads(text)
            weaker = tuple(cls._of_json(own, payload, receipt, time) for own in made.get("weaker", ()))
            return replace(cls._of_json(made, payload, receipt, time), weaker=weaker, salt=made.get("salt", ""))
        except (AttributeError, LookupError, OSError, RecursionError, TypeError, *POLARS_ERRORS) as error:
            raise StoredTextError(
                "a stored answer cannot be read; it may be of a newer emdp, so install that, or ask with --fresh."
            ) from error

    @classmethod
    def _of_json(
        cls, made: Mapping[str, Any], payload: Mapping[str, Any], receipt: Receipt, time: str
    ) -> "StoredAnswer":
        shape: dict[str, Any] = {
            name: tuple(own) if isinstance(own, list) else own for name, own in made["shape"].items()
        }
        return cls(
            query=made["query"],
            frame=pl.read_ipc_stream(io.BytesIO(base64.b64decode(made["frame"]))),
            shape=Shape(**shape),
            columns=tuple(PlannedColumn(**column) for column in made["columns"]),
            guarantee=guarantee_from_json(made["guarantee"]),
            choice=made["choice"],
            caveats=tuple(made["caveats"]),
            notes=tuple(made["notes"]),
            assumptions=tuple(made["assumptions"]),
            explanation=made["explanation"],
            is_private=made["is_private"],
            period=payload["period"],
            data_version=payload["data_version"],
            receipt=receipt,
            time=time,
            measured=tuple(map(float, made.get("measured", ()))),
            of_table=tuple(made.get("of_table", ())),
        )

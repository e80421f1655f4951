"""Answer of a session: noisy rows with their promise."""

from collections.abc import Sequence
from dataclasses import field
from html import escape
from typing import TYPE_CHECKING, Any

import polars as pl

from emdp.answers.description import DEFAULT_LEVEL, Description
from emdp.answers.measured import Measured
from emdp.answers.tiered import Tiered
from emdp.base.checks import check_choice, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.base.text import Text
from emdp.privacy import Guarantee
from emdp.questions.columns import Finisher, PlannedColumn, Released, TopItems, unordered
from emdp.questions.shape import Shape

if TYPE_CHECKING:
    from emdp.pictures import Picture

__all__ = ["Answer", "Receipt", "plot"]

INTERVAL_ENDS = ("_low", "_high")
"""Endings of the names of the columns that hold an interval's ends."""

SHOWN = ("value", "low", "high")
"""Columns of :meth:`Answer.interval` for a value and the ends of its interval."""


@dataclass(frozen=True)
class Receipt:
    """The ledger entry that paid for a release: where it stands and its hash."""

    ledger: str
    sequence: int
    hash: str


@dataclass(frozen=True, repr=False)
class Answer(Tiered, Measured, Description):
    """A released answer; it cannot be built without the ledger entry that paid for it.

    Attributes
    ----------
    frame : polars.DataFrame
        One row a group, cell or quantile level, with its keys first unless the select list has them elsewhere; for
        each column of the query its value, ``<name>_low`` and ``<name>_high`` (95 %).
    guarantee : Guarantee
        What holds for this release.
    noise : AdditiveMechanism, or another mechanism
        The law of the noise: its ``scale``, ``grid``, ``standard_deviation``. Where groups of users have each their
        own draw it is the first group's; ``mechanisms`` has all. Of releases that randomize items or users one by one
        it is what makes the messages, with its ``theorem`` and ``facts``.
    spent : Guarantee
        What the release was charged.
    weaker : tuple of Answer
        Answers for the readers of tiers 2 and on, where the release has tiers; see :meth:`tier`. This answer is the
        first reader's.
    exact : dict of str to float, or to a list of float
        The values before noise by column, under the test switch alone: a list where the answer has several rows,
        all of them in their natural order, whatever ORDER BY and LIMIT say.
    """

    released: Any = ()
    receipt: Receipt | None = None
    weaker: tuple["Answer", ...] = field(default=(), repr=False)
    charged: Guarantee | None = None
    _exact: Released | None = field(default=None, repr=False)
    _plan: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.receipt is None:
            raise UsageError("receipt must be the ledger entry that paid for the answer; ask through a session.")

    @property
    def frame(self) -> pl.DataFrame:
        """The answer as a table; see the class."""
        return self.finisher.frame(self.released, DEFAULT_LEVEL)

    @property
    def noise(self) -> Any:
        """The mechanism of the release; see the class."""
        return self.mechanisms[0]

    @property
    def spent(self) -> Guarantee:
        """The guarantee that was charged to the ledger for this answer: of a weaker tier that of the strongest."""
        return self.guarantee if self.charged is None else self.charged

    @property
    def is_private(self) -> bool:
        """Whether the guarantee holds: False for answers made under the test switch."""
        return self._exact is None

    @property
    def exact_frame(self) -> pl.DataFrame:
        """The rows before noise, with their keys: under the test switch alone.

        Raises
        ------
        UsageError
            For a private answer.
        """
        if self._exact is None:
            raise UsageError("exact exists only for answers made inside emdp.testing.seeded; ask again inside it.")
        return self.finisher.exact(self._exact)

    @property
    def exact(self) -> dict[str, Any]:
        """The values before noise, which exist under the test switch alone; see the class.

        Raises
        ------
        UsageError
            For a private answer.
        """
        frame = self.exact_frame
        columns = {column.name: frame.get_column(column.name).to_list() for column in self.columns}
        # Groups alone are columns without keys beside them, of any number of rows.
        has_keys = len(frame.columns) > len(columns) or frame.height != 1
        return columns if has_keys else {name: values[0] for name, values in columns.items()}

    @property
    def diagnostics(self) -> dict[str, Any]:
        """Further facts from the released messages, at no cost; empty for most answers.

        Of :meth:`emdp.Session.user_mean`: ``ranges`` (what users were clipped to, one a coordinate) and, where the
        first round estimates it, ``near``, the share of users near that range, with its standard error ``near_error``:
        well below 1 it says that users differ by more than was assumed. Of :meth:`emdp.Session.heavy_hitters`:
        ``complete_above`` (the frequency from which every string was found), ``half_width`` and ``found``. Of totals
        whose cap is automatic or measured: ``cap``, ``records_left_out`` (an estimate, or None), ``users_by_records``
        (noisy numbers of users by octave of their records) and ``users_noise_scale``.
        """
        found = getattr(self._rows, "diagnostics", None)
        told: dict[str, Any] = {} if found is None else found(self.released)
        return told

    @property
    def stages(self) -> dict[str, pl.DataFrame]:
        """The noisy table of each stage of a statement that has several, by what the statement calls it, at no cost."""
        found = getattr(self._rows, "stages", None)
        return {} if found is None else dict(found(self.released))

    @property
    def caveats(self) -> tuple[str, ...]:
        """Warnings for a reader, beside the guarantee."""
        switch = () if self.is_private else ("made under the test switch: NOT PRIVATE",)
        return (*switch, *self.remarks, *self.notes, self.slack_caveat())

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks that follow from the released numbers, such as why there are fewer rows than were asked for."""
        remarks = getattr(self._rows, "remarks", None)
        return () if remarks is None else tuple(remarks(self.released))

    def interval(self, level: float = DEFAULT_LEVEL, *, coverage: str = "each", of: str = "truth") -> pl.DataFrame:
        """Return intervals that contain the exact values with probability ``level``, from the noise's exact law.

        A count or sum under ``max_records_per_user`` is computed of the records as they count under the cap. Its
        interval is for the true total, and an end of which nothing can be said is NULL: a user above the cap may hold
        any number. Records that the table's space sends elsewhere are in no total; a note of the answer says so.

        Parameters
        ----------
        level : float
            Coverage in (0, 1).
        coverage : {"each", "all"}
            Whether every interval has that coverage alone, or all of them together.
        of : {"truth", "capped"}
            Of counts and sums under a cap: whether intervals are for the true totals or for the capped ones.

        Returns
        -------
        polars.DataFrame
            The answer's keys if any, then query, value, low, high; one row a value of the answer, in the order and
            with the rows of ``frame``. A key that is named like one of these four is called ``key_<name>`` here.

        Raises
        ------
        UsageError
            If an argument is out of range.
        """
        level = check_unit_interval("level", level)
        check_choice("coverage", coverage, ("each", "all"))
        check_choice("of", of, ("truth", "capped"))
        if not self.columns:
            raise UsageError(
                "the answer holds messages alone, or is computed of stages and public tables, so that it has no "
                "intervals; read answer.frame, and answer.stages for those of stages."
            )
        capped = getattr(self.finisher, "of_capped", None) if of == "capped" else None
        finisher = self.finisher if capped is None else capped()
        frame = finisher.frame(self.released, level, together=coverage == "all")
        names = [column.name for column in self.columns]
        taken = {name + end for name in names for end in ("", *INTERVAL_ENDS)}
        keys = _apart([series for series in frame.get_columns() if series.name not in taken])
        blocks = []
        for name in names:
            # By name, not by an expression: polars reads a star or a regular expression in one.
            ends = [frame.get_column(name + end).cast(pl.Float64) for end in ("", *INTERVAL_ENDS)]
            query = pl.Series("query", [name] * len(frame), dtype=pl.String)
            blocks.append(pl.DataFrame([*keys, query, *map(pl.Series.alias, ends, SHOWN)]))
        return pl.concat(blocks)

    def top(self, count: int, *, failure: float = 0.05) -> TopItems:
        """Return the items with the largest estimated shares, with what holds of the list but for a probability.

        Post-processing of frequencies of all items of a finite space: it costs nothing.

        Parameters
        ----------
        count : int
            How many items.
        failure : float
            Probability, in (0, 1), with which any of what is stated may fail.

        Returns
        -------
        TopItems

        Raises
        ------
        UsageError
            If the answer is no such frequencies, or an argument is out of its range.
        """
        top = getattr(self._rows, "top", None)
        if top is None:
            raise UsageError("top is for frequencies of all items of a finite space; ask session.frequencies() first.")
        found: TopItems = top(self.released, count, failure)
        return found

    def region(self, level: float = DEFAULT_LEVEL, norm: str = "l2") -> float:
        """Return the radius of a ball around the released frequencies that holds the exact ones.

        With probability at least ``level``, over the release's own randomness and whatever the data, the exact
        frequencies of all items together are within the radius of the released ones: before noise, unadjusted, in their
        natural order whatever ORDER BY and LIMIT leave. It is post-processing, so it costs nothing. Of groups of users
        each one's frequencies are within it, all at once; of smoothed cells the frequencies are those of the cells.

        Parameters
        ----------
        level : float
            Coverage in (0, 1).
        norm : {"l2", "l1", "linf", "d_em"}
            Euclidean norm; sum of absolute differences; the largest of them; or the earth-mover distance in the unit of
            ``d_em``, after what the released sum is off 1 was spread evenly.

        Returns
        -------
        float
            From public numbers alone: the exact law of Laplace and Gaussian noise in the first three norms (sums of
            many squares by inequalities), McDiarmid's and Bernstein's inequality for messages.

        Raises
        ------
        UsageError
            If the answer is no frequencies, or an argument is out of its range.

        References
        ----------
        Proofs stand in :mod:`emdp.estimators.frequency.regions`.
        """
        region = getattr(self._rows, "region", None)
        if region is None:
            raise UsageError("region is for frequencies; ask for those, or for the intervals of other answers.")
        found: float = region(check_unit_interval("level", level), norm)
        return found

    def plot(self, kind: str = "auto") -> "Picture":
        """Return a picture of the answer, with its intervals.

        Parameters
        ----------
        kind : {"auto", "bar", "map", "distribution"}
            How it is drawn; must fit the answer.

        Returns
        -------
        Picture
            ``svg`` is the picture, ``text`` says in words what it shows; a notebook shows it as it is.

        Raises
        ------
        UsageError
            If the kind does not fit the answer, or no row has a value.
        """
        return plot(self._drawn(self.frame), self.columns, self.shape, kind=kind)

    def explain(self) -> Text:
        """Return the whole derivation as text, a line a fact, with the ledger entry that paid."""
        lines = [*self.explain_lines(), *(f"found        {remark}" for remark in self.remarks)]
        if not self.is_private:
            lines.insert(0, "NOT PRIVATE  made under the test switch, with reproducible noise")
        if self.receipt is not None:
            lines.append(f"paid by      entry {self.receipt.sequence} of {self.receipt.ledger}, {self.receipt.hash}")
        return Text("\n".join(lines))

    @property
    def _rows(self) -> Finisher:
        """Finisher of the rows before they are ordered and cut."""
        inner: Finisher = unordered(self.finisher)
        return inner

    def __repr__(self) -> str:
        head = "" if self.is_private else "NOT PRIVATE (test switch)\n"
        return "\n".join([f"{head}{self.frame}", *self.remarks, str(self.guarantee)])

    def _repr_html_(self) -> str:
        # Loaded where it is needed.
        from emdp.base.html import frame_html

        head = "" if self.is_private else "<p>NOT PRIVATE (test switch)</p>"
        try:
            picture = self.plot().svg
        except UsageError:
            picture = ""
        remarks = "".join(f"<p>{escape(remark)}</p>" for remark in self.remarks)
        return f"{head}{picture}{frame_html(self.frame)}{remarks}<p>{escape(str(self.guarantee))}</p>"


def plot(frame: pl.DataFrame, columns: Sequence[PlannedColumn], shape: Shape, *, kind: str) -> "Picture":
    """Return a picture of an answer's rows; see :meth:`Answer.plot`."""
    if not columns:
        raise UsageError("the answer holds messages alone, which have no picture; read them from answer.frame.")
    from emdp.pictures import draw

    picture = draw(frame, columns, shape, kind=kind)
    if picture is None:
        raise UsageError("the answer has no value to draw: all rows are within their noise, or there are none.")
    return picture


def _apart(keys: Sequence[pl.Series]) -> list[pl.Series]:
    """Return key columns under names that the columns of intervals do not have."""
    taken = {key.name for key in keys} | {"query", *SHOWN}
    found = []
    for key in keys:
        name = key.name
        while name in ("query", *SHOWN) or (name != key.name and name in taken):
            name = f"key_{name}"
        taken.add(name)
        found.append(key.alias(name))
    return found

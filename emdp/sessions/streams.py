"""Streams of a session: a linear question of one period after another, asked and previewed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from emdp.base.errors import UsageError
from emdp.questions.resolution import Query
from emdp.sessions.asking import Asking, Parameters
from emdp.sessions.planning import plan_request

if TYPE_CHECKING:
    from emdp.answers import StreamAnswer, StreamPreview
    from emdp.sessions.stream_requests import StreamRequest

__all__ = ["Streams"]


class Streams(Asking):
    """Streams of a session."""

    def stream(
        self,
        query: str | Query,
        *,
        periods: str | Sequence[str],
        unit: Literal["period", "user", "history"],
        plan: Literal["days", "totals", "both"] = "days",
        show: Sequence[str] = ("day",),
        name: str = "",
        active: int | None = None,
        parameters: Parameters | None = None,
    ) -> "StreamAnswer":
        """Release a linear question for one period after another, all of them for one price.

        The first call charges the whole stream, before anything is read; each call draws the row of the session's
        period, unless it was drawn before, and then shows it again. A longer list of periods prolongs the stream, and
        pays the difference. A period that is passed over has no row, and counts as nothing from then on.

        Parameters
        ----------
        query : str, or a query as for :meth:`answer`
            Mean, share, histogram or sum over one group of users; its level and delta are those of the whole stream,
            whose noise is Gaussian.
        periods : sequence of str, or str
            All names in order, or a range such as ``"2026-W01..2026-W52"`` (also of days and months).
        unit : {"period", "user", "history"}
            For which histories the level holds: such as differ in one period, in any, or in a part of all ``periods``
            together, where ``d`` is the mean of their distances. It is never implied, since the first says less.
        plan : {"days", "totals", "both"}
            What the stream is good for: single periods by independent noise; means to date by the square-root
            factorisation; or both, by two streams of half the ``mu^2`` each. By ``unit="user"`` totals need ``active``.
        show : sequence of {"day", "last 7", "to date", "change"}
            Figures: the period itself, means of the last seven and of all so far, and the change since the one before,
            which the first period has no row of.
        name : str
            Tells streams of one question apart, such as a new one after the state of another was lost.
        active : int, optional
            With ``epsilon``: a user counts in the first so many periods with records of the user, and less noise is
            added. The state then holds who counted when (docs/streams.md); a person must keep one key.
        parameters : list or dict, optional
            As of :meth:`emdp.Session.sql`.

        Returns
        -------
        StreamAnswer
            Its frame has one row a period and figure (and group).

        Raises
        ------
        BudgetExceededError
            If the budgets do not cover the stream; nothing is charged or read then.
        LedgerError
            If the state of the stream (``LEDGER.state``, as secret as the data) is lost or may be read by others.
        UsageError
            If the question has no stream, the period is none of its periods, or a later one has its row.

        Guarantee
        ---------
        ``(alpha, delta)`` of all rows together in the unit: :mod:`emdp.mechanisms.streams.mechanism`.
        """
        from emdp.sessions.streaming import streamed

        request = self._stream_request(query, periods, unit, plan, show, name, active, parameters)
        return streamed(request, self._accounts, self._table, self._tags, self._rules, self.releasing)

    def preview_stream(
        self,
        query: str | Query,
        *,
        periods: str | Sequence[str],
        unit: Literal["period", "user", "history"],
        plan: Literal["days", "totals", "both"] = "days",
        show: Sequence[str] = ("day", "last 7", "to date"),
        name: str = "",
        active: int | None = None,
        parameters: Parameters | None = None,
    ) -> "StreamPreview":
        """Say what a stream would cost, and how far off its figures would be; touches no private value, spends nothing.

        Parameters
        ----------
        query, periods, unit, plan, show, name, active, parameters
            As of :meth:`stream`.

        Returns
        -------
        StreamPreview
            Its frame has one row a figure and column, at the last of the periods. Of a stream that has begun it says
            what prolonging it costs, or that nothing is due.

        Raises
        ------
        UsageError
            As :meth:`stream`. What no budget covers is told by ``refusal``.
        """
        from emdp.sessions.streaming import previewed_stream

        request = self._stream_request(query, periods, unit, plan, show, name, active, parameters)
        return previewed_stream(request, self._accounts, self._table, self._tags, self._rules)

    def _stream_request(
        self,
        query: str | Query,
        periods: str | Sequence[str],
        unit: Any,
        plan: Any,
        show: Sequence[str],
        name: str,
        active: int | None,
        parameters: Parameters | None,
    ) -> "StreamRequest":
        from emdp.base.periods import period_names
        from emdp.sessions.stream_requests import StreamRequest

        self._check_switch()
        text = query if parameters is None else self._filled_in(query, parameters)
        planned = plan_request(text, self._names, self.promises, gaussian=True)
        if len(planned) > 1:
            raise UsageError(f"query holds {len(planned)} statements; ask for a stream of each of them.")
        return StreamRequest.of(
            planned[0],
            periods=period_names(periods),
            unit=unit,
            plan=plan,
            show=show,
            name=name,
            period=self._tags.period,
            names=self._names,
            active=active,
        )

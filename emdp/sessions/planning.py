"""Planner of requests, SQL text or a query of Python, from public names and public numbers alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from emdp.base.classes import dataclass
from emdp.base.errors import NotLipschitzError, SqlError, UsageError
from emdp.estimators import AnyPlan, plan_query
from emdp.privacy import Guarantee
from emdp.questions.item_frequencies import ItemFrequencies
from emdp.questions.means import Mean, VectorMean
from emdp.questions.names import Names
from emdp.questions.owned.question import OwnedSelect
from emdp.questions.owned.stages import FreeSelect, StagedSelect
from emdp.questions.resolution import Query, Resolved, describe, resolve_query
from emdp.questions.select import FrequencyQuery, Select

if TYPE_CHECKING:
    from emdp.sql import Translated

__all__ = ["Planned", "Planner", "plan_request"]

MOST_TEXTS = 64
"""Texts whose plans a planner remembers."""


@dataclass(frozen=True, eq=False)
class Planned:
    """A request with its plan."""

    text: str  # The statement as written, or the query of Python as text
    plan: AnyPlan

    @property
    def reads(self) -> tuple[int, ...]:
        """Numbers of the ledger's entries that keep the released measures it is made of, and of nothing else."""
        return ()

    @property
    def is_awaited(self) -> bool:
        """Whether it reads measures that are yet to be released, and is planned again when they are."""
        return False


class Planner:
    """Plans requests where what is public does not change, and remembers the plans of texts: one that is asked again
    need not be read, checked and priced again. A plan holds nothing of an answer, and draws anew for each.
    """

    def __init__(self, names: Names, promises: Sequence[Guarantee]) -> None:
        self._names, self._promises = names, tuple(promises)
        self._known: dict[str, tuple[Planned, ...]] = {}

    def plans_alike(self, names: Names, promises: Sequence[Guarantee]) -> bool:
        """Say whether a request has the same plan under other names and promises, of which it asks the kinds alone."""
        kinds = [[promise.kind for promise in own] for own in (self._promises, promises)]
        return kinds[0] == kinds[1] and self._names.is_same(names)

    def plan(self, request: str | Query, made: tuple[Planned, ...] | None = None) -> tuple[Planned, ...]:
        """Return what :func:`plan_request` does; ``made`` is what it gave elsewhere, where plans are alike."""
        if not isinstance(request, str):
            return plan_request(request, self._names, self._promises)
        found = self._known.get(request)
        if found is None:
            found = plan_request(request, self._names, self._promises) if made is None else made
            if len(self._known) >= MOST_TEXTS:
                self._known.clear()
            self._known[request] = found
        return found


def plan_request(
    request: str | Query, names: Names, promises: Sequence[Guarantee] = (), *, gaussian: bool = False
) -> tuple[Planned, ...]:
    """Check and price a request: one plan a statement.

    Parameters
    ----------
    request : str or a query
        SQL, several statements with ``;`` between them, or a frozen query such as ``emdp.mean(...)``.
    names : Names
        What is public.
    promises : sequence of Guarantee
        What the budgets that may pay allow; a choice among methods leaves out those that none of them pays.
    gaussian : bool
        Whether the noise must be Gaussian, as in a stream, where a question leaves it open.

    Raises
    ------
    SqlError
        If a statement is refused; the message underlines the part.
    EmdpError
        If a query of Python is refused.
    """
    if not isinstance(request, str):
        return (Planned(describe(request), _plan(resolve_query(request, names), names, promises, gaussian=gaussian)),)
    from emdp.sql import translate

    planned = []
    for translated in translate(request, names):
        statement = translated.statement
        try:
            plan = _plan_or_rows(translated, names, promises, gaussian=gaussian)
        except UsageError as error:
            if isinstance(error, SqlError):
                raise
            # What only the numbers of a statement can tell, such as noise that does not fit.
            raise SqlError(
                error.problem if error.remedy else "the statement cannot be answered as it stands",
                remedy=error.remedy or error.problem,
                code="plan",
                sql=statement.sql,
                start=statement.header[0],
                end=statement.header[1],
            ) from None
        planned.append(Planned(statement.text, plan))
    return tuple(planned)


def _plan_or_rows(translated: "Translated", names: Names, promises: Sequence[Guarantee], *, gaussian: bool) -> AnyPlan:
    """Plan a statement; one of totals without a constant or range as one over rows with owners."""
    try:
        return _plan(translated.query, names, promises, gaussian=gaussian)
    except (UsageError, NotLipschitzError) as error:
        # Loaded where it is needed.
        from emdp.sql import rows_instead

        is_of_rows = isinstance(translated.query, OwnedSelect | StagedSelect | FreeSelect)
        found = None if is_of_rows else rows_instead(translated.statement, names, error)
        if found is None:
            raise
        return _plan(found, names, promises)


def _plan(query: Resolved, names: Names, promises: Sequence[Guarantee], *, gaussian: bool = False) -> AnyPlan:
    if gaussian:
        query = _with_gaussian_noise(query)
    if isinstance(query, ItemFrequencies):
        query = replace(query, promises=tuple(promises))
    return plan_query(
        query,
        space=names.space,
        users=names.users,
        records=names.records,
        compute=_computed,
        compute_public=names.compute_public,
    )


def _with_gaussian_noise(query: Resolved) -> Resolved:
    if query.price.delta == 0:
        raise UsageError(
            "delta must be above 0 in a stream, whose noise is Gaussian; ask with one such as 1e-8, well below 1/users."
        )
    if isinstance(query, Mean) and query.model == "central":
        named = None if query.name is None else (query.name,)
        return VectorMean((query.expression,), query.price, "gaussian", named)
    if isinstance(query, VectorMean | Select | FrequencyQuery) and query.noise == "auto":
        return replace(query, noise="gaussian")
    return query


def _computed(frame: Any, nodes: Mapping[str, Any]) -> Any:
    # Loaded where it is needed.
    from emdp.tables.released import computed

    return computed(frame, nodes)

"""Sessions: SQL and the families of questions, each asked of one private table and paid from its budget."""

from collections.abc import Iterable
from typing import Any

from emdp.answers import Answer
from emdp.base.errors import UsageError
from emdp.privacy.guarantees.kinds import Neighbours
from emdp.privacy.reduction import BoundedReduction
from emdp.questions.distributions import FrequencyMethod, frequencies, quantiles
from emdp.questions.facts import SharesModel, shares
from emdp.questions.heavy_hitters import WordTokenizer, heavy_hitters
from emdp.questions.item_frequencies import Adjustment
from emdp.questions.itemwise import Model, itemwise
from emdp.questions.means import CellNoise, MeanModel, Messages, VectorNoise, mean, vector_mean
from emdp.questions.measures import MeasureNoise, MeasureStructure, measure
from emdp.questions.tiers import Tiers
from emdp.questions.user_mean import MeanMethod, user_mean
from emdp.sessions.asking import Parameters
from emdp.sessions.measuring import Measuring
from emdp.sessions.personal import Personal
from emdp.sessions.profiling import Profiling
from emdp.sessions.refinement import Refining
from emdp.sessions.streams import Streams
from emdp.tables import read

__all__ = ["Session", "read"]


class Session(Personal, Refining, Profiling, Streams, Measuring):
    """Questions about one private table, paid from a budget that is kept in a ledger on disk.

    Parameters
    ----------
    table : Table
        What :func:`emdp.read` returned.
    budget : Guarantee, or a sequence with at most one ``EmdDP``, ``DiscreteEmdDP`` and ``UserDP``
        What all releases may spend. The first session on a table writes it; a later one with another is refused, and
        from the first validation on one with another space, users or records (:mod:`emdp.budgets.declarations`).
    ledger : path
        The ledger's file on a local disk, made if absent; or a PostgreSQL address, for a team.
    gaussian_share : float
        Share of an ``EmdDP`` budget set aside for good for Gaussian noise, whose ``mu^2`` add up there
        (:mod:`emdp.privacy.account.filter`); at 0 Gaussian releases are charged by ``(alpha, delta)`` like all others.
    public : mapping of str to path or frame, optional
        Public tables by the name under which SQL may join them.
    period : str, optional
        Name of the public part that is asked about, such as a week, kept with charges; all have one budget together.
    refinable : bool
        Whether the noise of answers is kept for :meth:`refine`, in ``LEDGER.state``, as secret as the data.

    Raises
    ------
    UsageError, LedgerError
        If an argument is malformed; if the ledger is damaged, has another budget or rules, or another test switch.

    Guarantee
    ---------
    All answers of all sessions on the table satisfy the budget: the sum of ``alpha`` and of ``delta``, with ``mu^2``
    of Gaussian noise under the share, is a filter that holds for parameters chosen after seeing answers (EMD 7). Under
    ``EmdDP`` all together are ``exp(alpha d)``, ``d`` the largest distance in any period and data version read.

    >>> import tempfile
    >>> from emdp import EmdDP, Interval, col
    >>> rows = {"user": [1, 1, 2], "x": [0.1, 0.4, 0.9]}
    >>> table = read(rows, user="user", space=Interval("x", 0, 1), users=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     session = Session(table, budget=EmdDP(alpha=10), ledger=f"{folder}/x.ledger")
    ...     answer = session.mean(col("x"), alpha=4, name="x")
    ...     answer.frame.columns, session.remaining().alpha
    (['x', 'x_low', 'x_high'], 6.0)
    """

    def sql(self, text: str, *, parameters: Parameters | None = None) -> Answer:
        """Answer one SQL statement (queries/README.md has the language).

        Parameters
        ----------
        text : str
            Such as ``SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(price) FROM visits``.
        parameters : list or dict, optional
            Public values of ``?`` in their order, or of ``$name`` by name: None, bool, int, float, str, date,
            datetime without a zone, a list behind ``IN``. Each becomes literals, as ledger and stored answers have it.

        Returns
        -------
        Answer

        Raises
        ------
        SqlError
            If the statement is refused, with the part underlined; or if there are several, see :meth:`sql_batch`.
        BudgetExceededError
            If the budget does not cover it; nothing is charged then.
        DataRuleError
            If the records break a declared rule; nothing is charged then.
        """
        planned = self._planned(self._filled_in(text, parameters))
        if len(planned) > 1:
            raise UsageError(f"text holds {len(planned)} statements; ask with sql_batch, which answers each of them.")
        return self._run(planned)[0]

    def sql_batch(self, text: str, *, parameters: Parameters | None = None) -> tuple[Answer, ...]:
        """Answer several SQL statements, fixed in advance, for one price; ``;`` stands between them.

        All are checked and priced before anything is computed, and charged together: either all are paid or none (with
        two budgets there is an instant between the two charges; a crash then leaves the first, and no answer).

        Parameters
        ----------
        text : str
            At least one statement.
        parameters : list or dict, optional
            As of :meth:`sql`, for all statements together.

        Returns
        -------
        tuple of Answer
            In order; each says what its own release guarantees. Those that one budget pays name the same entry.

        Raises
        ------
        EmdpError
            As :meth:`sql`.

        Guarantee
        ---------
        The statements of one kind of budget compose by sums of alpha and delta, Gaussian releases by ``mu^2``, or by
        loss distributions where that is less (EMD 7: parameters fixed in advance).
        """
        return self._run(self._planned(self._filled_in(text, parameters)))

    def mean(
        self,
        expression: Any,
        *,
        alpha: float | Tiers | None = None,
        epsilon: float | Tiers | None = None,
        delta: float = 0.0,
        name: str | None = None,
        by: str | Iterable[str] = (),
        where: Any = None,
        model: MeanModel = "central",
        share: float | None = None,
        neighbours: Neighbours = "replace",
        messages: Messages = "auto",
    ) -> Answer:
        """Release the mean over users of the mean over each user's records of an expression.

        Every user weighs the same, whatever the number of records; a user without records counts with the space's
        neutral item. :class:`emdp.Mean` says what the parameters mean. ``alpha`` is charged to an ``EmdDP`` budget (or
        to a ``UserDP`` one as epsilon), ``epsilon`` to a ``UserDP`` budget.

        Returns
        -------
        Answer
            One row; with ``by`` one a group.

        Raises
        ------
        NotLipschitzError
            If the expression has no finite Lipschitz constant.
        BudgetExceededError
            If the budget does not cover the release; nothing is charged then.
        DataRuleError
            If the records break a declared rule; nothing is charged then.

        Guarantee
        ---------
        ``(alpha, delta)`` unbounded central d_EM-DP: EMD 2, theorem 4.1 and "Answer"; local with ``model="local"``,
        in the shuffle model with ``model="shuffle"`` (shuffle-known-randomizers.md 4).
        """
        return self.answer(mean(
            expression, alpha=alpha, epsilon=epsilon, delta=delta, name=name, by=by, where=where, model=model,
            share=share, neighbours=neighbours, messages=messages
        ))  # fmt: skip

    def vector_mean(
        self,
        expressions: Iterable[Any],
        *,
        alpha: float | Tiers | None = None,
        epsilon: float | Tiers | None = None,
        delta: float = 0.0,
        noise: VectorNoise = "auto",
        names: Iterable[str] | None = None,
        by: str | Iterable[str] = (),
        where: Any = None,
        model: MeanModel = "central",
        share: float | None = None,
        neighbours: Neighbours = "replace",
        messages: Messages = "auto",
        bits: int | None = None,
    ) -> Answer:
        """Release several means with one draw of noise, for one price (:class:`emdp.VectorMean`).

        Returns, raises and guarantees what :meth:`mean` does, for the whole vector.
        """
        return self.answer(vector_mean(
            expressions, alpha=alpha, epsilon=epsilon, delta=delta, noise=noise, names=names, by=by, where=where,
            model=model, share=share, neighbours=neighbours, messages=messages, bits=bits
        ))  # fmt: skip

    def frequencies(
        self,
        cells: float | str | None = None,
        *,
        column: str | None = None,
        alpha: float | Tiers | None = None,
        epsilon: float | Tiers | None = None,
        delta: float = 0.0,
        method: FrequencyMethod = "auto",
        noise: CellNoise = "auto",
        by: str | Iterable[str] = (),
        where: Any = None,
        name: str = "frequency",
        model: Model = "central",
        sizes: BoundedReduction | None = None,
        adjust: Adjustment = "none",
        neighbours: Neighbours = "replace",
        messages: Messages = "auto",
    ) -> Answer:
        """Release a histogram: smoothed over square cells of a pitch, over a column's listed values, or over all items.

        :class:`emdp.Frequencies` has the parameters. The answer has one row a cell; errors are those of :meth:`mean`.

        Guarantee
        ---------
        EMD 6, "Central d_EM frequency without shuffling".
        """
        return self.answer(frequencies(
            cells, column=column, alpha=alpha, epsilon=epsilon, delta=delta, method=method, noise=noise, by=by,
            where=where, name=name, model=model, sizes=sizes, adjust=adjust, neighbours=neighbours, messages=messages
        ))  # fmt: skip

    def measure(
        self,
        *,
        alpha: float | None = None,
        pitch: float | None = None,
        resolution: float | None = None,
        name: str = "share",
        epsilon: float | None = None,
        delta: float = 0.0,
        noise: MeasureNoise = "auto",
        columns: Iterable[str] = (),
        pairs: bool = False,
        structure: MeasureStructure = "joint",
        neighbours: Neighbours = "replace",
    ) -> Answer:
        """Release a measure: :func:`emdp.measure`. ``(alpha, 0)`` d_EM-DP, or user-level; errors are :meth:`mean`'s."""
        return self.answer(measure(
            alpha=alpha, pitch=pitch, resolution=resolution, name=name, epsilon=epsilon, delta=delta, noise=noise,
            columns=columns, pairs=pairs, structure=structure, neighbours=neighbours
        ))  # fmt: skip

    def quantiles(
        self,
        expression: Any,
        qs: float | Iterable[float],
        *,
        alpha: float | None = None,
        epsilon: float | None = None,
        delta: float = 0.0,
        noise: VectorNoise = "auto",
        by: str | Iterable[str] = (),
        where: Any = None,
        step: float | None = None,
        name: str = "quantile",
        share: float | None = None,
        neighbours: Neighbours = "replace",
    ) -> Answer:
        """Release quantiles of an expression, from one smoothed distribution function.

        ``qs`` are numbers in (0, 1); :class:`emdp.Quantiles` says what the others mean. The answer has one row a
        quantile; errors and guarantee are those of :meth:`vector_mean`.
        """
        return self.answer(quantiles(
            expression, qs, alpha=alpha, epsilon=epsilon, delta=delta, noise=noise, by=by, where=where, step=step,
            name=name, share=share, neighbours=neighbours
        ))  # fmt: skip

    def heavy_hitters(
        self,
        column: str,
        *,
        threshold: float | None = None,
        count: int | None = None,
        epsilon: float | None = None,
        delta: float = 0.0,
        words: bool = False,
        length: int | None = None,
        alphabet: str | None = None,
        lower: bool = True,
        model: Model = "central",
        failure: float = 0.01,
        name: str = "frequency",
        tokenizer: WordTokenizer = "words",
        neighbours: Neighbours = "replace",
    ) -> Answer:
        """Find the frequent strings of a column of text whose values nobody listed, at user level.

        :class:`emdp.HeavyHitters` says what the parameters mean.

        The answer has one row a string: ``value``, ``frequency`` with its interval, with ``count`` also
        ``frequency_is_certain``; the most frequent first. Errors are those of :meth:`mean`, and a ``UsageError`` if
        users and price do not allow the threshold, or the column is none of text.

        Guarantee
        ---------
        ``(epsilon, delta)`` at user level in the model, for any records: :mod:`emdp.mechanisms.strings.prefix_search`
        and :mod:`emdp.mechanisms.strings.stable_histogram`.
        """
        return self.answer(heavy_hitters(
            column, threshold=threshold, count=count, epsilon=epsilon, delta=delta, words=words, length=length,
            alphabet=alphabet, lower=lower, model=model, failure=failure, name=name, tokenizer=tokenizer,
            neighbours=neighbours
        ))  # fmt: skip

    def user_mean(
        self,
        column: Any,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        model: Model = "central",
        spread: float | Iterable[float] | None = None,
        between: float | Iterable[float] = 0.0,
        radius: float | None = None,
        bounds: Any = None,
        records: int | None = None,
        failure: float = 0.01,
        method: MeanMethod = "auto",
        name: str | Iterable[str] | None = None,
        alpha: float | None = None,
        neighbours: Neighbours = "replace",
    ) -> Answer:
        """Release the mean over users of the mean over their records at user level, where nobody knows its range.

        A range is found first, then the mean of what is clipped to it, where that is expected to be nearer than one
        round on the whole bounds. :func:`emdp.user_mean` says what the parameters mean. The answer has one row, and
        ``answer.diagnostics`` says which range was found and how many users lie near it; errors are those of
        :meth:`mean`.

        Guarantee
        ---------
        ``(epsilon, delta)`` at user level in the model, for any records: local-shuffle-userlevel.md 2.
        """
        return self.answer(user_mean(
            column, epsilon=epsilon, delta=delta, model=model, spread=spread, between=between, radius=radius,
            bounds=bounds, records=records, failure=failure, method=method, name=name, alpha=alpha,
            neighbours=neighbours
        ))  # fmt: skip

    def shares(
        self,
        conditions: Iterable[Any],
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        model: SharesModel = "local",
        messages: Messages = "auto",
        names: Iterable[str] | None = None,
        alpha: float | None = None,
    ) -> Answer:
        """Release for each condition the share of users who have a record that it holds for (:class:`emdp.Shares`).

        One row a fact; errors are those of :meth:`mean`. ``(epsilon, delta)`` at user level in the model, for any
        records: multimessage-shuffle.md 4.
        """
        return self.answer(shares(
            conditions, epsilon=epsilon, delta=delta, model=model, messages=messages, names=names, alpha=alpha
        ))  # fmt: skip

    def itemwise(
        self,
        randomizer: Any,
        *,
        alpha: float | None = None,
        epsilon: float | None = None,
        delta: float = 0.0,
        model: Model = "central",
        sizes: BoundedReduction | None = None,
        name: str = "frequency",
        neighbours: Neighbours = "replace",
    ) -> Answer:
        """Put every record through a randomizer and release the multiset of outputs.

        :class:`emdp.Itemwise` says what the parameters mean. The answer has one row an output of a finite randomizer
        with ``count`` and, where outputs are items, the estimated ``frequency`` with its interval; locally one row an
        output and user, of a continuous randomizer one a point. Errors as of :meth:`mean`, or if ``sizes`` is missing.

        Guarantee
        ---------
        Bounded d_EM-DP: EMD 3; with ``sizes`` discrete and unbounded: EMD 5.
        """
        return self.answer(itemwise(
            randomizer, alpha=alpha, epsilon=epsilon, delta=delta, model=model, sizes=sizes, name=name,
            neighbours=neighbours
        ))  # fmt: skip

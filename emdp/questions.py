"""The families of queries by name: what a session offers besides SQL, each made of frozen parts and answered alike."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from emdp.answers import Answer
from emdp.expressions import frequencies, heavy_hitters, mean, quantiles, user_mean, vector_mean
from emdp.expressions.itemwise import itemwise
from emdp.expressions.resolution import Query

__all__ = ["Questions"]


class Questions(ABC):
    """Queries made and answered in one call."""

    @abstractmethod
    def answer(self, query: Query) -> Answer:
        """Answer a frozen query."""

    def mean(self, expression: Any, **options: Any) -> Answer:
        """Release the mean over users of the mean over each user's records of an expression.

        Every user weighs the same, whatever the number of records; a user without records counts with the
        space's neutral item.

        Parameters
        ----------
        expression : Expression
            Function of one record, such as ``emdp.distance_to((40.7, -74.0))``.
        **options
            ``alpha=`` (charged to an ``EmdDP`` budget, or to a ``UserDP`` one as epsilon) or ``epsilon=``
            (user-level privacy, charged to a ``UserDP`` budget), exactly one of the two; ``delta=`` (above 0, Gaussian
            noise may be chosen), ``name=`` (column of the answer), ``by=``, ``where=``, ``model=``: see
            :func:`emdp.mean`.

        Returns
        -------
        Answer

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
        ``(alpha, delta)`` unbounded central d_EM-DP: EMD 2, theorem 4.1 and "Answer"; local with ``model="local"``.
        """
        return self.answer(mean(expression, **options))

    def vector_mean(self, expressions: Iterable[Any], **options: Any) -> Answer:
        """Release several means with one draw of noise, for one price.

        Parameters
        ----------
        expressions : sequence of Expression
            Functions of one record.
        **options
            As for :meth:`mean`, for the whole vector; ``noise=`` and ``names=``: see :func:`emdp.vector_mean`.

        Returns
        -------
        Answer

        Raises
        ------
        EmdpError
            As :meth:`mean`.
        """
        return self.answer(vector_mean(expressions, **options))

    def frequencies(self, cells: float | str | None = None, **options: Any) -> Answer:
        """Release a histogram: smoothed over square cells of a pitch, over a column's listed values, or over all items.

        Parameters
        ----------
        cells : float, str or None
            Pitch in the natural unit, or a column of listed values; None for all items of a finite space, by the best
            method for it.
        **options
            ``alpha=`` or ``epsilon=``, ``delta=``, ``column=``, ``method=``, ``model=``, ``sizes=``, ``adjust=``,
            ``noise=``, ``by=``, ``where=``, ``name=``: see :func:`emdp.frequencies`.

        Returns
        -------
        Answer
            One row a cell.

        Guarantee
        ---------
        EMD 6, "Central d_EM frequency without shuffling".
        """
        return self.answer(frequencies(cells, **options))

    def quantiles(self, expression: Any, qs: float | Iterable[float], **options: Any) -> Answer:
        """Release quantiles of an expression, from one smoothed distribution function.

        Parameters
        ----------
        expression : Expression
            Function of one record.
        qs : sequence of float
            In (0, 1).
        **options
            ``alpha=`` or ``epsilon=``, ``delta=``, ``noise=``, ``by=``, ``where=``, ``step=``, ``name=``: see
            :func:`emdp.quantiles`.

        Returns
        -------
        Answer
            One row a quantile.
        """
        return self.answer(quantiles(expression, qs, **options))

    def heavy_hitters(self, column: str, **options: Any) -> Answer:
        """Find the frequent strings of a column of text whose values nobody listed, at user level.

        Parameters
        ----------
        column : str
            Any column of text of the table.
        **options
            ``epsilon=``, and ``threshold=`` (from which frequency every string is found) or ``count=`` (how many of the
            most frequent ones); ``delta=``, ``words=`` (tokens in place of whole texts), ``model=`` (``"central"``,
            which finds rarer strings by far, ``"shuffle"``, or ``"local"`` without a delta), ``length=``,
            ``alphabet=``, ``lower=``, ``failure=``, ``name=``: see :func:`emdp.heavy_hitters`.

        Returns
        -------
        Answer
            One row a string: ``value``, ``frequency`` with its interval, with ``count=`` also
            ``frequency_is_certain``; the most frequent first.

        Raises
        ------
        UsageError
            If users and price do not allow the threshold, or the column is none of text.
        EmdpError
            As :meth:`mean`.

        Guarantee
        ---------
        ``(epsilon, delta)`` at user level in the model, for any records: :mod:`emdp.mechanisms.heavy_hitters` and
        :mod:`emdp.mechanisms.stable_histogram`.
        """
        return self.answer(heavy_hitters(column, **options))

    def user_mean(self, column: Any, **options: Any) -> Answer:
        """Release the mean over users of the mean over their records at user level, where nobody knows its range.

        A range is found first, then the mean of what is clipped to it, where that is expected to be nearer than one
        round on the whole bounds. Every user weighs the same.

        Parameters
        ----------
        column : str or Expression, or a sequence of them
            What the mean is of; several are one vector.
        **options
            ``epsilon=``, ``delta=``, ``model=``, ``spread=`` (how far a user's records lie from their mean),
            ``between=`` (how far users' means lie from the common one), ``records=``, ``bounds=``, ``radius=``,
            ``failure=``, ``method=``, ``name=``: see :func:`emdp.user_mean`.

        Returns
        -------
        Answer
            One row; ``answer.diagnostics`` says which range was found and how many users lie near it.

        Raises
        ------
        EmdpError
            As :meth:`mean`.

        Guarantee
        ---------
        ``(epsilon, delta)`` at user level in the model, for any records: local-shuffle-userlevel.md 2.
        """
        return self.answer(user_mean(column, **options))

    def itemwise(self, randomizer: Any, **options: Any) -> Answer:
        """Put every record through a randomizer and release the multiset of outputs.

        Parameters
        ----------
        randomizer : Randomizer, or a class of them
            One of :mod:`emdp.randomizers` on the table's space; a class alone is made as strong as the price allows.
        **options
            ``alpha=``, ``delta=``, ``model=`` (``"central"``, ``"shuffle"``, ``"local"``), ``sizes=`` (a
            :class:`emdp.BoundedReduction`, then with ``epsilon=`` in place of ``alpha=``), ``name=``: see
            :func:`emdp.itemwise`.

        Returns
        -------
        Answer
            Its frame has one row an output of a finite randomizer with ``count`` and, where outputs are items, the
            estimated ``frequency`` with its interval; in the local model one row an output and user; of a continuous
            randomizer one row a point.

        Raises
        ------
        UsageError
            If users may have different numbers of records and ``sizes`` does not say what is done about it.
        EmdpError
            As :meth:`mean`.

        Guarantee
        ---------
        Bounded d_EM-DP: EMD 3; with ``sizes`` discrete and unbounded: EMD 5.
        """
        return self.answer(itemwise(randomizer, **options))

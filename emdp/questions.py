"""The families of queries by name: what a session offers besides SQL, each made of frozen parts and answered alike."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from emdp.answers import Answer
from emdp.expressions import frequencies, mean, quantiles, vector_mean
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
            noise may be chosen), ``name=`` (column of the answer), ``by=``, ``where=``: see :func:`emdp.mean`.

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
        ``(alpha, delta)`` unbounded central d_EM-DP: EMD 2, theorem 4.1 and "Answer".
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

    def frequencies(self, cells: float | str, **options: Any) -> Answer:
        """Release a histogram: smoothed over square cells of a pitch, or over the listed values of a column.

        Parameters
        ----------
        cells : float or str
            Pitch in the natural unit, or a column of listed values.
        **options
            ``alpha=`` or ``epsilon=``, ``delta=``, ``column=``, ``method=``, ``noise=``, ``by=``, ``where=``,
            ``name=``: see :func:`emdp.frequencies`.

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

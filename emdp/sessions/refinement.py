"""What a session does to refine an answer that it gave."""

from emdp.answers import Answer
from emdp.questions.price import Price
from emdp.questions.resolution import Query
from emdp.sessions.asking import Asking

__all__ = ["Refining"]


class Refining(Asking):
    """Refined answers of a session."""

    def refine(
        self, answer: Answer | str | Query, *, alpha: float | None = None, epsilon: float | None = None
    ) -> Answer:
        """Return an answer with less noise than it had, for the difference of the levels.

        The new answer and the old one are an answer and a weaker tier of it (:func:`emdp.tiers`): together they cost
        the new level. No private value is read: the noise of the first answer was kept beside the ledger, in
        ``LEDGER.state``, which is as secret as the data.

        Parameters
        ----------
        answer : Answer, str or query
            An answer of a session with ``refinable=True``, with Laplace noise and charged by itself; or the same
            statement or query again, whose newest answer is meant.
        alpha, epsilon : float
            The new level, of the kind of the old one, above it by a thousandth or more. The same level shows the last
            refinement again, for nothing.

        Raises
        ------
        BudgetExceededError
            If the budget does not cover the difference; nothing is charged or drawn then.
        LedgerError
            If the noise is not there: a refinement was cut off, or ``LEDGER.state`` is lost. A better answer is then a
            new question.
        UsageError
            If the answer is none that can be refined.

        Guarantee
        ---------
        All answers of one chain together have the last level: :mod:`emdp.sessions.refining`.
        """
        # Loaded where it is needed.
        from emdp.sessions.refining import asked_to_refine, refined

        self._check_switch()
        planned, paid_by = asked_to_refine(answer, self._planned)
        level = Price.asked(alpha=alpha, epsilon=epsilon)
        return refined(planned, paid_by, level, self._accounts, self._table, self._tags)

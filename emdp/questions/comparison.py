"""Methods compared before the data is touched: what an answer and its preview show of the choice."""

from emdp.base.classes import dataclass

__all__ = ["D_EM", "ROOT_MEAN_SQUARE", "ComparedMethod"]

D_EM = "d_em"
"""Measure of frequencies: the distance of the estimates to the truth, in the unit of ``d_em``."""

ROOT_MEAN_SQUARE = "root mean square"
"""Measure of means over users: the root of the expected squared error of a column, in its own unit."""


@dataclass(frozen=True)
class ComparedMethod:
    """A method, as it was compared with the others.

    Parameters
    ----------
    expected_error : float or None
        What its estimates are expected to be off by, planned from public numbers; None where it was left out.
    is_chosen : bool
        Whether it answers.
    remark : str
        How it is priced, or why it was left out.
    measure : str
        What the error is: ``D_EM`` or ``ROOT_MEAN_SQUARE``.

    >>> ComparedMethod("krr", 0.0125, True, "one message a user").text
    'krr, expected d_em 0.0125, chosen: one message a user'
    """

    method: str
    expected_error: float | None
    is_chosen: bool
    remark: str
    measure: str = D_EM

    @property
    def text(self) -> str:
        """The method as one line of text."""
        known = "left out" if self.expected_error is None else f"expected {self.measure} {self.expected_error:.3g}"
        return f"{self.method}, {known}{', chosen' if self.is_chosen else ''}: {self.remark}"

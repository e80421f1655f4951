"""The neighbours that a question at user level is stated for, and refusals where removal does not fit."""

from emdp.base.checks import check_choice
from emdp.base.errors import UsageError
from emdp.privacy.guarantees.kinds import NEIGHBOURS, Neighbours

__all__ = ["NEIGHBOUR_WORDS", "Neighbours", "check_neighbours", "refuse_removal"]

NEIGHBOUR_WORDS: tuple[Neighbours, ...] = NEIGHBOURS
"""What ``neighbours`` may be: ``"replace"`` (the default) or ``"remove"``."""


def check_neighbours(neighbours: object, *, epsilon: float | None, model: str = "central") -> None:
    """Check ``neighbours`` of a question while it is built.

    Parameters
    ----------
    neighbours : {"replace", "remove"}
        Whether one user's records are replaced (the number of users is public), or appear and vanish (it is not).
    epsilon : float or None
        The question's epsilon; None where it is asked with ``alpha``.
    model : str
        Who sees what.

    Raises
    ------
    UsageError
        If it is neither of the two, or removal where there is no epsilon or no curator.

    >>> check_neighbours("remove", epsilon=1.0)
    """
    check_choice("neighbours", neighbours, NEIGHBOUR_WORDS)
    if neighbours == "remove" and epsilon is None:
        raise UsageError("neighbours = 'remove' belongs to epsilon, not to alpha; pass epsilon=, or leave it out.")
    if neighbours == "remove" and model != "central":
        raise UsageError(
            f"neighbours = 'remove' does not fit model = {model!r}, where the number of messages tells the number of "
            "users; leave it out, or take the central model."
        )


def refuse_removal(neighbours: object, what: str) -> None:
    """Raise where a kind of question is asked by removal and cannot be: it rests on the public number of users.

    Parameters
    ----------
    neighbours : {"replace", "remove"}
        As the analyst passed it.
    what : str
        The kind of question, as it begins a sentence.

    Raises
    ------
    UsageError
        If it is neither of the two, or removal.

    >>> refuse_removal("replace", "quantiles")
    """
    check_choice("neighbours", neighbours, NEIGHBOUR_WORDS)
    if neighbours == "remove":
        raise UsageError(
            f"neighbours = 'remove' does not fit: {what} divide by the number of users, or count messages of all of "
            "them, and that number is private then; leave neighbours out, or ask for COUNT, SUM or AVG with "
            "max_records_per_user."
        )

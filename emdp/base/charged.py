"""How far this process is with charging, so that what a signal's message says of charges is true."""

__all__ = ["CHARGED", "Charged"]


class Charged:
    """Progress of the charges of one process: begun, and then with all answers stored.

    A charge is marked before its transaction and stored answers after theirs, so that "nothing was begun" and
    "all is stored" are never said too early.

    Attributes
    ----------
    stored : int
        How many of them had been begun when last all answers were stored.

    >>> own = Charged()
    >>> own.begin(); own.begun, own.stored
    (1, 0)
    >>> own.store(); own.begun == own.stored
    True
    """

    def __init__(self) -> None:
        self.begun = self.stored = 0

    def begin(self) -> None:
        """Mark that a charge is about to be written."""
        self.begun += 1

    def store(self) -> None:
        """Mark that the answers to all charges so far are stored."""
        self.stored = self.begun


CHARGED = Charged()
"""Progress of this process."""

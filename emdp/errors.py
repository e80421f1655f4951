"""The errors that emdp raises: one class for each way in which a call can fail.

Every message is one sentence that names the argument, what was wrong and the remedy, and never holds a value
of a private table. ``exit_status`` is what the command line exits with (design.md, "Command line").
"""

__all__ = [
    "BudgetExceededError",
    "DataRuleError",
    "EmdpError",
    "InternalError",
    "InvalidItemError",
    "LedgerError",
    "NotLipschitzError",
    "RefusedError",
    "SolverError",
    "UsageError",
]


class EmdpError(Exception):
    """Base of all errors of emdp."""

    exit_status = 2


class UsageError(EmdpError, ValueError):
    """An argument is malformed, out of its range, or does not fit the other arguments."""


class RefusedError(EmdpError):
    """A well-formed request that emdp declines, because no guarantee could be given for it."""


class NotLipschitzError(RefusedError):
    """An expression has no finite Lipschitz constant.

    Attributes
    ----------
    expression : str
        The whole expression, as text.
    offending : str
        The sub-expression that jumps or has an unbounded slope.
    remedy : str
        What to write instead.
    """

    def __init__(self, reason: str, *, expression: str, offending: str, remedy: str) -> None:
        super().__init__(f"`{offending}` in `{expression}` {reason}; {remedy}")
        self.expression = expression
        self.offending = offending
        self.reason = reason
        self.remedy = remedy


class InvalidItemError(EmdpError, ValueError):
    """Items outside the declared domain reached a space whose rule is ``on_invalid="error"``."""

    exit_status = 4


class DataRuleError(EmdpError):
    """The private table breaks a rule that its owner declared."""

    exit_status = 4


class BudgetExceededError(EmdpError):
    """The budget in the ledger does not cover the request; nothing was computed or charged."""

    exit_status = 3


class LedgerError(EmdpError):
    """A ledger cannot be opened, is damaged, or holds something other than what was declared."""


class SolverError(EmdpError):
    """A numerical solve was not proven optimal, so its number is withheld."""


class InternalError(EmdpError):
    """A state that emdp's own code should have made impossible: a bug in emdp, not in the call."""

    exit_status = 1

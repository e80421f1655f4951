"""Options of a header that belong to one family of aggregates: refused in statements with none of that family."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from emdp.base.errors import SqlError
from emdp.questions.distributions import frequency_methods
from emdp.questions.facts import SHARES_MODELS
from emdp.questions.itemwise import MODELS
from emdp.questions.means import MEAN_MODELS
from emdp.questions.user_mean import MEAN_METHODS
from emdp.sql.text.statement import Option, Statement

__all__ = [
    "AUTOMATIC",
    "CAP",
    "CAP_WORD",
    "CHOICES",
    "EXPECTED_SHARE",
    "FAMILIES",
    "FAR_POINT",
    "GROUPS_CAP",
    "GROUP_CAP",
    "MEASURE_CAP",
    "MESSAGES",
    "MIXED",
    "NEIGHBOURS",
    "RANGE",
    "RHO",
    "STAGE_WEIGHTS",
    "USER_LEVEL",
    "check_cap",
    "check_families",
    "option_refusal",
    "usual",
]

MIXED = ("AVG", "PART", "SHARE")
"""Aggregates of means that users may send messages of."""

MESSAGES = "messages"
"""Option of such means in the shuffle model: how many messages of each a user sends."""

CHOICES: Mapping[str, Mapping[str, Callable[[], tuple[str, ...]]]] = {
    "method": {"FREQUENCY": frequency_methods, "USER_MEAN": lambda: MEAN_METHODS},
    "model": {"FREQUENCY": lambda: MODELS, "USER_MEAN": lambda: MODELS}
    | dict.fromkeys(MIXED, lambda: MEAN_MODELS)
    | {"SHARES": lambda: SHARES_MODELS},
}
"""Options that are words: for each aggregate that takes one what tells which they are."""

USER_LEVEL = ("spread", "between_users", "records_per_user", "failure")
"""Options of USER_MEAN: where users' means are expected."""

EXPECTED_SHARE = "expected_share"
"""Option of statements that choose or group records: the share that a preview assumes of them."""

FAR_POINT = "far_point"
"""Option of statements with a POINT that is meant though it lies far from the box."""

NEIGHBOURS = "neighbours"
"""Option that says what epsilon hides: one user's records, or whether a user has any."""

CAP, AUTOMATIC = "max_records_per_user", "auto"
"""Option that bounds how many records of a user count, and the word by which it is chosen from the data."""

CAP_WORD = "cap"
"""Another name of that option where the cap is automatic: ``cap = 'auto'``."""

GROUP_CAP = "max_records_per_group"
"""Option that bounds how many records of a user count in each group, beside the groups in which a user counts."""

GROUPS_CAP = "max_groups_per_user"
"""Option that bounds in how many groups a user counts; AUTOMATIC where that is chosen from the data."""

OF_GROUPS = (GROUPS_CAP, GROUP_CAP, "max_distinct_per_user")
"""Options of rows with owners alone."""

RANGE = "range"
"""Option that has ranges of sums and means chosen from the data where none is known: AUTOMATIC alone."""

RHO = "rho"
"""Option that prices Gaussian noise in place of epsilon."""

STAGE_WEIGHTS = "stage_weights"
"""Option that says how the stages of a statement share its price: a text of numbers, one a stage."""

MEASURE_CAP = "measure_cap"
"""Option that has what a given cap leaves out estimated."""

FAMILIES: Mapping[str, tuple[str, ...]] = {
    **{name: tuple(choices) for name, choices in CHOICES.items()},
    **dict.fromkeys(USER_LEVEL, ("USER_MEAN",)),
    MESSAGES: (*MIXED, "SHARES", "FREQUENCY"),
}
"""For each option of some aggregates alone the aggregates that take it."""


def check_families(statement: Statement, functions: Iterable[str]) -> None:
    """Refuse an option that no aggregate of the select list takes, or a word that is not one of its own."""
    own = set(functions)
    for name, option in statement.options.items():
        family = FAMILIES.get(name)
        if family is not None and not own & set(family):
            listed = " and ".join(family)
            raise option_refusal(
                statement, option, f"the option {name} is for {listed} alone", "leave it out", "option-family"
            )
        for function, choices in CHOICES.get(name, {}).items():
            allowed = choices()
            if function in own and option.value not in allowed:
                problem = f"{name} of {function} must be one of {', '.join(allowed)}"
                raise option_refusal(statement, option, problem, f"write {name} = '{usual(allowed)}'", "option-value")


def check_cap(statement: Statement) -> None:
    """Refuse a cap that is chosen or measured: rows with owners alone have one."""
    cap, measured = statement.options.get(CAP), statement.options.get(MEASURE_CAP)
    if cap is not None and cap.value == AUTOMATIC:
        problem = "an automatic cap is for COUNT, SUM, AVG, VARIANCE and STDDEV under USER_PRIVACY"
        raise option_refusal(statement, cap, problem, "leave it out, or write a number", "cap-automatic")
    if measured is not None and measured.value == "true":
        problem = "a measured cap is for COUNT, SUM, AVG, VARIANCE and STDDEV under USER_PRIVACY"
        raise option_refusal(statement, measured, problem, "leave it out", "cap-automatic")
    if RANGE in statement.options:
        problem = "an automatic range is for SUM, AVG, VARIANCE and STDDEV of numbers whose range is not known"
        raise option_refusal(statement, statement.options[RANGE], problem, "leave it out", "range-unused")
    for name in OF_GROUPS:
        if name in statement.options:
            problem = f"{name} is for counts and sums by groups of records under USER_PRIVACY"
            raise option_refusal(statement, statement.options[name], problem, "leave it out", "cap-automatic")


def usual(words: Sequence[str]) -> str:
    """Return the word to suggest: ``auto``, or else the first.

    >>> usual(("smoothed", "auto")), usual(("central", "local"))
    ('auto', 'central')
    """
    return "auto" if "auto" in words else words[0]


def option_refusal(statement: Statement, option: Option, problem: str, remedy: str, code: str) -> SqlError:
    """Return the error that refuses an option of a statement's header."""
    return SqlError(problem, remedy=remedy, code=code, sql=statement.sql, start=option.start, end=option.end)

"""What ``emdp explain`` says where the table has no sentence of an error, or its class says too little."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emdp.base.codes import Code

__all__ = ["advice_of", "sentence_of"]

SENTENCES: Mapping[str, str] = {
    "category-as-number": (
        "A column of listed values is no number; write CASE column WHEN 'value' THEN 1 ELSE 0 END, or "
        "DISTANCE(column, 'value') where its values have distances."
    ),
    "clamp-ends": "The lower end of CLAMP is above the upper one; swap them.",
    "column-outside-space": (
        "The column is not part of the item space, so that nothing bounds how far it may change; use a "
        "column of the space, have the owner declare this one, or ask WITH USER_PRIVACY, which takes any "
        "column."
    ),
    "count-filtered": (
        "A count is of records that a filter does not choose here; ask for SHARE() or WITH USER_PRIVACY."
    ),
    "cycle-as-number": (
        "The column goes round, so that as a number it jumps where the cycle closes; use DISTANCE to a point of it."
    ),
    "group-by-user": "One group a user would publish each user's records; group by a public column of the users.",
    "group-continuous": (
        "The column is continuous, and has no public list of values to group by; write FREQUENCY(GRID(..)), "
        "or group by a column of listed values."
    ),
    "model-option": (
        "An option does not fit the model of trust that the statement names; leave it out, or add its delta."
    ),
    "not-given-back": "Some words of the statement were understood by no rule of the language; leave them out.",
    "null-safe": "IS DISTINCT FROM is not part of the language; write = or <>, with IS NULL beside it.",
    "plan": (
        "The statement can be read, and its numbers do not go together: a level, a delta, a noise or an "
        "option that no release has. The message says which; change that number in OPTIONS, and look with "
        "emdp preview."
    ),
    "point-without-column": (
        "The points do not say which column of the space is meant; write DISTANCE(column, point)."
    ),
    "ramp-ends": "RAMP needs two different ends, 0 at the first and 1 at the second; give it those.",
    "share-of-all": "A share of all records is none of a user's; write SHARE() with a condition.",
    "total-under-emd": (
        "A count or sum of records has no bound under EMD_PRIVACY without slots; ask for SHARE or AVG, have "
        "the owner declare slots, or ask WITH USER_PRIVACY."
    ),
    "truth-value": "TRUE and FALSE choose everything and nothing; leave the condition out, or compare a column.",
    "user-column-as-number": (
        "The column is of users, and this is an expression of one record; name it in WHERE or GROUP BY."
    ),
    "user-mean-groups": "USER_MEAN is of all records of all public users, and has no groups; ask for AVG, which has.",
    "user-mean-where": (
        "USER_MEAN is of all records of all public users, and has no conditions; ask for AVG, which has."
    ),
}
"""For each refusal of a statement whose words differ from call to call, what they say in general."""

CLASSES: Mapping[str, str] = {
    "E0001": "An error of emdp; its own class says more.",
    "E0002": "A call is wrong: an argument, an option or a file; the message says which, and what to do.",
    "E0003": "The definition of a report has problems; the message lists them all, each with its line.",
    "E0004": "The question has no private answer in the way in which it was asked.",
    "E0005": "A function jumps or is too steep, so that a small change of a record could change it without bound.",
    "E0006": "The statement is refused; the message underlines the part, and says what to write.",
    "E0007": "A value is no point of the declared space.",
    "E0008": (
        "The records break a rule that the owner declared: a column that is absent or of another type, a "
        "user who is not on the list, a value outside the space under on_invalid = 'error', or more records "
        "of a user than there may be. The message names the rule, and no record."
    ),
    "E0009": "What is left of a budget does not cover the question.",
    "E0010": "The ledger cannot be trusted or used as it is; the message says why.",
    "E0011": "A stored answer's text is gone or another version's; the question can be asked again with --fresh.",
    "E0012": "A solver found no proven number.",
    "E0013": "Memory, disk or another resource ran out.",
    "E0014": "The disk ran out while the ledger was written.",
    "E0015": "Python, a package or the system is one that emdp does not support.",
    "E0016": "Something that can never be so is so; it is a bug.",
}
"""What an error of a class says that has no line of its own."""

DECLARED = (
    "The ledger is whole; the catalog says something else than when the first answer was charged. A "
    "budget holds for one way to measure distances, one list of users and one set of records, so nothing "
    "is answered until they agree. "
)
"""What the errors below have in common."""

NUMBERS: Mapping[str, str] = {
    "E0082": (
        DECLARED + "`emdp ledger redeclare LEDGER TABLE -C emdp.toml` writes the change down, for its charges hold for "
        "both."
    ),
    "E0083": (
        DECLARED + "A changed box, unit, weight or list of values makes another metric: what was promised in the old "
        "one is not promised in the new one. Put the space back as it was; `emdp ledger history LEDGER` "
        "lists what was declared. Or begin another ledger: what both allow then adds up."
    ),
    "E0084": (
        DECLARED + "Put users, records or slots back, or change them by `emdp ledger redeclare`, which is the owner's "
        "act."
    ),
    "E0086": (
        DECLARED + "The two tables read the same files, so that their people would be told about twice, once for each "
        "budget. Write one budget for both, with shares; or let the owner give each its own by `emdp ledger "
        "redeclare LEDGER TABLE --apart OTHER`: what both allow then adds up."
    ),
    "E0092": DECLARED + "Put the budget back as it was, or begin another ledger: what both allow then adds up.",
    "E0096": (
        DECLARED + "Put the space and the user column back, or begin another ledger: what both allow then adds up."
    ),
}
"""What single errors of a ledger mean that is not damaged."""


def sentence_of(code: "Code") -> str:
    """Return what an error says, with ``...`` for what differs from call to call.

    >>> from emdp.base.codes import find_code
    >>> sentence_of(find_code("E1418"))[:40]
    'The column is not part of the item space'
    """
    if code.sentence:
        return code.sentence.replace("{}", "...")
    if not code.name:
        return CLASSES[code.number]
    if code.name in SENTENCES:
        return SENTENCES[code.name]
    from emdp.sql.text.verbs import VERBS

    problem, remedy = next((problem, remedy) for name, problem, remedy in VERBS.values() if name == code.name)
    return f"{problem[0].upper()}{problem[1:]}; {remedy}."


def advice_of(code: "Code") -> str | None:
    """Return what to do about one error, where that of its class does not fit; else None."""
    return NUMBERS.get(code.number)

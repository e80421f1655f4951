"""``emdp explain``: what an error means and what to do, by its number; without a network."""

import inspect
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from emdp.base.errors import UsageError
from emdp.cli.advice import advice_of, sentence_of

if TYPE_CHECKING:
    from emdp.base.codes import Code

__all__ = ["explained", "run"]

WIDTH = 80
"""Columns of the text."""

CHARGES: Mapping[str, str] = {
    "UsageError": "Nothing was computed or charged, unless the sentence says so. Change the call, and ask again.",
    "RefusedError": "Nothing was computed or charged. No budget would make this answerable: ask it in another way.",
    "BudgetExceededError": (
        "Nothing was computed or charged. `emdp ledger show LEDGER` says what was spent and on what; `emdp preview` "
        "says what a question costs. Stored answers are still given for nothing. Only the table's owner can allow "
        "more, by a larger budget in emdp.toml and `emdp ledger redeclare LEDGER TABLE -C emdp.toml --budgets`; "
        "`emdp consequences` says what that would tell about one person."
    ),
    "DataRuleError": (
        "The records break what the owner declared, so that the promise would not hold. `emdp check --data` with "
        "-C emdp.toml, for the owner alone, says which rules and how often. Correct the records, or declare the table "
        "as it is."
    ),
    "InvalidItemError": "A value lies outside of the declared space. Widen it from what is public, or set on_invalid.",
    "LedgerError": (
        "Nothing is answered while the ledger is in doubt, for then nobody knows what was spent. Keep the file as it "
        "is, look at it with `emdp ledger verify LEDGER`, and go on with the newest whole copy that has all charges."
    ),
    "SolverError": "A number could not be proven right, so it is withheld. Please report it with the call.",
    "ResourceError": "Memory or disk ran out. What was charged stays charged, and what is stored is given for nothing.",
    "UnsupportedError": "Install the versions that the sentence names.",
    "InternalError": (
        "This is a bug in emdp, and no fault of the call. What was charged stays charged. Please report the number, "
        "the version (`emdp --version`) and the statement, without any record."
    ),
    "EmdpError": "What was charged stays charged, and nothing else.",
}
"""What each class of error means for charges, and what to do next; a class that is not here has that of its parent."""


def run(
    code: Annotated[
        str, typer.Argument(metavar="CODE", help="Number of an error, such as E0001, or name of a refusal.")
    ],
) -> None:
    """Say what an error means, what it has charged and what to do; reads no table and needs no network.

    \b
      emdp explain E0001
      emdp explain window
    """
    from emdp.base.codes import all_codes, find_code

    found = find_code(code)
    if found is None:
        last = all_codes()[-1].number
        raise UsageError(
            f"CODE {code!r} is no number of an error; pass one from E0001 to {last}, as a message ends with."
        )
    print(explained(found))


def explained(code: "Code") -> str:
    """Return what is said of an error, in lines of 80 characters.

    >>> from emdp.base.codes import find_code
    >>> print(explained(find_code("E0001")).splitlines()[0])
    E0001  EmdpError, exit status 2
    """
    from emdp.base import errors

    kind = getattr(errors, code.kind)
    meaning = (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ").replace("``", "`")
    status = kind.exit_status
    lines = [f"{code.number}  {code.kind}{f' {code.name!r}' if code.name else ''}, exit status {status}", ""]
    lines += textwrap.wrap(sentence_of(code), WIDTH - 2, initial_indent="  ", subsequent_indent="  ")
    lines += ["", *textwrap.wrap(f"Kind: {meaning}", WIDTH)]
    of_class = next(CHARGES[own.__name__] for own in kind.__mro__ if own.__name__ in CHARGES)
    lines += textwrap.wrap(advice_of(code) or of_class, WIDTH)
    if code.kind == "SqlError":
        lines += textwrap.wrap(
            "The message underlines the part of the statement. queries/README.md has what can be asked.", WIDTH
        )
    return "\n".join(lines)

"""Arguments that must be written out: patterns, formats, zones, places."""

from collections.abc import Sequence

from sqlglot import exp

from emdp.rows.building import as_kind
from emdp.rows.functions import FUNCTIONS
from emdp.rows.nodes import Literal, Node
from emdp.rows.record import Given
from emdp.sql.rows.written import Written

__all__ = ["check_given"]


def check_given(
    statement: Written, node: exp.Expr, name: str, arguments: Sequence[Node], origins: Sequence[exp.Expr]
) -> None:
    """Refuse a call in which what must be written out is not, or is not what the function knows."""
    record = FUNCTIONS.get(name)
    if record is None:
        return
    forms = [form for form in record.forms if len(form.arguments) == len(arguments)]
    for place, (argument, origin) in enumerate(zip(arguments, origins, strict=True)):
        wanted = [form.arguments[place] for form in forms]
        given = [found for found in wanted if isinstance(found, Given)]
        if not given or len(given) < len(wanted):
            continue
        if not isinstance(argument, Literal):
            problem = f"{given[0].what} of {name.upper()} must be written out, since a row could choose it otherwise"
            raise statement.refusal(origin, problem, remedy=given[0].remedy, code="not-literal")
        problems = []
        for found in given:
            fitted = as_kind(argument, found.kind)
            problems.append("is of another kind" if not isinstance(fitted, Literal) else found.problem(fitted.value))
        if all(problem is not None for problem in problems):
            text = statement.text_of(origin)
            problem = f"`{text}` {problems[0]}, as {given[0].what} of {name.upper()}"
            raise statement.refusal(origin, problem, remedy=given[0].remedy, code="argument")
    values = [argument.value if isinstance(argument, Literal) else None for argument in arguments]
    misfit = record.misfit(values) if record.misfit and forms else None
    if misfit is not None:
        raise statement.refusal(node, misfit.problem, remedy=misfit.remedy, code=misfit.code)

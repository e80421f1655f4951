"""Pages of reference that are made from the code: functions of SQL, Python, the command line, keys of files, errors."""

import inspect
from collections.abc import Iterable, Sequence

__all__ = ["PAGES"]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [" | ".join(heads), " | ".join("---" for _ in heads)]
    lines += [" | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def _first(text: str | None) -> str:
    """Return the first sentence of a docstring, for a cell of a table."""
    paragraph = inspect.cleandoc(text or "").partition("\n\n")[0].replace("\n", " ").replace("``", "`")
    return paragraph.replace(":class:", "").replace(":func:", "").replace(":meth:", "").replace("<", "&lt;")


def functions_page() -> str:
    """Return the functions of SQL: those with a constant, computed for an operand in [0.5, 1], and those of a row."""
    from emdp.expressions import col
    from emdp.expressions.analysis.checker import analyse
    from emdp.expressions.functions import FUNCTIONS
    from emdp.questions.item_kinds import KINDS
    from emdp.rows.functions import FUNCTIONS as OF_ROWS
    from emdp.spaces import Interval

    space = Interval("e", 0.5, 1.0)
    alone, rows = analyse(col("e"), space), []
    for one in FUNCTIONS.values():
        arguments = [0.25, 0.75][: len(one.constants)]
        made = one.made((col("e"), col("e"))) if one.takes_many else one.made(col("e"), *arguments)
        found = analyse(made, space)
        written = f"`{'`, `'.join(f'{name}{one.form}' for name in one.sql)}`"
        rows.append(
            [written, f"`emdp.{one.name}`", f"{found.parts[0] / alone.parts[0]:.4g}",
             f"[{found.low:.4g}, {found.high:.4g}]", _first(one.python.__doc__)]
        )  # fmt: skip
    aggregates = [
        [f"`{name}{kind.form}`", "yes" if kind.is_capped else "no"] for kind in KINDS.values() for name in kind.sql
    ]
    of_rows = [
        [f"`{record.name.upper()}`", ", ".join(f"`{name.upper()}`" for name in record.names),
         ", ".join(dict.fromkeys(str(getattr(form.result, "name", form.result)).lower() for form in record.forms))]
        for record in OF_ROWS.values()
    ]  # fmt: skip
    return "\n\n".join(
        (
            "# Functions of SQL, with their constants",
            "This page is made from the code. The language itself, with points, groups and options, is in "
            "[The SQL of emdp](../../queries/README.md).",
            "## Functions of numbers",
            "A function's *slope* is by how much it may stretch a change of its operand: a mean's constant, and so its "
            "noise, is that of the operand times the slope. Slope and range are those for an operand `e` in [0.5, 1], "
            "with constants 0.25 and 0.75.",
            _table(("SQL", "Python", "slope", "range", "what it is"), rows),
            "## Aggregates that stand together",
            _table(("aggregate", "under `max_records_per_user`"), aggregates),
            "## Functions of a row, under `WITH USER_PRIVACY`",
            "These are free: a cap on a user's records bounds what they may do.",
            _table(("name", "other names", "result"), of_rows),
        )
    )


def python_page() -> str:
    """Return the public names of Python, by autodoc."""
    import emdp
    from emdp.expressions import Expression

    spaces, errors, rest, functions = [], [], [], []
    for name in sorted(dir(emdp), key=str.lower):
        found = getattr(emdp, name)
        if name.startswith("_") or inspect.ismodule(found) or name == "lazy_names":
            continue
        if isinstance(found, type) and issubclass(found, Exception):
            errors.append(name)
        elif isinstance(found, type) and issubclass(found, emdp.Space):
            spaces.append(name)
        elif inspect.isfunction(found) and inspect.signature(found).return_annotation in (Expression, "Expression"):
            functions.append(name)
        elif inspect.isfunction(found) or isinstance(found, type):
            rest.append(name)
    parts = ["# Python", "This page is made from the docstrings. [emdp from Python](../python.md) is the guide."]
    titles = (
        ("Tables, sessions and questions", rest),
        ("Spaces", spaces),
        ("Expressions", functions),
        ("Errors", errors),
    )
    for title, names in titles:
        parts.append(f"## {title}")
        for name in names:
            found = getattr(emdp, name)
            kind = "autoclass" if isinstance(found, type) else "autofunction"
            parts.append(f"```{{eval-rst}}\n.. {kind}:: emdp.{name}\n```")
    return "\n\n".join(parts)


def commands_page() -> str:
    """Return every command with its arguments and options, from the command line's own table."""
    import typer

    from emdp.cli.app import make_app

    parts = [
        "# Every command",
        "This page is made from the commands. [The guide](../command-line.md) has them at work.",
    ]
    root = typer.main.get_command(make_app([]))
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", None)
        if inner is None:
            parts += _command(f"emdp {name}", command)
            continue
        parts += [f"## emdp {name}", command.help or ""]
        for more, own in inner.items():
            parts += _command(f"emdp {name} {more}", own)
    return "\n\n".join(parts)


def _command(name: str, command: object) -> list[str]:
    params, text = getattr(command, "params", []), inspect.cleandoc(getattr(command, "help", "") or "")
    prose, _, example = text.partition("\b\n")
    rows = []
    for one in params:
        words = (
            one.opts + one.secondary_opts if one.param_type_name == "option" else [(one.metavar or one.name).upper()]
        )
        default = "" if one.default in (None, False, ...) or callable(one.default) else f"`{one.default}`"
        rows.append([", ".join(f"`{word}`" for word in words), (one.help or "").replace("{", "\\{"), default])
    parts = [f"## {name}", prose.strip().replace("<", "&lt;")]
    if example:
        parts.append("```\n" + inspect.cleandoc(example) + "\n```")
    return [*parts, _table(("", "what it is", "default"), rows)] if rows else parts


def keys_page() -> str:
    """Return the keys of catalogs and reports, with their types."""
    from emdp.catalog.budgets import BUDGET_KEYS
    from emdp.catalog.entries import LINK_KEYS, LINKED_KEYS, TABLE_KEYS
    from emdp.reports.definition import ENTRY_KEYS, REPORT_KEYS
    from emdp.spaces.registry import KINDS

    def rows(keys: Iterable[tuple[str, str]]) -> list[list[str]]:
        return [[f"`{key}`", f"{text}"] for key, text in keys]

    kinds = [
        [f"`{name}`", ", ".join(f"`{key}`" for key in needed.split()), ", ".join(f"`{key}`" for key in more.split())]
        for name, (_, needed, more) in KINDS.items()
    ]
    return "\n\n".join(
        (
            "# Keys of catalogs and reports",
            "This page is made from the code that reads the files. [The guide](../command-line.md) has whole examples.",
            "## A table: `[tables.NAME]`",
            _table(("key", "value"), rows((key, text) for key, (_, text) in TABLE_KEYS.items())),
            "## A table linked to another",
            _table(("key", "value"), rows((key, text) for key, (_, text) in LINKED_KEYS.items())),
            f"Of `link`: {', '.join(f'`{key}`' for key in LINK_KEYS)}.",
            f"## `budget`\n\n{', '.join(f'`{key}`' for key in BUDGET_KEYS)}.",
            "## `space`, by kind",
            _table(("kind", "needs", "may have"), kinds),
            "## A report",
            _table(("key", "value"), rows(REPORT_KEYS.items())),
            "## An entry of a report",
            _table(("key", "value"), rows(ENTRY_KEYS.items())),
        )
    )


def errors_page() -> str:
    """Return every error with its number, by class."""
    from emdp.base import errors
    from emdp.base.codes import all_codes
    from emdp.cli.advice import advice_of, sentence_of

    parts = [
        "# Errors",
        "Every error has a number that stays. `emdp explain E0412` says the same; `...` stands for what differs.",
    ]
    kinds = dict.fromkeys(code.kind for code in all_codes())
    for kind in kinds:
        own = [code for code in all_codes() if code.kind == kind]
        parts += [f"## {kind}", _first(getattr(errors, kind).__doc__)]
        for code in own:
            name = f" *{code.name}*" if code.name else ""
            # A block of code, so that no sign of a sentence is taken for markup.
            parts.append(f"({code.number.lower()})=\n**{code.number}**{name}\n\n```text\n{sentence_of(code)}\n```")
            parts += filter(None, [advice_of(code)])
    return "\n\n".join(parts)


PAGES = {
    "functions": functions_page,
    "python": python_page,
    "commands": commands_page,
    "keys": keys_page,
    "errors": errors_page,
}
"""Name of each page in docs/reference and what makes it."""

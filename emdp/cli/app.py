"""The command table of ``emdp``."""

from collections.abc import Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

__all__ = ["make_app"]

COMMANDS = MappingProxyType(
    {
        "demo": "demo.run",
        "init": "init.run",
        "check": "sql.check",
        "preview": "sql.preview",
        "query": "sql.query",
        "profile": "profile.run",
        "report": "report.run",
        "mean": "mean.run",
        "distance": "distance.run",
        "calibrate": "calibrate.run",
        "consequences": "consequences.run",
        "decode": "decode.run",
        "experiment": "experiment.run",
        "audit": "audit.run",
        "generate": "generate.app",
        "ledger": "ledger.app",
        "explain": "explain.run",
    }
)
"""Commands in the order of the help, each with its module and function; an ``app`` has commands of its own."""

GROUPS = MappingProxyType(
    {
        "generate": "Write a realistic synthetic table.",
        "ledger": "Show what was spent, set budget aside, and verify the chain of events.",
    }
)
"""Help of commands that have commands of their own."""


def make_app(arguments: Sequence[str]) -> typer.Typer:
    """Return the command line: with the one command that is asked for, since the others take time to load, or all.

    Parameters
    ----------
    arguments : sequence of str
        Words after ``emdp``.
    """
    app = typer.Typer(
        name="emdp",
        cls=_Group,
        help="Private analytics over tables in which every person has many records.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_options)
    for name in arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS:
        module, _, runs = COMMANDS[name].partition(".")
        found = getattr(import_module(f"emdp.cli.{module}"), runs)
        if name in GROUPS:
            for command in found.registered_commands:
                command.cls = _Command
            app.add_typer(found, name=name, help=GROUPS[name], cls=_Group)
        else:
            app.command(name, cls=_Command)(found)
    return app


class _AsGiven:
    """Reader of a text or a flag, which leaves it as it is."""

    def coerce(self, value: Any, **_: object) -> Any:
        return value


class _UnlessWritten:
    """Reader of a number, which asks Typer's own only where one was written: a default is ours, and is right."""

    def __init__(self, param: Any) -> None:
        self._default, self._own = param.default, param.get_runtime_param

    def coerce(self, value: Any, **named: Any) -> Any:
        return value if value is self._default else self._own().coerce(value, **named)


class _Command(TyperCommand):
    """A command that loads no pydantic, as Typer would, to look at texts, flags and defaults that need no look."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [_as_given(param) for param in super().get_params(ctx)]


class _Group(TyperGroup):
    """The command line itself, likewise."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [_as_given(param) for param in super().get_params(ctx)]


def _as_given(param: Any) -> Any:
    """Let a text, a flag or a number's default be what was parsed; all others are converted by Typer.

    Versions of Typer that do not look here load no pydantic either.
    """
    kind = getattr(getattr(param, "type_descriptor", None), "annotation", None)
    is_single = param.nargs == 1 and not param.multiple
    if is_single and kind in {str, bool}:
        param.get_runtime_param = _AsGiven
    elif is_single and kind in {int, float} and isinstance(param.default, kind):
        own = _UnlessWritten(param)
        param.get_runtime_param = lambda: own
    return param


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"emdp {version('emdp')}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Private analytics over tables in which every person has many records."""
    del version

"""The command table of ``emdp``."""

from typing import Annotated

import typer

from emdp.cli import calibrate, demo, distance, experiment, generate, init, ledger, mean, report, sql

__all__ = ["app"]


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"emdp {version('emdp')}")
        raise typer.Exit


app = typer.Typer(
    name="emdp",
    help="Private analytics over tables in which every person has many records.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Private analytics over tables in which every person has many records."""
    del version


app.command("demo")(demo.run)
app.command("init")(init.run)
app.command("check")(sql.check)
app.command("preview")(sql.preview)
app.command("query")(sql.query)
app.command("report")(report.run)
app.command("mean")(mean.run)
app.command("distance")(distance.run)
app.command("calibrate")(calibrate.run)
app.command("experiment")(experiment.run)
app.add_typer(generate.app, name="generate", help="Write a realistic synthetic table.")
app.add_typer(ledger.app, name="ledger", help="Show what was spent, set budget aside, and verify the chain of events.")

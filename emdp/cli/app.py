"""The command table of ``emdp``."""

import typer

from emdp.cli import demo, distance, generate, ledger, mean

__all__ = ["app"]

app = typer.Typer(
    name="emdp",
    help="Private analytics over tables in which every person has many records.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("demo")(demo.run)
app.command("mean")(mean.run)
app.command("distance")(distance.run)
app.add_typer(generate.app, name="generate", help="Write a realistic synthetic table.")
app.add_typer(ledger.app, name="ledger", help="Show what was spent, and verify the chain of events.")

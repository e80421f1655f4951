"""What tests of full disks do to a ledger on a server: run a query on the command line, and count the charges."""

import contextlib
import io

import pytest

from emdp.cli import main
from emdp.ledger import read_ledger


def ask(folder, query):
    """Run a query anew; return its exit status and what it printed."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), pytest.raises(SystemExit) as done:
        main(["query", query, "--fresh", "-C", str(folder / "emdp.toml")])
    return done.value.code, said.getvalue()


def charges(server):
    """Return how many charges stand in the ledger, whose chain holds."""
    with read_ledger(server.address()) as ledger:
        ledger.verify()
        return len(ledger.entries("visits", "charge"))

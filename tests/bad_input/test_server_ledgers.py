"""Ledgers in PostgreSQL, damaged by a superuser: refused as they are, or read as they were written.

Apart from the readers of ``run.py``, since they need a server; 40 inputs here, 2,000 with ``pytest -m full``.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from ledger_readers import ServerLedgerReader
from readers import feed

SEED = 9


def check(server: Any, folder: Path, inputs: int) -> None:
    reader = ServerLedgerReader(folder, server)
    outcomes = [feed(reader, "server ledger", SEED, index) for index in range(inputs)]
    broken = [f"{index}: {one.word}" for index, one in enumerate(outcomes) if one.kind == "broken"]
    assert broken == []
    kinds = Counter(one.kind for one in outcomes)
    # Damage that is never noticed, or always, would try nothing.
    assert min(kinds["accepted"], kinds["refused"]) > 0.1 * inputs, kinds


@pytest.mark.slow
def test_damaged_ledgers_on_a_server_are_refused_or_read_as_they_were(server: Any, tmp_path: Path) -> None:
    check(server, tmp_path, 40)


@pytest.mark.full
def test_two_thousand_damaged_ledgers_on_a_server(server: Any, tmp_path: Path) -> None:
    check(server, tmp_path, 2_000)

"""The helpers beside these tests are modules of this folder; a server for ledgers is that of the tests of ledgers."""

import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

_spec = importlib.util.spec_from_file_location("postgres_fixtures", HERE.parent / "ledger" / "conftest.py")
if _spec is None or _spec.loader is None:
    raise ImportError("tests/ledger/conftest.py is gone.")
_fixtures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_fixtures)
running, server = _fixtures.running, _fixtures.server

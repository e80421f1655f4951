"""One run at a time on a ledger in a database; the lock ends with its connection, and stops no charge."""

import pytest

from emdp.base.errors import LedgerError, UsageError
from emdp.ledger import address_of, open_ledger
from emdp.ledger.runs import hold_runs


def test_a_second_run_waits_and_gives_up_and_the_first_goes_on(server):
    address = address_of(server.address())
    with open_ledger(address.text) as ledger, hold_runs(address, wait=0):
        for wait in (0, 0.15):
            with pytest.raises(UsageError, match="another report is running"), hold_runs(address, wait=wait):
                pass
        assert ledger.append("charge", "visits", {}).sequence == 2
    with hold_runs(address, wait=0):
        pass


def test_a_run_whose_connection_was_cut_holds_nothing(server):
    address = address_of(server.address("analyst"))
    with hold_runs(address, wait=0):
        assert server.cut() == 1
        with hold_runs(address, wait=60):
            pass


def test_an_error_within_is_its_own_and_frees_the_lock(server):
    address = address_of(server.address())
    with pytest.raises(LedgerError, match="mine"), hold_runs(address, wait=0):
        raise LedgerError("mine")
    with hold_runs(address, wait=0):
        pass


def test_a_server_out_of_reach(server):
    address = address_of("postgresql://ann:s3cret@/team?host=/nowhere")
    with pytest.raises(LedgerError, match="cannot be reached") as caught, hold_runs(address, wait=0):
        pass
    assert "s3cret" not in str(caught.value)

"""Cases that an adversarial review found in the session, the catalog and the command line."""

import subprocess
import sys
from pathlib import Path

import pytest

import emdp
from emdp.base.errors import EmdpError, UsageError
from emdp.catalog.catalog import load_catalog
from emdp.cli import main

SPACE = emdp.Interval("x", 0, 10, on_invalid="neutral")
ROWS = {"user": [1, 2], "x": [1.0, 2.0]}
X = emdp.col("x")
GOOD = {
    "source": '"v.csv"',
    "user": '"user"',
    "users": "2",
    "space": '{kind = "interval", col = "x", low = 0, high = 10}',
    "budget": "{alpha = 10}",
}


def session(folder: Path, table: emdp.Table | None = None, **more: object) -> emdp.Session:
    table = emdp.read(ROWS, user="user", space=SPACE, users=2) if table is None else table
    arguments: dict[str, object] = {"budget": emdp.EmdDP(10.0), "ledger": folder / "t.ledger", **more}
    return emdp.Session(table, **arguments)  # type: ignore[arg-type]


def catalog(folder: Path, head: str = 'ledger = "l.ledger"', **entry: str) -> Path:
    (folder / "v.csv").write_text("user,x\n1,2\n2,3\n")
    lines = [head, "[tables.t]", *(f"{key} = {value}" for key, value in {**GOOD, **entry}.items() if value)]
    path = folder / "emdp.toml"
    path.write_text("\n".join(lines))
    return path


def test_a_deep_expression_is_answered_or_refused_without_a_charge(tmp_path: Path) -> None:
    expression = X
    for _ in range(190):
        expression = emdp.sin(expression)
    with session(tmp_path) as opened:
        try:
            opened.mean(expression, alpha=1)
        except EmdpError:
            assert opened.spent().alpha == 0


def test_a_statement_that_cannot_run_is_refused_without_a_charge(tmp_path: Path) -> None:
    space = emdp.Categories("value_0", ["a", "b"])
    table = emdp.read({"user": [1, 2], "value_0": ["a", "b"]}, user="user", space=space, users=2)
    with session(tmp_path, table) as opened:
        try:
            opened.mean(emdp.category_is("a"), alpha=1)
        except EmdpError:
            assert opened.spent().alpha == 0


def test_declared_columns_that_are_not_the_file_s_are_found_before_the_charge(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"user": [1, 2], "x": ["1", "abc"]}), tmp_path / "v.parquet")
    columns = {"user": "BIGINT", "x": "DOUBLE"}
    table = emdp.read(tmp_path / "v.parquet", user="user", space=SPACE, users=2, columns=columns)
    with session(tmp_path, table) as opened:
        with pytest.raises(EmdpError):
            opened.mean(X, alpha=1)
        assert opened.spent().alpha == 0


def test_columns_of_an_answer_do_not_overwrite_one_another(tmp_path: Path) -> None:
    with session(tmp_path) as opened:
        try:
            frame = opened.vector_mean([X, 10 - X], alpha=1, names=["a", "a_low"]).frame
        except UsageError:
            assert opened.spent().alpha == 0
            return
        assert len(frame.columns) == 6


@pytest.mark.parametrize(
    "more",
    [{"budget": 5}, {"budget": None}, {"budget": emdp.EmdDP}, {"gaussian_share": "x"}, {"gaussian_share": None}],
)
def test_malformed_arguments_of_a_session_are_refused(more: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        session(tmp_path, **more)


@pytest.mark.parametrize("kind", ["x", 5])
def test_a_malformed_kind_is_refused(kind: object, tmp_path: Path) -> None:
    with session(tmp_path) as opened, pytest.raises(UsageError):
        opened.spent(kind)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arguments",
    [
        {"user": ["user"]},
        {"space": None},
        {"columns": ["user", "x"]},
        {"columns": {"user": 5, "x": "DOUBLE"}},
        {"users": [1, "a"]},
        {"source": {"user": [1, 2], "x": [1.0]}},
        {"name": 5},
    ],
)
def test_malformed_arguments_of_read_are_refused(arguments: dict[str, object]) -> None:
    given: dict[str, object] = {"source": ROWS, "user": "user", "space": SPACE, "users": 2, **arguments}
    with pytest.raises(UsageError):
        emdp.read(given.pop("source"), **given)  # type: ignore[arg-type]


VALUES = ["5", "true", "1.5", "[]", "[1]", '["a"]', '[1, "a"]', "[{}]", "{a = 1}", "1979-05-27", '"\\u0000"']


@pytest.mark.parametrize("key", [*GOOD, "columns", "protect", "records"])
def test_a_catalog_with_a_value_of_a_wrong_type_is_refused_in_one_sentence(key: str, tmp_path: Path) -> None:
    right = {("users", "5"), ("users", "[1]"), ("users", '["a"]'), ("records", "5"), ("protect", "[]")}
    for value in VALUES:
        if (key, value) in right:
            continue
        with pytest.raises(EmdpError) as caught:
            load_catalog(catalog(tmp_path, **{key: value})).session()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [value for value in VALUES if not value.startswith('"')])
def test_a_catalog_s_ledger_and_tables_of_a_wrong_type_are_refused(value: str, tmp_path: Path) -> None:
    with pytest.raises(EmdpError):
        load_catalog(catalog(tmp_path, head=f"ledger = {value}")).session()
    path = tmp_path / "emdp.toml"
    path.write_text(f'ledger = "l.ledger"\n[tables]\nt = {value}\n')
    with pytest.raises(EmdpError):
        load_catalog(path).session()
    space = f'{{kind = "product", parts = {value}}}'
    with pytest.raises(EmdpError):
        load_catalog(catalog(tmp_path, space=space)).session()


def test_a_catalog_that_states_its_budget_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        load_catalog(catalog(tmp_path, budget="{alpha = 1, epsilon = 2}")).budget()


@pytest.mark.parametrize(
    "words",
    [
        "mean v.csv --column x --alpha 1 --budget 5 --ledger l --user user --users ² --interval x,0,10",
        f"mean v.csv --column x --alpha 1 --budget 5 --ledger l --user user --users {'9' * 5000} --interval x,0,10",
        "mean v.csv::t --column x --alpha 1 --budget 5 --ledger l --user user --users 2 --interval x,0,10",
        "demo --keep v.csv",
        "demo --keep v.csv/x",
    ],
)
def test_every_bad_input_ends_with_status_2_or_4(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.csv").write_text("user,x\n1,2\n2,3\n")
    with pytest.raises(SystemExit) as caught:
        main(words.split())
    assert caught.value.code in (2, 4)
    assert capsys.readouterr().err.startswith("emdp: ")


def test_the_distance_of_items_that_break_the_rule_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.csv").write_text("user,x\n1,2\n2,3\n")
    with pytest.raises(SystemExit) as caught:
        main(["distance", "1", "2", "--source", "v.csv", "--user", "user", "--interval", "x,2.5,10"])
    assert caught.value.code == 4


def test_an_interrupt_while_importing_leaves_no_traceback(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "class Stop:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'emdp.cli.app': raise KeyboardInterrupt\n"
        "from emdp.cli import main\n"
        "sys.meta_path.insert(0, Stop())\n"
        "main(['demo'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr

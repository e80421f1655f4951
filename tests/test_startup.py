"""What a start loads: `import emdp` next to nothing, `emdp query` what its query needs; names load when used."""

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import emdp

ROOT = Path(emdp.__file__).parent
LAZY_PACKAGES = ("", "answers", "estimators", "expressions", "mechanisms", "privacy", "spaces", "sql", "tables")

THIRD_PARTY = {
    "annotated_doc", "cython_runtime", "deprecated", "duckdb", "emdp", "mypy_extensions", "numpy", "polars",
    "shellingham", "sqlglot", "sqlglotc", "typer", "typing_extensions", "wrapt",
}  # fmt: skip
"""Packages outside Python's own that a query with numbers for an answer may load, with what these load themselves."""

NOT_FOR_A_MEAN = (
    "emdp.audit", "emdp.experiments", "emdp.learn", "emdp.pictures", "emdp.randomizers", "emdp.reports", "emdp.testing",
    "emdp.cli.calibrate", "emdp.cli.ledger", "emdp.cli.report", "emdp.ledger.postgres", "emdp.privacy.shuffle",
    "emdp.mechanisms.oracles", "emdp.mechanisms.user_", "emdp.mechanisms.descent", "emdp.mechanisms.items.finite",
    "emdp.estimators.frequency", "emdp.estimators.itemwise", "emdp.estimators.fit", "emdp.estimators.user_mean",
    "emdp.estimators.columns.fieller", "emdp.estimators.strings", "emdp.estimators.totals",
    "emdp.privacy.account.composition", "emdp.privacy.account.losses", "emdp.tables.engines.duckdb.items",
    "emdp.tables.engines.spark", "emdp.tables.statements.texts", "emdp.tables.statements.items", "emdp.transport",
)  # fmt: skip
"""Beginnings of the modules of other commands and other families of queries."""

MOST_MODULES = 356
"""Modules of emdp that a mean loads, with the delayed methods of data classes; all are some 840."""

CATALOG = """
ledger = "x.ledger"
[tables.visits]
source = "visits.parquet"
user = "user_id"
users = 20
space = { kind = "interval", col = "minutes", low = 0, high = 60, on_invalid = "clamp" }
budget = { alpha = 100.0 }
"""
QUERY = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(minutes) AS m FROM visits"

LOADED = """
import json, sys
from emdp.cli import main
try:
    main(sys.argv[1:])
except SystemExit as ending:
    assert not ending.code, ending.code
print(json.dumps(sorted(sys.modules)))
"""


def loaded_by(folder: Path, *words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words], capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("visits")
    rows = {"user_id": [number % 20 for number in range(60)], "minutes": [float(number) for number in range(60)]}
    pl.DataFrame(rows).write_parquet(place / "visits.parquet")
    (place / "emdp.toml").write_text(CATALOG)
    return place


def test_importing_emdp_loads_nothing_but_the_names() -> None:
    code = "import sys; before = set(sys.modules); import emdp; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = ast.literal_eval(done.stdout)
    assert [name for name in loaded if name.startswith("emdp")] == ["emdp", "emdp.base", "emdp.base.lazy"]
    assert {name.partition(".")[0] for name in loaded} <= {"emdp"} | set(sys.stdlib_module_names)


@pytest.mark.parametrize("platform", ["win32", "emscripten", "wasi"])
def test_a_system_without_its_locks_is_refused_in_one_sentence(platform: str) -> None:
    code = f"""
import sys
sys.platform = {platform!r}
try:
    import emdp
except ImportError as refusal:
    print(type(refusal).__name__, refusal)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "UnsupportedError emdp runs on Linux and macOS, since its ledger rests on file locks and durable renames that "
        "this system lacks; on Windows, run it in WSL 2.\n"
    )


@pytest.mark.slow
def test_a_query_loads_what_it_needs(folder: Path) -> None:
    # The first query on some data checks their rules too, for which files are looked into.
    assert "emdp.tables.engines.duckdb.engine" in loaded_by(folder, "query", QUERY)
    loaded = loaded_by(folder, "query", "--fresh", QUERY)
    packages = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    # Names that begin so are compiled parts of packages, and what an editable installation finds its files by.
    assert {name for name in packages if not name.startswith("_")} - THIRD_PARTY == set()
    # The test switch's generators; what gives many random words at once.
    assert not {"numpy.random", "ssl"} & set(loaded)
    own = [name for name in loaded if name.partition(".")[0] == "emdp"]
    # What the table of engines knows of each before it is loaded.
    doors = {"emdp.tables.engines.spark", "emdp.tables.engines.spark.kind"}
    assert [name for name in own if name.startswith(NOT_FOR_A_MEAN) and name not in doors] == []
    assert len(own) <= MOST_MODULES


def run_with(ending: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    code = f"import gc, sys\nfrom emdp.cli import main\ntry:\n    {ending}"
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=folder, check=False)


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("query", "status"),
    [(QUERY, 0), (QUERY.replace("AVG(minutes)", "SUM(minutes)"), 2), (QUERY.replace("alpha = 1", "alpha = 1000"), 3)],
)
def test_what_a_start_loaded_is_not_searched_at_the_end(folder: Path, query: str, status: int) -> None:
    done = run_with("main()\nfinally:\n    print('frozen', gc.get_freeze_count() > 10_000)", folder, "query", query)
    assert done.returncode == status, done.stderr
    assert done.stdout.splitlines()[-1] == "frozen True"
    # DuckDB's binding says here what nothing frees at the end.
    assert "nanobind" not in done.stderr
    assert "leaked" not in done.stderr


def test_a_command_inside_a_process_that_goes_on_leaves_nothing_frozen(folder: Path) -> None:
    done = run_with("main(sys.argv[1:])\nfinally:\n    print(gc.get_freeze_count())", folder, "query", QUERY)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "0"


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("query", "--help"), ("ledger", "--help")])
def test_help_loads_no_engine(folder: Path, words: tuple[str, ...]) -> None:
    heavy = {"duckdb", "sqlglot", "polars", "pyarrow", "sqlite3", "numpy", "scipy"}
    assert {name.partition(".")[0] for name in loaded_by(folder, *words)} & heavy == set()


def read_package(package: str) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return where names come from: imported plainly, imported for type checkers, and listed as lazy."""
    tree = ast.parse((ROOT / package / "__init__.py").read_text())
    (choice,) = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    (call,) = [node for part in choice.orelse for node in ast.walk(part) if isinstance(node, ast.Call)]
    listed: dict[str, str] = ast.literal_eval(call.args[1])

    def names(nodes: list[Any]) -> dict[str, str]:
        imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
        return {alias.name: str(node.module) for node in imports for alias in node.names}

    def in_full(found: dict[str, str]) -> dict[str, str]:
        """Return names with those that a star stands for, without the module that lists them."""
        if "*" not in found:
            return found
        module = importlib.import_module(found["*"])
        return {name: home for name, home in found.items() if name != "*"} | dict.fromkeys(
            module.__all__, module.__name__
        )

    whole = {module: importlib.import_module(module).__all__ for module in listed if listed[module] == "*"}
    lazy = {name: module for module, text in listed.items() for name in whole.get(module, text.split())}
    return in_full(names(tree.body)), in_full(names(choice.body)), lazy


@pytest.mark.parametrize("package", LAZY_PACKAGES)
def test_lazy_names_are_those_that_type_checkers_see(package: str) -> None:
    plain, typed, lazy = read_package(package)
    assert lazy == typed
    module = importlib.import_module(f"emdp.{package}".rstrip("."))
    offered = (plain.keys() | lazy.keys()) - {"TYPE_CHECKING", "lazy_names", "check_version", "grammar"}
    assert set(module.__all__) == offered
    assert offered <= set(dir(module))
    for name in offered:
        assert getattr(module, name).__class__.__name__ != "module" or name in {"privacy", "randomizers", "testing"}


@pytest.mark.parametrize("package", LAZY_PACKAGES)
def test_no_lazy_name_is_a_module_of_its_package(package: str) -> None:
    # Loading the module would put it where the name belongs.
    _, _, lazy = read_package(package)
    modules = {path.stem for path in (ROOT / package).iterdir()}
    assert {name for name in lazy.keys() & modules if lazy[name] != "emdp"} == set()


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'emdp' has no attribute 'nothing'"):
        emdp.nothing  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        from emdp.privacy import nothing  # type: ignore[attr-defined]  # noqa: F401

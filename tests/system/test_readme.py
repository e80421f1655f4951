"""The README's code blocks, in order and in one folder, as a reader would run them."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def blocks() -> list[tuple[str, str]]:
    return [(kind, text) for kind, text in BLOCK.findall(README.read_text()) if "pip install" not in text]


def run(arguments: list[str], folder: Path) -> str:
    command = [sys.executable, "-c", "from emdp.cli import main; main()", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_every_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(README.parent / "queries", tmp_path / "queries")
    names: dict[str, object] = {}
    ran = []
    for kind, text in blocks():
        if kind == "python":
            exec(compile(text, "README.md", "exec"), names)  # noqa: S102
        elif kind == "sh":
            for line in text.replace("\\\n", " ").strip().splitlines():
                if line.startswith("emdp "):
                    run(shlex.split(line)[1:], tmp_path)
        elif kind == "toml":
            (tmp_path / "emdp.toml").write_text(text.replace("city.ledger", "catalog.ledger"))
            out = run(["mean", "-C", "emdp.toml", "--distance-to", "40.7484,-73.9857", "--alpha", "1"], tmp_path)
            assert "95 % interval" in out
        ran.append(kind)
    assert ran.count("python") == 13
    assert ran.count("sh") == 2
    assert (tmp_path / "places" / "index.html").is_file()
    assert ran.count("toml") == 1


def test_the_test_command_is_where_ci_looks_for_it() -> None:
    after = README.read_text().split("<!-- test command -->", 1)[1]
    assert after.lstrip().startswith("```sh\npip install '.[test]' && pytest -n auto\n```")

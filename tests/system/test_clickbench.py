"""ClickBench's 43 questions at user level: 29 as they are, the others by what the refusal says."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import emdp

PATH = Path(__file__).resolve().parents[2] / "benchmarks" / "clickbench.py"


def _loaded() -> Any:
    spec = importlib.util.spec_from_file_location("clickbench", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules["clickbench"] = module
    spec.loader.exec_module(module)
    return module


clickbench = _loaded()


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[emdp.Session]:
    with (
        emdp.testing.seeded(1),
        clickbench.opened(tmp_path_factory.mktemp("clickbench"), clickbench.made_up(50, 400)) as made,
    ):
        yield made


def test_29_of_43_questions_are_answered_as_they_are() -> None:
    assert [one.number for one in clickbench.ASKED] == list(range(1, 44))
    assert len([one for one in clickbench.ASKED if not one.instead]) == 29


@pytest.mark.quarter
@pytest.mark.parametrize("one", clickbench.ASKED, ids=lambda one: str(one.number))
def test_a_question_is_accepted_or_its_refusal_says_what_to_write(session: emdp.Session, one: Any) -> None:
    _, refused = clickbench.check(session, one.text, answer=False)
    if not one.instead:
        assert refused is None
        return
    assert refused is not None
    assert one.why in str(refused)
    assert clickbench.check(session, one.instead, answer=False)[1] is None


@pytest.mark.slow
@pytest.mark.parametrize("one", clickbench.ASKED, ids=lambda one: str(one.number))
def test_every_question_is_answered(session: emdp.Session, one: Any) -> None:
    assert clickbench.check(session, one.instead or one.text, answer=True)[1] is None

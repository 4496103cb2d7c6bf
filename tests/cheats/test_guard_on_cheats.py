"""What the guard shows: cheats refused by reading, and every honest kernel let through. Needs no GPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cheats.manifest import CHEATS, EXHIBITS, HONEST, KERNELS, Exhibit, Shown
from cheats.tasks import TASKS

from cutegen_git.hands import build as builder
from cutegen_git.hands import toolchain
from cutegen_git.hands.build import Build
from cutegen_git.hands.cache import Cache
from cutegen_git.judge.guard import check_library, check_sources
from cutegen_git.words.errors import TaskError, ToolError
from cutegen_git.words.verdict import Outcome

BY_READING = [item for item in CHEATS if item.shown is Shown.SOURCES]
BUILT = [item for item in EXHIBITS if item.shown is not Shown.SOURCES]


def name_of(item: Exhibit) -> str:
    return item.name


def test_there_is_an_exhibit_for_every_file_and_enough_of_them() -> None:
    files = {path.stem for path in KERNELS.glob("*.cu")}
    assert files == {item.name for item in EXHIBITS}
    assert len(CHEATS) >= 30
    assert len(HONEST) >= 12
    assert all(item.outcome is Outcome.PASSED for item in HONEST)
    assert all(item.outcome is not Outcome.PASSED for item in CHEATS)


@pytest.mark.parametrize("item", BY_READING, ids=name_of)
def test_cheat_is_refused_before_building(item: Exhibit) -> None:
    found = check_sources(item.sources())
    assert found is not None
    assert found.outcome is item.outcome, found
    assert found.file == "kernel/kernel.cu"
    text = item.sources()["kernel.cu"].decode().splitlines()
    assert not text[found.line - 1].startswith("//"), found


@pytest.mark.parametrize("item", BUILT, ids=name_of)
def test_what_only_a_build_or_a_run_shows_is_let_through(item: Exhibit) -> None:
    found = check_sources(item.sources())
    assert found is None, found


@pytest.fixture(scope="module")
def compiled() -> Callable[[Exhibit], Build]:
    try:
        tools = toolchain.find()
    except (ToolError, TaskError) as missing:
        pytest.skip(str(missing))
    cache = Cache.default()

    def build(item: Exhibit) -> Build:
        task, _ = TASKS[item.task]
        return builder.build(task, item.sources(), toolchain=tools, cache=cache, target_sm=None)

    return build


@pytest.mark.slow
@pytest.mark.parametrize("item", BUILT, ids=name_of)
def test_library_is_refused_or_let_through(item: Exhibit, compiled: Callable[[Exhibit], Build]) -> None:
    built = compiled(item)
    assert built.ok, built.log
    found = check_library(built.libraries[0].path)
    if item.shown is Shown.LIBRARY:
        assert found is not None
        assert found.outcome is item.outcome
    else:
        assert found is None, found

"""Scenes are made once a session and copied never: reports only read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from report.scene import Scene, hostile, large, small, unjudged

_MADE: dict[str, Scene] = {}


def _once(factory: pytest.TempPathFactory, name: str, make: Callable[..., Scene]) -> Scene:
    if name not in _MADE:
        _MADE[name] = make(factory.mktemp(name) / "task")
    return _MADE[name]


@pytest.fixture
def small_scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return _once(tmp_path_factory, "small", small)


@pytest.fixture
def hostile_scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return _once(tmp_path_factory, "hostile", hostile)


@pytest.fixture
def large_scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return _once(tmp_path_factory, "large", large)


@pytest.fixture
def empty_scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return _once(tmp_path_factory, "empty", Scene.new)


@pytest.fixture
def unjudged_scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return _once(tmp_path_factory, "unjudged", unjudged)

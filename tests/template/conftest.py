"""A remote with a task, and machines around it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .scene import Git, Machine, Remote, make_remote


@pytest.fixture
def remote(tmp_path: Path, plain_git: Git) -> Remote:
    return make_remote(tmp_path, plain_git)


@pytest.fixture
def machine(tmp_path: Path, remote: Remote) -> Callable[..., Machine]:
    def make(name: str, **more: Any) -> Machine:
        return Machine(tmp_path / "machines" / name, remote, **more)

    return make

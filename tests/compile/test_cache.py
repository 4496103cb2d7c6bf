from __future__ import annotations

import multiprocessing
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cutegen_git.hands.cache import IN_USE_S, STALE_S, Cache, default_root
from cutegen_git.words.errors import TaskError


def _write(size: int, mark: str = "x") -> Callable[[Path], None]:
    def fill(folder: Path) -> None:
        (folder / "data").write_text(mark * size)

    return fill


def _age(entry: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(entry, (then, then))


def test_entry_comes_back_as_it_was_put(cache: Cache) -> None:
    assert cache.get("build", "abc") is None
    entry = cache.put("build", "abc", _write(3))
    assert (entry / "data").read_text() == "xxx"
    assert cache.get("build", "abc") == entry


def test_first_of_two_writers_wins_and_both_get_the_entry(cache: Cache) -> None:
    first = cache.put("build", "abc", _write(3, "a"))
    second = cache.put("build", "abc", _write(3, "b"))
    assert first == second
    assert (second / "data").read_text() == "aaa"


def test_entry_whose_writer_fails_is_not_there(cache: Cache) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        cache.put("build", "abc", fail)
    assert cache.get("build", "abc") is None
    assert list((cache.root / "tmp").iterdir()) == []


def _worker(root: Path, number: int) -> None:
    cache = Cache(root, limit_bytes=20_000)
    for step in range(40):
        entry = cache.put("build", f"key{step % 7}", _write(1000, str(number)))
        text = (entry / "data").read_text()
        assert len(text) == 1000
        assert len(set(text)) == 1


def test_processes_that_write_the_same_entries_never_see_half_of_one(cache: Cache) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_worker, args=(cache.root, number)) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]


def test_entry_unused_for_longest_is_evicted_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit_bytes=2500)
    for age, key in ((3, "oldest"), (2, "older"), (1, "old")):
        _age(cache.put("build", key, _write(1000)), age * IN_USE_S + 60)
    cache.put("build", "new", _write(400))
    assert cache.get("build", "oldest") is None
    assert cache.get("build", "older") is not None
    assert cache.get("build", "new") is not None


def test_entry_in_use_is_kept_even_over_the_limit(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit_bytes=10)
    entry = cache.put("build", "busy", _write(1000))
    assert cache.evict() == 0
    assert entry.is_dir()


def test_headers_that_only_the_network_brings_back_are_never_evicted(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit_bytes=10)
    _age(cache.put("cutlass", "abc", _write(1000)), 10 * IN_USE_S)
    cache.evict()
    assert cache.get("cutlass", "abc") is not None


def test_unfinished_entries_of_dead_processes_are_swept(cache: Cache) -> None:
    cache.put("build", "abc", _write(1))
    left = cache.root / "tmp" / "left"
    left.mkdir()
    _age(left, STALE_S + 60)
    cache.evict()
    assert not left.exists()


def test_cache_may_be_deleted_at_any_time(cache: Cache) -> None:
    cache.put("build", "abc", _write(1))
    shutil.rmtree(cache.root)
    assert cache.get("build", "abc") is None
    assert cache.size_bytes() == 0
    assert (cache.put("build", "abc", _write(1)) / "data").is_file()


def test_size_counts_every_file(cache: Cache) -> None:
    cache.put("build", "abc", _write(1000))
    cache.put("cutlass", "abc", _write(500))
    assert cache.size_bytes() == 1500


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_cache_names_the_variable_that_moves_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(TaskError, match="CUTEGEN_GIT_CACHE"):
        Cache(tmp_path / "cache").put("build", "abc", _write(1))


def test_cache_that_is_a_file_names_the_variable_that_moves_it(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    with pytest.raises(TaskError, match="CUTEGEN_GIT_CACHE"):
        Cache(tmp_path / "cache").put("build", "abc", _write(1))


def test_place_of_the_cache_follows_the_variables() -> None:
    assert default_root({"CUTEGEN_GIT_CACHE": "/a", "XDG_CACHE_HOME": "/b"}) == Path("/a")
    assert default_root({"XDG_CACHE_HOME": "/b"}) == Path("/b/cutegen-git")
    assert default_root({"XDG_CACHE_HOME": "b"}) == Path.home() / ".cache" / "cutegen-git"
    assert default_root({}) == Path.home() / ".cache" / "cutegen-git"

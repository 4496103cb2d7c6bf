"""`apply-reply` and `explain-build` as a person calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from cutegen_git.commands import apply_reply, explain_build

from .kernels import BLOCK, HEAD, NAME, TREE, WANTED, fence

REPLY = fence(HEAD + "@@ -5,4 +5,4 @@\n" + BLOCK)


@pytest.fixture
def task(tmp_path: Path) -> Path:
    root = tmp_path / "task"
    for name, content in TREE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def call(*words: str, stdin: str | None = None) -> Result:
    app = typer.Typer()
    apply_reply.register(app)
    explain_build.register(app)
    return CliRunner().invoke(app, list(words), input=stdin)


def files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def test_a_reply_changes_the_kernel_and_nothing_else(task: Path, tmp_path: Path) -> None:
    (tmp_path / "reply.txt").write_text(REPLY)
    done = call("apply-reply", str(tmp_path / "reply.txt"), "-C", str(task))
    assert done.exit_code == 0, done.output
    assert files(task) == {**TREE, NAME: WANTED.encode()}


def test_check_prints_the_diff_and_writes_nothing(task: Path) -> None:
    done = call("apply-reply", "-", "-C", str(task), "--check", stdin=REPLY)
    assert done.exit_code == 0
    assert done.stdout.startswith(f"diff --git a/{NAME} b/{NAME}\n")
    assert files(task) == TREE


def test_a_refusal_is_explained_on_stderr_and_named_on_the_last_line(task: Path) -> None:
    done = call("apply-reply", "-", "-C", str(task), stdin=REPLY.replace("kBlock = 256", "kBlock = 300"))
    assert done.exit_code == 1
    assert done.stdout.strip().split("\n")[-1] == "context-not-found"
    assert "kBlock = 256" in done.stderr
    assert files(task) == TREE


def test_a_cut_reply_is_refused_by_its_finish_reason(task: Path) -> None:
    done = call("apply-reply", "-", "-C", str(task), "--finish-reason", "length", stdin=REPLY)
    assert (done.exit_code, done.stdout.strip()) == (1, "truncated")


def test_other_globs_can_be_allowed(task: Path) -> None:
    reply = "--- a/reference.py\n+++ b/reference.py\n@@ @@\n-    return x\n+    return x + 0\n"
    assert call("apply-reply", "-", "-C", str(task), stdin=reply).exit_code == 1
    assert (
        call("apply-reply", "-", "-C", str(task), "--allow", "*.py, kernel/*.cu", stdin=reply).exit_code == 0
    )
    assert (task / "reference.py").read_text().endswith("return x + 0\n")


def test_nothing_is_written_through_a_symbolic_link(task: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.cu"
    outside.write_bytes(TREE[NAME])
    (task / NAME).unlink()
    (task / NAME).symlink_to(outside)
    done = call("apply-reply", "-", "-C", str(task), stdin=REPLY)
    assert (done.exit_code, done.stdout.strip()) == (1, "symlink")
    assert outside.read_bytes() == TREE[NAME]


def test_no_new_file_is_written_into_a_linked_folder(task: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    for path in (task / "kernel").iterdir():
        path.unlink()
    (task / "kernel").rmdir()
    (task / "kernel").symlink_to(tmp_path / "elsewhere")
    reply = "--- /dev/null\n+++ b/kernel/new.cu\n@@ -0,0 +1 @@\n+int x;\n"
    assert call("apply-reply", "-", "-C", str(task), stdin=reply).exit_code == 1
    assert not list((tmp_path / "elsewhere").iterdir())


def test_the_mode_of_a_changed_file_is_kept(task: Path) -> None:
    (task / NAME).chmod(0o755)
    assert call("apply-reply", "-", "-C", str(task), stdin=REPLY).exit_code == 0
    assert (task / NAME).stat().st_mode & 0o777 == 0o755


def test_a_deleted_file_is_removed(task: Path) -> None:
    reply = "*** Begin Patch\n*** Delete File: kernel/helper.cuh\n*** End Patch\n"
    assert call("apply-reply", "-", "-C", str(task), stdin=reply).exit_code == 0
    assert not (task / "kernel/helper.cuh").exists()


def test_a_missing_reply_file_is_a_usage_error(task: Path) -> None:
    assert call("apply-reply", "/nowhere/reply.txt", "-C", str(task)).exit_code == 2


ERROR = 'kernel.cu(2): error: identifier "missing" is undefined\n    y[0] = missing;\n           ^\n\n'


def test_explain_build_prints_what_a_model_would_get() -> None:
    done = call("explain-build", "-", "--rc", "2", stdin=ERROR)
    assert done.exit_code == 0
    assert 'kernel.cu:2: error: identifier "missing" is undefined' in done.stdout


def test_explain_build_prints_one_json_object() -> None:
    facts = json.loads(call("explain-build", "-", "--rc", "2", "--json", stdin=ERROR).stdout)
    assert (facts["status"], facts["category"]) == ("error", "compile_error")
    assert facts["user_location"] == {"file": "kernel.cu", "line": 2}


def test_explain_build_shows_the_line_of_a_given_source(tmp_path: Path) -> None:
    source = tmp_path / "kernel.cu"
    source.write_text("// one\n  y[0] = missing;\n")
    done = call("explain-build", "-", "--rc", "2", "--source", str(source), stdin=ERROR.split("\n")[0] + "\n")
    assert "y[0] = missing;" in done.stdout


def test_explain_build_knows_a_timeout() -> None:
    facts = json.loads(call("explain-build", "-", "--rc", "timeout", "--json", stdin="").stdout)
    assert (facts["status"], facts["category"]) == ("timeout", "timeout")
    assert call("explain-build", "-", "--rc", "soon", stdin="").exit_code == 2

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from cutegen_git.app.new import name_from
from cutegen_git.commands.cli import run
from cutegen_git.core.taskfile import parse
from cutegen_git.words.task import Family, Role, Task

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BENCH = HERE / "kernelbench"
NATIVE = """
import torch
AXES = {"N": 4096}
def inputs(axes, *, generator, device):
    return {"x": torch.randn(axes["N"], generator=generator, device=device)}
def reference(x):
    return x.abs()
"""


def git(folder: Path, *words: str) -> str:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True, env=env
    )
    return done.stdout.strip()


def task_of(folder: Path) -> Task:
    return parse((folder / "task.toml").read_text())


def from_bench(folder: Path, name: str, *more: str) -> int:
    return run(["new", str(folder), "--from-kernelbench", str(BENCH / f"{name}.py"), "-q", *more])


def native(tmp_path: Path, text: str, *more: str) -> tuple[int, Path]:
    (tmp_path / "ref.py").write_text(text)
    folder = tmp_path / "task"
    return run(["new", str(folder), "--reference", str(tmp_path / "ref.py"), "-q", *more]), folder


def test_example_becomes_a_clean_repository_with_one_commit(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "g"
    assert run(["new", str(folder), "--example", "gemm", "--device", "rtx4090", "-q"]) == 0
    assert git(folder, "status", "--porcelain") == ""
    assert git(folder, "rev-list", "--all", "--count") == "1"
    assert git(folder, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert (folder / "reference.py").read_bytes() == (ROOT / "examples/gemm/reference.py").read_bytes()
    assert not (folder / "kernel").exists()
    assert [path.name for path in folder.parent.iterdir()] == ["g"]
    tracked = set(git(folder, "ls-files").splitlines())
    workflows = {".github/workflows/check.yml", ".github/workflows/measure.yml"}
    assert tracked >= workflows | {
        ".gitattributes", ".gitignore", "LICENSE", "README.md", "reference.py", "task.toml",
    }  # fmt: skip
    task = task_of(folder)
    assert (task.name, task.family, task.device, task.arch) == ("gemm", Family.MATMUL, "rtx4090", "sm_89")
    assert [dict(workload.axes) for workload in task.of_role(Role.RANK)] == [
        {"M": 4096, "N": 4096, "K": 4096}
    ]
    readme = (folder / "README.md").read_text()
    assert "`A: float32[M, K]`" in readme
    assert "{{" not in readme
    assert "{%" not in readme


def test_check_sizes_are_small_odd_and_no_multiples_of_a_tile(tmp_path: Path) -> None:
    assert run(["new", str(tmp_path / "g"), "--example", "gemm", "--device", "rtx4090", "-q"]) == 0
    checks = [workload.axes for workload in task_of(tmp_path / "g").of_role(Role.CHECK)]
    assert len(checks) >= 4
    assert all(size % 8 for axes in checks for size in axes.values())
    assert any(1 in axes.values() for axes in checks)
    assert max(axes["K"] for axes in checks) > 1000


def test_facts_are_printed_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert from_bench(tmp_path / "c", "conv2d", "--json", "--model", "handoff", "--name", "oblong") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["form"] == "kernelbench"
    assert record["name"] == "oblong"
    assert record["axes"] == ["batch_size", "in_channels", "out_channels", "height", "width"]
    assert record["constants"] == ["conv_weight", "conv_bias"]
    assert record["outputs"] == ["out: float32[batch_size, out_channels, height-2, width-4]"]
    assert set(record["fixed"]) == {"kernel_size_0", "kernel_size_1"}
    assert task_of(tmp_path / "c").model == "handoff"


def test_what_comes_next_is_said_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new", str(tmp_path / "g"), "--example", "gemm", "--device", "rtx4090"]) == 0
    said = capsys.readouterr()
    assert f"next: cutegen-git refine {tmp_path / 'g'}" in said.err.replace("\n", "")
    assert "family      matmul (guessed; --family overrides)" in said.out
    assert "M4096-N4096-K4096" in said.out


def test_flags_say_sizes_family_and_device(tmp_path: Path) -> None:
    flags = ["--rank", "N=2048", "--rank", "N=512", "--check", "N=9", "--check", "N=65", "--family", "fused"]
    assert from_bench(tmp_path / "m", "matmul_square", *flags, "--device", "h200") == 0
    task = task_of(tmp_path / "m")
    assert (task.family, task.device) == (Family.FUSED, "h200")
    assert [workload.label() for workload in task.of_role(Role.RANK)] == ["N2048", "N512"]
    assert [workload.label() for workload in task.of_role(Role.CHECK)] == ["N9", "N65"]


def test_weak_check_sizes_are_strengthened_visibly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert from_bench(tmp_path / "m", "matmul_square", "--check", "N=1") == 0
    task = task_of(tmp_path / "m")
    assert [workload.label() for workload in task.of_role(Role.CHECK)] != ["N1"]
    note = "was added, because the others cannot tell"
    assert note in capsys.readouterr().out
    assert note in (tmp_path / "m/task.toml").read_text()
    assert note in (tmp_path / "m/README.md").read_text()


def test_one_fixed_shape_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert from_bench(tmp_path / "h", "hinge_tied") == 0
    task = task_of(tmp_path / "h")
    assert task.signature.axes == ()
    assert [workload.label() for workload in task.workloads] == ["fixed", "fixed"]
    assert "One fixed shape" in capsys.readouterr().out
    assert "One fixed shape" in (tmp_path / "h/README.md").read_text()


def test_force_fixed_keeps_published_sizes(tmp_path: Path) -> None:
    assert from_bench(tmp_path / "m", "matmul_square", "--force-fixed", "--device", "unknown-gpu") == 0
    task = task_of(tmp_path / "m")
    assert task.signature.axes == ()
    assert task.signature.outputs[0].shape == ("4096", "4096")


def test_published_size_that_does_not_fit_is_refused_with_one_that_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert from_bench(tmp_path / "s", "softsign") == 128
    said = capsys.readouterr().err
    assert "needs 25.8 GB" in said
    assert "--rank batch_size=4096,dim=196608" in said
    assert not (tmp_path / "s").exists()
    assert from_bench(tmp_path / "s", "softsign", "--fit") == 0
    assert task_of(tmp_path / "s").of_role(Role.RANK)[0].label() == "batch_size4096-dim196608"
    assert from_bench(tmp_path / "big", "softsign", "--device", "h200") == 0


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--rank", "K=8"], "--rank: K is no axis; axes are N"),
        (["--check", "Q=8"], "--check: Q is no axis; axes are N"),
    ],
)
def test_wrong_axis_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], said: str
) -> None:
    assert from_bench(tmp_path / "m", "matmul_square", *flags) == 128
    assert said in capsys.readouterr().err


def test_size_off_the_step_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert from_bench(tmp_path / "m", "groupnorm", "--check", "features=12") == 128
    assert "runs only where features is a multiple of 8" in capsys.readouterr().err


@pytest.mark.parametrize(
    "flags", [[], ["--example", "gemm", "--reference", "x.py"], ["--example", "gemm", "--rank", "M"]]
)
def test_wrong_use_is_exit_code_129(tmp_path: Path, flags: list[str]) -> None:
    assert run(["new", str(tmp_path / "x"), *flags]) == 129


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("refused_dropout", "uses dropout in training mode"),
        ("refused_random_state", "draws random numbers"),
        ("refused_no_tensor", "no tensor comes out (got dict)"),
    ],
)
def test_kernelbench_files_without_one_answer_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    assert from_bench(tmp_path / "x", name) == 128
    error = capsys.readouterr().err.strip()
    assert said in error
    assert "\n" not in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(:", "reference.py:1: "),
        ("import nowhere_to_be_found\n" + NATIVE, "fails to import: ModuleNotFoundError"),
        (NATIVE.replace("return x.abs()", "return None"), "no tensor comes out"),
        (NATIVE.replace("x.abs()", "x * __import__('random').random()"), "is nondeterministic"),
        (NATIVE.replace("x.abs()", "torch.nn.functional.dropout(x)"), "uses dropout"),
        (NATIVE.replace("x.abs()", "x + torch.rand(1)"), "draws random numbers"),
        (NATIVE.replace('AXES = {"N": 4096}', ""), "states no sizes: add AXES"),
        (
            NATIVE.replace('AXES = {"N": 4096}', 'AXES = {"N": 4096, "Q": 3}'),
            "axis Q: no shape depends on it",
        ),
        (
            NATIVE.replace("x.abs()", "x[: len(x) % 7]"),
            "axis N: a shape follows it by no simple formula",
        ),
        (
            NATIVE.replace('"x"', '"int"').replace("(x)", "(**k)").replace("x.abs()", "k['int']"),
            "cannot be a name in C++",
        ),
    ],
)
def test_bad_reference_is_one_line_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    code, folder = native(tmp_path, text)
    error = capsys.readouterr().err.strip()
    assert code == 128
    assert said in error
    assert "\n" not in error
    assert not folder.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["ref.py"]


def test_native_reference_takes_its_axes_from_a_flag(tmp_path: Path) -> None:
    code, folder = native(tmp_path, NATIVE.replace('AXES = {"N": 4096}', ""), "--rank", "N=1024")
    assert code == 0
    assert task_of(folder).of_role(Role.RANK)[0].label() == "N1024"


def test_answer_that_is_trivial_on_the_data_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    positive = NATIVE.replace("device=device)", "device=device).abs()")
    code, _ = native(tmp_path, positive)
    assert code == 0
    assert "On this data the right answer is: a copy of x" in capsys.readouterr().out.replace("\n", " ")


def test_input_without_effect_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unused = NATIVE.replace('return {"x"', 'return {"u": torch.ones(3), "x"').replace(
        "reference(x)", "reference(u, x)"
    )
    code, _ = native(tmp_path, unused)
    assert code == 0
    assert "No result depends on: u." in capsys.readouterr().out


def test_existing_folder_and_folder_in_a_repository_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here").mkdir()
    assert run(["new", str(tmp_path / "here"), "--example", "gemm", "-q"]) == 128
    assert "exists already" in capsys.readouterr().err
    git(tmp_path / "here", "init", "-q")
    assert run(["new", str(tmp_path / "here" / "in"), "--example", "gemm", "-q"]) == 128
    assert "would lie inside the git repository" in capsys.readouterr().err
    assert run(["new", str(tmp_path / "x"), "--example", "gemn", "-q"]) == 128
    assert "there is no example 'gemn'; known are gemm" in capsys.readouterr().err
    assert run(["new", str(tmp_path / "x"), "--reference", str(tmp_path / "no.py"), "-q"]) == 128
    assert "cannot be read: No such file" in capsys.readouterr().err


def test_user_settings_of_git_do_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = "[core]\n autocrlf = true\n hooksPath = /nowhere\n[commit]\n gpgSign = true\n[init]\n defaultBranch = x\n"
    (tmp_path / "gitconfig").write_text(config)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert run(["new", str(tmp_path / "g"), "--example", "gemm", "--device", "rtx4090", "-q"]) == 0
    assert b"\r" not in (tmp_path / "g/task.toml").read_bytes()


@pytest.mark.parametrize(
    ("given", "name"),
    [("19_ReLU.py", "ReLU"), ("1_Square_matrix_multiplication_.py", "Square_matrix_multiplication"), ("g", "g"),
     ("3.py", "3"), ("my task", "my_task"), ("é.py", "task")],
)  # fmt: skip
def test_name_comes_from_the_file(given: str, name: str) -> None:
    assert name_from(given) == name

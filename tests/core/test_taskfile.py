from __future__ import annotations

import string
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutegen_git.core.taskfile import override, parse, render, task_hash
from cutegen_git.core.taskfile_signature import usable_name
from cutegen_git.words.errors import TaskError
from cutegen_git.words.task import (
    Family,
    Limits,
    Precision,
    Role,
    Runner,
    ScalarKind,
    ScalarSpec,
    Signature,
    Task,
    TensorSpec,
    Workload,
)

GEMM = """\
format = 1
[task]
name = "gemm"
family = "matmul"
[target]
arch = "sm_89"
device = "rtx4090"
[signature]
axes    = ["M", "N", "K"]
inputs  = ["A: float32[M, K]", "B: float32[K, N]", "alpha: float"]
outputs = ["C: float32[M, N]"]
[[workload]]
axes = { M = 33, N = 65, K = 17 }
role = "check"
[[workload]]
axes = { M = 4096, N = 4096, K = 4096 }
role = "rank"
"""


def test_gemm_is_read() -> None:
    task = parse(GEMM)
    assert task.family is Family.MATMUL
    assert task.signature.inputs[0] == TensorSpec("A", "float32", ("M", "K"))
    assert task.signature.inputs[2] == ScalarSpec("alpha", ScalarKind.FLOAT)
    assert task.of_role(Role.RANK)[0].label() == "M4096-N4096-K4096"
    assert task.limits == Limits()


def test_windows_text_is_read() -> None:
    assert parse("\ufeff" + GEMM.replace("\n", "\r\n")) == parse(GEMM)


def test_tensor_facts_are_read() -> None:
    more = '[tensors.B]\nconstant = true\nlayout = "col"\nalign_bytes = 4\n[tensors.C]\nlayout = ["N+1", 1]\nalias = "A"\n'
    signature = parse(GEMM + more).signature
    assert signature.inputs[1] == TensorSpec("B", "float32", ("K", "N"), True, "col", 4)
    assert signature.outputs[0].layout == ("N+1", "1")
    assert signature.outputs[0].alias == "A"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "[stop]\natempts = 2\n", "unknown key 'atempts' in [stop]; did you mean 'attempts'?"),
        ("", "[stpo]\n", "unknown table 'stpo'; did you mean 'stop'?"),
        ("", "[stop]\nattempts = 2.5\n", "[stop] attempts must be a whole number of at least 0, not 2.5"),
        ("", "[stop]\nattempts = true\n", "[stop] attempts must be a whole number of at least 0, not true"),
        ("", "[stop]\nusd = -1\n", "[stop] usd must be a number of at least 0, not -1"),
        ("", "[stop]\nusd = inf\n", "[stop] usd must be a number, not inf"),
        ("", "[paths]\ncount = 0\n", "[paths] count must be a whole number of at least 1, not 0"),
        ("", "[publish]\ntranscript = 1\n", "[publish] transcript must be true or false, not 1"),
        ("", '[profile]\nshow = "after"\n', "[profile] show must be stable, always, never or after:N"),
        ("", '[precision]\npolicy = "float23"\n', "[precision] policy is 'float23'; did you mean 'float32'?"),
        ("", "[build]\nstatic = ['k']\n", "[build] static names no axis 'k'; known are M, N, K"),
        ("", "[tensors.D]\n", "[tensors.D]: no such tensor; known are A, B, C"),
        ("", "[tensors.A]\nalias = 'B'\n", "unknown key 'alias' in [tensors.A]"),
        ("", "[tensors.C]\nalign_bytes = 3\n", "[tensors.C] align_bytes must be a power of two, not 3"),
        ("", "[tensors.C]\nlayout = ['1']\n", '"row", "col" or a list of 2 strides'),
        ("", "[runners]\nlab = 'rtx4090'\n", "[runners] lab must be a table, not a string"),
        ("", "[runners.Lab]\ndevice = 'h200'\n", "[runners] 'Lab'"),
        (
            "",
            "[runners.lab]\ndevise = 'h200'\n",
            "unknown key 'devise' in [runners] lab; did you mean 'device'?",
        ),
        ("", "[runners.lab]\ndevice = 'h200'\nkey = 'secret'\n", "ssh public key"),
        ("format = 1\n", "", "format is missing"),
        ("format = 1", "format = 2", "format is 2, but this version of cutegen-git reads format 1"),
        ('family = "matmul"', 'family = "matmull"', "[task] family is 'matmull'; did you mean 'matmul'?"),
        ('family = "matmul"\n', "", "[task] family is missing"),
        ('name = "gemm"', 'name = "a b"', "[task] name must be letters"),
        ('"sm_89"', '"89"', "[target] arch must be"),
        ('role = "check"', 'role = "rank"', 'no [[workload]] has role = "check"'),
        ("M = 33, ", "", "[[workload]] 1 axes M is missing"),
        ("M = 33, ", "m = 33, ", "unknown key 'm' in [[workload]] 1 axes"),
        ("M = 33, ", "M = 0, ", "[[workload]] 1 axes M must be a whole number of at least 1, not 0"),
        ('"K"]', '"K", "M"]', "the name 'M' is used twice"),
        ("A: float32", "int: float32", "'int' cannot be a name in C++"),
        ("A: float32", "A: flaot32", "A has the unknown dtype 'flaot32'; did you mean 'float32'?"),
        ("alpha: float", "alpha: double", "alpha is 'double'; a scalar is one of float, int, bool"),
        ("A: float32[M, K]", "A float32", "cannot read 'A float32'"),
        ("A: float32[M, K]", "A: float32[M, P]", "cannot read the size 'P'"),
        ("C: float32[M, N]", "C: float32[M-40, N]", "tensor C -7 elements long"),
        ("C: float32[M, N]", "C: float", "C is a scalar; a kernel writes tensors only"),
        ("[target]", "[target", "task.toml: "),
    ],
)
def test_wrong_task_is_one_clear_line(old: str, new: str, said: str) -> None:
    assert old in GEMM
    text = GEMM.replace(old, new, 1) if old else GEMM + new
    with pytest.raises(TaskError) as caught:
        parse(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_hash_depends_on_where_one_file_ends() -> None:
    assert task_hash(b"ab", b"c") != task_hash(b"a", b"bc")
    assert len(task_hash(b"", b"")) == 16


def test_flag_beats_environment_beats_file_beats_builtin() -> None:
    task = replace(parse(GEMM + '[model]\nname = "a"\n[stop]\nusd = 1.0\n'))
    env = {
        "CUTEGEN_GIT_MODEL": "b",
        "CUTEGEN_GIT_ATTEMPTS": "7",
        "CUTEGEN_GIT_FIXES": "5",
        "CUTEGEN_GIT_USD": " ",
    }
    changed = override(task, env, fixes=1)
    assert (changed.model, changed.limits) == ("b", Limits(attempts=7, fixes=1, usd=1.0))
    assert override(task, env, model="c").model == "c"
    assert override(task, {}) == task


@pytest.mark.parametrize("value", ["many", "2.5", "-1"])
def test_wrong_environment_is_refused(value: str) -> None:
    with pytest.raises(TaskError, match=r"attempts|ATTEMPTS"):
        override(parse(GEMM), {"CUTEGEN_GIT_ATTEMPTS": value})


def test_what_new_writes_is_mostly_comments() -> None:
    lines = [line for line in render(parse(GEMM)).splitlines() if line and not line.startswith("#")]
    assert len(lines) <= 18


NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,8}", fullmatch=True).filter(usable_name)
SLUGS = st.from_regex(r"[a-z0-9][a-z0-9-]{0,12}", fullmatch=True)
FLAGS = st.booleans()
COUNTS = st.integers(0, 10**9)
MONEY = st.floats(0, 1e12, allow_nan=False)
DTYPES = st.sampled_from(["float32", "bfloat16", "float8_e4m3fn", "int64", "bool"])
POLICIES = st.sampled_from(["float32", "tf32", "float16", "exact"])


@st.composite
def signatures(draw: st.DrawFn) -> Signature:
    names = draw(st.lists(NAMES, min_size=5, max_size=9, unique=True))
    axes, tensors = tuple(names[:2]), names[2:]
    size: st.SearchStrategy[str] = st.sampled_from(
        [*axes, "7", f"2*{axes[0]}", f"{axes[0]}+{axes[1]}", f"({axes[1]}+3)//2"]
    )

    def tensor(name: str, *, output: bool) -> TensorSpec:
        shape = tuple(draw(st.lists(size, max_size=3)))
        layout: str | tuple[str, ...] = draw(st.sampled_from(["row", "col"]))
        if len(shape) > 0 and draw(FLAGS):
            layout = tuple(draw(size) for _ in shape)
        align = draw(st.sampled_from([1, 4, 16, 128]))
        return TensorSpec(name, draw(DTYPES), shape, not output and draw(FLAGS), layout, align)

    inputs: list[TensorSpec | ScalarSpec] = [tensor(name, output=False) for name in tensors[1:]]
    inputs[-1] = ScalarSpec(tensors[-1], draw(st.sampled_from(ScalarKind)))
    output = tensor(tensors[0], output=True)
    if isinstance(inputs[0], TensorSpec) and draw(st.booleans()):
        output = replace(output, alias=inputs[0].name)
    return Signature(tuple(inputs), (output,), axes)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    signature = draw(signatures())
    sizes = st.fixed_dictionaries({axis: st.integers(1, 10**7) for axis in signature.axes})
    weight = st.floats(1e-3, 1e6)
    check = draw(st.lists(st.builds(Workload, sizes, st.just(Role.CHECK)), min_size=1, max_size=3))
    rank = draw(st.lists(st.builds(Workload, sizes, st.just(Role.RANK), weight), min_size=1, max_size=2))
    key = st.none() | st.text(string.ascii_letters, min_size=1).map(
        lambda body: f"ssh-ed25519 {body} me@\u00e9\x7f"
    )
    return Task(
        name=draw(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,20}", fullmatch=True)),
        family=draw(st.sampled_from(Family)),
        arch=draw(st.sampled_from(["sm_89", "sm_90a", "sm_120"])),
        device=draw(SLUGS),
        signature=signature,
        workloads=(*check, *rank),
        static=tuple(draw(st.sets(st.sampled_from(signature.axes)))),
        precision=draw(st.builds(Precision, POLICIES, POLICIES, st.booleans())),
        limits=draw(st.builds(Limits, COUNTS, COUNTS, MONEY, MONEY, COUNTS, COUNTS)),
        profile_show=draw(st.sampled_from(["stable", "always", "never", "after:3"])),
        paths=draw(st.integers(1, 9)),
        model=draw(st.none() | st.text(min_size=1, max_size=20).map(lambda text: f'x"{text}\\y')),
        runners=draw(st.dictionaries(SLUGS, st.builds(Runner, SLUGS, key), max_size=2)),
        publish_transcript=draw(st.booleans()),
    )


@settings(max_examples=200, deadline=None)
@given(tasks(), st.lists(st.text(string.printable, max_size=30), max_size=2))
def test_what_is_rendered_is_read_back(task: Task, notes: list[str]) -> None:
    notes = [note.replace("\x0b", "").replace("\x0c", "") for note in notes]
    assert parse(render(task, notes=notes)) == task

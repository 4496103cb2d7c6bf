"""`export`: a verified kernel as a file for KernelBench, or as a package with a torch operator.

Needs no git: what is exported is handed in. Finding it in a task repository is `export_facts`.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from cutegen_git.hands.toolchain import CUDA_WHEELS
from cutegen_git.words.errors import TaskError
from cutegen_git.words.task import Axes, Role, ScalarSpec, Task, TensorSpec

from .export_model import ReferenceFacts, reference_facts
from .export_task import Exported, task_text

__all__ = ["Exported", "kernelbench", "package_name", "torch_op"]
_FOLDER = Path(__file__).resolve().parent


def kernelbench(exported: Exported) -> str:
    """One Python file with Model, get_inputs, get_init_inputs and ModelNew."""
    world, values = _world(exported)
    values["forward"] = world.get_template("export_forward_kernelbench.py.j2").render(values).rstrip()
    values["base"] = "Model"
    model_new = world.get_template("export_model_new.py.j2").render(values).strip()
    values["model_code"] = f"import functools\nimport inspect\n\n\n{model_new}"
    text = world.get_template("export_kernelbench.py.j2").render(values)
    _refuse_clashes(exported.reference.decode("utf-8-sig"), text)
    return _tidy(text)


def torch_op(exported: Exported) -> dict[str, bytes]:
    """Path -> content of an installable package."""
    world, values = _world(exported)
    values["forward"] = world.get_template("export_forward_op.py.j2").render(values).rstrip()
    values["base"] = "reference.Model"
    values["model_code"] = world.get_template("export_model_new.py.j2").render(values).strip()
    home = values["package"]
    files = {
        "pyproject.toml": world.get_template("export_op_pyproject.toml.j2").render(values).encode(),
        "README.md": world.get_template("export_op_readme.md.j2").render(values).encode(),
        f"{home}/reference.py": exported.reference,
        f"{home}/abi.h": values["text"].header.encode(),
        f"{home}/_build.py": (_FOLDER / "export_build.py").read_bytes(),
        f"{home}/_spec.py": (_FOLDER / "export_spec.py").read_bytes(),
        f"{home}/_runtime.py": (_FOLDER / "export_runtime.py")
        .read_bytes()
        .replace(b".export_spec", b"._spec"),
    }
    for name in ("init", "kernel", "main"):
        text = _tidy(world.get_template(f"export_op_{name}.py.j2").render(values))
        place = "_kernel" if name == "kernel" else f"__{name}__"
        files[f"{home}/{place}.py"] = text.encode()
    return files | {f"{home}/kernel/{name}": data for name, data in exported.sources.items()}


def package_name(task: Task) -> str:
    """The importable name: "cutegen_gemm"."""
    return "cutegen_" + re.sub(r"\W+", "_", task.name, flags=re.ASCII).strip("_").lower()


def _world(exported: Exported) -> tuple[jinja2.Environment, dict[str, Any]]:
    """The templates, and all that they may name."""
    world = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    world.filters["repr"] = repr
    task = exported.task
    facts = reference_facts(exported.reference, task)
    text = task_text(task)
    values: dict[str, Any] = {
        "about": exported.about,
        "title": f"The kernel of attempt {exported.label} of {task.name}",
        "package": package_name(task),
        "version": "0.1.0",
        "wheels": CUDA_WHEELS,
        "text": text,
        "build": _code("export_build.py"),
        "runtime": f"{_code('export_spec.py')}\n\n\n{_code('export_runtime.py')}",
        "reference": exported.reference.decode("utf-8-sig").strip(),
        "header": literal(text.header.encode()),
        "sources": [(repr(name), literal(data)) for name, data in sorted(exported.sources.items())],
        **_of_signature(task, facts),
        **_of_workloads(task, is_model=facts.model is not None),
    }
    uses = [text.header.encode(), *exported.sources.values()]
    values["needs_cutlass"] = any(b"cute/" in item or b"cutlass/" in item for item in uses)
    values["spec"] = world.get_template("export_spec.py.j2").render(values).strip()
    return world, values


def _of_signature(task: Task, facts: ReferenceFacts) -> dict[str, Any]:
    signature, model = task.signature, facts.model
    names = tuple(item.name for item in signature.inputs)
    many = len(signature.outputs)
    package = package_name(task)
    results = "Tensor" if many == 1 else f"({', '.join(['Tensor'] * many)})"
    takes = ", ".join(f"{_schema_type(item)} {item.name}" for item in signature.inputs)
    use = f"{', '.join(spec.name for spec in signature.outputs)} = {package}.forward({', '.join(names)})"
    if model:
        use += f"\nmodule = {package}.ModelNew(...)  # as reference.Model, with the same state"
    return {
        "model": model,
        "inputs": names,
        "inputs_row": repr(names),
        "arguments": model.arguments if model else names,
        "weights": [(name, attribute(path)) for name, path in model.weights.items()] if model else [],
        "weight_paths": list(model.weights.items()) if model else [],
        "returned": {"tensor": "found[0]", "tuple": "tuple(found)", "list": "list(found)"}[facts.returns],
        "op_returned": "found[0]" if many == 1 else "tuple(found)",
        "schema": f"({takes}) -> {results}",
        "summary": f"{', '.join(spec.name for spec in signature.outputs)} from the kernel, or from the reference",
        "usage": use,
        "packs": any(spec.constant for spec in signature.tensors()),
        "tensors": [_table_row(spec) for spec in (*signature.tensors(), *signature.outputs)],
        "arch": task.arch,
    }


def _of_workloads(task: Task, *, is_model: bool) -> dict[str, Any]:
    ranked: list[Axes] = [dict(workload.axes) for workload in task.of_role(Role.RANK)]
    statics = list(dict.fromkeys(tuple(axes[axis] for axis in task.static) for axes in ranked))
    every = [tuple(w.axes[axis] for axis in task.static) for w in task.workloads]
    built = " or ".join(
        ", ".join(f"{axis} = {size}" for axis, size in zip(task.static, sizes, strict=True))
        for sizes in dict.fromkeys(every)
    )
    return {
        "ranked": repr(ranked[0]),
        "ranked_all": "({},)" if is_model else repr(tuple(ranked)),
        "ranked_statics": repr(tuple(statics)),
        "static_note": f" and {built}" if task.static else "",
    }


def _table_row(spec: TensorSpec) -> tuple[str, ...]:
    layout = spec.layout if isinstance(spec.layout, str) else ", ".join(spec.layout)
    shape = ", ".join(spec.shape) or "no dimension"
    return (f"`{spec.name}`", spec.dtype, f"`{shape}`", layout, f"{spec.align_bytes} bytes")


def _schema_type(item: TensorSpec | ScalarSpec) -> str:
    return "Tensor" if isinstance(item, TensorSpec) else item.kind.value


def attribute(path: str) -> str:
    """ "layers.0.weight" as Python that torch.compile can trace."""
    text = "self"
    for part in path.split("."):
        text = (
            f"{text}.{part}"
            if part.isidentifier() and not keyword.iskeyword(part)
            else f"getattr({text}, {part!r})"
        )
    return text


def literal(data: bytes) -> str:
    """Python for the text of a source file, readable where that is safe; bytes where it is no UTF-8."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return repr(data)
    if text.isascii() and text.endswith("\n"):
        readable = f"r'''{text}'''"
        try:
            if ast.literal_eval(readable) == text:
                return readable
        except (SyntaxError, ValueError):
            pass  # it holds ''' or control characters
    return repr(text)


def _code(name: str) -> str:
    """A shipped module without its docstring and its imports of its neighbours, to stand in one file with them."""
    text = (_FOLDER / name).read_text(encoding="utf-8")
    first = ast.parse(text).body[0]
    lines = text.splitlines()[first.end_lineno :]
    return "\n".join(line for line in lines if not line.startswith("from .export_")).strip()


def _tidy(text: str) -> str:
    """Ends in one newline. Sources are left alone: only what Python cannot tell apart changes."""
    ast.parse(text)
    return text.strip() + "\n"


def _refuse_clashes(reference: str, whole: str) -> None:
    """TaskError where the reference and what is put behind it give one name to two things."""
    own, every = _bound_names(ast.parse(reference).body), _bound_names(ast.parse(whole).body)
    for name, meanings in own.items():
        if every.get(name, set()) - meanings:
            raise TaskError(
                f"reference.py and the exported file both define {name}; rename it in reference.py"
            )


def _bound_names(body: list[ast.stmt]) -> Mapping[str, set[str]]:
    """Module-level names -> what they are: the import, or the place of the definition's text."""
    found: dict[str, set[str]] = {}
    for node in body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            where = getattr(node, "module", "")
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                meaning = alias.name if alias.asname or where else name
                found.setdefault(name, set()).add(f"import {where} {meaning}")
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.setdefault(node.name, set()).add(ast.unparse(node))
        else:
            names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            for name in names:
                found.setdefault(name, set()).add(ast.unparse(node))
    return found

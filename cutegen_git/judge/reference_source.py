"""The text of a reference: its integer constants, and a fresh module with other values for them."""

from __future__ import annotations

import ast
import contextlib
import copy
import linecache
import operator
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType

from cutegen_git.words.errors import TaskError

FILE = "reference.py"
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.LShift: operator.lshift,
    ast.Pow: operator.pow,
}


@dataclass(frozen=True, slots=True)
class Source:
    """A reference's text. `constants` are its module-level integers; element 0 of a tuple `s` is called s_0."""

    text: str
    tree: ast.Module
    constants: Mapping[str, int]

    def module(self, values: Mapping[str, int]) -> ModuleType:
        """The module run afresh, with these values for its constants. TaskError if it does not import."""
        tree = copy.deepcopy(self.tree)
        for name, (holder, place) in _sites(tree).items():
            if name in values:
                _put(holder, place, values[name])
        module = ModuleType("cutegen_reference")
        module.__file__ = FILE
        sys.modules[module.__name__] = module  # dataclasses and pickling look their module up
        code = compile(tree, FILE, "exec", dont_inherit=True)
        linecache.cache[FILE] = (len(self.text), None, self.text.splitlines(keepends=True), FILE)
        with blamed("fails to import"), contextlib.redirect_stdout(sys.stderr):
            exec(code, module.__dict__)
        return module


def read(source: bytes) -> Source:
    """The source, parsed. TaskError with file and line for a syntax error."""
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TaskError(f"{FILE} is not UTF-8 text (byte {error.start})") from error
    try:
        tree = ast.parse(text, FILE)
    except SyntaxError as error:
        raise TaskError(f"{FILE}:{error.lineno}: {error.msg}") from error
    except ValueError as error:
        raise TaskError(f"{FILE} is not Python: {error}") from error
    constants = {name: _integer(_get(*site)) for name, site in _sites(tree).items()}
    return Source(text, tree, {name: value for name, value in constants.items() if value is not None})


@contextlib.contextmanager
def blamed(what: str) -> Iterator[None]:
    """Anything that the user's code raises inside becomes one line with the place in their file."""
    try:
        yield
    except TaskError:
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == FILE]
        where = f"{FILE}:{lines[-1]}" if lines else FILE
        said = next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")
        raise TaskError(f"{where}: {what}: {type(error).__name__}: {said[:240]}") from error


Site = tuple[ast.Assign | ast.AnnAssign | ast.Tuple | ast.List, int]


def _sites(tree: ast.Module) -> dict[str, Site]:
    """Where each integer constant stands; names that are assigned twice are none."""
    sites: dict[str, Site] = {}
    seen: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        # In `height = width = 128` the first name stands for both.
        for name, found in _named(targets[0], node, value).items():
            if name in seen:
                found = {}
                sites = {
                    key: site for key, site in sites.items() if name not in (key, key.rpartition("_")[0])
                }
            seen.add(name)
            sites |= found
    return sites


def _named(target: ast.expr, node: ast.Assign | ast.AnnAssign, value: ast.expr) -> dict[str, dict[str, Site]]:
    """Every name that the assignment binds -> the constants under it."""
    if isinstance(target, ast.Name):
        return {target.id: _of_value(target.id, node, value)}
    if not isinstance(target, (ast.Tuple, ast.List)):
        return {}
    names = [item.id if isinstance(item, ast.Name) else "" for item in target.elts]
    if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(names):
        return {
            name: {name: (value, nth)} if _integer(value.elts[nth]) is not None else {}
            for nth, name in enumerate(names)
        }
    return {name: {} for name in names}


def _of_value(name: str, node: ast.Assign | ast.AnnAssign, value: ast.expr) -> dict[str, Site]:
    if _integer(value) is not None:
        return {name: (node, -1)}
    if isinstance(value, (ast.Tuple, ast.List)):
        return {
            f"{name}_{nth}": (value, nth) for nth, item in enumerate(value.elts) if _integer(item) is not None
        }
    return {}


def _get(holder: ast.Assign | ast.AnnAssign | ast.Tuple | ast.List, place: int) -> ast.expr:
    value = holder.elts[place] if isinstance(holder, (ast.Tuple, ast.List)) else holder.value
    assert value is not None
    return value


def _put(holder: ast.Assign | ast.AnnAssign | ast.Tuple | ast.List, place: int, value: int) -> None:
    constant = ast.copy_location(ast.Constant(value), _get(holder, place))
    if isinstance(holder, (ast.Tuple, ast.List)):
        holder.elts[place] = constant
    else:
        holder.value = constant


def _integer(node: ast.expr) -> int | None:
    """The value of "2048 * 2"; None if it is no arithmetic of integers."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) and not isinstance(node.value, bool) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _integer(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _integer(node.left), _integer(node.right)
        if (
            left is None
            or right is None
            or (isinstance(node.op, (ast.Pow, ast.LShift)) and not 0 <= right < 64)
        ):
            return None
        try:
            return _OPERATORS[type(node.op)](left, right)
        except ZeroDivisionError:
            return None
    return None

"""Turns what `nvcc --dryrun` prints into commands that can run side by side.

nvcc runs the host pass (cudafe++) and the device pass (cicc) of a file one after the other, although they share
nothing but the module id: a name that cudafe++ invents and cicc reads. We give that name ourselves, and both run
at once. Anything in the output that is not known here raises UnknownPlan, and the caller runs plain nvcc.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

_VARIABLE = re.compile(r"([A-Za-z_]+)=(.*)")
_GENERATE = "--gen_module_id_file"


class UnknownPlan(Exception):
    """This nvcc's plan has a shape that we do not know."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command of the plan."""

    argv: tuple[str, ...]
    needs: tuple[int, ...]  # positions of the commands that must have ended well before
    title: str  # for people: "cicc kernel.cu"


@dataclass(frozen=True, slots=True)
class Plan:
    """nvcc's commands in nvcc's order, and the files that must be there before the first one."""

    commands: tuple[Command, ...]
    module_ids: Mapping[str, str]  # file to write -> content


def read_plan(dryrun: str, *, salt: str) -> Plan:
    """The plan in the output of `nvcc --dryrun`; `salt` goes into the module ids."""
    variables, lines = _split(dryrun)
    words = [_words(line, variables) for line in lines]
    words = [argv for argv in words if _tool(argv) != "rm"]  # removes files that a fresh folder does not have
    commands: list[Command] = []
    module_ids: dict[str, str] = {}
    compiles: list[int] = []
    position = 0
    while position < len(words) and "-E" in words[position]:
        position = _unit(words, position, commands, module_ids, salt)
        compiles.append(len(commands) - 1)
    if not compiles:
        raise UnknownPlan("no file is compiled")
    _tail(words[position:], commands, compiles)
    return Plan(tuple(commands), module_ids)


def search_path(dryrun: str) -> Mapping[str, str]:
    """PATH and LD_LIBRARY_PATH as nvcc sets them for its commands."""
    variables, _ = _split(dryrun)
    return {name: variables[name] for name in ("PATH", "LD_LIBRARY_PATH") if variables.get(name)}


def _split(dryrun: str) -> tuple[dict[str, str], list[str]]:
    variables: dict[str, str] = {}
    lines: list[str] = []
    for line in dryrun.splitlines():
        if not line.strip():
            continue
        if not line.startswith("#$ "):
            raise UnknownPlan(f"not a command: {line[:100]}")
        assigned = _VARIABLE.fullmatch(line[3:].strip())
        if assigned:
            variables[assigned[1]] = assigned[2]
        else:
            lines.append(line[3:])
    return variables, lines


def _words(line: str, variables: Mapping[str, str]) -> tuple[str, ...]:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UnknownPlan(str(error)) from error
    words = [word.replace("$CICC_PATH", variables.get("CICC_PATH", "$CICC_PATH")) for word in words]
    if not words or any("$" in word or word in ("|", "&&", ";", ">", "<", "||") for word in words):
        raise UnknownPlan(f"needs a shell: {line[:100]}")
    return tuple(words)


def _tool(argv: tuple[str, ...]) -> str:
    return PurePosixPath(argv[0]).name


def _unit(
    words: list[tuple[str, ...]],
    position: int,
    commands: list[Command],
    module_ids: dict[str, str],
    salt: str,
) -> int:
    """Adds one file's commands: preprocess, cudafe++, preprocess, cicc, ptxas…, fatbinary, host compiler."""
    source = _source(words[position])
    takes = _expect(words, position, source)
    first = len(commands)
    host_pre, cudafe, device_pre, cicc = range(first, first + 4)
    ptxas = tuple(range(first + 4, first + 4 + takes))
    fatbinary = first + 4 + takes
    id_file = _after(words[position + 1], "--module_id_file_name")
    if (
        _GENERATE not in words[position + 1]
        or _after(words[position + 3], "--module_id_file_name") != id_file
    ):
        raise UnknownPlan("the module id is not made by cudafe++ for cicc")
    module_ids[id_file] = module_id(source, salt)
    needs: list[tuple[int, ...]] = [(), (host_pre,), (), (device_pre,), *[(cicc,) for _ in ptxas]]
    needs += [ptxas, (cudafe, fatbinary)]
    for offset, need in enumerate(needs):
        argv = tuple(word for word in words[position + offset] if word != _GENERATE)
        commands.append(Command(argv, need, f"{_tool(argv)} {source}"))
    return position + len(needs)


def _expect(words: list[tuple[str, ...]], position: int, source: str) -> int:
    """How many ptxas commands the file has; UnknownPlan unless its commands come in the known order."""
    names = [_tool(argv) for argv in words[position:]]
    host = names[0]
    takes = 0
    while names[4 + takes : 5 + takes] == ["ptxas"]:
        takes += 1
    wanted = [host, "cudafe++", host, "cicc", *["ptxas"] * takes, "fatbinary", host]
    known = names[: len(wanted)] == wanted and takes > 0
    if not known or _source(words[position + 2]) != source or "-c" not in words[position + 5 + takes]:
        raise UnknownPlan(f"{source} is compiled by {' '.join(names[:12])}")
    return takes


def _tail(words: list[tuple[str, ...]], commands: list[Command], compiles: list[int]) -> None:
    """Adds the device link and the host link: nvlink…, fatbinary, host compiler, host linker; one by one."""
    names = [_tool(argv) for argv in words]
    links = names.count("nvlink")
    if links == 0 or names[: links + 1] != ["nvlink"] * links + ["fatbinary"] or len(names) != links + 3:
        raise UnknownPlan(f"the libraries are linked by {' '.join(names[:12])}")
    needs: tuple[int, ...] = tuple(compiles)
    for argv in words:
        commands.append(Command(argv, needs, f"{_tool(argv)} (link)"))
        needs = (len(commands) - 1,)


def _source(argv: tuple[str, ...]) -> str:
    named = [word for word in argv if word.endswith(".cu")]
    if len(named) != 1:
        raise UnknownPlan(f"preprocesses {named}")
    return named[0]


def _after(argv: tuple[str, ...], flag: str) -> str:
    if flag not in argv[:-1]:
        raise UnknownPlan(f"{_tool(argv)} without {flag}")
    return argv[argv.index(flag) + 1]


def module_id(source: str, salt: str) -> str:
    """A name for the file's internal symbols, in the form that cudafe++ gives it; the same at every build."""
    name = "".join(_plain(PurePosixPath(source).name))
    digest = hashlib.sha256(f"{salt}\0{source}".encode()).hexdigest()[:8]
    return f"_{digest}_{len(name)}_{name}_cutegen"


def _plain(name: str) -> Iterator[str]:
    for letter in name:
        yield letter if letter.isascii() and letter.isalnum() else "_"

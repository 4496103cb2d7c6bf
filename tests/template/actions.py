"""GitHub Actions in miniature: runs the steps of a workflow file as they stand in it, in bash, with actions as functions.

Environment, outputs and PATH go from step to step through the files that GitHub uses. An expression that is not a
plain name or `name == 'text'` fails the test: the workflows are to stay that simple.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Uses = Callable[[Mapping[str, str], "Job"], None]
TIMEOUT_S = 300


def load(text: str) -> dict[str, Any]:
    """The workflow; `on` is a word here, not YAML 1.1's true."""
    found = yaml.safe_load(text)
    found["on"] = found.pop(True)
    return dict(found)


@dataclass
class Ran:
    """A step that ran."""

    name: str
    code: int
    output: str


@dataclass
class Job:
    """One run of one job on one machine."""

    workflow: Mapping[str, Any]
    name: str
    folder: Path  # of this run: workspace and files of the runner
    machine: Mapping[str, str]  # environment of the machine
    uses: Mapping[str, Uses]  # action without its version -> what stands in for it
    context: dict[str, str] = field(default_factory=dict)  # "github.token" -> value
    steps: list[Ran] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.workspace, self.temp = self.folder / "work", self.folder / "temp"
        for folder in (self.workspace, self.temp):
            folder.mkdir(parents=True)
        for name in ("OUTPUT", "ENV", "PATH"):
            (self.folder / name).touch()
        self.context = {"github.token": "t0ken", "runner.temp": str(self.temp), **self.context}

    @property
    def definition(self) -> Mapping[str, Any]:
        return dict(self.workflow["jobs"][self.name])

    def run(self) -> Job:
        """Itself, after its steps; it stops at the first that fails."""
        for step in self.definition["steps"]:
            if not self._holds(step.get("if")):
                continue
            if "uses" in step:
                given = {key: self.fill(str(value)) for key, value in step.get("with", {}).items()}
                self.uses[step["uses"].split("@")[0]](given, self)
            elif self._shell(step) != 0:
                break
        return self

    @property
    def ok(self) -> bool:
        return all(step.code == 0 for step in self.steps)

    @property
    def log(self) -> str:
        return "\n".join(f"## {step.name}: {step.code}\n{step.output}" for step in self.steps)

    def outputs(self) -> dict[str, str]:
        """What the job says to the next one, under the names that the next one uses."""
        said = self.definition.get("outputs", {})
        return {f"needs.{self.name}.outputs.{key}": self.fill(text) for key, text in said.items()}

    def fill(self, text: str) -> str:
        return re.sub(r"\$\{\{\s*(.*?)\s*\}\}", lambda found: self._value(found[1]), text)

    def _value(self, expression: str) -> str:
        assert re.fullmatch(r"[a-z][\w.-]*", expression), f"not a plain name: {expression}"
        if expression.startswith("steps."):
            return self.context.get(expression, "")
        return self.context[expression]

    def _holds(self, condition: str | None) -> bool:
        if condition is None:
            return True
        found = re.fullmatch(r"(\S+) == '([^']*)'", condition)
        assert found, f"not a plain comparison: {condition}"
        return self._value(found[1]) == found[2]

    def _shell(self, step: Mapping[str, Any]) -> int:
        assert "${{" not in step["run"], "text from outside would become part of a program"
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.workspace, env=self._environment(step), timeout=TIMEOUT_S,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, check=False,
        )  # fmt: skip
        self.steps.append(Ran(step.get("name", step["run"]), done.returncode, done.stdout))
        if "id" in step:
            for key, value in pairs(self.folder / "OUTPUT"):
                self.context[f"steps.{step['id']}.outputs.{key}"] = value
        (self.folder / "OUTPUT").write_text("")
        return done.returncode

    def _environment(self, step: Mapping[str, Any]) -> dict[str, str]:
        env: dict[str, str] = {}
        for scope in (self.workflow, self.definition, step):
            env |= {key: self.fill(str(value)) for key, value in scope.get("env", {}).items()}
        env |= dict(self.machine) | dict(pairs(self.folder / "ENV"))
        paths = [*(self.folder / "PATH").read_text().split(), env["PATH"]]
        return env | {
            "PATH": os.pathsep.join(paths), "RUNNER_TEMP": str(self.temp), "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_OUTPUT": str(self.folder / "OUTPUT"), "GITHUB_ENV": str(self.folder / "ENV"),
            "GITHUB_PATH": str(self.folder / "PATH"), "CI": "true",
        }  # fmt: skip


def pairs(file: Path) -> list[tuple[str, str]]:
    """`key=value` lines."""
    return [(key, value) for key, _, value in (line.partition("=") for line in file.read_text().splitlines())]

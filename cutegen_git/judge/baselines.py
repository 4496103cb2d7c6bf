"""The fastest allowed torch form on this device: eager and torch.compile, tuned once a session."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import geometric_mean, median

import torch

from cutegen_git.judge.cases import Case
from cutegen_git.judge.protocol import DeviceHandle
from cutegen_git.judge.reference import Reference
from cutegen_git.judge.reference_data import exact_float32

SAMPLES = 7
WARM_UP = 3
TIE = 0.003  # within the noise the plainer form is named, so that claims do not flip between names
Form = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The winner. Its forms are ready to run, one a rank workload by label."""

    name: str  # "eager", "compile"
    forms: Mapping[str, Form]
    us: Mapping[str, float]  # at tuning, by workload
    lost: Mapping[str, str]  # the other forms: how much slower, or why they do not run

    def time(self, label: str, device: DeviceHandle, count: int) -> tuple[int, ...]:
        with exact_float32():
            return device.clock(self.forms[label], count)


def tune(reference: Reference, cases: Mapping[str, Case], device: DeviceHandle) -> Baseline:
    """Times each form on each rank workload; the lowest geometric mean wins."""
    found: dict[str, tuple[dict[str, Form], dict[str, float]]] = {}
    lost: dict[str, str] = {}
    for name, maker in (("eager", _eager), ("compile", _compiled)):
        try:
            with exact_float32(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch advises TF32
                forms = {label: maker(reference, case) for label, case in cases.items()}
                times = {label: _first_us(form, device) for label, form in forms.items()}
            found[name] = (forms, times)
        except (
            Exception
        ) as error:  # torch.compile fails in many ways (no C compiler, no Triton); eager is left
            if name == "eager":
                raise
            lost[name] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:120]
    means = {name: geometric_mean(times.values()) for name, (_, times) in found.items()}
    best = min(means, key=lambda name: means[name])
    if means["eager"] <= means[best] * (1 + TIE):
        best = "eager"
    for name in found:
        if name != best:
            lost[name] = f"{means[name] / means[best]:.3f} times the time"
    return Baseline(best, *found[best], lost)


def _first_us(form: Form, device: DeviceHandle) -> float:
    for _ in range(WARM_UP):
        form()
    return median(device.clock(form, SAMPLES)) / 1000


def _eager(reference: Reference, case: Case) -> Form:
    function, arguments = reference.torch_form(case.inputs, case.axes)
    return lambda: function(**arguments)


def _compiled(reference: Reference, case: Case) -> Form:
    function, arguments = reference.torch_form(case.inputs, case.axes)
    compiled = torch.compile(function, dynamic=False)
    return lambda: compiled(**arguments)

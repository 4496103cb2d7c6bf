"""Thirteen kernels on six shapes each agree with float64, silently, in three thread orders."""

from __future__ import annotations

import numpy as np
import pytest

from cutegen_git.devices.emulator.call import Role, Scalar

from .conftest import Builder, call_kernel, header, tensor
from .kernel_cases import CASES, Case

QUICK = {"row_sum", "softmax", "splitk"}  # no CuTe: built in seconds
PARAMS = [pytest.param(c, id=c.name, marks=() if c.name in QUICK else pytest.mark.slow) for c in CASES]


@pytest.mark.parametrize("case", PARAMS)
def test_kernel_agrees_with_float64_on_every_shape(builder: Builder, case: Case) -> None:
    built = builder(case.sources(), header(case.fields))
    for number, shape in enumerate(case.shapes):
        inputs = case.make_inputs(shape, number)
        expected = case.expected(inputs)
        out = case.empty(expected)
        fields = [tensor(name, v, Role.INPUT, case.dtype) for name, v in inputs.items()]
        fields.append(tensor(case.out, out, Role.OUTPUT))
        result = call_kernel(built, [*fields, *(Scalar(k, "int64", v) for k, v in case.axes(shape).items())])
        assert result.ok, (shape, result.status, result.code, result.reports, result.unsupported)
        unexpected = [
            r for r in result.reports if not (case.name == "splitk" and r.kind == "order-dependent")
        ]
        assert not unexpected, shape
        scale = max(np.abs(expected).max(), 1e-30)
        assert np.abs(out - expected).max() <= case.tolerance * scale, shape

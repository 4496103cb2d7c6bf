"""Is CuTe really emitting its instructions? A CUTLASS release that renames a switch must not pass in silence."""

from __future__ import annotations

import re

# header of CuTe -> PTX that it must contain once its paths are on
EXPECTED = {
    "cute/arch/mma_sm80.hpp": "mma.sync.aligned.m16n8k16",
    "cute/arch/mma_sm75.hpp": "mma.sync.aligned.m16n8k8",
    "cute/arch/copy_sm75.hpp": "ldmatrix.sync.aligned.x4",
    "cute/arch/copy_sm80.hpp": "cp.async.cg.shared.global",
}


def cute_paths_missing(rewritten: str) -> str:
    """Which instruction path of CuTe is off, or an empty text."""
    for header, ptx in EXPECTED.items():
        if re.search(rf'^# \d+ "[^"]*{re.escape(header)}"', rewritten, re.MULTILINE) and ptx not in rewritten:
            return f"this CUTLASS does not switch on '{ptx}' in {header}"
    return ""

"""Whether a kernel really uses CuTe: recorded with the verdict and asked for in the next prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cutegen_git.words.task import Family

from .guard_lexer import read

_LAYOUT = re.compile(
    r"make_(?:ordered_)?layout\w*|Layout|make_tensor(?:_like)?|local_tile|local_partition|tiled_divide|zipped_divide|flat_divide"
    r"|composition|make_(?:smem|gmem)_ptr|tile_to_shape|ComposedLayout|make_identity_tensor"
)
_COPY = re.compile(r"make_tiled_copy\w*|TiledCopy|Copy_Atom|make_cotiled_copy")
_MMA = re.compile(r"make_tiled_mma|TiledMMA|TiledMma|MMA_Atom")
_ASYNC = re.compile(r"SM80_CP_ASYNC\w*|cp_async_\w+")
_LDSM = re.compile(r"SM75_\w*LDSM\w*|SM90_\w*STSM\w*")
_SWIZZLE = re.compile(r"Swizzle")
PRODUCTS = (Family.MATMUL, Family.ATTENTION, Family.CONV)


@dataclass(frozen=True, slots=True)
class CuteUse:
    """What of CuTe stands in the sources, comments aside."""

    included: bool  # a header of cute/
    layouts: bool  # layouts and tensors
    tiled_copy: bool
    tiled_mma: bool
    cp_async: bool
    ldmatrix: bool  # through a copy atom
    swizzle: bool

    @property
    def is_raw(self) -> bool:
        """Pointers only."""
        return not (self.layouts or self.tiled_copy or self.tiled_mma)

    @property
    def line(self) -> str:
        """For the record: "layouts, tiled copy, tiled mma", or "raw pointers only"."""
        parts = ("layouts", "tiled_copy", "tiled_mma", "cp_async", "ldmatrix", "swizzle")
        used = [part.replace("_", " ") for part in parts if getattr(self, part)]
        return ", ".join(used) if not self.is_raw else "raw pointers only"

    def wanted(self, family: Family) -> str:
        """One sentence for the next prompt; "" where nothing is missing."""
        if self.is_raw:
            return "The kernel works on raw pointers; express its tiles as CuTe tensors and layouts."
        missing = [] if self.tiled_copy else ["a tiled copy for its global loads"]
        if family in PRODUCTS and not self.tiled_mma:
            missing.append("a tiled MMA for its products")
        return f"The kernel uses CuTe without {' and '.join(missing)}." if missing else ""


def cute_use(sources: Mapping[str, bytes]) -> CuteUse:
    """What the sources use of CuTe."""
    found = [read(name, content) for name, content in sources.items()]
    names = {token.text for source in found for token in source.tokens if token.kind == "name"}
    names |= {token.text for source in found for item in source.directives for token in item.tokens}
    includes = [item.text for source in found for item in source.directives if item.name == "include"]

    def has(pattern: re.Pattern[str]) -> bool:
        return any(pattern.fullmatch(name) for name in names)

    return CuteUse(
        included=any(re.match(r"[<\"]\s*cute\b", text) for text in includes),
        layouts=has(_LAYOUT),
        tiled_copy=has(_COPY),
        tiled_mma=has(_MMA),
        cp_async=has(_ASYNC),
        ldmatrix=has(_LDSM),
        swizzle=has(_SWIZZLE),
    )

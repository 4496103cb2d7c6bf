"""A device that can judge a candidate."""

from __future__ import annotations

import re
from dataclasses import dataclass

EMULATOR = "emulator"
_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@dataclass(frozen=True, slots=True)
class Device:
    """One judging device. Its slug names tags and verdicts; what differs in speed differs in slug."""

    slug: str  # "rtx4090", "h200", "rtx4090-laptop", "emulator"
    name: str  # as the driver says it
    sm: int  # compute capability as a number: 89, 90; 0 for the emulator
    memory_bytes: int  # device memory
    l2_bytes: int  # 0 where there is none
    sm_count: int  # streaming multiprocessors
    driver: str  # driver version, "" for the emulator

    def __post_init__(self) -> None:
        if not _SLUG.fullmatch(self.slug):
            raise ValueError(f"device slug {self.slug!r} is not of the form [a-z0-9-]{{1,40}}")

    @property
    def can_time(self) -> bool:
        """True where a time means something: the emulator checks and never times."""
        return self.slug != EMULATOR


def slug_of(name: str) -> str:
    """The slug of a driver's device name: "NVIDIA GeForce RTX 4090 Laptop GPU" gives "rtx4090-laptop"."""
    text = name.lower()
    for noise in ("nvidia", "geforce", "graphics device", " gpu", "tesla", "(tm)", "(r)"):
        text = text.replace(noise, " ")
    text = re.sub(r"\b(rtx|gtx)\s+(\d)", r"\1\2", text)
    return re.sub(r"[^a-z0-9]+", "-", text).strip("-")[:40] or "gpu"

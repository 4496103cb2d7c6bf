"""Facts of home devices that are not at hand, from the vendor's data sheets: for prompts and the memory planner."""

from __future__ import annotations

from collections.abc import Mapping

from cutegen_git.words.device import Device

GIB, MIB = 2**30, 2**20


def _card(slug: str, name: str, sm: int, memory_gib: int, l2_mib: int, sm_count: int) -> Device:
    return Device(slug, name, sm, memory_gib * GIB, l2_mib * MIB, sm_count, "")


CARDS: Mapping[str, Device] = {
    card.slug: card
    for card in (
        _card("rtx4090", "NVIDIA GeForce RTX 4090", 89, 24, 72, 128),
        _card("rtx4080", "NVIDIA GeForce RTX 4080", 89, 16, 64, 76),
        _card("l4", "NVIDIA L4", 89, 24, 48, 58),
        _card("l40s", "NVIDIA L40S", 89, 48, 96, 142),
        _card("rtx6000-ada-generation", "NVIDIA RTX 6000 Ada Generation", 89, 48, 96, 142),
        _card("h100-80gb-hbm3", "NVIDIA H100 80GB HBM3", 90, 80, 50, 132),
        _card("h200", "NVIDIA H200", 90, 141, 60, 132),
    )
}

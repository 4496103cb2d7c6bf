"""Attempts as a graph by parent: which lane each stands in. For the terminal and for SVG alike.

One attempt a row, parents above children. The last child of an attempt continues its lane, the others branch off to
the right, so a line of improvements stays straight and what failed hangs beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where one attempt is drawn."""

    lane: int  # 0 is the leftmost
    parent_lane: int | None  # where its edge comes from; None for a root
    through: tuple[int, ...]  # lanes of others that pass this row


def parents_first(parents: Sequence[int | None]) -> list[int]:
    """The indices in their order, each after its parent: two clones number their attempts apart."""
    order: list[int] = []
    placed: set[int] = set()
    for index in range(len(parents)):
        chain: list[int] = []
        here: int | None = index
        while here is not None and here not in placed and here not in chain:
            chain.append(here)
            here = parents[here]
        order += reversed(chain)
        placed.update(chain)
    return order


def lanes(parents: Sequence[int | None]) -> list[Place]:
    """The place of each attempt; a parent's index is lower than its child's."""
    last_child = {parent: index for index, parent in enumerate(parents) if parent is not None}
    lane_of: list[int] = []
    waiting: dict[int, int] = {}  # lane -> the attempt in it that has children to come
    places = []
    for index, parent in enumerate(parents):
        origin = None if parent is None else lane_of[parent]
        if parent is not None and last_child[parent] == index:
            lane = lane_of[parent]
            del waiting[lane]
        else:
            lane = _free(waiting, -1 if origin is None else origin)
        places.append(Place(lane, origin, tuple(sorted(waiting))))
        if index in last_child:
            waiting[lane] = index
        lane_of.append(lane)
    return places


def _free(waiting: dict[int, int], right_of: int) -> int:
    lane = right_of + 1
    while lane in waiting:
        lane += 1
    return lane


def draw_row(place: Place, node: str, *, ascii_only: bool = False) -> str:
    """The rails of one row: `│ ├─●`."""
    bar, tee, cross, dash = "|+|-" if ascii_only else "│├┼─"
    origin = place.lane if place.parent_lane is None else place.parent_lane
    cells = []
    for lane in range(max((place.lane, *place.through)) + 1):
        between = origin < lane < place.lane
        if lane == place.lane:
            sign = node
        elif lane in place.through:
            sign = tee if lane == origin else cross if between else bar
        else:
            sign = dash if between else " "
        cells.append(sign + (dash if origin <= lane < place.lane else " "))
    return "".join(cells).rstrip()

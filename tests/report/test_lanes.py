"""Attempts as a graph: every node on a lane of its own, every edge from where the parent stands."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cutegen_git.core.chart_lanes import draw_row, lanes, parents_first


def drawn(parents: list[int | None], *, ascii_only: bool = False) -> list[str]:
    return [draw_row(place, "o", ascii_only=ascii_only) for place in lanes(parents)]


def test_line_of_improvements_stays_straight() -> None:
    assert drawn([None, 0, 1, 2]) == ["o"] * 4


def test_what_failed_hangs_beside_the_line() -> None:
    assert drawn([None, 0, 0, 2, 0]) == ["o", "├─o", "├─o", "│ o", "o"]
    assert drawn([None, 0, 0], ascii_only=True) == ["o", "+-o", "o"]


def test_edge_crosses_a_lane_that_lies_between() -> None:
    assert drawn([None, None, 0, 1, 0]) == ["o", "│ o", "├─┼─o", "│ o", "o"]


def test_parent_comes_first_though_numbered_later() -> None:
    assert parents_first([2, None, 1]) == [1, 2, 0]


def test_parents_in_a_circle_end() -> None:
    assert sorted(parents_first([1, 0, None])) == [0, 1, 2]


@given(st.lists(st.integers(min_value=-1, max_value=40), max_size=60))
def test_lanes_never_collide(picks: list[int]) -> None:
    parents = [pick if 0 <= pick < n else None for n, pick in enumerate(picks)]
    places = lanes(parents)
    for place, parent in zip(places, parents, strict=True):
        assert place.lane not in place.through
        assert (place.parent_lane is None) == (parent is None)
        if parent is not None:
            assert place.parent_lane == places[parent].lane
            assert place.parent_lane in (place.lane, *place.through)
        assert len(set(place.through)) == len(place.through)
        assert draw_row(place, "o").count("o") == 1

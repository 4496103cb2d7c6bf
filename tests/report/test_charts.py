"""SVG from records: well-formed whatever the text, and true to the numbers."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutegen_git.core.chart import Dot, Frame, State, ticks
from cutegen_git.core.chart_graph import graph_svg
from cutegen_git.core.chart_rate import Bar, rate_svg
from cutegen_git.core.chart_speedup import speedup_svg
from cutegen_git.core.chart_text import escape, visible

HOSTILE = '</title><script>alert(\'1\')</script>" onload="x" \u202e \x00\x1b[0m\ud800'


def dot(number: int, value: float | None, parent: int | None = None, state: State = State.PASSED) -> Dot:
    low_high = (value * 0.99, value, value * 1.01) if value else None
    return Dot(
        f"{number:04d}", HOSTILE, state if value is None else State.PASSED, number % 3, parent, low_high
    )


def parsed(svg: str) -> ET.Element:
    found = ET.fromstring(svg)
    assert not found.findall(".//{*}script")
    assert not [
        name
        for element in found.iter()
        for name in element.attrib
        if name.startswith("on") or name == "style"
    ]
    return found


@pytest.mark.parametrize("count", [1, 7, 200])
@pytest.mark.parametrize("width", [348.0, 1120.0])
def test_charts_are_well_formed_and_inside_their_box(count: int, width: float) -> None:
    states = list(State)
    dots = [
        dot(n, 0.5 + n / 50 if n % 2 else None, n - 1 if n else None, states[n % 4]) for n in range(count)
    ]
    dots.append(dot(count, 1.5, 0))
    for text in (speedup_svg(dots, width, HOSTILE), graph_svg(dots, width)):
        root = parsed(text)
        high = float(root.attrib["height"])
        for element in root.iter("{http://www.w3.org/2000/svg}circle"):
            assert 0 <= float(element.attrib["cx"]) <= width
            assert 0 <= float(element.attrib["cy"]) <= high


def test_faster_is_higher() -> None:
    root = parsed(speedup_svg([dot(0, 0.5), dot(3, 1.0), dot(6, 2.0)], 600, "torch eager"))
    heights = [float(c.attrib["cy"]) for c in root.iter("{http://www.w3.org/2000/svg}circle")]
    assert heights[0] > heights[1] > heights[2]
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2], abs=0.1)  # twice is twice


def test_nothing_timed_gives_no_speedup_chart_and_no_attempt_no_graph() -> None:
    assert speedup_svg([dot(1, None, state=State.FAILED)], 600, "torch") == ""
    assert graph_svg([], 600) == ""
    assert rate_svg([], 1008, 600) == ""


def test_bar_that_reaches_the_data_sheet_ends_at_its_line() -> None:
    root = parsed(rate_svg([Bar("torch eager", 504, None), Bar("0001", 1008, 0)], 1008, 1120))
    half, full = (float(r.attrib["width"]) for r in root.iter("{http://www.w3.org/2000/svg}rect"))
    assert full == pytest.approx(2 * half, abs=0.1)


@given(st.floats(min_value=0.01, max_value=100), st.floats(min_value=1.01, max_value=1000))
def test_ticks_are_few_and_inside(low: float, ratio: float) -> None:
    found = ticks(low, low * ratio)
    assert 3 <= len(found) <= 12
    assert all(low * 0.999 <= tick <= low * ratio * 1.001 for tick in found)
    assert found == sorted(set(found))


def test_frame_keeps_every_attempt_inside() -> None:
    for count in (1, 3, 300):
        frame = Frame(1120, count)
        assert frame.left <= frame.x(0) <= frame.x(count - 1) <= 1120 - frame.right
        assert frame.labelled()[0] == 0


@given(st.text())
def test_visible_text_holds_nothing_that_hides_or_reorders(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert not set(shown) & {chr(code) for code in (0x1B, 0x202E, 0x2066, 0x200B, 0x0, 0x85, 0x2028)}
    assert "<" not in escape(text)


def test_words_in_any_script_stay_as_they_are() -> None:
    for text in ("persistent blocks", "שלום", "速度 1.43x", "a\n\tb"):
        assert visible(text) == text
    assert visible("\x1b[31m\u202e\x7f") == "␛[31m⟨U+202E⟩␡"

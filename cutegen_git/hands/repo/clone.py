"""Which of several proposing clones this is: its labels begin with this clone's letter, claimed once by a push."""

from __future__ import annotations

from .discover import Place

FILE = "cutegen-clone"  # in the git common dir: not shared, so a new clone claims a letter of its own


def letter(place: Place) -> str:
    """This clone's letter; "" for the first clone and where nothing was claimed."""
    try:
        return (place.common_dir / FILE).read_text(encoding="ascii").split("\n")[0]
    except FileNotFoundError:
        return ""

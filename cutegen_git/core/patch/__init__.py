"""From a raw model reply to new file texts, or to one typed error."""

from .engine import apply_reply
from .records import Patch

__all__ = ["Patch", "apply_reply"]

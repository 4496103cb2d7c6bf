"""Text in git <-> records: commit messages, verdict lines, tag messages (design git.md). Each round trip is tested."""

from .claim import Claim, parse_claim, render_claim, tag_name
from .commit import parse_commit, render_commit
from .verdict import parse_verdict, render_verdict, verdict_id

__all__ = [
    "Claim",
    "parse_claim",
    "parse_commit",
    "parse_verdict",
    "render_claim",
    "render_commit",
    "render_verdict",
    "tag_name",
    "verdict_id",
]

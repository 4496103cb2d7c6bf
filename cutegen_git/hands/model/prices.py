"""What a model costs, and how long a prompt is, without asking anybody: litellm's local map or the user's own.

None means unknown. It never means free: a run whose prices are unknown is limited by tokens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

PRICE_VARIABLE = "CUTEGEN_GIT_PRICE"  # "IN,OUT" in US dollars for a million tokens
MAX_TOKENS_VARIABLE = "CUTEGEN_GIT_MAX_TOKENS"
MAX_TOKENS = 32_000  # of a reply, where the model can give as many: reasoning counts too
FREE = ("ollama", "ollama_chat", "lm_studio", "llamafile")  # run on the user's own machine
CHARS_PER_TOKEN = 3.0  # code; prose has about 4, so this errs on the long side

Price = tuple[float, float]  # US dollars for one token in, one token out


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has, rather too many than too few."""
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / CHARS_PER_TOKEN)


def price(model: str, env: Mapping[str, str]) -> Price | None:
    """US dollars for one token (in, out); None where unknown. `handoff` and `replay:` pay nobody: (0, 0)."""
    if model == "handoff" or model.startswith("replay:"):
        return (0.0, 0.0)
    if stated := _stated(env):
        return stated
    if model.split("/", 1)[0] in FREE:
        return (0.0, 0.0)
    from cutegen_git.hands.model import door

    return door.map_price(model)


def _stated(env: Mapping[str, str]) -> Price | None:
    words = env.get(PRICE_VARIABLE, "").split(",")
    try:
        cost_in, cost_out = (float(word) / 1e6 for word in words)
    except ValueError:
        return None
    return (cost_in, cost_out) if min(cost_in, cost_out) >= 0 else None


def cost_usd(
    model: str, env: Mapping[str, str], tokens_in: int | None, tokens_out: int | None
) -> float | None:
    """What a call cost by the user's own price or on the user's own machine; None where neither tells."""
    if stated := _stated(env):
        if tokens_in is None or tokens_out is None:
            return None
        return tokens_in * stated[0] + tokens_out * stated[1]
    return 0.0 if model.split("/", 1)[0] in FREE else None


def max_output(model: str, env: Mapping[str, str]) -> int | None:
    """The longest reply to ask for, in tokens; None leaves it to the provider of a model that nobody knows."""
    stated = env.get(MAX_TOKENS_VARIABLE, "")
    if stated.isdigit() and int(stated) > 0:
        return int(stated)
    from cutegen_git.hands.model import door

    longest = door.map_max_output(model)
    return None if longest is None else min(MAX_TOKENS, longest)

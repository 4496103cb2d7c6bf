"""From a model's name to a model, with everything that can be known without a request checked first."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path

from cutegen_git.hands.model import recording
from cutegen_git.hands.model.ask import LiteModel, Patience
from cutegen_git.hands.model.handoff import Handoff
from cutegen_git.hands.model.replay import Replay
from cutegen_git.hands.model.talk import Model, NoReply, Say, to_stderr
from cutegen_git.words.errors import ModelTrouble

CHOICES = (
    "--model anthropic/MODEL, openai/MODEL, ollama/MODEL (any PROVIDER/MODEL that litellm knows),"
    " handoff (you or another program answer in files), replay:SOURCE (a recording; replay:gemm is shipped)"
)
KEYS: Mapping[str, tuple[str, ...]] = {  # provider -> variables of which one holds its key
    "anthropic": ("ANTHROPIC_API_KEY",),
    "azure": ("AZURE_API_KEY",),
    "cerebras": ("CEREBRAS_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks_ai": ("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "moonshot": ("MOONSHOT_API_KEY",),
    "nvidia_nim": ("NVIDIA_NIM_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY"),
    "xai": ("XAI_API_KEY",),
}
BASE_VARIABLE = "CUTEGEN_GIT_API_BASE"
CALL_VARIABLE = (
    "CUTEGEN_GIT_CALL_SECONDS"  # how long one request may take: a slow model of one's own needs more
)


def open_model(
    name: str | None,
    *,
    repo_dir: Path,
    env: Mapping[str, str],
    say: Say = to_stderr,
    interactive: bool | None = None,
    patience: Patience | None = None,
) -> Model:
    """The model called so. ModelError NOT_CONFIGURED or AUTH, in one line, where it cannot be asked.

    `say` takes lines of talk, such as why a request is made again; `interactive` says whether somebody can be waited for
    (default: whether stdin is a terminal).
    """
    if not name:
        raise NoReply(ModelTrouble.NOT_CONFIGURED, f"no model named; choose one with {CHOICES}")
    if name == "handoff":
        return _handoff(repo_dir, env, say, interactive)
    if name.startswith("replay:"):
        recording.find(name.removeprefix("replay:"), repo_dir)
        return Replay(name.removeprefix("replay:"), repo_dir=repo_dir)
    provider, slash, model = name.partition("/")
    if not (provider and slash and model):
        raise NoReply(ModelTrouble.NOT_CONFIGURED, f"{name!r} names no provider; choose one with {CHOICES}")
    api_base = env.get(BASE_VARIABLE) or None
    key = _key(name, provider, env, needed=api_base is None)
    _check_installed()
    return LiteModel(
        name,
        env=env,
        api_base=api_base,
        # The OpenAI client insists on some key, a server of one's own does not.
        api_key=key or ("none" if api_base else None),
        patience=patience or _patience(env),
        say=say,
    )


def _handoff(repo_dir: Path, env: Mapping[str, str], say: Say, interactive: bool | None) -> Model:
    mode = env.get("CUTEGEN_GIT_HANDOFF", "")
    if mode not in ("", "wait", "exit"):
        raise NoReply(ModelTrouble.NOT_CONFIGURED, f"CUTEGEN_GIT_HANDOFF is wait or exit, not {mode!r}")
    terminal = sys.stdin is not None and sys.stdin.isatty() if interactive is None else interactive
    author = env.get("CUTEGEN_GIT_HANDOFF_NAME") or "handoff"
    wait = mode == "wait" or (mode == "" and terminal)
    return Handoff(repo_dir, wait=wait, author=author, say=say)


def _key(name: str, provider: str, env: Mapping[str, str], *, needed: bool) -> str | None:
    variables = KEYS.get(provider, ())
    key = next((env[variable] for variable in variables if env.get(variable)), None)
    if variables and key is None and needed:
        raise NoReply(
            ModelTrouble.AUTH,
            f"{name} needs a key: set {' or '.join(variables)} (or choose handoff, which needs none)",
        )
    return key


def _patience(env: Mapping[str, str]) -> Patience:
    stated = env.get(CALL_VARIABLE, "")
    if not stated:
        return Patience()
    if not stated.isdigit() or int(stated) == 0:
        raise NoReply(ModelTrouble.NOT_CONFIGURED, f"{CALL_VARIABLE} is a number of seconds, not {stated!r}")
    return Patience(call_s=float(stated), total_s=2.0 * float(stated))


def _check_installed() -> None:
    if importlib.util.find_spec("litellm") is None:
        raise NoReply(
            ModelTrouble.NOT_CONFIGURED,
            "models behind an API need litellm: pip install 'cutegen-git[llm]' (handoff and replay do not)",
        )

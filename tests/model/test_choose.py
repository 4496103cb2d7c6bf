"""What can be known without a request is said before one is made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cutegen_git.hands.model.choose import open_model
from cutegen_git.words.errors import ModelError, ModelTrouble


def trouble(name: str | None, env: dict[str, str] | None = None) -> ModelError:
    with pytest.raises(ModelError) as caught:
        open_model(name, repo_dir=Path(), env=env or {})
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("name", [None, ""])
def test_no_model_lists_the_choices(name: str | None) -> None:
    found = trouble(name)
    assert found.trouble is ModelTrouble.NOT_CONFIGURED
    for choice in ("anthropic/", "openai/", "ollama/", "handoff", "replay:SOURCE", "replay:gemm"):
        assert choice in str(found)


@pytest.mark.parametrize("name", ["gpt-5", "/x", "openai/"])
def test_a_name_without_a_provider_lists_the_choices(name: str) -> None:
    assert trouble(name).trouble is ModelTrouble.NOT_CONFIGURED


def test_a_missing_key_is_named_and_no_other_keys_value_is_shown() -> None:
    found = trouble("anthropic/claude-sonnet-4-5", {"OPENAI_API_KEY": "sk-other-key"})
    assert found.trouble is ModelTrouble.AUTH
    assert "ANTHROPIC_API_KEY" in str(found)
    assert "other" not in str(found)


def test_either_of_two_key_variables_will_do() -> None:
    assert "GEMINI_API_KEY or GOOGLE_API_KEY" in str(trouble("gemini/gemini-2.5-pro"))
    model = open_model("gemini/gemini-2.5-pro", repo_dir=Path(), env={"GOOGLE_API_KEY": "k" * 20})
    assert model.name == "gemini/gemini-2.5-pro"


def test_a_server_of_ones_own_needs_no_key() -> None:
    env = {"CUTEGEN_GIT_API_BASE": "http://127.0.0.1:9/v1"}
    assert open_model("openai/local", repo_dir=Path(), env=env).name == "openai/local"


def test_a_recording_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    assert trouble(f"replay:{tmp_path}/nothing").trouble is ModelTrouble.NOT_CONFIGURED
    assert trouble("replay:").trouble is ModelTrouble.NOT_CONFIGURED


def test_a_wrong_handoff_mode_is_said() -> None:
    assert "wait or exit" in str(trouble("handoff", {"CUTEGEN_GIT_HANDOFF": "maybe"}))


def test_choosing_a_model_does_not_load_litellm() -> None:
    code = (
        "import sys; from pathlib import Path; from cutegen_git.hands.model.choose import open_model;"
        "open_model('openai/x', repo_dir=Path(), env={'OPENAI_API_KEY': 'k'}); print('litellm' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_litellm_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    found = trouble("openai/x", {"OPENAI_API_KEY": "k" * 20})
    assert found.trouble is ModelTrouble.NOT_CONFIGURED
    assert "pip install 'cutegen-git[llm]'" in str(found)


def test_a_time_limit_that_is_no_number_is_said() -> None:
    found = trouble("openai/x", {"OPENAI_API_KEY": "k" * 20, "CUTEGEN_GIT_CALL_SECONDS": "long"})
    assert "CUTEGEN_GIT_CALL_SECONDS" in str(found)

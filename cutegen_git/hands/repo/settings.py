"""What a call of git is given instead of the user's world: settings and environment, for two profiles.

Local: nothing of the user. Network: the user's credentials, proxy and ssh, but no hooks and no habits.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from cutegen_git.words.errors import RepoError

_NULL = os.devnull
_BOTH = {  # settings that may sit in the repository's own config as well, so they are overridden, not hidden
    "core.hooksPath": _NULL,
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "submodule.recurse": "false",
    "color.ui": "false",
    "core.quotePath": "false",
    "core.fsync": "objects,derived-metadata,reference",
}
LOCAL_CONFIG = {
    **_BOTH,
    "core.attributesFile": _NULL,
    "core.excludesFile": _NULL,
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.splitIndex": "false",
    "core.commentChar": "#",
    "core.abbrev": "40",
    "i18n.commitEncoding": "UTF-8",
    "i18n.logOutputEncoding": "UTF-8",
    "log.showSignature": "false",
    "status.showUntrackedFiles": "normal",
    "status.relativePaths": "false",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    "diff.ignoreSubmodules": "none",
}
NETWORK_CONFIG = {
    **_BOTH,
    "transfer.fsckObjects": "true",
    "fetch.fsckObjects": "true",
    "fetch.recurseSubmodules": "false",
    "fetch.prune": "false",
    "fetch.writeCommitGraph": "false",
    "push.gpgSign": "false",
    "push.followTags": "false",
    "push.recurseSubmodules": "no",
}
# `git rev-parse --local-env-vars`, less the two that carry settings: they would send a call to another repository.
LOCATION = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE", "GIT_QUARANTINE_PATH",
)  # fmt: skip
_QUIET = {"LC_ALL": "C", "TZ": "UTC", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true"}
_LOCAL = {
    **_QUIET,
    "GIT_CONFIG_GLOBAL": _NULL,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": _NULL,
}


def environment(config: Mapping[str, str], *, network: bool) -> dict[str, str]:
    """The variables to set. Settings travel in GIT_CONFIG_*, so that command lines stay readable in errors."""
    env = dict(_QUIET if network else _LOCAL)
    first = 0
    if network and os.environ.get("GIT_CONFIG_COUNT", "").isdecimal():
        first = int(os.environ["GIT_CONFIG_COUNT"])
    for index, (key, value) in enumerate(config.items(), first):
        env[f"GIT_CONFIG_KEY_{index}"], env[f"GIT_CONFIG_VALUE_{index}"] = key, value
    env["GIT_CONFIG_COUNT"] = str(first + len(config))
    return env


def without_inherited(own: Mapping[str, str], *, network: bool) -> list[str]:
    """A prefix that drops inherited variables: GitPython can add to the environment, not take away (V28)."""
    found = [
        name
        for name in os.environ
        if name.startswith("GIT_") and name not in own and (not network or name in LOCATION)
    ]
    if not found:
        return []
    if sys.platform == "win32":
        raise RepoError(f"the environment sets {', '.join(sorted(found))}: unset them and run again")
    return ["env", *(word for name in sorted(found) for word in ("-u", name))]

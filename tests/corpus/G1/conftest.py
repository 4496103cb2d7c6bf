"""The cases are task repositories with tests of their own; they are data here."""

collect_ignore_glob = ["*"]

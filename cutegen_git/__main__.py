"""`python -m cutegen_git`, for where the console script is not on PATH."""

from cutegen_git.commands.cli import main

main()

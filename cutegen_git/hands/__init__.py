"""One door for each outside thing: processes, git, the compiler, models, the terminal."""

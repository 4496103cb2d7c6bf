"""What the verbs do, without a terminal."""

"""Tool output turned into a few lines that a model (or a person) can act on."""

"""Doors to language models. They take text and give text; what a reply means is decided elsewhere."""

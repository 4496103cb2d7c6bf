"""The nouns: frozen records and enums that every layer shares. Standard library only."""

"""From a raw model reply to new file texts, or to one typed error."""

"""Pure functions from text and records to text and records: no clock, environment, random or paths."""

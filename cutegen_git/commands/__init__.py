"""One verb a file: flags in, text and an exit code out."""

"""Where candidates run: a GPU, or the emulator on a CPU."""

"""Decides whether a kernel is right and how fast it is. It is handed a device and never imports one."""

"""An NVIDIA GPU as a device: own allocations, IPC to a torch-free candidate process, timing."""

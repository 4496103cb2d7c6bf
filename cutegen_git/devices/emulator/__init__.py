"""A CPU as a device: CuTe kernels rewritten for g++ and run on fibers with every access checked."""

"""A git-native agent that writes and optimises CuTe kernels, and the judge that measures them."""

__version__ = "0.1.0"

import torch
import torch.nn as nn


class Model(nn.Module):
    """Matrix times vector."""

    def __init__(self):
        super().__init__()

    def forward(self, A, v):
        return A @ v


rows = 4096
cols = 65536


def get_inputs():
    return [torch.rand(rows, cols), torch.rand(cols, 1)]


def get_init_inputs():
    return []

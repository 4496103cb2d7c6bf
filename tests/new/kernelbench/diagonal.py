import torch
import torch.nn as nn


class Model(nn.Module):
    """Rows scaled by a vector."""

    def __init__(self):
        super().__init__()

    def forward(self, d, B):
        return d.unsqueeze(1) * B


N = 4096
M = 4096


def get_inputs():
    return [torch.rand(N), torch.rand(N, M)]


def get_init_inputs():
    return []

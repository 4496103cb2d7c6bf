import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Two layers and a residual."""

    def __init__(self, width, hidden):
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        return x + self.down(F.silu(self.up(x)))


batch_size = 512
width = 1024
hidden = 4096


def get_inputs():
    return [torch.rand(batch_size, width)]


def get_init_inputs():
    return [width, hidden]

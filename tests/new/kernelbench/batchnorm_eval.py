import torch
import torch.nn as nn


class Model(nn.Module):
    """Batch norm with stored figures."""

    def __init__(self, width):
        super().__init__()
        self.bn = nn.BatchNorm1d(width)
        self.eval()

    def forward(self, x):
        return self.bn(x)


batch_size = 4096
width = 1024


def get_inputs():
    return [torch.rand(batch_size, width)]


def get_init_inputs():
    return [width]

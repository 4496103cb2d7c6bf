import torch
import torch.nn as nn


class Model(nn.Module):
    """Average pooling."""

    def __init__(self, k, s):
        super().__init__()
        self.pool = nn.AvgPool3d(k, stride=s)

    def forward(self, x):
        return self.pool(x)


batch_size = 4
channels = 16
depth = 64
height = 64
width = 64
kernel_size = 3
stride = 2


def get_inputs():
    return [torch.rand(batch_size, channels, depth, height, width)]


def get_init_inputs():
    return [kernel_size, stride]

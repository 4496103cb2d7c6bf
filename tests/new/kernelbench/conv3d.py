import torch
import torch.nn as nn


class Model(nn.Module):
    """3-D convolution."""

    def __init__(self, i, o, k, bias=False):
        super().__init__()
        self.conv = nn.Conv3d(i, o, (k, k, k), bias=bias)

    def forward(self, x):
        return self.conv(x)


batch_size = 4
in_channels = 3
out_channels = 16
kernel_size = 3
depth = 32
height = width = 64


def get_inputs():
    return [torch.rand(batch_size, in_channels, depth, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size]

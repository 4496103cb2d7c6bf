import torch
import torch.nn as nn


class Model(nn.Module):
    """Depthwise convolution."""

    def __init__(self, c):
        super().__init__()
        self.conv = nn.Conv2d(c, c, 3, groups=c, bias=False)

    def forward(self, x):
        return self.conv(x)


batch_size = 16
in_channels = 64
height = 256
width = 256


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels]

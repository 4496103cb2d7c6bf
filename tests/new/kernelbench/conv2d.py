import torch
import torch.nn as nn


class Model(nn.Module):
    """2-D convolution of an oblong image with an oblong kernel."""

    def __init__(self, i, o, k):
        super().__init__()
        self.conv = nn.Conv2d(i, o, k)

    def forward(self, x):
        return self.conv(x)


batch_size = 8
in_channels = 16
out_channels = 32
kernel_size = (3, 5)
height, width = 256, 128


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size]

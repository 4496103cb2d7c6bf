import torch
import torch.nn as nn


class Model(nn.Module):
    """Convolution, rectifier, bias."""

    def __init__(self, i, o, k, shape):
        super().__init__()
        self.conv = nn.Conv2d(i, o, k)
        self.bias = nn.Parameter(torch.randn(shape))

    def forward(self, x):
        return torch.relu(self.conv(x)) + self.bias


batch_size = 16
in_channels = 8
out_channels = 32
height, width = 128, 128
kernel_size = 3
bias_shape = (out_channels, 1, 1)


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, bias_shape]

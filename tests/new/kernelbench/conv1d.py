import torch
import torch.nn as nn


class Model(nn.Module):
    """Dilated, strided 1-D convolution."""

    def __init__(self, i, o, k, s, d):
        super().__init__()
        self.conv = nn.Conv1d(i, o, k, stride=s, dilation=d, bias=False)

    def forward(self, x):
        return self.conv(x)


batch_size = 16
in_channels = 32
out_channels = 64
kernel_size = 3
length = 65536
stride = 3
dilation = 4


def get_inputs():
    return [torch.rand(batch_size, in_channels, length)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, dilation]

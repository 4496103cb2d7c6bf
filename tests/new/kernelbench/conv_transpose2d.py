import torch
import torch.nn as nn


class Model(nn.Module):
    """Transposed convolution that doubles the image."""

    def __init__(self, i, o):
        super().__init__()
        self.up = nn.ConvTranspose2d(i, o, 3, stride=2, padding=1, output_padding=1)

    def forward(self, x):
        return self.up(x)


batch_size = 8
in_channels = 16
out_channels = 32
height = 128
width = 128


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels]

import torch
import torch.nn as nn


class Model(nn.Module):
    """Max pooling."""

    def __init__(self, k, s, p):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size=k, stride=s, padding=p)

    def forward(self, x):
        return self.pool(x)


batch_size = 16
channels = 64
height = 256
width = 256
kernel_size = 4
stride = 2
padding = 1


def get_inputs():
    return [torch.rand(batch_size, channels, height, width)]


def get_init_inputs():
    return [kernel_size, stride, padding]

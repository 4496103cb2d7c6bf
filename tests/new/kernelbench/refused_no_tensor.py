import torch
import torch.nn as nn


class Model(nn.Module):
    """A dict comes out."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        return {"y": x + 1}


batch_size = 128
width = 1024


def get_inputs():
    return [torch.rand(batch_size, width)]


def get_init_inputs():
    return []

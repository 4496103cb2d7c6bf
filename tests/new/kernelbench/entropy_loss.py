import torch
import torch.nn as nn


class Model(nn.Module):
    """A logarithm of the data as published: signed data would give NaN."""

    def __init__(self):
        super().__init__()

    def forward(self, predictions, targets):
        return -(targets * torch.log(predictions + 0.01)).mean()


batch_size = 4096
width = 4096


def get_inputs():
    return [torch.rand(batch_size, width), torch.rand(batch_size, width)]


def get_init_inputs():
    return []

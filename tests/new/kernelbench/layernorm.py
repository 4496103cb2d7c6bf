import torch
import torch.nn as nn


class Model(nn.Module):
    """Layer norm over the last three."""

    def __init__(self, shape):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=shape)

    def forward(self, x):
        return self.ln(x)


batch_size = 16
features = 32
dim1 = 64
dim2 = 64


def get_inputs():
    return [torch.rand(batch_size, features, dim1, dim2)]


def get_init_inputs():
    return [(features, dim1, dim2)]

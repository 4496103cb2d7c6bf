import torch
import torch.nn as nn


class Model(nn.Module):
    """Dropout in training mode."""

    def __init__(self, i, o, p):
        super().__init__()
        self.linear = nn.Linear(i, o)
        self.dropout = nn.Dropout(p)

    def forward(self, x):
        return torch.softmax(self.dropout(self.linear(x)), dim=1)


batch_size = 128
in_features = 1024
out_features = 1024
p = 0.2


def get_inputs():
    return [torch.rand(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, p]

import torch
import torch.nn as nn


class Model(nn.Module):
    """Product of batches."""

    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return torch.bmm(A, B)


batch_size = 64
m = 256
k = 512
n = 1024


def get_inputs():
    return [torch.rand(batch_size, m, k), torch.rand(batch_size, k, n)]


def get_init_inputs():
    return []

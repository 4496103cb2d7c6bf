import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Log of softmax."""

    def __init__(self, dim=1):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return F.log_softmax(x, dim=self.dim)


batch_size = 2048
dim = 65536


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []

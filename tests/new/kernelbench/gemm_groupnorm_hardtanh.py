import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Linear layer, group norm, clamp."""

    def __init__(self, i, o, groups):
        super().__init__()
        self.gemm = nn.Linear(i, o)
        self.norm = nn.GroupNorm(groups, o)

    def forward(self, x):
        return F.hardtanh(self.norm(self.gemm(x)), -2.0, 2.0)


batch_size = 1024
in_features = 2048
out_features = 2048
num_groups = 16


def get_inputs():
    return [torch.rand(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, num_groups]

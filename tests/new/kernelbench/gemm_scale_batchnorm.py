import torch
import torch.nn as nn


class Model(nn.Module):
    """Linear layer, scale, batch norm."""

    def __init__(self, i, o, shape):
        super().__init__()
        self.gemm = nn.Linear(i, o)
        self.scale = nn.Parameter(torch.randn(shape))
        self.bn = nn.BatchNorm1d(o)

    def forward(self, x):
        return self.bn(self.gemm(x) * self.scale)


batch_size = 1024
in_features = 2048
out_features = 4096
scale_shape = (out_features,)


def get_inputs():
    return [torch.rand(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, scale_shape]

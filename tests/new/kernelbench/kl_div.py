import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Divergence of two distributions: the first must be positive."""

    def __init__(self):
        super().__init__()

    def forward(self, predictions, targets):
        return F.kl_div(torch.log(predictions), targets, reduction="batchmean")


batch_size = 4096
input_shape = (4096,)


def get_inputs():
    return [
        torch.rand(batch_size, *input_shape).softmax(dim=-1),
        torch.rand(batch_size, *input_shape).softmax(dim=-1),
    ]


def get_init_inputs():
    return []

"""A linear-chain conditional random field for batches: likelihood, best path and marginals.

Everything is in log space. `emissions` is [batch, time, tags], `transitions[i, j]` scores tag j after
tag i, `start` and `end` score the first and the last tag, and `mask` is true for the tokens of each row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

if TYPE_CHECKING:
    from torch.autograd.function import FunctionCtx


def score(
    emissions: Tensor, transitions: Tensor, start: Tensor, end: Tensor, tags: Tensor, mask: Tensor
) -> Tensor:
    """The score of one path per row; empty rows score 0."""
    size = emissions.shape[2]
    weight = mask.to(emissions.dtype)
    scores = (emissions.gather(2, tags[:, :, None]).squeeze(2) * weight).sum(1)
    # A lookup in the flat table sums its gradient in a fixed order on every device.
    pairs = torch.nn.functional.embedding(
        tags[:, :-1] * size + tags[:, 1:], transitions.reshape(-1, 1)
    ).squeeze(2)
    scores = scores + (pairs * weight[:, 1:]).sum(1)
    first = torch.nn.functional.one_hot(tags[:, 0], size).to(emissions.dtype)
    position = (mask.sum(1) - 1).clamp(min=0)
    final = torch.nn.functional.one_hot(tags.gather(1, position[:, None]).squeeze(1), size).to(
        emissions.dtype
    )
    return scores + (first @ start + final @ end) * weight[:, 0]


def log_partition(
    emissions: Tensor,
    transitions: Tensor,
    start: Tensor,
    end: Tensor,
    mask: Tensor,
    *,
    way: Literal["chain", "tree"] | None = None,
) -> Tensor:
    """The log of the sum of the exponential scores of all paths of each row; 0 for an empty row.

    Computed by a "tree" of log-matrix products, log2(time) levels deep (the default on a GPU), or by a
    "chain" with one step per token (the default on a CPU).
    """
    if way == "tree" or (way is None and emissions.is_cuda):
        return _tree(emissions, transitions, start, end, mask)
    return _Chain.apply(emissions, transitions, start, end, mask)[0]


def _tree(emissions: Tensor, transitions: Tensor, start: Tensor, end: Tensor, mask: Tensor) -> Tensor:
    batch, _, size = emissions.shape
    # Rows are padded with the identity of log-matrix products: 0 on the diagonal, -inf elsewhere.
    beside = torch.full((size, size), -1e30, dtype=emissions.dtype, device=emissions.device)
    identity = beside.fill_diagonal_(0.0)
    steps = transitions + emissions[:, 1:, None, :]
    product = torch.where(mask[:, 1:, None, None], steps, identity)
    while product.shape[1] > 1:
        if product.shape[1] % 2:
            pad = identity.expand(batch, 1, size, size)
            product = torch.cat([product, pad], dim=1)
        left, right = product[:, 0::2], product[:, 1::2]
        product = torch.logsumexp(left[..., :, :, None] + right[..., None, :, :], dim=-2)
    alpha = start + emissions[:, 0]
    if product.shape[1]:
        alpha = torch.logsumexp(alpha[:, :, None] + product[:, 0], dim=1)
    return torch.where(mask[:, 0], torch.logsumexp(alpha + end, dim=1), torch.zeros_like(alpha[:, 0]))


def _directions(
    emissions: Tensor, transitions: Tensor, start: Tensor, end: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Forward and backward scores of every tag, [batch, time, tags] each, and the log partition.

    Both directions are computed in one loop, as two halves of a batch; the backward half starts at the end
    of each row.
    """
    _, time, size = emissions.shape
    length = mask.sum(1)
    position = torch.arange(time, device=emissions.device)
    back = (length[:, None] - 1 - position).clamp(min=0)
    mirrored = emissions.gather(1, back[:, :, None].expand(-1, -1, size))
    directions = torch.stack([emissions, mirrored])
    tables = (
        torch.stack([transitions, transitions.t()])[:, None].transpose(2, 3).contiguous()
    )  # [2, 1, to, from]
    state = torch.stack([start, end])[:, None] + directions[:, :, 0]
    states = [state]
    for step in range(1, time):
        state = torch.logsumexp(state[:, :, None, :] + tables, dim=3) + directions[:, :, step]
        states.append(state)
    walked = torch.stack(states, dim=2)
    alpha = walked[0]
    beta = (
        walked[1].gather(1, back[:, :, None].expand(-1, -1, size)) - emissions
    )  # without the token's own emission
    last = alpha.gather(1, (length - 1).clamp(min=0)[:, None, None].expand(-1, 1, size)).squeeze(1)
    total = torch.where(mask[:, 0], torch.logsumexp(last + end, dim=1), torch.zeros_like(last[:, 0]))
    return alpha, beta, total


class _Chain(torch.autograd.Function):
    """The log partition with its gradient computed from marginals: three times as fast as autograd."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, emissions: Tensor, transitions: Tensor, start: Tensor, end: Tensor, mask: Tensor
    ) -> tuple[Tensor]:
        alpha, beta, total = _directions(emissions, transitions, start, end, mask)
        ctx.save_for_backward(emissions, transitions, alpha, beta, total, mask)
        return (total,)

    @staticmethod
    def backward(ctx: FunctionCtx, weight: Tensor) -> tuple[Tensor | None, ...]:
        emissions, transitions, alpha, beta, total, mask = ctx.saved_tensors
        inside = mask.to(emissions.dtype)[:, :, None]
        single = (
            torch.exp((alpha + beta - total[:, None, None]).clamp(max=0)) * inside * weight[:, None, None]
        )
        onward = (beta + emissions)[:, 1:] - total[:, None, None]
        pair = torch.exp((alpha[:, :-1, :, None] + transitions + onward[:, :, None, :]).clamp(max=0))
        pair = pair * (inside[:, 1:] * weight[:, None, None])[:, :, :, None]
        length = mask.sum(1)
        last = (length - 1).clamp(min=0)[:, None, None].expand(-1, 1, single.shape[2])
        return single, pair.sum((0, 1)), single[:, 0].sum(0), single.gather(1, last).squeeze(1).sum(0), None


def marginals(emissions: Tensor, transitions: Tensor, start: Tensor, end: Tensor, mask: Tensor) -> Tensor:
    """The probability of every tag at every token, [batch, time, tags]."""
    alpha, beta, total = _directions(emissions, transitions, start, end, mask)
    return torch.exp((alpha + beta - total[:, None, None]).clamp(max=0)) * mask[:, :, None]


def best_path(emissions: Tensor, transitions: Tensor, start: Tensor, end: Tensor, mask: Tensor) -> Tensor:
    """The tags of the highest-scoring path of each row, [batch, time]; 0 after its end."""
    batch, time, size = emissions.shape
    state = start + emissions[:, 0]
    table = transitions.t().contiguous()  # [to, from]
    stay = torch.arange(size, device=emissions.device).expand(batch, size)
    pointers = []
    for step in range(1, time):
        best, where = (state[:, None, :] + table).max(dim=2)
        inside = mask[:, step, None]
        state = torch.where(inside, best + emissions[:, step], state)
        pointers.append(torch.where(inside, where, stay))
    tag = (state + end).argmax(dim=1)
    path = [tag]
    for pointer in reversed(pointers):
        tag = pointer.gather(1, tag[:, None]).squeeze(1)
        path.append(tag)
    return torch.stack(path[::-1], dim=1) * mask

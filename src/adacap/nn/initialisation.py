"""How weights start, where it is not as torch starts them."""

from torch import nn

__all__ = ["glorot_uniform"]


def glorot_uniform(module: nn.Module, gain: float = 1.0) -> None:
    """Start the linear layers uniformly in ``±gain·√(6 / (d_in + d_out))``, with zero biases.

    Parameters
    ----------
    module : nn.Module
        Changed in place; draws come from torch's global generator, as those of a new layer do.
    gain : float, default=1.0
        √2 makes up for what a ReLU takes away.

    Examples
    --------
    >>> layer = nn.Linear(2, 4)
    >>> glorot_uniform(layer)
    >>> bool(layer.weight.abs().max() <= 1.0), layer.bias.abs().max().item()
    (True, 0.0)
    """
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight, gain)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)

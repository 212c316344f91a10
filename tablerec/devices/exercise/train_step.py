"""One training step of a reduced CellNet, as a program for ``tablerec device trace`` and ``coverage``."""

from __future__ import annotations


def main() -> None:
    """Make the network, run it forward and backward, and update it."""
    import paddle

    from tablerec.devices.bench.networks import cellnet, stand_in_loss

    net = cellnet(reduced=True)
    loss = stand_in_loss()(net(paddle.ones([2, 3, 64, 64])))
    loss.backward()
    paddle.optimizer.Momentum(0.05, parameters=net.parameters()).step()


if __name__ == "__main__":
    main()

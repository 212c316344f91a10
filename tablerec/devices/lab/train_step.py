"""One training step of a small detector, as a program for ``tablerec device trace`` and ``coverage``."""

from __future__ import annotations


def main() -> None:
    """Make the network, run it forward and backward, and update it."""
    import paddle

    from tablerec.devices.networks import small_detector

    net = small_detector(1)
    scores, sides = net(paddle.ones([2, 3, 32, 32]))
    loss = scores.mean() + sides.abs().mean()
    loss.backward()
    paddle.optimizer.Momentum(0.05, parameters=net.parameters()).step()


if __name__ == "__main__":
    main()

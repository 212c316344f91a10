"""Average the weights of several trainings of one network.

``python data/training/average_weights.py WEIGHTS WEIGHTS... -o FILE``, a developer script. The mean often does better
than each of them (Wortsman and others, Model soups, 2022, arXiv:2203.05482). The metadata are those of the last file.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file


def main() -> None:
    """Average, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path, nargs="+", help="safetensors files of one network")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    each = [load_file(path) for path in options.weights]
    if len({tuple(sorted((name, array.shape) for name, array in weights.items())) for weights in each}) != 1:
        parser.error("the files hold other tensors than one another: name trainings of one network")
    with safe_open(options.weights[-1], "np") as last:
        metadata = last.metadata()
    mean = {name: np.mean([weights[name] for weights in each], axis=0, dtype=np.float64) for name in each[0]}
    save_file({name: array.astype(each[0][name].dtype) for name, array in mean.items()}, options.output, metadata)


if __name__ == "__main__":
    main()

"""Tables drawn by the program, with exact truth: for training, validation and tests."""

from tablerec.synth.sample import CELL_KINDS, CellKind, Cells, Sample, Tables, Words

__all__ = ["CELL_KINDS", "CellKind", "Cells", "Sample", "Tables", "Words"]

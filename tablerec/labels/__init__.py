"""Labels of cells: read from the formats of common tools, checked, converted, and proposed."""

from tablerec.labels.check import Summary, check_labels, find_unusable
from tablerec.labels.label import Label, Problem, load_image
from tablerec.labels.read import read_labels

__all__ = ["Label", "Problem", "Summary", "check_labels", "find_unusable", "load_image", "read_labels"]

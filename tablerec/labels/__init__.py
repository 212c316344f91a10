"""Labels of cells: read from the formats of common tools, checked, converted, and proposed.

::

    label.py        Label: the cells of one picture and the problems in it; LabelBuilder collects them
    read.py         read_labels(path): labels of whatever format
    bench.py, coco.py, labelme.py, ppocrlabel.py    the formats, to read and to write
    files.py        label files and their pictures, safely
    check.py        check_labels: what is wrong
    convert.py      labels in another format
    propose.py      recognized tables that may serve as labels
    command.py      `tablerec labels`
"""

from tablerec.labels.check import Summary, check_labels, find_unusable
from tablerec.labels.label import Label, Problem, load_image
from tablerec.labels.read import read_labels

__all__ = ["Label", "Problem", "Summary", "check_labels", "find_unusable", "load_image", "read_labels"]

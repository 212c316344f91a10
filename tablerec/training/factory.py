"""The task that the settings name."""

from __future__ import annotations

from tablerec.training.settings import TrainSettings
from tablerec.training.task import Task


def make_task(settings: TrainSettings) -> Task:
    """Make the task that ``model`` names."""
    if settings.model == "rtdetr_l":
        from tablerec.training.detectors.rtdetr import RTDETRTask

        return RTDETRTask(settings)
    if settings.model == "linenet":
        from tablerec.training.readers.linenet import LineNetTask

        return LineNetTask(settings)
    if settings.model == "cellnet_lines":
        from tablerec.training.detectors.cellnet_lines import CellNetLinesTask

        return CellNetLinesTask(settings)
    from tablerec.training.detectors.cellnet import CellNetTask

    return CellNetTask(settings)

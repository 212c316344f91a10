"""The networks as the training loop sees them.

::

    task.py            DetectionTask: samples, loss, detections and scores
    cellnet.py         CellNet; cellnet_loss.py has its targets and its loss
    cellnet_lines.py   its branch for lines of text; cellnet_lines_loss.py has the targets and the loss
    rtdetr.py          PaddleX's RT-DETR; rtdetr_network.py is the network with the outputs that the loss needs
    rtdetr_loss.py     its loss
    matcher.py         which query is compared with which cell
    denoising.py       queries that hold noised cells
    validation.py      F1 on fixed samples, and pictures of the detections

A batch goes in, the parts of its loss come out; neither the loop nor the trainer knows which network it is.
"""

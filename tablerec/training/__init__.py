"""Training of our networks: one loop, for any source of samples and any kind of network.

::

    settings.py    TrainSettings in groups: what is trained, on what, how long; read_settings reads a file of them
    start.py       train: in this process, or in several
    loop.py        a run: fills the buffer, steps, validates, saves; stops and goes on at any step
    trainer.py     one step of the optimizer, and what a checkpoint keeps of it
    validation.py  F1 on fixed samples, and pictures of the detections
    checkpoint.py  whole checkpoints or none
    memory.py      peaks, recomputation, and what to change where memory lacks
    logs.py        a line for each step and each validation
    report.py      what came of a run, and its warnings; report_page.py shows it
    command.py     `tablerec train` and `tablerec tune`
    data/          samples from their source to batches on the device
    detectors/     what the loop has to know of CellNet and RT-DETR: loss and detections
    methods/       which parameters are trained, LoRA, averages, optimizers, precision
    ranks/         several processes that train one network
    tuning/        settings that fit into the memory, by measurement and trials

A source gives pictures with cells, worker processes put them on canvases, the buffer keeps them on the device, the task
computes the loss of a batch, the trainer takes a step, and the averaged weights are validated and kept. Modules that
compute import Paddle and are imported late.
"""

from tablerec.training.start import train

__all__ = ["train"]

"""Training of our networks: one loop, for any source of samples and any kind of network.

::

    settings.py    TrainSettings in groups: what is trained, on what, how long; read_settings reads a file of them
    start.py       train: in this process, or in several
    loop.py        a run: fills the buffer, steps, validates, saves; stops and goes on at any step
    trainer.py     one step of the optimizer, and what a checkpoint keeps of it
    task.py        Task: what the loop has to know of a kind of network; factory.py makes the one of the settings
    scores.py      what a validation measures
    checkpoint.py  whole checkpoints or none
    memory.py      peaks, recomputation, and what to change where memory lacks
    logs.py        a line for each step and each validation
    report.py      what came of a run, and its warnings; report_page.py shows it
    command.py     `tablerec train` and `tablerec tune`
    data/          samples from their source to batches on the device
    detectors/     the tasks of CellNet and RT-DETR
    readers/       the task of LineNet, and its lines
    methods/       which parameters are trained, LoRA, averages, optimizers, precision
    ranks/         several processes that train one network
    tuning/        settings that fit into the memory, by measurement and trials

A source gives pictures with cells, worker processes put them on canvases, the buffer keeps them on the device, the task
computes the loss of a batch, the trainer takes a step, and the averaged weights are validated and kept. With lines of
text it is the same: the task says what a sample is. Modules that
compute import Paddle and are imported late.
"""

from tablerec.training.start import train

__all__ = ["train"]

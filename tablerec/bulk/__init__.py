"""Batches that survive the night: ``tablerec batch SOURCES -o STORE``.

::

    sources    files, folders, globs, lists and URLs: names, one after another
    fetching   a name -> its content on this machine, and the digest of it
    executor   WHO DOES IT: tasks in, outcomes out, in any order
    results    pages -> files, or parts of one Parquet dataset
    store      where they go: a folder, or a place of fsspec; each whole or not at all
    journal    WHAT WAS DONE: records, on the disk before anything counts as done
    state      the index of the journal in memory, and its sums
    run        all of it together
    summary    the state as JSON, as a page, and as lines
    progress   what a person sees meanwhile
    open       a batch is begun, or taken up
    command    the verb
    ray        WHO DOES IT on many machines: an executor whose pages are read on a Ray cluster

What is to be done and who does it meet in one place, ``executor.Executor``: the run hands over an iterator of ``Task``,
pulled as the executor has room (that is the back-pressure), and takes ``Outcome`` as they come. An executor knows
nothing of journals, tries and outputs; the run knows nothing of processes and machines. Another executor, such as one
on a cluster, needs two methods, ``numbers`` and ``run``.

How an input is done exactly once, whatever dies when:

1. Its name, content and pages are recorded before any output of it is written: they decide the names of its files.
2. Outcomes are gathered into a group. The outputs of the group are written, each whole.
3. One record, a single line, says that the group is done. Until it is on the disk, the group is done once more after
   a kill: files have the same names and take the place of the first ones, a part of Parquet that no record names is
   removed.
"""

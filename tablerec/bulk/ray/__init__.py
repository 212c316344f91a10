"""Pages are read by actors on the nodes of a Ray cluster: ``tablerec batch ... --engine ray``. Needs the extra ``ray``.

- ``executor``: an ``Executor`` as the batch knows it
- ``pool``: which actor reads which page; grows, and heals when actors or nodes are lost. Knows nothing of Ray
- ``cluster``: what the pool asks of Ray
- ``reader``: what an actor does. Knows nothing of Ray

How a page travels: the content of its input, which the batch holds anyway to know it by its digest, goes with the order
to the actor, or once into Ray's object store where it is large; nodes need neither the files nor the credentials of a
URL. An actor holds an ``Engine``, so that a hostile page costs a process behind the actor and meets the same limits as
on one machine. It makes of the page what the store will hold, and only that comes back.

Why actors and not Ray Data, whose ``map_batches`` has pools of actors too: there (Ray 2.60) a page whose actor dies is
tried without end, and the batch never ends; or, with limited tries and errors allowed, it is gone from the output
without a word, as is one whose nodes died as often. A batch must know which page it was and why, try it again later
and set it aside, and not blame a page for its node. Ray Data also wants a list of all blocks before it begins, and
pandas and pyarrow on each node. What is needed of it - as many pages in flight as there is room for - is ``pool``.

Why an actor reads a page from the first to the last step: decoding takes a hundredth of the time and makes ten times
the bytes, and networks and geometry take turns within a page. On a node with a card, the engine's processes share it.
"""

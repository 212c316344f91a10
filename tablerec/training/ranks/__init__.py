"""Several processes that train one network.

::

    launch.py      starts them with Paddle's launcher
    collective.py  Ranks: the mean of their gradients, by one all-reduce for each step
    meeting.py     lets them wait for each other, and notices who has died
    sharding.py    the optimizer's state, divided among them
"""

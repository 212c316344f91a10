"""One fix for all tables like it, and tables over several pages as one.

::

    likeness.py   how much two tables look alike: the lines of their columns, the texts of their head
    fixes.py      the steps of a correction that are still in force
    transfer.py   a step on one table as a step on another
    offers.py     Offers: for which tables the fixes are offered, with a preview; done as one, undone as one
    joined.py     Joined: which tables go on in which
"""

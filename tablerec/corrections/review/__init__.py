"""``tablerec review``: the tables of a folder, corrected in the browser.

::

    command.py   the command line
    desk.py      Desk: inputs are recognized one after the other, and their drafts wait for a person
    server.py    the web server; its page is in ``static/``
"""

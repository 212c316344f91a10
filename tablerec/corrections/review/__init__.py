"""``tablerec review``: the tables of a folder, corrected in the browser.

::

    command.py   the command line
    desk.py      Desk: inputs are recognized one after the other, and their drafts wait for a person
    server.py    the web server: who may ask what; its page is in ``static/``
    routes.py    what each address does
    replies.py   answers: JSON, files, refusals as JSON or as a page
    body.py      the body of a request
    dropping.py  pictures and documents that are dropped into the page
    outputs      all tables at once as workbook, archive, JSON, CSV
    session.py   the port and token that stay over a restart
"""

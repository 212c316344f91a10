"""A Result becomes files and pictures.

::

    files.py     save(result, path): HTML, Excel, JSON, CSV, Markdown, LaTeX; each file whole or not at all
    overlay.py   cells, spans, headers, captions and unplaced words drawn over the input
    display.py   a page in a notebook: its picture and its tables as HTML
    streams.py   standard output that may be full, closed, or a terminal that obeys texts
"""

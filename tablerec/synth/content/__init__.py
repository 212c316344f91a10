"""What synthetic tables say: words, values and long labels in three languages.

::

    texts.py     Writer: words, names, numbers and dates, in one format within a column
    phrases.py   long labels and headers
    wording.py   puts them into headers and stubs of a table
"""

"""A path, bytes or array becomes a stream of pages, each upright and flat when it is recognized.

::

    images.py      load_pages: pictures, TIFF frames and PDF pages as ``PageImage``, one in memory at a time
    pixels.py      pixels of any depth, colour space and transparency as 8 bits in BGR order
    pdf/           a PDF page as a picture, and its text layer as words, as far as the page shows them
    text_layer.py  these words compared with what an OCR engine reads in the picture
    turning.py     pages that lie on their side or upside down: turned, and the results turned back
    bending.py     bent pages flattened by their lines of text and their strokes
    unwarping.py   photographed pages flattened by UVDoc, and results of any flat picture moved back
    seals/         seals and stamps: found, told from the print below them, and read
    options.py     how documents are read, as options of the command line
    passwords.py   passwords of PDFs, and what is said of them
"""

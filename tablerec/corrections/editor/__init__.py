"""One table that a person corrects: every step is kept, and the saved table becomes workbook, page and label.

::

    draft.py        page -> drafts: each table with its part of the picture
    framing.py      a draft from a frame that a person draws around a table that was missed
    correction.py   Correction: the table now, its history, and its journal on disk
    head.py         the first line of a journal
    words.py        which words of a page the cells of a table have
    dealt.py        words, and the texts that a step dealt, as a journal keeps them
    operations.py   a step as JSON -> a function of ``postprocess.editing.steps``
    reading.py      cells read again
    answers.py      what a page asks for, and what it is answered
    folder.py       CorrectionFolder: journals, pictures, workbooks, labels
    label.py        table -> label for training
    view.py         table -> what the editor in the browser draws
    scripts.py      the editor's JavaScript, in ``static/``
"""

from tablerec.corrections.editor.correction import Correction
from tablerec.corrections.editor.draft import Draft, page_to_drafts
from tablerec.corrections.editor.folder import CorrectionFolder

__all__ = ["Correction", "CorrectionFolder", "Draft", "page_to_drafts"]

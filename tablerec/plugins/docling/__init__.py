"""tablerec as the table structure model of docling (2.64 or later), which finds this package by its entry point.

>>> from docling.datamodel.pipeline_options import PdfPipelineOptions
>>> from tablerec.plugins.docling import TablerecOptions
>>> options = PdfPipelineOptions(allow_external_plugins=True, table_structure_options=TablerecOptions(ocr="tablerec"))
>>> options.table_structure_options.kind
'tablerec'

``DocumentConverter(format_options={InputFormat.PDF: PdfFormatOption(pipeline_options=options)})`` converts with it.
On docling's command line: ``docling --allow-external-plugins --table-structure-engine tablerec report.pdf``.

docling says where the tables of a page are; each is read here as a picture that is one table. Words of a PDF are taken
as far as its page shows them (or, with ``text="docling"``, as docling knows them); where there are none the picture is
read. What a table holds and no cell has, such as its title, is logged, and so is a table that cannot be read: the
document goes on without it.

- ``options``: what users say
- ``model``: the model that docling makes
- ``pictures``: tables as pictures with their words; ``words``: docling's text as words in the picture
- ``tables``: our tables as docling's
"""

from __future__ import annotations

from tablerec.plugins.docling.options import TablerecOptions

__all__ = ["TablerecOptions", "table_structure_engines"]


def table_structure_engines() -> dict[str, list[type]]:
    """What docling asks its plugins for."""
    # docling imports its plugins for other kinds of models too, and some of its versions those that are not allowed.
    from tablerec.plugins.docling.model import TablerecModel

    return {"table_structure_engines": [TablerecModel]}

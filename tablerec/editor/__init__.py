"""Correcting a table by hand: what a person does, kept step by step, becomes workbook, page and label."""

from tablerec.editor.correction import Correction
from tablerec.editor.draft import Draft, page_to_drafts
from tablerec.editor.folder import CorrectionFolder

__all__ = ["Correction", "CorrectionFolder", "Draft", "page_to_drafts"]

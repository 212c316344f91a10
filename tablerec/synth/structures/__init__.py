"""How synthetic tables are built, one function for each kind of table: recipe and writer in, draft out.

::

    accounts.py      statements, bilingual statements      prospectus.py    tall headers, wrapped labels
    catalogues.py    groups within groups, bands           registers.py     many narrow columns
    census.py        dense rows under boxed headers        studies.py       statistical, scientific
    experiments.py   blocks of results                     unseen.py        kinds that nothing was trained on
    forms.py         forms, invoices, receipts             worksheets.py    textbooks and exams
    journal.py       journal articles                      headers.py       column headers, for all of them
    lists.py         records, schedules, paragraphs, pairs, ledgers
"""

from __future__ import annotations

from collections.abc import Callable

from tablerec.synth.content.texts import Writer
from tablerec.synth.draft import Draft
from tablerec.synth.recipe import STRUCTURES, Recipe
from tablerec.synth.structures.accounts import bilingual, statement
from tablerec.synth.structures.catalogues import banded, catalogue
from tablerec.synth.structures.census import census
from tablerec.synth.structures.experiments import experiment
from tablerec.synth.structures.forms import form, invoice, official, receipt
from tablerec.synth.structures.journal import journal
from tablerec.synth.structures.lists import ledger, pairs, paragraphs, records, schedule
from tablerec.synth.structures.prospectus import prospectus
from tablerec.synth.structures.registers import register
from tablerec.synth.structures.studies import scientific, statistical
from tablerec.synth.structures.unseen import cards, questionnaire, rota
from tablerec.synth.structures.worksheets import worksheet

BUILDERS: dict[str, Callable[[Writer, Recipe], Draft]] = {
    "statement": statement,
    "bilingual": bilingual,
    "prospectus": prospectus,
    "statistical": statistical,
    "census": census,
    "scientific": scientific,
    "journal": journal,
    "experiment": experiment,
    "records": records,
    "form": form,
    "official": official,
    "invoice": invoice,
    "catalogue": catalogue,
    "worksheet": worksheet,
    "receipt": receipt,
    "ledger": ledger,
    "banded": banded,
    "register": register,
    "schedule": schedule,
    "paragraphs": paragraphs,
    "pairs": pairs,
    "rota": rota,
    "cards": cards,
    "questionnaire": questionnaire,
}
"""Name of a structure, as recipes use it -> what composes it."""

assert BUILDERS.keys() == set(STRUCTURES)

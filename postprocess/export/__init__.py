"""One Table in, one format out. openpyxl and pandas are imported when they are needed.

::

    html.py    also read back        csv.py         rows of texts
    json.py    also read back,       markdown.py    as GitHub writes tables
               nothing left out      latex.py       tabular
    excel.py   values and styles     dataframe.py   pandas
    sheets.py  its sheets
"""

from postprocess.export.csv import CSV_ENCODING, table_to_csv, tables_to_csv
from postprocess.export.dataframe import table_to_dataframe
from postprocess.export.excel import tables_to_workbook, write_excel
from postprocess.export.html import html_to_table, html_to_tables, table_to_html, tables_to_html
from postprocess.export.json import table_from_dict, table_to_dict, tables_from_json, tables_to_dicts, tables_to_json
from postprocess.export.latex import table_to_latex, tables_to_latex
from postprocess.export.markdown import table_to_markdown, tables_to_markdown

__all__ = [
    "CSV_ENCODING",
    "html_to_table",
    "html_to_tables",
    "table_from_dict",
    "table_to_csv",
    "table_to_dataframe",
    "table_to_dict",
    "table_to_html",
    "table_to_latex",
    "table_to_markdown",
    "tables_from_json",
    "tables_to_csv",
    "tables_to_dicts",
    "tables_to_html",
    "tables_to_json",
    "tables_to_latex",
    "tables_to_markdown",
    "tables_to_workbook",
    "write_excel",
]

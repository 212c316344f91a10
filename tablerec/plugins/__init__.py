"""What makes other systems use tablerec; nothing of tablerec imports it.

- ``paddlex``: tablerec as a pipeline of PaddleX
- ``paddlex_model``: CellNet as a model of PaddleX
- ``docling``: tablerec as the table structure model of docling
- ``langchain``: tablerec as a loader of LangChain
"""

"""``tablerec review``: the tables of a folder, corrected in the browser."""

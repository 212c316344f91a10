// Blocks of texts, as spreadsheets put them into the clipboard: a text with a tab, line end or quote is quoted.

export function rowsToTsv(rows) {
  const quote = (value) => /[\t\n"]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  return rows.map((row) => row.map(quote).join("\t")).join("\n");
}

export function tsvToRows(tsv) {
  const rows = [[]], all = tsv.replace(/\r\n?/g, "\n").replace(/\n$/, "");
  if (!all) return [];
  for (const [, quoted, plain, end] of `${all}\n`.matchAll(/(?:"((?:[^"]|"")*)"|([^\t\n]*))([\t\n])/g)) {
    rows.at(-1).push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === "\n") rows.push([]);
  }
  return rows.slice(0, -1);
}

// A block again and again, until it fills so many rows and columns.
export function tile(rows, nRows, nCols) {
  return Array.from({ length: nRows }, (_, row) => {
    const line = rows[row % rows.length];
    return Array.from({ length: nCols }, (_, col) => line[col % line.length] ?? "");
  });
}

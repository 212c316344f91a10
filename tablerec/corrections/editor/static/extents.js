// How wide the columns of a sheet are, and how high its rows: by the texts, so that a row need not be drawn for it.

const PADDING = 13; // of a cell, with its border, as in editor.css
const NARROWEST = 2.5, WIDEST = 24; // of a column, in heights of the font, as in editor.css
const MOST_KNOWN = 50000; // texts that are remembered

export function makeExtents(element) {
  const context = document.createElement("canvas").getContext("2d");
  const known = new Map(); // text -> { width, lines }
  const heights = new WeakMap(); // first cell of a row that was drawn -> its height
  let font = "", size = 13, line = 18, least = 25;

  // In the font of the page, once it is known.
  function start() {
    if (!element.isConnected) return;
    const style = getComputedStyle(element);
    if (style.font === font) return;
    font = style.font;
    size = parseFloat(style.fontSize);
    line = parseFloat(style.lineHeight) || 1.4 * size;
    least = 1.9 * size;
    known.clear();
  }

  function extentOf(text, isBold) {
    const key = isBold ? `*${text}` : text, found = known.get(key);
    if (found) return found;
    if (known.size > MOST_KNOWN) known.clear();
    context.font = isBold ? `600 ${font.replace(/^\d+ /, "")}` : font;
    const lines = text.split("\n"), extent = { width: Math.max(...lines.map((each) => context.measureText(each).width)), lines: lines.length };
    known.set(key, extent);
    return extent;
  }

  // As wide as their widest text, within reason. textOf(cell): what is shown of it.
  function columns(count, cells, textOf) {
    const widths = new Array(count).fill(NARROWEST * size), spanning = [];
    for (const cell of cells) {
      const width = Math.ceil(Math.min(WIDEST * size, extentOf(textOf(cell), Boolean(cell.header)).width + PADDING + (cell.inside ? 2 * size : 0)));
      if (cell.colspan > 1) spanning.push([cell, width]);
      else if (width > widths[cell.col]) widths[cell.col] = width;
    }
    for (const [{ col, colspan }, width] of spanning) {
      const missing = width - widths.slice(col, col + colspan).reduce((a, b) => a + b);
      for (let at = col; missing > 0 && at < col + colspan; at++) widths[at] += missing / colspan;
    }
    return widths;
  }

  // Of a row that was not drawn yet, what its texts will need.
  function rowOf(cells, widths, textOf) {
    const drawn = cells.length ? heights.get(cells[0]) : least;
    if (drawn) return drawn;
    let most = 1;
    for (const cell of cells) {
      if (cell.rowspan > 1) continue;
      const { width, lines } = extentOf(textOf(cell), Boolean(cell.header));
      let room = -PADDING;
      for (let at = cell.col; at < cell.col + cell.colspan; at++) room += widths[at];
      most = Math.max(most, lines - 1 + Math.max(1, Math.ceil(width / Math.max(room, size) - .01)));
    }
    return Math.max(least, most * line + 5);
  }

  return {
    start, columns, rowOf,
    widthOfNumber: (number) => Math.ceil(Math.max(2.2 * size, extentOf(String(number), false).width + PADDING)),
    remember: (cells, height) => { if (cells.length) heights.set(cells[0], height); },
  };
}

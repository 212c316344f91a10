// Which cell covers a place of the grid, and what two states of a table differ in, without looking through all cells.

export function makePlaces(state) {
  const { n_rows: rows, n_cols: cols } = state, covering = new Array(rows * cols), spanning = [];
  for (const cell of state.cells) {
    const { row, col, rowspan, colspan } = cell;
    if (rowspan * colspan > 1) spanning.push(cell);
    for (let r = row; r < row + rowspan; r++) for (let c = col; c < col + colspan; c++) covering[r * cols + c] = cell;
  }
  const at = (row, col) => row >= 0 && col >= 0 && row < rows && col < cols ? covering[row * cols + col] : undefined;

  // A block, grown until it holds whole cells.
  function whole({ row, endRow, col, endCol }) {
    for (let grown = true; grown;) {
      grown = false;
      for (const c of spanning) {
        const [bottom, right] = [c.row + c.rowspan, c.col + c.colspan];
        if (c.row >= endRow || bottom <= row || c.col >= endCol || right <= col) continue;
        grown ||= c.row < row || bottom > endRow || c.col < col || right > endCol;
        [row, endRow] = [Math.min(row, c.row), Math.max(endRow, bottom)];
        [col, endCol] = [Math.min(col, c.col), Math.max(endCol, right)];
      }
    }
    return { row, endRow, col, endCol };
  }

  // The cells that begin in a block, row by row.
  function inside({ row, endRow, col, endCol }) {
    const found = [];
    for (let r = row; r < endRow; r++) {
      for (let c = col; c < endCol; c++) {
        const cell = at(r, c);
        if (cell && cell.row === r && cell.col === c) found.push(cell);
      }
    }
    return found;
  }

  return { at, whole, inside };
}

// A state with the changes of an answer that names the changed cells only.
export function withChanges(state, answer) {
  if (!answer.changed_cells) return answer;
  const { changed_cells: changed, removed, ...rest } = answer, key = (row, col) => row * 1e6 + col;
  const gone = new Set((removed ?? []).map(([row, col]) => key(row, col)));
  const fresh = new Map(changed.map((cell) => [key(cell.row, cell.col), cell]));
  const kept = state.cells.filter((cell) => !gone.has(key(cell.row, cell.col)) && !fresh.has(key(cell.row, cell.col)));
  const cells = [...kept, ...changed].sort((a, b) => a.row - b.row || a.col - b.col);
  return { ...state, ...rest, cells };
}

const spans = (cell) => [cell.row, cell.col, cell.rowspan, cell.colspan];

export function isSameShape(before, after) {
  return before.n_rows === after.n_rows && before.n_cols === after.n_cols && before.cells.length === after.cells.length
    && before.cells.every((cell, index) => cell === after.cells[index] || spans(cell).join() === spans(after.cells[index]).join());
}

// The smallest block of the new state that holds what changed; null where nothing did. Of a row (or column) that is no
// longer there it is the one in its place.
export function changedBlock(before, after) {
  const [oldRows, newRows] = [before, after].map((state) => textsOf(state, "row"));
  const [oldCols, newCols] = [before, after].map((state) => textsOf(state, "col"));
  const rows = changedPart(oldRows, newRows), cols = changedPart(oldCols, newCols);
  if (rows && cols) return whole(rows, cols);
  const moved = after.cells.filter((cell, index) => before.cells[index]?.quad?.join() !== cell.quad?.join());
  if (!moved.length || moved.length === after.cells.length) return null;
  return {
    row: Math.min(...moved.map((cell) => cell.row)), endRow: Math.max(...moved.map((cell) => cell.row)) + 1,
    col: Math.min(...moved.map((cell) => cell.col)), endCol: Math.max(...moved.map((cell) => cell.col)) + 1,
  };

  // A row that came or went changes all columns, and the other way round.
  function whole([row, endRow], [col, endCol]) {
    if (before.n_rows !== after.n_rows) [col, endCol] = [0, after.n_cols];
    if (before.n_cols !== after.n_cols) [row, endRow] = [0, after.n_rows];
    return { row, endRow, col, endCol };
  }
}

// Each row (or column) as a text that differs where its cells do.
function textsOf(state, axis) {
  const lines = Array.from({ length: axis === "row" ? state.n_rows : state.n_cols }, () => []);
  const across = axis === "row" ? "col" : "row";
  for (const cell of state.cells) lines[cell[axis]].push(cell[across], cell.rowspan, cell.colspan, cell.header, cell.text);
  return lines.map((line) => JSON.stringify(line));
}

function changedPart(before, after) {
  let first = 0, last = 0;
  const most = Math.min(before.length, after.length);
  while (first < most && before[first] === after[first]) first++;
  if (first === before.length && first === after.length) return null;
  while (last < most - first && before.at(-1 - last) === after.at(-1 - last)) last++;
  const begin = Math.min(first, after.length - 1);
  return [begin, Math.max(begin + 1, after.length - last)];
}

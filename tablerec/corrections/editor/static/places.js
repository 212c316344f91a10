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
  const { changed_cells: changed, moved = [], removed, ...rest } = answer, key = (row, col) => row * 1e6 + col;
  const gone = new Set((removed ?? []).map(([row, col]) => key(row, col)));
  const known = moved.length ? new Map(state.cells.map((cell) => [key(cell.row, cell.col), cell])) : null;
  const there = moved.map(([oldRow, oldCol, row, col]) => ({ ...known.get(key(oldRow, oldCol)), row, col }));
  const fresh = new Map([...changed, ...there].map((cell) => [key(cell.row, cell.col), cell]));
  const kept = state.cells.filter((cell) => !gone.has(key(cell.row, cell.col)) && !fresh.has(key(cell.row, cell.col)));
  const cells = [...kept, ...fresh.values()].sort((a, b) => a.row - b.row || a.col - b.col);
  return { ...state, ...rest, cells };
}

const spans = (cell) => [cell.row, cell.col, cell.rowspan, cell.colspan];

export function isSameShape(before, after) {
  return before.n_rows === after.n_rows && before.n_cols === after.n_cols && before.cells.length === after.cells.length
    && before.cells.every((cell, index) => cell === after.cells[index] || spans(cell).join() === spans(after.cells[index]).join());
}

// The smallest block of the new state that holds the cells which were not so before; null where there are none.
export function changedBlock(before, after) {
  const keyOf = (cell) => `${cell.quad} ${cell.rowspan} ${cell.colspan} ${cell.header} ${cell.text}`;
  const [old, now] = [before, after].map((state) => new Set(state.cells));
  const known = new Set(before.cells.filter((cell) => !now.has(cell)).map(keyOf));
  const changed = after.cells.filter((cell) => !old.has(cell) && !known.has(keyOf(cell)));
  if (!changed.length) return null;
  const [first, end] = [Math.min, Math.max];
  return {
    row: first(...changed.map((cell) => cell.row)), endRow: end(...changed.map((cell) => cell.row + cell.rowspan)),
    col: first(...changed.map((cell) => cell.col)), endCol: end(...changed.map((cell) => cell.col + cell.colspan)),
  };
}

export const isWithin = ({ row, col }, block) => row >= block.row && row < block.endRow && col >= block.col && col < block.endCol;

// What is chosen in the table, and how one goes on from there, as in spreadsheets.

import { clamp, span } from "./geometry.js";
import { makePlaces } from "./places.js";

const ARROWS = { ArrowUp: ["row", -1], ArrowDown: ["row", 1], ArrowLeft: ["col", -1], ArrowRight: ["col", 1] };
const MIRRORED = { ArrowLeft: "ArrowRight", ArrowRight: "ArrowLeft" };

// Where an arrow leads; in a table from right to left those to the sides change places.
export const arrowOf = (key, state) => ARROWS[state.direction === "rtl" ? MIRRORED[key] ?? key : key];

// shown(place): the selection has changed, and this place of it is to be seen.
export function makeSelection(editor, shown) {
  let places = makePlaces(editor.state);
  Object.assign(editor, {
    active: { row: 0, col: 0 }, // the cell that typing goes into
    end: { row: 0, col: 0 }, // what is chosen reaches from there to here
    held: null, // a block that stays chosen while one goes through its cells
  });
  let tabbedFrom = null; // the column in which Tab was pressed first

  const cellAt = (row, col) => places.at(row, col);
  const current = () => cellAt(editor.active.row, editor.active.col);

  function selection() {
    const { active, end, held } = editor;
    return held ?? places.whole({
      row: Math.min(active.row, end.row), endRow: Math.max(active.row, end.row) + 1,
      col: Math.min(active.col, end.col), endCol: Math.max(active.col, end.col) + 1,
    });
  }

  const inside = (block = selection()) => places.inside(block);

  function select(row, col, extend = false) {
    const { n_rows: rows, n_cols: cols } = editor.state;
    const place = { row: clamp(row, 0, rows - 1), col: clamp(col, 0, cols - 1) };
    if (!extend) editor.active = place;
    editor.end = { ...place };
    editor.held = tabbedFrom = null;
    shown(place);
  }

  function selectBlock({ row, col, endRow, endCol }) {
    editor.active = { row, col };
    editor.end = { row: endRow - 1, col: endCol - 1 };
    editor.held = tabbedFrom = null;
    shown(editor.active);
  }

  function selectLine(axis, index, extend) {
    const { n_rows: rows, n_cols: cols } = editor.state, from = extend ? editor.active[axis] : index;
    editor.active = axis === "row" ? { row: from, col: 0 } : { row: 0, col: from };
    editor.end = axis === "row" ? { row: index, col: cols - 1 } : { row: rows - 1, col: index };
    editor.held = tabbedFrom = null;
    shown(axis === "row" ? { row: index, col: 0 } : { row: 0, col: index });
  }

  // The typing stays where it is.
  function selectAll() {
    editor.held = { row: 0, col: 0, endRow: editor.state.n_rows, endCol: editor.state.n_cols };
    shown(null);
  }

  const start = (extend) => extend ? editor.end : editor.active;
  const isOutside = (place) => !cellAt(place.row, place.col);

  function beside(place, axis, direction) {
    const [first, end] = span(cellAt(place.row, place.col), axis);
    const next = { ...place, [axis]: direction > 0 ? end : first - 1 };
    return isOutside(next) ? null : next;
  }

  function go(axis, direction, extend = false) {
    const next = current() && beside(start(extend), axis, direction);
    if (next) select(next.row, next.col, extend);
  }

  // To where texts end or begin, else to the edge.
  function goFar(axis, direction, extend = false) {
    if (!current()) return;
    const isFull = ({ row, col }) => editor.textOf(cellAt(row, col)) !== "";
    let place = start(extend), next = beside(place, axis, direction);
    const runs = next && isFull(place) && isFull(next);
    while (next) {
      if (runs && !isFull(next)) break;
      place = next;
      if (!runs && isFull(place)) break;
      next = beside(place, axis, direction);
    }
    select(place.row, place.col, extend);
  }

  function show(place) {
    editor.active = { row: place.row, col: place.col };
    shown(editor.active);
  }

  // Through the cells of what is chosen, line by line along an axis; null where it is a single cell.
  function goThrough(axis, direction) {
    const block = selection(), cells = inside(block);
    if (cells.length < 2) return null;
    if (axis === "col") cells.sort((a, b) => a.col - b.col || a.row - b.row);
    editor.held = block;
    show(cells.at((cells.indexOf(current()) + direction) % cells.length));
    return true;
  }

  // Through all cells, row by row. False at the end of the table: there Tab leaves it.
  function tab(direction) {
    if (!current()) return false;
    if (goThrough("row", direction)) return true;
    const { n_rows: rows, n_cols: cols } = editor.state, { row, col } = current();
    const from = tabbedFrom ?? editor.active.col;
    for (let index = row * cols + col + direction; index >= 0 && index < rows * cols; index += direction) {
      const next = cellAt(Math.floor(index / cols), index % cols);
      if (next.row * cols + next.col !== index) continue;
      select(next.row, next.col);
      tabbedFrom = from;
      return true;
    }
    return false;
  }

  // Down to the column where Tab began.
  function enter(direction) {
    if (!current() || goThrough("col", direction)) return;
    const col = tabbedFrom ?? editor.active.col, next = beside(editor.active, "row", direction);
    if (next) select(next.row, col);
  }

  // To the next of some cells, or the one before; round the end.
  function goTo(isWanted, direction) {
    const wanted = editor.state.cells.filter(isWanted);
    const order = (cell) => cell.row * editor.state.n_cols + cell.col, here = order(editor.active);
    const ahead = wanted.filter((cell) => direction > 0 ? order(cell) > here : order(cell) < here);
    const found = direction > 0 ? ahead[0] ?? wanted[0] : ahead.at(-1) ?? wanted.at(-1);
    if (found) select(found.row, found.col);
    return found;
  }

  // The table has another state.
  function update() {
    const { n_rows: rows, n_cols: cols } = editor.state;
    places = makePlaces(editor.state);
    for (const place of [editor.active, editor.end]) {
      place.row = clamp(place.row, 0, rows - 1);
      place.col = clamp(place.col, 0, cols - 1);
    }
    if (editor.held && (editor.held.endRow > rows || editor.held.endCol > cols)) editor.held = null;
  }

  return { cellAt, current, selection, inside, select, selectBlock, selectLine, selectAll, go, goFar, goTo, tab, enter, update };
}

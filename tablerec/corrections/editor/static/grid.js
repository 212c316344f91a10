// The cells of a table as elements. Only the rows in and near the view are there, and of these only what changes is
// drawn anew.

import { make } from "./elements.js";
import { makeExtents } from "./extents.js";
import { clamp } from "./geometry.js";
import { classesOf, saysOf } from "./marks.js";
import { language, text } from "./texts.js";

const NEARBY = { cells: 250, least: 5, most: 40 }; // drawn above and below the view: rows of so many cells
const MOST_ADDED = 50; // rows by which what is drawn grows with the table

let grids = 0; // so that the cells of two tables on one page have different ids

// moved(): other rows are drawn now.
export function makeGrid(editor, pane, moved) {
  const grid = make("table", { role: "grid", ariaMultiSelectable: "true", id: `tablerec-sheet-${++grids}` });
  const columns = make("colgroup"), head = make("thead"), body = make("tbody"), top = make("tr"), corner = make("td", { className: "corner" });
  const items = new Map(); // place -> element of the grid
  const itemOf = (cell) => cell && items.get(`${cell.row},${cell.col}`);
  const extents = makeExtents(grid);
  let rows = [], first = 0; // what is drawn, from which row on: { line, handle, index, cells, content, items } each
  let lines = []; // of each row of the table the cells that begin there
  let widths = [], tops = [0], headHeight = 0;
  let marks = "", spoken = "", others = new Set(); // what the marks depend on, besides the cells
  let current = null, isWhole = false;
  top.append(corner);
  top.ariaRowIndex = "1";
  head.append(top);
  grid.append(columns, head, body);
  pane.append(grid);

  // --- what is drawn of the table ---

  const endOf = () => first + rows.length;
  const rowAt = (y) => {
    let [low, high] = [0, lines.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (tops[middle] <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  };

  // Of the first row that is drawn also the cells that reach into it from above.
  function cellsOf(index) {
    if (index !== first || !index) return lines[index];
    const found = new Set();
    for (let col = 0; col < editor.state.n_cols; col++) found.add(editor.cellAt(index, col));
    found.delete(undefined);
    return [...found];
  }

  // all: cells may be marked otherwise though they are the same.
  function show(all = false) {
    const { state } = editor, added = state.n_rows - lines.length, before = endOf();
    lines = Array.from({ length: state.n_rows }, () => []);
    for (const cell of state.cells) lines[cell.row].push(cell);
    grid.ariaLabel = text("cells");
    grid.ariaRowCount = state.n_rows + 1;
    grid.dir = state.direction;
    corner.title = text("selectAll");
    if (all || !widths.length || language().tag !== spoken) extents.start();
    spoken = language().tag;
    showColumns(state.n_cols);
    const marksNow = JSON.stringify([language().tag, state.verdict, state.mark_below]);
    if (all || marksNow !== marks) for (const row of rows) row.cells = [];
    marks = marksNow;
    const grown = rows.length && Math.abs(added) <= MOST_ADDED ? added : 0;
    first = Math.min(first, state.n_rows - 1);
    // The rows after those that were added or taken out are still there.
    replace(clamp(before + grown, first + 1, state.n_rows));
    measure();
    look(false);
    redraw(new Set([...others, ...editor.others]));
    others = editor.others;
  }

  // Rows with the same texts at both ends stay, the others are filled anew.
  function replace(end) {
    const wanted = Array.from({ length: end - first }, (_, at) => cellsOf(first + at));
    const contents = wanted.map((cells, at) => rows[at] && isDrawn(rows[at], first + at, cells) ? rows[at].content : contentOf(cells, first + at));
    const [same, after] = sameEnds(rows.map((row) => row.content), contents);
    const old = rows.slice(same, rows.length - after);
    const fresh = contents.slice(same, contents.length - after).map((_, at) => old[at] ?? makeRow());
    old.slice(fresh.length).forEach(remove);
    const next = rows[rows.length - after]?.line ?? null;
    for (const row of fresh) if (!row.line.isConnected) body.insertBefore(row.line, next);
    rows = [...rows.slice(0, same), ...fresh, ...rows.slice(rows.length - after)];
    fillRows(wanted, contents);
  }

  // Other rows of the same table: the elements of those that go are those that come.
  function turn(start, end) {
    const isKept = (row) => row.index >= start && row.index < end, kept = rows.filter(isKept), at = kept[0]?.index ?? start;
    const spare = rows.filter((row) => !isKept(row));
    spare.forEach(forget);
    const take = (length) => Array.from({ length }, () => spare.pop() ?? makeRow());
    const [before, after] = [at - start, end - at - kept.length].map(take);
    for (const row of spare) row.line.remove();
    body.prepend(...before.map((row) => row.line));
    body.append(...after.map((row) => row.line));
    rows = [...before, ...kept, ...after];
    first = start;
    const wanted = rows.map((_, each) => cellsOf(start + each));
    fillRows(wanted, wanted.map((cells, each) => contentOf(cells, start + each)));
  }

  function fillRows(wanted, contents) {
    const left = new Set(rows.filter((row, at) => !isDrawn(row, first + at, wanted[at])));
    for (const row of left) forget(row);
    rows.forEach((row, at) => { if (left.has(row)) fillRow(row, first + at, wanted[at], contents[at]); });
  }

  // Draw what is in view; what is seen stays where it is. Whether other rows are drawn now.
  function look(isTold = true) {
    let isTurned = false;
    for (let tries = 0; tries < 4; tries++) {
      const { n_rows: count, n_cols: width } = editor.state, around = Math.round(clamp(NEARBY.cells / width, NEARBY.least, NEARBY.most));
      const [seen, last] = [pane.scrollTop, pane.scrollTop + pane.clientHeight - headHeight].map(rowAt);
      const near = (by) => isWhole ? [0, count] : [Math.max(0, seen - by), Math.min(count, last + 1 + by)];
      const [least, most] = [near(around >> 1), near(around)];
      const isFar = rows.length > 2 * (most[1] - most[0]) || (isWhole && rows.length < count);
      if (first <= least[0] && endOf() >= least[1] && !isFar) break;
      const before = tops[seen];
      turn(...most);
      measure();
      isTurned = true;
      if (Math.abs(tops[seen] - before) >= 1) pane.scrollTop += tops[seen] - before;
    }
    if (isTurned && isTold) moved();
    return isTurned;
  }

  // How high the rows are: those that are drawn as they are, others by their texts.
  function measure() {
    headHeight = head.getBoundingClientRect().height;
    for (const row of rows) extents.remember(lines[row.index], row.line.getBoundingClientRect().height);
    tops = [0];
    for (const cells of lines) tops.push(tops.at(-1) + extents.rowOf(cells, widths, editor.textOf));
    grid.style.margin = `${tops[first]}px 0 ${tops.at(-1) - tops[endOf()]}px`;
  }

  function showColumns(count) {
    while (top.children.length - 1 > count) top.lastChild.remove();
    for (let col = top.children.length - 1; col < count; col++) {
      const item = make("th", { scope: "col", textContent: columnName(col), className: "handle" });
      item.dataset.col = col;
      top.append(item);
    }
    fitColumns();
  }

  function fitColumns() {
    const { n_cols: count, n_rows: numbers, cells } = editor.state, before = widths.join();
    widths = extents.columns(count, cells, editor.textOf);
    if (widths.join() === before) return;
    const all = [extents.widthOfNumber(numbers), ...widths];
    while (columns.children.length > all.length) columns.lastChild.remove();
    while (columns.children.length < all.length) columns.append(make("col"));
    all.forEach((width, at) => { columns.children[at].style.width = `${width}px`; });
    grid.style.width = `${all.reduce((a, b) => a + b)}px`;
  }

  // --- rows and cells ---

  function makeRow() {
    const line = make("tr"), item = make("th", { scope: "row", className: "handle" });
    line.append(item);
    return { line, handle: item, index: -1, cells: [], content: "", items: [] };
  }

  function remove(row) {
    forget(row);
    row.line.remove();
  }

  function forget(row) {
    for (const item of row.items) if (items.get(item.drawn.place) === item) items.delete(item.drawn.place);
  }

  const isDrawn = (row, index, cells) => row.index === index && row.cells.length === cells.length && row.cells.every((cell, at) => cell === cells[at]);
  const spansOf = (cell, index) => `${cell.rowspan - index + cell.row} ${cell.colspan} ${cell.text}`;
  const contentOf = (cells, index) => cells.map((cell) => spansOf(cell, index)).join("\t");

  function fillRow(row, index, cells, content) {
    row.cells = cells;
    if (row.index !== index) {
      row.index = index;
      row.line.ariaRowIndex = index + 2;
      row.handle.textContent = index + 1;
      row.handle.dataset.row = index;
    }
    if (row.content !== content) {
      const [same, after] = sameEnds(row.items.map((item) => item.drawn.spans), cells.map((cell) => spansOf(cell, index)));
      const old = row.items.slice(same, row.items.length - after);
      const fresh = cells.slice(same, cells.length - after).map((_, at) => old[at] ?? makeItem());
      for (const item of old.slice(fresh.length)) item.remove();
      const next = row.items[row.items.length - after] ?? null;
      for (const item of fresh) if (!item.isConnected || item.parentNode !== row.line) row.line.insertBefore(item, next);
      row.items = [...row.items.slice(0, same), ...fresh, ...row.items.slice(row.items.length - after)];
      row.content = content;
    }
    row.items.forEach((item, at) => fill(item, cells[at], index));
  }

  function makeItem() {
    const item = make("td", { dir: "auto" });
    item.setAttribute("aria-selected", "false");
    item.drawn = { isSelected: false };
    return item;
  }

  // index: of the row that the element is in; the cell may begin above it.
  function fill(item, cell, index) {
    const { drawn } = item, place = `${cell.row},${cell.col}`, written = editor.textOf(cell), rowspan = cell.rowspan - index + cell.row;
    items.set(place, item);
    drawn.cell = cell;
    drawn.index = index;
    drawn.spans = spansOf(cell, index);
    if (drawn.place !== place) item.dataset.place = drawn.place = place;
    if (drawn.rowspan !== rowspan) item.rowSpan = drawn.rowspan = rowspan;
    if (drawn.colspan !== cell.colspan) item.colSpan = drawn.colspan = cell.colspan;
    if (drawn.text !== written) item.textContent = drawn.text = written;
    const isWaiting = editor.isWaiting(cell), isOther = editor.others.has(place);
    const className = [classesOf(editor, cell), isWaiting && "waiting", isOther && "other", index > cell.row && "cut", item === current && "current"].filter(Boolean).join(" ");
    if (drawn.className !== className) item.className = drawn.className = className;
    const says = [...saysOf(editor, cell), isWaiting && text("isWaiting"), isOther && text("isOther")].filter(Boolean);
    const title = [...says, cell.inside].filter(Boolean).join("\n"); // tables in the cell are carried along
    if (drawn.title !== title) item.title = drawn.title = title;
    const name = says.length ? [written || text("emptyCell"), ...says].join(", ") : null;
    if (drawn.name !== name) item.ariaLabel = drawn.name = name;
  }

  // Only these cells.
  function redraw(places) {
    const found = [...places].filter((place) => items.has(place));
    for (const place of found) {
      const item = items.get(place), cell = editor.cellAt(...place.split(",").map(Number));
      if (cell) fill(item, cell, item.drawn.index);
    }
    if (found.length) fitColumns();
  }

  // --- what is chosen ---

  function showSelection() {
    const block = editor.selection();
    for (const item of items.values()) {
      const isSelected = editor.isSelected(item.drawn.cell, block);
      if (isSelected === item.drawn.isSelected) continue;
      item.drawn.isSelected = isSelected;
      item.setAttribute("aria-selected", String(isSelected));
    }
    const now = itemOf(editor.current()) ?? null;
    if (current && current !== now) {
      current.classList.remove("current");
      current.removeAttribute("id");
    }
    current = now;
    if (!current) return;
    current.classList.add("current");
    current.id = `${grid.id}-${current.dataset.place}`;
  }

  // Where a cell is in the pane, though its row may not be drawn.
  function rectOf(cell) {
    const item = itemOf(cell);
    if (!item) return farRectOf(cell);
    const [outer, inner] = [pane, item].map((each) => each.getBoundingClientRect());
    return {
      left: inner.left - outer.left + pane.scrollLeft - pane.clientLeft, top: inner.top - outer.top + pane.scrollTop - pane.clientTop,
      width: inner.width, height: inner.height,
    };
  }

  function farRectOf({ row, col, rowspan, colspan }) {
    const sum = (from, to) => widths.slice(from, to).reduce((a, b) => a + b, 0), width = sum(col, col + colspan);
    const before = extents.widthOfNumber(lines.length) + sum(0, col), whole = grid.offsetWidth;
    return {
      left: editor.state.direction === "rtl" ? whole - before - width : before, top: headHeight + tops[row], width, height: tops[row + rowspan] - tops[row],
    };
  }

  function reveal({ row, col }) {
    const cell = editor.cellAt(row, col);
    if (!cell) return;
    if (!itemOf(cell)) {
      const [above, below] = [tops[row], tops[row + 1] + headHeight - pane.clientHeight];
      pane.scrollTop = above < pane.scrollTop ? above : Math.max(below, 0);
      look();
    }
    itemOf(cell)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  function showAll(all) {
    isWhole = all;
    look();
  }

  const observer = new ResizeObserver(() => look());
  observer.observe(pane);
  pane.addEventListener("scroll", () => look(), { passive: true });
  const ending = new AbortController();
  window.addEventListener("beforeprint", () => showAll(true), { signal: ending.signal });
  window.addEventListener("afterprint", () => showAll(false), { signal: ending.signal });

  return {
    element: grid, show, showSelection, redraw, reveal, rectOf,
    get current() { return current; },
    destroy() {
      observer.disconnect();
      ending.abort();
    },
  };
}

// How many of the first and of the last are the same.
function sameEnds(before, after) {
  let first = 0, last = 0;
  const most = Math.min(before.length, after.length);
  while (first < most && before[first] === after[first]) first++;
  while (last < most - first && before.at(-1 - last) === after.at(-1 - last)) last++;
  return [first, last];
}

function columnName(index) {
  return (index >= 26 ? columnName(Math.floor(index / 26) - 1) : "") + String.fromCharCode(65 + index % 26);
}

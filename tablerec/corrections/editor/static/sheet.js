// The table as a grid: cells to choose, texts to type, blocks to copy, paste and fill.

import { copyText } from "./banners.js";
import { make } from "./elements.js";
import { classesOf, saysOf } from "./marks.js";
import { openMenu } from "./menu.js";
import { language, text } from "./texts.js";
import { rowsToTsv, tile, tsvToRows } from "./tsv.js";
import { makeTyping } from "./typing.js";

let sheets = 0; // so that the cells of two tables on one page have different ids

export function makeSheet(editor, pane) {
  const grid = make("table", { role: "grid", ariaMultiSelectable: "true", id: `tablerec-sheet-${++sheets}` });
  const head = make("thead"), body = make("tbody"), top = make("tr"), corner = make("td", { className: "corner" });
  const handle = make("div", { className: "fill-handle" }), range = make("div", { className: "fill-range", hidden: true });
  const items = new Map(); // place -> element of the grid
  const itemOf = (cell) => cell && items.get(`${cell.row},${cell.col}`);
  let rows = []; // what is drawn: { line, handle, index, cells, content, items } each
  let marks = "", others = new Set(); // what the marks depend on, besides the cells
  let marked = new Set(), current = null;
  top.append(corner);
  head.append(top);
  grid.append(head, body);
  pane.append(grid, range, handle);
  const typing = makeTyping(editor, pane, { rectOf: (cell) => rectOf(itemOf(cell)), write });
  typing.box.setAttribute("aria-controls", grid.id);

  // --- drawing: only what has changed since ---

  // all: cells may be marked otherwise though they are the same.
  function show(all = false) {
    const { state } = editor, lines = Array.from({ length: state.n_rows }, () => []);
    for (const cell of state.cells) lines[cell.row].push(cell);
    grid.ariaLabel = text("cells");
    grid.dir = state.direction;
    corner.title = text("selectAll");
    showColumns(state.n_cols);
    const marksNow = JSON.stringify([language().tag, state.verdict, state.mark_below]);
    if (all || marksNow !== marks) for (const row of rows) row.cells = [];
    marks = marksNow;
    const isDrawn = (row, index) => row.index === index && sameEnds(row.cells, lines[index] ?? [])[0] === lines[index]?.length;
    const contents = lines.map((cells, index) => rows[index] && isDrawn(rows[index], index) ? rows[index].content : contentOf(cells));
    const [first, last] = sameEnds(rows.map((row) => row.content), contents);
    const [old, end] = [rows.slice(first, rows.length - last), lines.length - last];
    const fresh = lines.slice(first, end).map((_, index) => old[index] ?? makeRow());
    for (const row of old.slice(fresh.length)) {
      forget(row);
      row.line.remove();
    }
    const after = rows[rows.length - last]?.line ?? null;
    for (const row of fresh) if (!row.line.isConnected) body.insertBefore(row.line, after);
    rows = [...rows.slice(0, first), ...fresh, ...rows.slice(rows.length - last)];
    const left = new Set(rows.filter((row, index) => !isDrawn(row, index)));
    left.forEach(forget);
    rows.forEach((row, index) => { if (left.has(row)) fillRow(row, index, lines[index], contents[index]); });
    redraw(new Set([...others, ...editor.others]));
    others = editor.others;
  }

  function forget(row) {
    for (const item of row.items) items.delete(item.drawn.place);
  }

  function showColumns(count) {
    while (top.children.length - 1 > count) top.lastChild.remove();
    for (let col = top.children.length - 1; col < count; col++) {
      const item = make("th", { scope: "col", textContent: columnName(col), className: "handle" });
      item.dataset.col = col;
      top.append(item);
    }
  }

  function makeRow() {
    const line = make("tr"), item = make("th", { scope: "row", className: "handle" });
    line.append(item);
    return { line, handle: item, index: -1, cells: [], content: "", items: [] };
  }

  const spansOf = (cell) => `${cell.rowspan} ${cell.colspan} ${cell.text}`;
  const contentOf = (cells) => cells.map(spansOf).join("\t");

  function fillRow(row, index, cells, content) {
    row.cells = cells;
    if (row.index !== index) {
      row.index = index;
      row.handle.textContent = index + 1;
      row.handle.dataset.row = index;
    }
    if (row.content !== content) {
      const [first, last] = sameEnds(row.items.map((item) => item.drawn.spans), cells.map(spansOf));
      const old = row.items.slice(first, row.items.length - last);
      const fresh = cells.slice(first, cells.length - last).map((_, at) => old[at] ?? makeItem());
      for (const item of old.slice(fresh.length)) item.remove();
      const after = row.items[row.items.length - last] ?? null;
      for (const item of fresh) if (!item.isConnected) row.line.insertBefore(item, after);
      row.items = [...row.items.slice(0, first), ...fresh, ...row.items.slice(row.items.length - last)];
      row.content = content;
    }
    row.items.forEach((item, at) => fill(item, cells[at]));
  }

  function makeItem() {
    const item = make("td", { dir: "auto" });
    item.setAttribute("aria-selected", "false");
    item.drawn = {};
    return item;
  }

  function fill(item, cell) {
    const { drawn } = item, place = `${cell.row},${cell.col}`, written = editor.textOf(cell);
    items.set(place, item);
    drawn.spans = spansOf(cell);
    if (drawn.place !== place) item.dataset.place = drawn.place = place;
    if (drawn.rowspan !== cell.rowspan) item.rowSpan = drawn.rowspan = cell.rowspan;
    if (drawn.colspan !== cell.colspan) item.colSpan = drawn.colspan = cell.colspan;
    if (drawn.text !== written) item.textContent = drawn.text = written;
    const isWaiting = editor.isWaiting(cell), isOther = editor.others.has(place);
    const className = [classesOf(editor, cell), isWaiting && "waiting", isOther && "other"].filter(Boolean).join(" ");
    if (drawn.className !== className) item.className = drawn.className = className;
    const says = [...saysOf(editor, cell), isWaiting && text("isWaiting"), isOther && text("isOther")].filter(Boolean);
    const title = [...says, cell.inside].filter(Boolean).join("\n"); // tables in the cell are carried along
    if (drawn.title !== title) item.title = drawn.title = title;
    const name = says.length ? [written || text("emptyCell"), ...says].join(", ") : null;
    if (drawn.name !== name) item.ariaLabel = drawn.name = name;
  }

  function showSelection() {
    const now = new Set(editor.inside().map(itemOf));
    for (const item of marked) if (!now.has(item)) item.setAttribute("aria-selected", "false");
    for (const item of now) if (!marked.has(item)) item.setAttribute("aria-selected", "true");
    marked = now;
    current?.classList.remove("current");
    current = itemOf(editor.current());
    if (!current) return;
    current.classList.add("current");
    current.id = `${grid.id}-${current.dataset.place}`;
    typing.box.setAttribute("aria-activedescendant", current.id);
  }

  const rectOf = (item) => {
    const [outer, inner] = [pane, item].map((each) => each.getBoundingClientRect());
    return {
      left: inner.left - outer.left + pane.scrollLeft - pane.clientLeft, top: inner.top - outer.top + pane.scrollTop - pane.clientTop,
      width: inner.width, height: inner.height,
    };
  };

  function reveal(place) {
    if (place) itemOf(editor.cellAt(place.row, place.col))?.scrollIntoView({ block: "nearest", inline: "nearest" });
    lay();
  }

  // What lies over the cells.
  function lay() {
    typing.place();
    const s = editor.selection(), last = itemOf(editor.cellAt(s.endRow - 1, s.endCol - 1));
    if (!last) return;
    const { left, top: above, width, height } = rectOf(last), isRtl = editor.state.direction === "rtl";
    Object.assign(handle.style, { left: `${(isRtl ? left : left + width) - 5}px`, top: `${above + height - 5}px` });
  }
  new ResizeObserver(lay).observe(grid);

  // --- texts ---

  function write(target, value) {
    const { row, col, version } = target, seen = editor.state.version;
    editor.step(() => ({ do: "set_text", row, col, text: value, ...(version === seen ? {} : { version }) }));
  }

  function textsOf(block) {
    const texts = Array.from({ length: block.endRow - block.row }, () => Array(block.endCol - block.col).fill(""));
    for (const cell of editor.inside(block)) texts[cell.row - block.row][cell.col - block.col] = editor.textOf(cell);
    return texts;
  }

  // Texts for a block; those that would fall into a merged cell are left out.
  function writeBlock(block, texts) {
    const kept = texts.map((line, r) => line.map((each, c) => {
      const cell = editor.cellAt(block.row + r, block.col + c);
      return cell && cell.row === block.row + r && cell.col === block.col + c ? each : "";
    }));
    editor.step(() => ({ do: "set_texts", row: block.row, col: block.col, texts: kept }));
  }

  const sizeOf = (block) => [block.endRow - block.row, block.endCol - block.col];

  function fillAll(value) {
    const block = editor.selection();
    writeBlock(block, tile([[value]], ...sizeOf(block)));
  }

  // The first line of what is chosen goes into the others; of a single line it is the one before.
  function fillOn(axis) {
    const block = editor.selection(), source = { ...block }, end = axis === "row" ? "endRow" : "endCol";
    if (block[end] - block[axis] < 2) {
      source[axis] -= 1;
      if (source[axis] < 0) return;
    }
    source[end] = source[axis] + 1;
    const target = { ...block, [axis]: source[end] };
    target[end] = Math.max(block[end], target[axis] + 1);
    writeBlock(target, tile(textsOf(source), ...sizeOf(target)));
  }

  function copy() {
    return rowsToTsv(textsOf(editor.selection()));
  }

  // A block goes as often into what is chosen as it fits there, else from there on.
  function paste(tsv) {
    const texts = tsvToRows(tsv);
    if (!texts.length) return;
    const block = editor.selection(), [nRows, nCols] = sizeOf(block), width = Math.max(...texts.map((line) => line.length));
    const fits = nRows % texts.length === 0 && nCols % width === 0 && nRows * nCols > texts.length * width;
    const { row, col } = block;
    if (fits) return writeBlock(block, tile(texts.map((line) => [...line, ...Array(width - line.length).fill("")]), nRows, nCols));
    editor.step(() => ({ do: "set_texts", row, col, texts })).then((isDone) => {
      if (isDone) editor.selectBlock({ row, col, endRow: row + texts.length, endCol: col + width });
    });
  }

  // Only these cells.
  function redraw(places) {
    for (const place of places) {
      const item = items.get(place);
      if (item) fill(item, editor.cellAt(...place.split(",").map(Number)));
    }
  }

  const isIdle = () => !typing.target;
  typing.box.addEventListener("copy", (event) => {
    if (!isIdle()) return;
    event.clipboardData.setData("text/plain", copy());
    event.preventDefault();
  });
  typing.box.addEventListener("cut", (event) => {
    if (!isIdle()) return;
    event.clipboardData.setData("text/plain", copy());
    event.preventDefault();
    fillAll("");
  });
  typing.box.addEventListener("paste", (event) => {
    if (!isIdle()) return;
    event.preventDefault();
    paste(event.clipboardData.getData("text/plain"));
  });

  // --- the mouse ---

  const placeOf = (item) => item.dataset.place.split(",").map(Number);
  const cellOf = (target) => target.closest?.("td[data-place]");
  let dragged = null; // axis of the handles that are dragged over

  grid.addEventListener("mousedown", (event) => {
    const item = cellOf(event.target), line = event.target.closest(".handle");
    event.preventDefault(); // the focus stays where it is
    if (event.button !== 0) return;
    typing.finish();
    dragged = line && (line.dataset.row !== undefined ? "row" : "col");
    if (line) editor.selectLine(dragged, Number(line.dataset[dragged]), event.shiftKey);
    else if (item) editor.select(...placeOf(item), event.shiftKey);
    else if (event.target.closest(".corner")) editor.selectAll();
    typing.focus();
  });
  grid.addEventListener("mouseover", (event) => {
    const item = cellOf(event.target), line = event.target.closest(".handle");
    if (event.buttons !== 1) {
      if (item) editor.pointAt(...placeOf(item));
    } else if (dragged && (line ?? item)) {
      const at = line ? Number(line.dataset[dragged]) : placeOf(item)[dragged === "row" ? 0 : 1];
      if (!Number.isNaN(at)) editor.selectLine(dragged, at, true);
    } else if (item && !filling) editor.select(...placeOf(item), true);
  });
  grid.addEventListener("dblclick", (event) => { if (cellOf(event.target)) typing.open(false); });

  // --- the fill handle ---

  let filling = null; // { block, target }

  handle.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
    handle.style.pointerEvents = "none"; // what lies below it is wanted
    filling = { block: editor.selection(), target: null };
  });
  handle.addEventListener("pointermove", (event) => {
    if (!filling) return;
    const item = cellOf(document.elementFromPoint(event.clientX, event.clientY) ?? handle);
    if (item) aim(...placeOf(item));
  });
  handle.addEventListener("pointerup", () => {
    const { block, target } = filling ?? {};
    filling = null;
    handle.style.pointerEvents = "";
    range.hidden = true;
    if (target) fillFrom(block, target);
  });
  handle.addEventListener("mousedown", (event) => event.preventDefault());

  // The part that would be filled: along the axis on which the pointer is farther from the block.
  function aim(row, col) {
    const { block } = filling;
    const far = { row: Math.max(row - block.endRow + 1, block.row - row, 0), col: Math.max(col - block.endCol + 1, block.col - col, 0) };
    const axis = far.row >= far.col ? "row" : "col", at = axis === "row" ? row : col, end = axis === "row" ? "endRow" : "endCol";
    const part = at < block[axis] ? { ...block, [axis]: at, [end]: block[axis] } : { ...block, [axis]: block[end], [end]: at + 1 };
    filling.target = far[axis] ? part : null;
    range.hidden = !filling.target;
    if (!filling.target) return;
    const [a, b] = [editor.cellAt(part.row, part.col), editor.cellAt(part.endRow - 1, part.endCol - 1)].map((cell) => rectOf(itemOf(cell)));
    const [left, above] = [Math.min(a.left, b.left), a.top];
    Object.assign(range.style, {
      left: `${left}px`, top: `${above}px`,
      width: `${Math.max(a.left + a.width, b.left + b.width) - left}px`, height: `${b.top + b.height - above}px`,
    });
  }

  // The block goes on in its own pattern.
  function fillFrom(block, target) {
    const texts = textsOf(block), [nRows, nCols] = sizeOf(block);
    const turned = (at, size) => ((at % size) + size) % size;
    const filled = Array.from({ length: target.endRow - target.row }, (_, r) => Array.from({ length: target.endCol - target.col }, (__, c) =>
      texts[turned(target.row + r - block.row, nRows)][turned(target.col + c - block.col, nCols)]));
    writeBlock(target, filled);
    editor.selectBlock({
      row: Math.min(block.row, target.row), endRow: Math.max(block.endRow, target.endRow),
      col: Math.min(block.col, target.col), endCol: Math.max(block.endCol, target.endCol),
    });
  }

  // --- the menu ---

  pane.addEventListener("contextmenu", (event) => {
    const item = cellOf(event.target), line = event.target.closest(".handle"), byKey = event.target === typing.box;
    if (byKey && typing.target) return; // the browser's own one, for what is typed
    if (!item && !line && !byKey) return;
    event.preventDefault();
    const s = editor.selection(), [row, col] = item ? placeOf(item) : [];
    if (item && !(row >= s.row && row < s.endRow && col >= s.col && col < s.endCol)) editor.select(row, col);
    if (line) {
      const axis = line.dataset.row !== undefined ? "row" : "col", at = Number(line.dataset[axis]), end = axis === "row" ? "endRow" : "endCol";
      if (at < s[axis] || at >= s[end]) editor.selectLine(axis, at, false);
    }
    const box = typing.box.getBoundingClientRect();
    openMenu(pane.closest(".tablerec-editor"), menuOf(), byKey ? [box.left + 8, box.bottom] : [event.clientX, event.clientY], typing.focus);
  });

  const TOOLS = [
    "cut", "copy", "paste", null, "fillDown", "fillRight", "clear", null, "read", "confirm", "resetText", null,
    "insertRow", "insertRowAfter", "insertCol", "insertColAfter", "dropRows", "dropCols", null, "merge", "split", "joinRows", "joinCols", "section",
  ];

  function menuOf() {
    const own = { cut: cutByMenu, copy: copyByMenu, paste: pasteByMenu }, actions = { ...editor.actions, ...own };
    return TOOLS.map((name) => name && { name, action: actions[name], isOff: editor.isOff(name) });
  }

  function copyByMenu() { return copyText(copy()).then(typing.focus); }
  function cutByMenu() { return copyByMenu().then(() => fillAll("")); }

  async function pasteByMenu() {
    try {
      paste(await navigator.clipboard.readText());
    } catch {
      editor.say(text("pasteByKeys"), true);
    }
  }

  return {
    show, showSelection, redraw, reveal, lay, paste, fillAll, fillOn, typing,
    focus: typing.focus,
    edit: () => typing.open(false),
    clear: () => fillAll(""),
    holds: (element) => element === typing.box,
    finish: typing.finish,
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

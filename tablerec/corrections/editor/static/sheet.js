// The table as a grid: cells to choose, texts to type, blocks to copy and paste.

import { make } from "./elements.js";
import { classesOf, saysOf } from "./marks.js";
import { text } from "./texts.js";

export function makeSheet(editor, pane) {
  const grid = make("table", { role: "grid", ariaMultiSelectable: "true" });
  const items = new Map(); // place -> element of the grid
  const itemOf = (cell) => cell && items.get(`${cell.row},${cell.col}`);
  let drawn = ""; // the rows, columns and spans that the grid has
  pane.append(grid);

  function show() {
    const { state } = editor, hadFocus = grid.contains(document.activeElement);
    const shape = [state.n_rows, state.n_cols, ...state.cells.map((c) => `${c.row},${c.col},${c.rowspan},${c.colspan}`)].join(" ");
    if (shape !== drawn) build(state);
    drawn = shape;
    grid.ariaLabel = text("cells");
    grid.dir = state.direction;
    for (const cell of state.cells) fill(itemOf(cell), cell);
    if (hadFocus && !grid.contains(document.activeElement)) focus();
  }

  function build(state) {
    items.clear();
    const head = make("thead"), body = make("tbody"), top = make("tr");
    top.append(make("td", { className: "corner" }));
    for (let col = 0; col < state.n_cols; col++) {
      const handle = make("th", { scope: "col", textContent: columnName(col), className: "handle" });
      handle.dataset.col = col;
      top.append(handle);
    }
    head.append(top);
    const rows = Array.from({ length: state.n_rows }, (_, row) => {
      const line = make("tr"), handle = make("th", { scope: "row", textContent: row + 1, className: "handle" });
      handle.dataset.row = row;
      line.append(handle);
      body.append(line);
      return line;
    });
    for (const cell of state.cells) {
      const item = make("td", { rowSpan: cell.rowspan, colSpan: cell.colspan, tabIndex: -1, dir: "auto" });
      item.dataset.place = `${cell.row},${cell.col}`;
      item.setAttribute("aria-selected", "false");
      items.set(item.dataset.place, item);
      rows[cell.row].append(item);
    }
    grid.replaceChildren(head, body);
  }

  function fill(item, cell) {
    if (item.textContent !== cell.text && !item.querySelector("textarea")) item.textContent = cell.text;
    const className = classesOf(editor.state, cell), says = saysOf(editor.state, cell);
    if (item.className !== className) item.className = className;
    const title = [...says, cell.inside].filter(Boolean).join("\n"); // tables in the cell are carried along
    if (item.title !== title) item.title = title;
    const name = says.length ? [cell.text || text("emptyCell"), ...says].join(", ") : null;
    if (item.ariaLabel !== name) item.ariaLabel = name;
  }

  function showSelection() {
    const s = editor.selection();
    for (const item of grid.querySelectorAll('[aria-selected="true"]')) item.setAttribute("aria-selected", "false");
    for (const item of grid.querySelectorAll('[tabindex="0"]')) item.tabIndex = -1;
    for (const cell of editor.state.cells) if (editor.isSelected(cell, s)) itemOf(cell)?.setAttribute("aria-selected", "true");
    const item = itemOf(editor.current());
    if (item) item.tabIndex = 0;
  }

  function focus() {
    const item = itemOf(editor.current());
    item?.focus({ preventScroll: true });
    item?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // --- typing ---

  function edit(typed) {
    const cell = editor.current(), item = itemOf(cell);
    if (!item || item.querySelector("textarea")) return;
    const box = make("textarea", { value: typed ?? cell.text, rows: cell.text.split("\n").length, spellcheck: false });
    box.ariaLabel = text("textOf", cell.row + 1, cell.col + 1);
    box.style.minWidth = `${item.clientWidth - 12}px`;
    let open = true;
    const close = (keep) => {
      if (!open) return;
      open = false;
      const value = box.value;
      item.textContent = keep ? value : cell.text;
      if (keep) editor.step(() => ({ do: "set_text", row: cell.row, col: cell.col, text: value }));
    };
    box.addEventListener("blur", () => close(box.value !== cell.text));
    box.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.isComposing) return;
      const ends = event.key === "Escape" || event.key === "Tab" || (event.key === "Enter" && !event.shiftKey && !event.altKey);
      if (event.key === "Enter" && event.altKey) box.setRangeText("\n", box.selectionStart, box.selectionEnd, "end");
      if (!ends) return;
      event.preventDefault();
      close(event.key !== "Escape");
      focus();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) editor.saveAndGoOn();
      else if (event.key === "Enter") editor.go("row", 1, false);
      if (event.key === "Tab") editor.go("col", event.shiftKey ? -1 : 1, false);
    });
    item.replaceChildren(box);
    box.focus();
    if (typed === undefined) box.select();
  }

  // --- blocks ---

  grid.addEventListener("copy", (event) => {
    if (event.target.tagName === "TEXTAREA") return;
    const s = editor.selection();
    const rows = Array.from({ length: s.endRow - s.row }, () => Array(s.endCol - s.col).fill(""));
    for (const cell of editor.state.cells) if (editor.isSelected(cell, s)) rows[cell.row - s.row][cell.col - s.col] = cell.text;
    event.clipboardData.setData("text/plain", rowsToTsv(rows));
    event.preventDefault();
  });

  grid.addEventListener("paste", (event) => {
    if (event.target.tagName === "TEXTAREA") return;
    event.preventDefault();
    const texts = tsvToRows(event.clipboardData.getData("text/plain")), { row, col } = editor.selection();
    if (texts.length) editor.step(() => ({ do: "set_texts", row, col, texts }));
  });

  function clear() {
    const s = editor.selection(), texts = Array.from({ length: s.endRow - s.row }, () => Array(s.endCol - s.col).fill(""));
    editor.step(() => ({ do: "set_texts", row: s.row, col: s.col, texts }));
  }

  // --- the mouse ---

  const placeOf = (item) => item.dataset.place.split(",").map(Number);

  grid.addEventListener("mousedown", (event) => {
    const handle = event.target.closest(".handle"), item = event.target.closest("[data-place]");
    if (event.target.tagName === "TEXTAREA") return;
    if (handle) {
      event.preventDefault();
      editor.selectLine(handle.dataset.row !== undefined ? "row" : "col", Number(handle.dataset.row ?? handle.dataset.col), event.shiftKey);
    } else if (item) {
      event.preventDefault();
      editor.select(...placeOf(item), event.shiftKey);
    }
  });
  grid.addEventListener("mouseover", (event) => {
    const item = event.target.closest("[data-place]");
    if (!item) return;
    if (event.buttons === 1) editor.select(...placeOf(item), true);
    else editor.pointAt(...placeOf(item));
  });
  grid.addEventListener("dblclick", (event) => { if (event.target.closest("[data-place]")) edit(); });

  return {
    show, showSelection, focus, edit, clear,
    holds: (element) => grid.contains(element),
    finish: () => grid.querySelector("textarea")?.blur(),
  };
}

function columnName(index) {
  return (index >= 26 ? columnName(Math.floor(index / 26) - 1) : "") + String.fromCharCode(65 + index % 26);
}

// As spreadsheets put it into the clipboard: a text with a tab, line end or quote is quoted.
function rowsToTsv(rows) {
  const quote = (value) => /[\t\n"]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  return rows.map((row) => row.map(quote).join("\t")).join("\n");
}

function tsvToRows(tsv) {
  const rows = [[]], all = tsv.replace(/\r\n?/g, "\n").replace(/\n$/, "");
  if (!all) return [];
  for (const [, quoted, plain, end] of `${all}\n`.matchAll(/(?:"((?:[^"]|"")*)"|([^\t\n]*))([\t\n])/g)) {
    rows.at(-1).push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === "\n") rows.push([]);
  }
  return rows.slice(0, -1);
}

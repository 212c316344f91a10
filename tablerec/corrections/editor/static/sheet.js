// The table as a grid: cells to choose, texts to type, blocks to copy, paste and fill.

import { copyText } from "./banners.js";
import { makeFill } from "./fill.js";
import { makeGrid } from "./grid.js";
import { openMenu } from "./menu.js";
import { text } from "./texts.js";
import { rowsToTsv, tile, tsvToRows } from "./tsv.js";
import { makeTyping } from "./typing.js";

export function makeSheet(editor, pane) {
  const cells = makeGrid(editor, pane, () => { showSelection(); lay(); }), grid = cells.element;
  const typing = makeTyping(editor, pane, { rectOf: cells.rectOf, reveal: cells.reveal, write });
  const fill = makeFill(editor, pane, { rectOf: cells.rectOf, cellOf: (target) => cellOf(target), textsOf, writeBlock });
  typing.box.setAttribute("aria-controls", grid.id);

  function showSelection() {
    cells.showSelection();
    if (cells.current) typing.box.setAttribute("aria-activedescendant", cells.current.id);
    else typing.box.removeAttribute("aria-activedescendant");
  }

  function reveal(place) {
    if (place) cells.reveal(place);
    lay();
  }

  // What lies over the cells.
  function lay() {
    typing.place();
    fill.lay();
  }
  const observer = new ResizeObserver(lay);
  observer.observe(grid);

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
    } else if (item && !fill.isDragged()) editor.select(...placeOf(item), true);
  });
  grid.addEventListener("dblclick", (event) => { if (cellOf(event.target)) typing.open(false); });

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
    showSelection, reveal, lay, paste, fillAll, typing,
    show: cells.show, redraw: cells.redraw, fillDown: fill.down, fillRight: fill.right,
    focus: typing.focus,
    edit: () => typing.open(false),
    clear: () => fillAll(""),
    holds: (element) => element === typing.box,
    finish: typing.finish,
    destroy() {
      observer.disconnect();
      cells.destroy();
    },
  };
}

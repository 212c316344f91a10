// The handle at the corner of what is chosen: its texts go on as far as it is dragged. And the same by keys.

import { make } from "./elements.js";
import { goOn } from "./series.js";
import { tile } from "./tsv.js";

const END = { row: "endRow", col: "endCol" };

// rectOf(cell): its place in the pane. cellOf(element): that of the grid which it is in. textsOf(block) and
// writeBlock(block, texts): its texts, row by row.
export function makeFill(editor, pane, { rectOf, cellOf, textsOf, writeBlock }) {
  const handle = make("div", { className: "fill-handle" }), range = make("div", { className: "fill-range", hidden: true });
  let dragged = null; // { block, target }
  pane.append(range, handle);

  function lay() {
    const s = editor.selection(), last = editor.cellAt(s.endRow - 1, s.endCol - 1);
    if (!last) return;
    const { left, top, width, height } = rectOf(last), isRtl = editor.state.direction === "rtl";
    Object.assign(handle.style, { left: `${(isRtl ? left : left + width) - 5}px`, top: `${top + height - 5}px` });
  }

  handle.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
    handle.style.pointerEvents = "none"; // what lies below it is wanted
    dragged = { block: editor.selection(), target: null };
  });
  handle.addEventListener("pointermove", (event) => {
    if (!dragged) return;
    const item = cellOf(document.elementFromPoint(event.clientX, event.clientY) ?? handle);
    if (item) aim(...item.dataset.place.split(",").map(Number));
  });
  handle.addEventListener("pointerup", () => {
    const { block, target } = dragged ?? {};
    dragged = null;
    handle.style.pointerEvents = "";
    range.hidden = true;
    if (target) fillFrom(block, target);
  });
  handle.addEventListener("mousedown", (event) => event.preventDefault());

  // The part that would be filled: along the axis on which the pointer is farther from the block.
  function aim(row, col) {
    const { block } = dragged;
    const far = { row: Math.max(row - block.endRow + 1, block.row - row, 0), col: Math.max(col - block.endCol + 1, block.col - col, 0) };
    const axis = far.row >= far.col ? "row" : "col", at = axis === "row" ? row : col, end = END[axis];
    const part = at < block[axis] ? { ...block, [axis]: at, [end]: block[axis] } : { ...block, [axis]: block[end], [end]: at + 1 };
    dragged.target = far[axis] ? part : null;
    range.hidden = !dragged.target;
    if (!dragged.target) return;
    const [a, b] = [editor.cellAt(part.row, part.col), editor.cellAt(part.endRow - 1, part.endCol - 1)].map(rectOf);
    const [left, top] = [Math.min(a.left, b.left), a.top];
    Object.assign(range.style, {
      left: `${left}px`, top: `${top}px`,
      width: `${Math.max(a.left + a.width, b.left + b.width) - left}px`, height: `${b.top + b.height - top}px`,
    });
  }

  // The block goes on into a part beside it: each of its rows (or columns) in its series, else in its own pattern.
  function fillFrom(block, target) {
    const axis = target.row === block.row && target.endRow === block.endRow ? "col" : "row", isBack = target[axis] < block[axis];
    const texts = textsOf(block), lanes = axis === "col" ? texts : turned(texts);
    const count = target[END[axis]] - target[axis];
    const filled = lanes.map((lane) => isBack ? goOn([...lane].reverse(), count).reverse() : goOn(lane, count));
    writeBlock(target, axis === "col" ? filled : turned(filled));
    editor.selectBlock({
      row: Math.min(block.row, target.row), endRow: Math.max(block.endRow, target.endRow),
      col: Math.min(block.col, target.col), endCol: Math.max(block.endCol, target.endCol),
    });
  }

  // The first line of what is chosen goes into the others; of a single line it is the one before.
  function copyOn(axis) {
    const block = editor.selection(), source = { ...block }, end = END[axis];
    if (block[end] - block[axis] < 2) {
      source[axis] -= 1;
      if (source[axis] < 0) return;
    }
    source[end] = source[axis] + 1;
    const target = { ...block, [axis]: source[end] };
    target[end] = Math.max(block[end], target[axis] + 1);
    writeBlock(target, tile(textsOf(source), target.endRow - target.row, target.endCol - target.col));
  }

  // Several columns with texts go on into the empty ones after them, a single one into all.
  function right() {
    const block = editor.selection(), columns = turned(textsOf(block));
    const isFull = columns.map((column) => column.some((each) => each !== "")), seeds = isFull.lastIndexOf(true) + 1;
    if (seeds < 2 || seeds === columns.length || isFull.indexOf(false) < seeds) return copyOn("col");
    return fillFrom({ ...block, endCol: block.col + seeds }, { ...block, col: block.col + seeds });
  }

  return { lay, right, down: () => copyOn("row"), isDragged: () => dragged !== null };
}

const turned = (rows) => rows[0].map((_, col) => rows.map((row) => row[col]));

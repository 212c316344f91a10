// The picture with the cells drawn over it: lines to drag, cells to choose. Only while a line is dragged is its new
// place drawn before Python is asked for it.

import { make } from "./elements.js";
import {
  OTHER, SIDES, bounds, clamp, dot, findCell, findDivision, findLine, hold, isInside, minus, point, shifted, span,
} from "./geometry.js";
import { doubtsOf, wordsOf } from "./marks.js";
import { recall, remember } from "./memory.js";
import { text } from "./texts.js";

const GRIP = 6; // pixels of the screen around a line that take hold of it
const EDGE = 16; // pixels of the screen left beside the picture
const SHARPEST = 4; // pixels of the screen for one of the picture, unless a person wants it larger
const READABLE = 44; // pixels of the screen that a row has when one zooms to a cell
const TOGETHER = 100; // cells of a path: the time that a browser takes for one grows faster than its length
const CLOSER = 1.5; // times as large as where all of the table is seen, at least
// On paper, so the same in every theme.
const COLORS = {
  cell: "rgba(20, 96, 176, .75)", spanning: "rgba(214, 120, 0, .16)", header: "rgba(30, 140, 70, .14)",
  doubtful: "rgba(245, 190, 0, .34)", misplaced: "#a85b00", selected: "rgba(30, 120, 230, .28)", line: "#d6006c",
  word: "#7a2fb5", wordGround: "rgba(122, 47, 181, .12)",
};

export function makePicture(editor, pane) {
  const [width, height] = editor.state.size;
  const image = make("img", { alt: "", src: editor.host.picture, draggable: false, width, height });
  const canvas = make("canvas", { ariaHidden: "true" }); // the grid beside it says and does all of it
  const context = canvas.getContext("2d");
  const view = { scale: 1, x: 0, y: 0, fits: "table" }; // fits: what is shown whole, whatever the size of the pane
  let drag = null, pending = null, pointer = null, frame = 0; // pending: dragged, not yet answered
  pane.append(image, canvas);

  // --- what is seen ---

  function resize() {
    const ratio = window.devicePixelRatio || 1, { clientWidth, clientHeight } = pane;
    if (!isSeen()) return;
    canvas.width = Math.round(clientWidth * ratio);
    canvas.height = Math.round(clientHeight * ratio);
    if (view.fits) fit(view.fits);
    else if (view.middle) show(view.middle, view.scale);
    keep();
    if (editor.follows) reveal(editor.current());
    draw();
  }

  const isSeen = () => pane.clientWidth > 0 && pane.clientHeight > 0; // not so behind the other tab

  // A part of the picture stays in the pane.
  function keep() {
    for (const [axis, length, room] of [["x", width, pane.clientWidth], ["y", height, pane.clientHeight]]) {
      const ends = [EDGE, room - length * view.scale - EDGE];
      view[axis] = clamp(view[axis], Math.min(...ends), Math.max(...ends));
    }
    view.middle = [(pane.clientWidth / 2 - view.x) / view.scale, (pane.clientHeight / 2 - view.y) / view.scale];
  }

  // A point of the picture in the middle of the pane.
  function show([px, py], scale) {
    if (!isSeen()) return;
    view.scale = scale;
    view.x = pane.clientWidth / 2 - px * scale;
    view.y = pane.clientHeight / 2 - py * scale;
    view.fits = null;
    keep();
    redraw();
  }

  // What is to be seen of the table, or of the page.
  function boxOf(what) {
    const quads = editor.state.cells.map((cell) => cell.quad).filter(Boolean);
    const [x0, y0, x1, y1] = what === "table" && quads.length ? bounds(quads.flat()) : [0, 0, width, height];
    return [Math.max(0, x0), Math.max(0, y0), Math.min(width, x1), Math.min(height, y1)];
  }

  function scaleFor([x0, y0, x1, y1]) {
    const room = [pane.clientWidth - 2 * EDGE, pane.clientHeight - 2 * EDGE];
    return Math.max(.02, Math.min(room[0] / Math.max(1, x1 - x0), room[1] / Math.max(1, y1 - y0), SHARPEST));
  }

  // All of the table; once more, all of the page.
  function fit(what = view.fits === "table" ? "page" : "table") {
    if (!isSeen()) return;
    const [x0, y0, x1, y1] = boxOf(what), scale = scaleFor([x0, y0, x1, y1]);
    show([(x0 + x1) / 2, (y0 + y1) / 2], scale);
    // What is not as high as the pane stands at its top, beside the first rows of the sheet.
    view.y += Math.min(0, EDGE - (y0 * scale + view.y));
    keep();
    view.fits = what;
  }

  // Around a point of the pane; without one around the chosen cell, where it is seen.
  function zoom(factor, at) {
    if (!isSeen()) return;
    const scale = clamp(view.scale * factor, .02, 40), change = scale / view.scale;
    const [x0, y0] = at ?? middleOf(editor.current()) ?? [pane.clientWidth / 2, pane.clientHeight / 2];
    view.x = x0 - (x0 - view.x) * change;
    view.y = y0 - (y0 - view.y) * change;
    view.scale = scale;
    view.fits = null;
    keep();
    redraw();
  }

  // So large that a row can be read, with the cell in the middle.
  function zoomTo(quad) {
    const heights = editor.state.cells.filter((cell) => cell.quad && cell.rowspan === 1).map((cell) => {
      const box = bounds(cell.quad);
      return box[3] - box[1];
    }).sort((a, b) => a - b);
    const box = bounds(quad), row = heights[heights.length >> 1] || box[3] - box[1] || 1;
    const readable = Math.max(READABLE / row, CLOSER * scaleFor(boxOf("table")));
    show([(box[0] + box[2]) / 2, (box[1] + box[3]) / 2], Math.min(readable, scaleFor(box)));
  }

  function middleOf(cell) {
    if (!cell?.quad) return null;
    const [a, c] = [point(cell.quad, 0), point(cell.quad, 2)];
    const at = [x((a[0] + c[0]) / 2), y((a[1] + c[1]) / 2)];
    return at[0] > 0 && at[1] > 0 && at[0] < pane.clientWidth && at[1] < pane.clientHeight ? at : null;
  }

  // Whether there was a way to go.
  function pan(dx, dy) {
    const before = [view.x, view.y];
    view.x += dx;
    view.y += dy;
    keep();
    const isMoved = view.x !== before[0] || view.y !== before[1];
    if (isMoved) view.fits = null;
    redraw();
    return isMoved;
  }

  function reveal(cell) {
    if (!cell?.quad) return;
    if (editor.follows) zoomTo(cell.quad);
    else showQuad(cell.quad);
  }

  function showQuad(quad) {
    if (!isSeen()) return;
    for (const [axis, size] of [["x", pane.clientWidth], ["y", pane.clientHeight]]) {
      const values = quad.filter((_, index) => index % 2 === (axis === "x" ? 0 : 1)).map((v) => v * view.scale + view[axis]);
      const [low, high] = [Math.min(...values), Math.max(...values)];
      if (high > size && low > 0) view[axis] -= Math.min(high - size + 8, low - 8);
      else if (low < 0) view[axis] += 8 - low;
    }
    keep();
    redraw();
  }

  // --- the mouse ---

  const toPicture = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left - view.x) / view.scale, (event.clientY - box.top - view.y) / view.scale];
  };
  const lineAt = (p) => findLine(editor.state, p, GRIP / view.scale);
  const words = () => wordsOf(editor.state);
  const wordAt = (p) => words().find((word) => word.quad && isInside(p, word.quad));

  function pointAt() {
    const isFree = !editor.tool && !editor.panning, word = isFree && wordAt(pointer);
    const line = isFree && !word ? lineAt(pointer) : null;
    editor.hover = { line, word, cell: line || word ? null : findCell(editor.state, pointer) };
    const free = editor.hover.cell ? "default" : "grab";
    canvas.style.cursor = editor.panning ? "grab" : editor.tool ? "crosshair" : line ? `${line.axis}-resize` : free;
    canvas.title = word ? text("wordHere", word.text) : "";
  }

  // --- a word in no cell, on its way into one ---

  function carry(event) {
    const under = document.elementFromPoint(event.clientX, event.clientY)?.closest("td[data-place], canvas");
    let target = null;
    if (under === canvas) target = findCell(editor.state, pointer);
    else if (under && editor.root.contains(under)) target = editor.cellAt(...under.dataset.place.split(",").map(Number));
    drag.target = target ?? null;
    editor.hover = { word: drag.word, cell: drag.target };
    if (!drag.ghost) {
      drag.ghost = make("div", { className: "ghost", popover: "manual", textContent: drag.word.text, ariaHidden: "true" });
      editor.root.append(drag.ghost);
      drag.ghost.showPopover();
    }
    drag.ghost.style.transform = `translate(${event.clientX + 10}px, ${event.clientY + 12}px)`;
    editor.showDrop(drag.target);
  }

  function letGo() {
    drag?.ghost?.remove();
    if (drag?.word) editor.showDrop(null);
    drag = null;
  }

  canvas.addEventListener("pointermove", (event) => {
    pointer = toPicture(event);
    if (drag?.hit) {
      const way = dot(minus(pointer, drag.from), editor.state.directions[drag.hit.axis]);
      drag.hit.offset = clamp(way, drag.hit.low, drag.hit.high);
    } else if (drag?.pan) {
      pan(event.movementX, event.movementY);
    } else if (drag?.word) {
      carry(event);
    } else if (drag) {
      const cell = findCell(editor.state, pointer);
      if (cell && (cell.row !== editor.active.row || cell.col !== editor.active.col)) editor.select(cell.row, cell.col, true);
    } else {
      pointAt();
      editor.hover.one = editor.oneBorder || event.shiftKey;
    }
    redraw();
  });

  canvas.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    pointer = toPicture(event);
    canvas.setPointerCapture(event.pointerId);
    if (event.button === 1 || (event.button === 0 && editor.panning)) { drag = { pan: true }; return; }
    if (event.button !== 0) return;
    const cell = findCell(editor.state, pointer), word = wordAt(pointer);
    if (!editor.tool && word) { drag = { word }; return; }
    if (editor.tool) {
      const axis = editor.tool, found = findDivision(editor.state, axis, pointer);
      const at = event.shiftKey && cell ? span(cell, OTHER[axis])[0] : null;
      if (found) editor.step(() => ({ do: "divide", axis, ...found, at }));
      return;
    }
    const line = lineAt(pointer);
    if (line && !event.ctrlKey) drag = { from: pointer, hit: hold(editor.state, line, editor.oneBorder || event.shiftKey) };
    else drag = { pan: !cell };
    if (!drag.hit && cell) editor.select(cell.row, cell.col, event.shiftKey);
  });

  canvas.addEventListener("pointerup", (event) => {
    if (event.button === 2) return; // a menu is open
    const hit = drag?.hit, word = drag?.word, target = drag?.target;
    letGo();
    if (word && target) editor.placeWord(word, target);
    if (hit && Math.abs(hit.offset) * view.scale > .5) {
      pending = hit;
      editor.step(() => ({ do: "move_line", axis: hit.axis, line: hit.line, offset: hit.offset, at: hit.one ? hit.at : null }))
        .then(() => { pending = null; redraw(); });
    }
    editor.focus();
    redraw();
  });

  canvas.addEventListener("pointercancel", () => { letGo(); redraw(); });
  canvas.addEventListener("contextmenu", (event) => {
    event.preventDefault();
    pointer = toPicture(event);
    const cell = findCell(editor.state, pointer), word = wordAt(pointer);
    editor.hover = null;
    if (cell && !editor.isSelected(cell, editor.selection())) editor.select(cell.row, cell.col);
    editor.openMenu(event, word, { row: findDivision(editor.state, "row", pointer), col: findDivision(editor.state, "col", pointer) });
  });
  canvas.addEventListener("pointerleave", () => { if (!drag) { editor.hover = pointer = null; redraw(); } });
  canvas.addEventListener("dblclick", () => {
    if (!editor.tool && pointer && !lineAt(pointer) && findCell(editor.state, pointer)) editor.edit();
  });
  // In a notebook the wheel belongs to its page, until the editor has the focus.
  pane.addEventListener("wheel", (event) => {
    const box = pane.getBoundingClientRect(), isZoom = event.ctrlKey || event.metaKey;
    if (editor.isEmbedded && !isZoom && !editor.hasFocus()) return;
    const unit = [1, 16, pane.clientHeight][event.deltaMode] ?? 1, [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    if (isZoom) zoom(Math.exp(-dy / 300), [event.clientX - box.left, event.clientY - box.top]);
    const isMoved = !isZoom && (event.shiftKey ? pan(-(dx || dy), 0) : pan(-dx, -dy));
    if (isZoom || isMoved || !editor.isEmbedded) event.preventDefault();
  }, { passive: false });

  // --- drawing ---

  const x = (value) => value * view.scale + view.x, y = (value) => value * view.scale + view.y;

  function redraw() { frame ||= requestAnimationFrame(draw); }

  function draw() {
    cancelAnimationFrame(frame);
    frame = 0;
    const ratio = window.devicePixelRatio || 1, s = editor.selection(), { state, hover } = editor;
    image.style.transform = `translate(${view.x}px, ${view.y}px) scale(${view.scale})`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    const moved = drag?.hit ?? (pending?.sides ? pending : null);
    const quadOf = (cell) => moved?.sides.has(cell) ? shifted(state, cell, moved) : cell.quad;
    const { layers, paths, misplaced } = moved ? layersOf(quadOf) : layersNow();
    for (const [name, quads] of Object.entries(layers)) fill(quads, COLORS[name]);
    if (state.cells.length > 1) fill(editor.inside(s).filter((cell) => cell.quad).map(quadOf), COLORS.selected);
    context.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y);
    Object.assign(context, { strokeStyle: COLORS.cell, lineWidth: 1 / view.scale });
    for (const path of paths) context.stroke(path);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.setLineDash([5, 3]);
    stroke(misplaced.map((quad) => inset(quad, 2.5 / view.scale)), COLORS.misplaced, 2);
    context.setLineDash([]);
    drawWords(hover?.word);
    if (hover?.cell?.quad) stroke([hover.cell.quad], COLORS.cell, 2.5);
    const current = editor.current();
    if (current?.quad) stroke([quadOf(current)], COLORS.cell, 2.5);
    if (moved) strokeSides(moved.sides, quadOf);
    else if (hover?.line) strokeSides(hold(state, hover.line, hover.one).sides, quadOf);
    if (editor.tool && pointer) drawDivision();
  }

  // What is drawn of the cells, whichever are chosen: the same until a step, or until something else is doubtful.
  let drawn = {};
  function layersNow() {
    const { state } = editor, known = editor.proof?.known;
    if (drawn.state !== state || drawn.known !== known) drawn = { state, known, ...layersOf((cell) => cell.quad) };
    return drawn;
  }

  function layersOf(quadOf) {
    const layers = { spanning: [], header: [], doubtful: [] }, all = [], misplaced = [];
    for (const cell of editor.state.cells) {
      if (!cell.quad) continue;
      const quad = quadOf(cell), doubts = doubtsOf(editor, cell);
      all.push(quad);
      if (doubts.structure !== null) misplaced.push(quad);
      if (doubts.text !== null) layers.doubtful.push(quad);
      else if (cell.header) layers.header.push(quad);
      else if (cell.rowspan * cell.colspan > 1) layers.spanning.push(quad);
    }
    const paths = [];
    for (let begin = 0; begin < all.length; begin += TOGETHER) paths.push(pathOf(all.slice(begin, begin + TOGETHER)));
    return { layers, paths, misplaced };
  }

  function pathOf(quads) {
    const path = new Path2D();
    for (const q of quads) {
      path.moveTo(q[0], q[1]);
      for (let at = 2; at < 8; at += 2) path.lineTo(q[at], q[at + 1]);
      path.closePath();
    }
    return path;
  }

  function paint(quads, finish) {
    for (let begin = 0; begin < quads.length; begin += TOGETHER) {
      context.beginPath();
      for (const q of quads.slice(begin, begin + TOGETHER)) {
        context.moveTo(x(q[0]), y(q[1]));
        context.lineTo(x(q[2]), y(q[3]));
        context.lineTo(x(q[4]), y(q[5]));
        context.lineTo(x(q[6]), y(q[7]));
        context.closePath();
      }
      finish();
    }
  }
  function fill(quads, color) { context.fillStyle = color; paint(quads, () => context.fill()); }
  function stroke(quads, color, lineWidth) {
    Object.assign(context, { strokeStyle: color, lineWidth });
    paint(quads, () => context.stroke());
  }

  // A quad with its corners moved towards its middle.
  function inset(quad, by) {
    const [x0, y0, x1, y1] = bounds(quad), middle = [(x0 + x1) / 2, (y0 + y1) / 2];
    return quad.map((value, index) => value + by * Math.sign(middle[index % 2] - value));
  }

  function drawWords(pointed) {
    const quads = words().map((word) => word.quad).filter(Boolean);
    if (!quads.length) return;
    fill(quads, COLORS.wordGround);
    context.setLineDash([2, 2]);
    stroke(quads, COLORS.word, 1.5);
    context.setLineDash([]);
    const now = pointed && words().find((word) => word.index === pointed.index);
    if (now?.quad) stroke([now.quad], COLORS.word, 3);
  }

  function strokeSides(sides, quadOf) {
    context.beginPath();
    for (const [cell, [a, b]] of sides) {
      const quad = quadOf(cell);
      context.moveTo(x(quad[2 * a]), y(quad[2 * a + 1]));
      context.lineTo(x(quad[2 * b]), y(quad[2 * b + 1]));
    }
    Object.assign(context, { strokeStyle: COLORS.line, lineWidth: 2.5 });
    context.stroke();
  }

  function drawDivision() {
    const axis = editor.tool, found = findDivision(editor.state, axis, pointer);
    if (!found) return;
    context.beginPath();
    for (const cell of editor.state.cells) {
      const [index, end] = span(cell, axis);
      if (!cell.quad || index !== found.index || end - index !== 1) continue;
      for (const corner of [0, 1]) {
        const [from, to] = [point(cell.quad, SIDES[axis][0][corner]), point(cell.quad, SIDES[axis][1][corner])];
        const p = [from[0] + found.fraction * (to[0] - from[0]), from[1] + found.fraction * (to[1] - from[1])];
        context[corner ? "lineTo" : "moveTo"](x(p[0]), y(p[1]));
      }
    }
    Object.assign(context, { strokeStyle: COLORS.line, lineWidth: 2 });
    context.stroke();
  }

  // Where one was in this table; else all of the table.
  const stored = `view-${editor.state.name}`;
  const known = recall(stored, null, "session");
  if (known?.scale > 0 && known.middle?.every(Number.isFinite)) Object.assign(view, { scale: clamp(known.scale, .02, 40), middle: known.middle, fits: known.fits });
  const observer = new ResizeObserver(resize);
  observer.observe(pane);
  return {
    image, fit, zoom, reveal, redraw, showQuad,
    zoomToCell() { const cell = editor.current(); if (cell?.quad) zoomTo(cell.quad); },
    // What was pointed at or dragged is no longer there after a step.
    forget() {
      editor.hover = null;
      if (drag?.hit || drag?.word) letGo();
    },
    letGo,
    remember: () => remember(stored, { scale: view.scale, middle: view.middle, fits: view.fits }, "session"),
    destroy() {
      observer.disconnect();
      cancelAnimationFrame(frame);
    },
  };
}

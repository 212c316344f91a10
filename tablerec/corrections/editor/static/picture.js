// The picture with the cells drawn over it: lines to drag, cells to choose. Only while a line is dragged is its new
// place drawn before Python is asked for it.

import { make } from "./elements.js";
import { OTHER, SIDES, clamp, dot, findCell, findDivision, findLine, hold, minus, point, shifted, span } from "./geometry.js";

const GRIP = 6; // pixels of the screen around a line that take hold of it
const COLORS = {
  cell: "rgba(20, 96, 176, .75)", spanning: "rgba(214, 120, 0, .16)", header: "rgba(30, 140, 70, .14)",
  doubtful: "rgba(245, 190, 0, .34)", selected: "rgba(30, 120, 230, .28)", line: "#d6006c",
};

export function makePicture(editor, pane) {
  const [width, height] = editor.state.size;
  const image = make("img", { alt: "", src: editor.host.picture, draggable: false, width, height });
  const canvas = make("canvas", { ariaHidden: "true" }); // the grid beside it says and does all of it
  const context = canvas.getContext("2d");
  const view = { scale: 1, x: 0, y: 0, isWhole: true };
  let drag = null, pending = null, pointer = null, frame = 0; // pending: dragged, not yet answered
  pane.append(image, canvas);

  // --- what is seen ---

  function resize() {
    const ratio = window.devicePixelRatio || 1, { clientWidth, clientHeight } = pane;
    canvas.width = Math.max(1, Math.round(clientWidth * ratio));
    canvas.height = Math.max(1, Math.round(clientHeight * ratio));
    if (view.isWhole) fit();
    draw();
  }

  function fit() {
    view.scale = Math.min(pane.clientWidth / width, pane.clientHeight / height) || 1;
    view.x = (pane.clientWidth - width * view.scale) / 2;
    view.y = Math.min((pane.clientHeight - height * view.scale) / 2, 12);
    view.isWhole = true;
    redraw();
  }

  // Around a point of the pane; without one around the chosen cell, where it is seen.
  function zoom(factor, at) {
    const scale = clamp(view.scale * factor, .02, 40), change = scale / view.scale;
    const [x0, y0] = at ?? middleOf(editor.current()) ?? [pane.clientWidth / 2, pane.clientHeight / 2];
    view.x = x0 - (x0 - view.x) * change;
    view.y = y0 - (y0 - view.y) * change;
    view.scale = scale;
    view.isWhole = false;
    redraw();
  }

  function middleOf(cell) {
    if (!cell?.quad) return null;
    const [a, c] = [point(cell.quad, 0), point(cell.quad, 2)];
    const at = [x((a[0] + c[0]) / 2), y((a[1] + c[1]) / 2)];
    return at[0] > 0 && at[1] > 0 && at[0] < pane.clientWidth && at[1] < pane.clientHeight ? at : null;
  }

  function pan(dx, dy) {
    view.x += dx;
    view.y += dy;
    view.isWhole = false;
    redraw();
  }

  function reveal(cell) {
    if (!cell?.quad) return;
    for (const [axis, size] of [["x", pane.clientWidth], ["y", pane.clientHeight]]) {
      const values = cell.quad.filter((_, index) => index % 2 === (axis === "x" ? 0 : 1)).map((v) => v * view.scale + view[axis]);
      const [low, high] = [Math.min(...values), Math.max(...values)];
      if (high > size && low > 0) view[axis] -= Math.min(high - size + 8, low - 8);
      else if (low < 0) view[axis] += 8 - low;
    }
    redraw();
  }

  // --- the mouse ---

  const toPicture = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left - view.x) / view.scale, (event.clientY - box.top - view.y) / view.scale];
  };
  const lineAt = (p) => findLine(editor.state, p, GRIP / view.scale);

  function pointAt() {
    const line = editor.tool || editor.panning ? null : lineAt(pointer);
    editor.hover = { line, cell: line ? null : findCell(editor.state, pointer) };
    const free = editor.hover.cell || line ? "default" : "grab";
    canvas.style.cursor = editor.panning ? "grab" : editor.tool ? "crosshair" : line ? `${line.axis}-resize` : free;
  }

  canvas.addEventListener("pointermove", (event) => {
    pointer = toPicture(event);
    if (drag?.hit) {
      const way = dot(minus(pointer, drag.from), editor.state.directions[drag.hit.axis]);
      drag.hit.offset = clamp(way, drag.hit.low, drag.hit.high);
    } else if (drag?.pan) {
      pan(event.movementX, event.movementY);
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
    const cell = findCell(editor.state, pointer);
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

  canvas.addEventListener("pointerup", () => {
    const hit = drag?.hit;
    drag = null;
    if (hit && Math.abs(hit.offset) * view.scale > .5) {
      pending = hit;
      editor.step(() => ({ do: "move_line", axis: hit.axis, line: hit.line, offset: hit.offset, at: hit.one ? hit.at : null }))
        .then(() => { pending = null; redraw(); });
    }
    editor.focus();
    redraw();
  });

  canvas.addEventListener("pointerleave", () => { if (!drag) { editor.hover = pointer = null; redraw(); } });
  canvas.addEventListener("dblclick", () => {
    if (!editor.tool && pointer && !lineAt(pointer) && findCell(editor.state, pointer)) editor.edit();
  });
  pane.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = pane.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey) zoom(Math.exp(-event.deltaY / 300), [event.clientX - box.left, event.clientY - box.top]);
    else pan(-(event.shiftKey ? event.deltaY : event.deltaX), event.shiftKey ? 0 : -event.deltaY);
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
    const layers = { spanning: [], header: [], doubtful: [], selected: [] }, all = [];
    const quadOf = (cell) => moved?.sides.has(cell) ? shifted(state, cell, moved) : cell.quad;
    for (const cell of state.cells) {
      if (!cell.quad) continue;
      const quad = quadOf(cell);
      all.push(quad);
      if (editor.isSelected(cell, s)) layers.selected.push(quad);
      if (editor.isDoubtful(cell)) layers.doubtful.push(quad);
      else if (cell.header) layers.header.push(quad);
      else if (cell.rowspan * cell.colspan > 1) layers.spanning.push(quad);
    }
    for (const [name, quads] of Object.entries(layers)) fill(quads, COLORS[name]);
    stroke(all, COLORS.cell, 1);
    if (hover?.cell?.quad) stroke([hover.cell.quad], COLORS.cell, 2.5);
    const current = editor.current();
    if (current?.quad) stroke([quadOf(current)], COLORS.cell, 2.5);
    if (moved) strokeSides(moved.sides, quadOf);
    else if (hover?.line) strokeSides(hold(state, hover.line, hover.one).sides, quadOf);
    if (editor.tool && pointer) drawDivision();
  }

  // In parts: the time that a browser takes for one path grows faster than its length.
  function paint(quads, finish) {
    for (let begin = 0; begin < quads.length; begin += 100) {
      context.beginPath();
      for (const q of quads.slice(begin, begin + 100)) {
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

  const observer = new ResizeObserver(resize);
  observer.observe(pane);
  return {
    fit, zoom, reveal, redraw,
    // What was pointed at or dragged is no longer there after a step.
    forget() {
      editor.hover = null;
      if (drag?.hit) drag = null;
    },
    letGo() { drag = null; },
    destroy() {
      observer.disconnect();
      cancelAnimationFrame(frame);
    },
  };
}

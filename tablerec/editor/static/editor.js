// The table editor: a picture with the cells drawn over it, and the table itself beside it.
//
// One module without dependencies, used by `tablerec review` and by the notebook's widget. It draws and asks; what a
// step does to the table is decided in Python (tablerec/editor), which answers with the new state. Only while a line
// is dragged is its new place drawn before it is asked for.
//
//   mount(element, host) -> { update(state), destroy(), idle() }
//   host: { state, picture (URL), send(step) -> Promise of the new state, next?() }
//
// A step is { do: "move_line", axis: "row", line: 2, offset: 3.5, ... }, see tablerec/editor/operations.py.

const GRIP = 6; // pixels of the screen around a line that take hold of it
const THINNEST = 1; // pixels of the picture that a cell keeps, as in postprocess/editing.py
const SIDES = { row: [[0, 1], [3, 2]], col: [[0, 3], [1, 2]] }; // corners of the first and the last side
const OTHER = { row: "col", col: "row" };
const COLORS = {
  cell: "rgba(20, 96, 176, .75)", spanning: "rgba(214, 120, 0, .16)", header: "rgba(30, 140, 70, .14)",
  doubtful: "rgba(245, 190, 0, .34)", selected: "rgba(30, 120, 230, .28)", line: "#d6006c",
};

const KEYS = [
  ["Arrows, Home, End", "go to a cell"], ["Shift + arrows", "select several cells"],
  ["Enter or F2", "edit the text; Enter keeps it, Shift+Enter starts a line, Esc leaves it"],
  ["Alt + arrows", "move the lower or right line of the cell by a pixel; with Shift by ten"],
  ["O", "let Alt + arrows move the upper and left line instead"],
  ["B", "move one border only, not the whole line (Shift while dragging)"],
  ["R, C", "a line through the row, the column; with Shift through this cell only"],
  ["J, Shift + J", "take out the line below, the line to the right; of several selected rows all lines between"],
  ["M, S", "merge the selected cells, split a merged cell"],
  ["A, Shift + A", "add a row below, a column at the right"],
  ["X, Shift + X", "delete the selected rows, columns with their texts"],
  ["H, Shift + H", "header rows down to here, columns of row names up to here; again: none"],
  ["G", "heading of a section"], ["D, Shift + D", "next, previous doubtful cell"],
  ["Ctrl + Z, Ctrl + Y", "undo, redo"], ["Ctrl + S", "save workbook, page and label"], ["N", "this is no table"],
  ["Ctrl + Enter", "save and go to the next table"], ["+, −, 0", "larger, smaller, whole picture"], ["?", "this list"],
];

export function mount(root, host) {
  let state = host.state;
  let anchor = { row: 0, col: 0 }; // where a selection began
  let active = { row: 0, col: 0 }; // where it ends
  let oneBorder = false, otherSide = false, tool = null; // tool: axis of the line to draw
  let hover = null, drag = null, pending = null, pointer = null; // pending: dragged, not yet answered
  const items = new Map(); // place -> element of the grid
  let chain = Promise.resolve(), frame = 0;
  const view = { scale: 1, x: 0, y: 0, fitted: false };

  // --- elements ---

  root.classList.add("tablerec-editor");
  root.dataset.lmSuppressShortcuts = "true"; // JupyterLab's own shortcuts are letters too
  const bar = make("div", { className: "bar", role: "toolbar", ariaLabel: "Tools" });
  const main = make("div", { className: "main" });
  const pane = make("div", { className: "picture" });
  const [width, height] = host.state.size;
  const image = make("img", { alt: "", src: host.picture, draggable: false, width, height });
  const canvas = make("canvas", { ariaHidden: "true" }); // the grid beside it says and does all of it
  const sheet = make("div", { className: "sheet" });
  const grid = make("table", { role: "grid", ariaLabel: "Cells of the table", ariaMultiSelectable: "true" });
  const status = make("div", { className: "status", role: "status" });
  const help = makeHelp();
  pane.append(image, canvas);
  sheet.append(grid);
  main.append(pane, sheet);
  root.replaceChildren(bar, main, status, help);
  const context = canvas.getContext("2d");
  const buttons = {};
  makeBar();

  // --- the table ---

  const cellAt = (row, col) => state.cells.find(
    (c) => c.row <= row && row < c.row + c.rowspan && c.col <= col && col < c.col + c.colspan);
  const span = (cell, axis) => axis === "row" ? [cell.row, cell.row + cell.rowspan] : [cell.col, cell.col + cell.colspan];
  const isDoubtful = (cell) => cell.confidence !== null && cell.confidence < state.mark_below;
  const point = (quad, index) => [quad[2 * index], quad[2 * index + 1]];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1];
  const minus = (a, b) => [a[0] - b[0], a[1] - b[1]];

  function selection() {
    let [row, endRow] = [Math.min(anchor.row, active.row), Math.max(anchor.row, active.row) + 1];
    let [col, endCol] = [Math.min(anchor.col, active.col), Math.max(anchor.col, active.col) + 1];
    for (let grown = true; grown;) { // until it holds whole cells
      grown = false;
      for (const c of state.cells) {
        if (c.row >= endRow || c.row + c.rowspan <= row || c.col >= endCol || c.col + c.colspan <= col) continue;
        const wider = [Math.min(row, c.row), Math.max(endRow, c.row + c.rowspan),
          Math.min(col, c.col), Math.max(endCol, c.col + c.colspan)];
        grown ||= wider[0] < row || wider[1] > endRow || wider[2] < col || wider[3] > endCol;
        [row, endRow, col, endCol] = wider;
      }
    }
    return { row, endRow, col, endCol };
  }

  const isSelected = (cell, s) => cell.row >= s.row && cell.row < s.endRow && cell.col >= s.col && cell.col < s.endCol;

  // --- steps ---

  // The step is made when its turn comes, so that it speaks of the table as it is then.
  function step(makeStep) {
    chain = chain.then(async () => {
      const asked = makeStep();
      if (!asked) return;
      try {
        update(await host.send({ ...asked, version: state.version }));
        if (asked.do === "save") {
          if (state.no_label) say(`Saved: workbook and page, but nothing can learn from it: ${state.no_label}.`, true);
          else say("Saved: workbook, page and label.");
        }
        if (asked.do === "reject") say("Marked as no table: nothing is saved of it.");
      } catch (error) {
        if (error.table) update(error.table);
        say(error.message, true);
      }
    });
    return chain;
  }

  function update(next) {
    if (next.version !== state.version) {
      hover = null;
      if (drag?.hit) drag = null;
    }
    state = next;
    for (const place of [anchor, active]) {
      place.row = clamp(place.row, 0, state.n_rows - 1);
      place.col = clamp(place.col, 0, state.n_cols - 1);
    }
    show();
  }

  function show() {
    fillGrid();
    showSelection();
    root.dataset.version = state.version;
  }

  const commands = {
    undo: () => ({ do: "undo" }),
    redo: () => ({ do: "redo" }),
    save: () => ({ do: "save" }),
    reject: () => ({ do: "reject" }),
    merge: () => {
      const s = selection();
      return { do: "merge", row: s.row, col: s.col, end_row: s.endRow, end_col: s.endCol };
    },
    split: () => ({ do: "split", row: active.row, col: active.col }),
    divide: (axis, one) => {
      const at = axis === "row" ? active.col : active.row;
      return { do: "divide", axis, index: active[axis], fraction: .5, at: one ? at : null };
    },
    join: (axis) => {
      const s = selection(), [first, end] = axis === "row" ? [s.row, s.endRow] : [s.col, s.endCol];
      const line = end - first > 1 && anchor[axis] !== active[axis] ? end - 1 : end;
      return { do: "remove_line", axis, line };
    },
    extend: (axis, atEnd) => ({ do: "extend", axis, at_end: atEnd }),
    remove: (axis, index) => ({ do: "remove", axis, index }),
    headers: (axis) => {
      const s = selection(), end = axis === "row" ? s.endRow : s.endCol;
      const now = { row: state.n_header_rows, col: state.n_header_cols };
      now[axis] = now[axis] === end ? 0 : end;
      return { do: "set_headers", n_rows: now.row, n_cols: now.col };
    },
    section: () => {
      const cell = cellAt(active.row, active.col);
      return { do: "set_header", row: cell.row, col: cell.col, kind: cell.header === "section" ? null : "section" };
    },
    move: (axis, offset) => {
      const [first, end] = span(cellAt(active.row, active.col), axis), across = OTHER[axis];
      return { do: "move_line", axis, line: otherSide ? first : end, offset, at: oneBorder ? active[across] : null };
    },
  };

  async function mergeSelected() {
    const { row, col } = selection();
    await step(commands.merge);
    active = { row, col };
    anchor = { row, col };
    showSelection();
  }

  async function join(axis) {
    const s = selection(), [first, end] = axis === "row" ? [s.row, s.endRow] : [s.col, s.endCol];
    const several = anchor[axis] !== active[axis];
    await step(() => commands.join(axis));
    // After each line that goes the selection is one row shorter.
    for (let line = end - 2; several && line > first; line--) await step(() => ({ do: "remove_line", axis, line }));
    if (several) { active[axis] = anchor[axis] = first; showSelection(); }
  }

  async function removeSelected(axis) {
    const s = selection(), [first, end] = axis === "row" ? [s.row, s.endRow] : [s.col, s.endCol];
    for (let index = end - 1; index >= first; index--) await step(() => commands.remove(axis, index));
  }

  async function saveAndGoOn() {
    await step(commands.save);
    if (state.verdict === "saved") host.next?.();
  }

  // --- tools ---

  function makeBar() {
    const groups = [
      [["undo", "↶", "Undo (Ctrl+Z)", () => step(commands.undo)], ["redo", "↷", "Redo (Ctrl+Y)", () => step(commands.redo)]],
      [["rowLine", "Row line", "Draw a line through a row (R)", () => arm("row")],
        ["colLine", "Column line", "Draw a line through a column (C)", () => arm("col")],
        ["oneBorder", "One border", "Move one border only, not the whole line (B)", toggleOneBorder]],
      [["joinRows", "Join rows", "Take out the line below (J)", () => join("row")],
        ["joinCols", "Join columns", "Take out the line to the right (Shift+J)", () => join("col")],
        ["merge", "Merge", "Merge the selected cells (M)", mergeSelected],
        ["split", "Split", "Split a merged cell (S)", () => step(commands.split)]],
      [["top", "＋↑", "Add a row above the table", () => step(() => commands.extend("row", false))],
        ["bottom", "＋↓", "Add a row below the table (A)", () => step(() => commands.extend("row", true))],
        ["left", "＋←", "Add a column left of the table", () => step(() => commands.extend("col", false))],
        ["right", "＋→", "Add a column right of the table (Shift+A)", () => step(() => commands.extend("col", true))],
        ["dropRows", "Delete row", "Delete the selected rows (X)", () => removeSelected("row")],
        ["dropCols", "Delete column", "Delete the selected columns (Shift+X)", () => removeSelected("col")]],
      [["headerRows", "Header rows", "Rows down to here are headers; again: none (H)", () => step(() => commands.headers("row"))],
        ["headerCols", "Row names", "Columns up to here name their rows; again: none (Shift+H)", () => step(() => commands.headers("col"))],
        ["section", "Section", "The cell heads a section (G)", () => step(commands.section)]],
      [["doubt", "Next doubt", "Go to the next doubtful cell (D)", () => goToDoubt(1)]],
      [["out", "−", "Smaller (−)", () => zoom(1 / 1.25)], ["fit", "⤢", "Whole picture (0)", fit], ["in", "+", "Larger (+)", () => zoom(1.25)],
        ["help", "?", "Keys (?)", () => help.showModal()]],
      [["reject", "No table", "This is no table: nothing is saved of it (N)", () => step(commands.reject)],
        ["save", "Save", "Save workbook, page and label (Ctrl+S)", () => step(commands.save)]],
    ];
    for (const group of groups) {
      const box = make("div", { className: "group" });
      for (const [name, label, title, action] of group) {
        const button = make("button", { type: "button", textContent: label, title });
        if (!/[a-z]/.test(label)) button.ariaLabel = title; // a sign has no name
        button.dataset.tool = name;
        button.addEventListener("click", action);
        buttons[name] = button;
        box.append(button);
      }
      bar.append(box);
    }
  }

  function showTools() {
    const s = selection(), cell = cellAt(active.row, active.col);
    const several = state.cells.filter((each) => isSelected(each, s)).length > 1;
    const disabled = {
      undo: !state.can_undo, redo: !state.can_redo, merge: !several,
      split: !cell || cell.rowspan * cell.colspan === 1, doubt: !state.cells.some(isDoubtful),
      dropRows: state.n_rows < 2, dropCols: state.n_cols < 2,
    };
    for (const [name, off] of Object.entries(disabled)) buttons[name].disabled = off;
    buttons.oneBorder.ariaPressed = String(oneBorder);
    buttons.rowLine.ariaPressed = String(tool === "row");
    buttons.colLine.ariaPressed = String(tool === "col");
    buttons.save.classList.toggle("done", state.verdict === "saved");
    buttons.save.textContent = state.verdict === "saved" ? "Saved" : "Save";
    buttons.reject.ariaPressed = String(state.verdict === "rejected");
  }

  function toggleOneBorder() { oneBorder = !oneBorder; showTools(); }

  function arm(axis) {
    tool = tool === axis ? null : axis;
    const word = axis === "row" ? "row" : "column";
    if (tool) say(`Click where the line belongs, with Shift through one cell; Enter: middle of the ${word}; Esc ends.`);
    showTools();
    focusCell();
    redraw();
  }

  function say(text, isError = false) {
    status.textContent = text;
    status.classList.toggle("error", isError);
  }

  function describe() {
    const cell = cellAt(active.row, active.col);
    if (!cell) return say("The table has no cells.");
    const size = cell.rowspan * cell.colspan > 1 ? `, covers ${cell.rowspan} × ${cell.colspan}` : "";
    const scores = [["sure", cell.confidence], ["read", cell.reader], ["found", cell.detector]]
      .filter(([, value]) => value !== null).map(([name, value]) => `${name} ${value.toFixed(2)}`).join(", ");
    const side = otherSide ? " · Alt+arrows move the upper and left line" : "";
    const kind = { column: "column header", row: "row name", section: "section" }[cell.header];
    say(`${state.n_rows} × ${state.n_cols} · row ${cell.row + 1}, column ${cell.col + 1}${size}`
      + `${kind ? ` · ${kind}` : ""}${scores ? ` · ${scores}` : ""}${side}`);
  }

  // --- the grid ---

  function fillGrid() {
    const hadFocus = grid.contains(root.ownerDocument.activeElement);
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
      const item = make("td", { rowSpan: cell.rowspan, colSpan: cell.colspan, textContent: cell.text, tabIndex: -1 });
      item.dataset.place = `${cell.row},${cell.col}`;
      items.set(item.dataset.place, item);
      item.setAttribute("aria-selected", "false");
      if (cell.header) item.classList.add("header", cell.header);
      if (isDoubtful(cell)) {
        item.classList.add("doubtful");
        item.title = `doubtful: ${cell.confidence.toFixed(2)}`;
      }
      rows[cell.row].append(item);
    }
    grid.replaceChildren(head, body);
    if (hadFocus) focusCell();
  }

  const itemOf = (cell) => cell && items.get(`${cell.row},${cell.col}`);

  function showSelection() {
    const s = selection(), current = cellAt(active.row, active.col);
    for (const item of grid.querySelectorAll('[aria-selected="true"]')) item.setAttribute("aria-selected", "false");
    for (const item of grid.querySelectorAll('[tabindex="0"]')) item.tabIndex = -1;
    for (const cell of state.cells) if (isSelected(cell, s)) itemOf(cell)?.setAttribute("aria-selected", "true");
    const item = itemOf(current);
    if (item) item.tabIndex = 0;
    showTools();
    describe();
    redraw();
  }

  function select(row, col, extend = false) {
    active = { row: clamp(row, 0, state.n_rows - 1), col: clamp(col, 0, state.n_cols - 1) };
    if (!extend) anchor = { ...active };
    showSelection();
    reveal(cellAt(active.row, active.col));
    focusCell();
  }

  function focusCell() {
    itemOf(cellAt(active.row, active.col))?.focus({ preventScroll: false });
  }

  function go(axis, direction, extend) {
    const cell = cellAt(active.row, active.col);
    if (!cell) return;
    const [first, end] = span(cell, axis), next = { ...active };
    next[axis] = direction > 0 ? end : first - 1;
    if (next[axis] < 0 || next[axis] >= (axis === "row" ? state.n_rows : state.n_cols)) return;
    select(next.row, next.col, extend);
  }

  function goToDoubt(direction) {
    const doubtful = state.cells.filter(isDoubtful);
    const order = (cell) => cell.row * state.n_cols + cell.col, here = order(active);
    const ahead = doubtful.filter((cell) => direction > 0 ? order(cell) > here : order(cell) < here);
    const found = direction > 0 ? ahead[0] ?? doubtful[0] : ahead.at(-1) ?? doubtful.at(-1);
    if (found) select(found.row, found.col);
  }

  function edit() {
    const cell = cellAt(active.row, active.col), item = itemOf(cell);
    if (!item || item.querySelector("textarea")) return;
    const box = make("textarea", { value: cell.text, rows: Math.max(1, cell.text.split("\n").length), spellcheck: false });
    box.setAttribute("aria-label", `Text of row ${cell.row + 1}, column ${cell.col + 1}`);
    box.style.minWidth = `${item.clientWidth - 12}px`;
    let open = true;
    const close = (keep) => {
      if (!open) return;
      open = false;
      const text = box.value;
      item.textContent = keep ? text : cell.text;
      if (keep) step(() => ({ do: "set_text", row: cell.row, col: cell.col, text }));
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
      focusCell();
      if (event.key === "Enter") go("row", 1, false);
      if (event.key === "Tab") go("col", event.shiftKey ? -1 : 1, false);
    });
    item.replaceChildren(box);
    box.focus();
    box.select();
  }

  grid.addEventListener("mousedown", (event) => {
    const handle = event.target.closest(".handle"), item = event.target.closest("[data-place]");
    if (event.target.tagName === "TEXTAREA") return;
    if (handle) {
      const isRow = handle.dataset.row !== undefined, index = Number(isRow ? handle.dataset.row : handle.dataset.col);
      if (!event.shiftKey) anchor = isRow ? { row: index, col: 0 } : { row: 0, col: index };
      event.preventDefault();
      select(isRow ? index : state.n_rows - 1, isRow ? state.n_cols - 1 : index, true);
    } else if (item) {
      event.preventDefault();
      const [row, col] = item.dataset.place.split(",").map(Number);
      select(row, col, event.shiftKey);
    }
  });
  grid.addEventListener("mouseover", (event) => {
    const item = event.target.closest("[data-place]");
    if (!item) return;
    const [row, col] = item.dataset.place.split(",").map(Number);
    if (event.buttons === 1) select(row, col, true);
    else { hover = { cell: cellAt(row, col) }; redraw(); }
  });
  grid.addEventListener("dblclick", edit);

  // --- keys ---

  const LETTERS = {
    m: mergeSelected, s: () => step(commands.split), b: toggleOneBorder,
    o: () => { otherSide = !otherSide; describe(); redraw(); },
    g: () => step(commands.section), n: () => step(commands.reject), "?": () => help.showModal(), "+": () => zoom(1.25), "=": () => zoom(1.25),
    "-": () => zoom(1 / 1.25), 0: fit,
    r: (shift) => step(() => commands.divide("row", shift)), c: (shift) => step(() => commands.divide("col", shift)),
    j: (shift) => join(shift ? "col" : "row"), a: (shift) => step(() => commands.extend(shift ? "col" : "row", true)),
    x: (shift) => removeSelected(shift ? "col" : "row"), h: (shift) => step(() => commands.headers(shift ? "col" : "row")),
    d: (shift) => goToDoubt(shift ? -1 : 1),
  };
  const ARROWS = { ArrowUp: ["row", -1], ArrowDown: ["row", 1], ArrowLeft: ["col", -1], ArrowRight: ["col", 1] };

  root.addEventListener("keydown", (event) => {
    if (help.open) return;
    const control = event.ctrlKey || event.metaKey, key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const global = control && { z: event.shiftKey ? commands.redo : commands.undo, y: commands.redo, s: commands.save }[key];
    if (global) step(global);
    else if (control && key === "Enter") saveAndGoOn();
    else if (control || !grid.contains(event.target)) return;
    else if (ARROWS[key] && event.altKey) {
      const [axis, direction] = ARROWS[key];
      step(() => commands.move(axis, direction * (event.shiftKey ? 10 : 1)));
    } else if (ARROWS[key]) go(...ARROWS[key], event.shiftKey);
    else if (key === "Home") select(active.row, 0, event.shiftKey);
    else if (key === "End") select(active.row, state.n_cols - 1, event.shiftKey);
    else if (key === "PageUp") select(0, active.col, event.shiftKey);
    else if (key === "PageDown") select(state.n_rows - 1, active.col, event.shiftKey);
    else if (key === "Enter" && tool) { const axis = tool; step(() => commands.divide(axis, event.shiftKey)); }
    else if (key === "Enter" || key === "F2") edit();
    else if (key === "Escape") { tool = null; drag = null; select(active.row, active.col); }
    else if (LETTERS[key] && !event.altKey) LETTERS[key](event.shiftKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  // --- the picture ---

  function resize() {
    const ratio = window.devicePixelRatio || 1, { clientWidth, clientHeight } = pane;
    canvas.width = Math.max(1, Math.round(clientWidth * ratio));
    canvas.height = Math.max(1, Math.round(clientHeight * ratio));
    if (!view.fitted) fit();
    draw();
  }

  function fit() {
    const [width, height] = state.size;
    view.scale = Math.min(pane.clientWidth / width, pane.clientHeight / height) || 1;
    view.x = (pane.clientWidth - width * view.scale) / 2;
    view.y = Math.min((pane.clientHeight - height * view.scale) / 2, 12);
    view.fitted = true;
    redraw();
  }

  function zoom(factor, at = [pane.clientWidth / 2, pane.clientHeight / 2]) {
    const scale = clamp(view.scale * factor, .02, 40), change = scale / view.scale;
    view.x = at[0] - (at[0] - view.x) * change;
    view.y = at[1] - (at[1] - view.y) * change;
    view.scale = scale;
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

  const toPicture = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left - view.x) / view.scale, (event.clientY - box.top - view.y) / view.scale];
  };

  function findLine(p) {
    let best = null, nearest = GRIP / view.scale;
    for (const cell of state.cells) {
      if (!cell.quad) continue;
      for (const axis of ["row", "col"]) {
        SIDES[axis].forEach(([a, b], side) => {
          const distance = distanceToSegment(p, point(cell.quad, a), point(cell.quad, b));
          if (distance < nearest) {
            nearest = distance;
            best = { axis, line: span(cell, axis)[side], at: span(cell, OTHER[axis])[0] };
          }
        });
      }
    }
    return best;
  }

  const findCell = (p) => state.cells.find((cell) => cell.quad && isInside(p, cell.quad));

  // Which cells a moved line touches, and how far it may go: as in postprocess/editing.py.
  function hold(hit, one) {
    const { axis, line } = hit, across = OTHER[axis];
    const onLine = state.cells.filter((cell) => cell.quad && span(cell, axis).includes(line));
    let first = one ? hit.at : 0, last = one ? hit.at + 1 : Infinity;
    for (let grown = one; grown;) {
      grown = false;
      for (const cell of onLine) {
        const [start, end] = span(cell, across);
        if (start < last && end > first && (start < first || end > last)) {
          [first, last, grown] = [Math.min(first, start), Math.max(last, end), true];
        }
      }
    }
    const sides = new Map();
    let low = -Infinity, high = Infinity;
    for (const cell of onLine) {
      const start = span(cell, across)[0];
      if (start < first || start >= last) continue;
      const side = span(cell, axis)[0] === line ? 0 : 1, direction = state.directions[axis];
      const room = Math.min(...[0, 1].map((index) =>
        dot(minus(point(cell.quad, SIDES[axis][1][index]), point(cell.quad, SIDES[axis][0][index])), direction))) - THINNEST;
      if (side) low = Math.max(low, Math.min(-room, 0));
      else high = Math.min(high, Math.max(room, 0));
      sides.set(cell, SIDES[axis][side]);
    }
    return { ...hit, one, sides, low, high, offset: 0 };
  }

  // The row and the place in it where a new line would be drawn.
  function findDivision(p) {
    const down = state.directions[tool], along = state.directions[OTHER[tool]];
    const cross = down[0] * along[1] - down[1] * along[0] || 1;
    let best = null, nearest = Infinity;
    for (const cell of state.cells) {
      const [index, end] = span(cell, tool);
      if (!cell.quad || end - index !== 1) continue;
      const [a, b] = SIDES[tool][0], start = point(cell.quad, a);
      const from = minus(p, start), side = minus(point(cell.quad, SIDES[tool][1][0]), start);
      const fraction = (from[0] * along[1] - from[1] * along[0]) / cross / Math.max(dot(side, down), 1e-6);
      if (fraction <= .02 || fraction >= .98) continue;
      const distance = distanceToSegment(p, start, point(cell.quad, b));
      if (distance < nearest) [nearest, best] = [distance, { index, fraction }];
    }
    return best;
  }

  canvas.addEventListener("pointermove", (event) => {
    pointer = toPicture(event);
    if (drag?.hit) {
      const way = dot(minus(pointer, drag.from), state.directions[drag.hit.axis]);
      drag.hit.offset = clamp(way, drag.hit.low, drag.hit.high);
    } else if (drag?.pan) {
      view.x += event.movementX;
      view.y += event.movementY;
    } else if (drag) {
      const cell = findCell(pointer);
      if (cell && (cell.row !== active.row || cell.col !== active.col)) select(cell.row, cell.col, true);
    } else {
      const line = tool ? null : findLine(pointer);
      hover = { line, cell: line ? null : findCell(pointer), one: oneBorder || event.shiftKey };
      canvas.style.cursor = tool ? "crosshair" : line ? (line.axis === "row" ? "row-resize" : "col-resize") : "default";
    }
    redraw();
  });

  canvas.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    pointer = toPicture(event);
    canvas.setPointerCapture(event.pointerId);
    if (event.button === 1) { drag = { pan: true }; return; }
    if (event.button !== 0) return;
    if (tool) {
      const found = findDivision(pointer), cell = findCell(pointer), axis = tool;
      const at = event.shiftKey && cell ? span(cell, OTHER[axis])[0] : null;
      if (found) step(() => ({ do: "divide", axis, ...found, at }));
      return;
    }
    const line = findLine(pointer);
    if (line && !event.ctrlKey) {
      drag = { from: pointer, hit: hold(line, oneBorder || event.shiftKey) };
      return;
    }
    const cell = findCell(pointer);
    drag = {};
    if (cell) select(cell.row, cell.col, event.shiftKey);
  });

  canvas.addEventListener("pointerup", () => {
    const hit = drag?.hit;
    drag = null;
    if (hit && Math.abs(hit.offset) * view.scale > .5) {
      pending = hit;
      step(() => ({ do: "move_line", axis: hit.axis, line: hit.line, offset: hit.offset, at: hit.one ? hit.at : null }))
        .then(() => { pending = null; redraw(); });
    }
    focusCell();
    redraw();
  });

  canvas.addEventListener("pointerleave", () => { if (!drag) { hover = pointer = null; redraw(); } });
  canvas.addEventListener("dblclick", () => { if (!tool && pointer && !findLine(pointer)) edit(); });
  pane.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = pane.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey) zoom(Math.exp(-event.deltaY / 300), [event.clientX - box.left, event.clientY - box.top]);
    else { view.x -= event.shiftKey ? event.deltaY : event.deltaX; view.y -= event.shiftKey ? 0 : event.deltaY; redraw(); }
  }, { passive: false });

  function redraw() { frame ||= requestAnimationFrame(draw); }

  function draw() {
    cancelAnimationFrame(frame);
    frame = 0;
    const ratio = window.devicePixelRatio || 1, s = selection();
    image.style.transform = `translate(${view.x}px, ${view.y}px) scale(${view.scale})`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    const moved = drag?.hit ?? (pending?.sides ? pending : null);
    const layers = { spanning: [], header: [], doubtful: [], selected: [] }, all = [];
    for (const cell of state.cells) {
      if (!cell.quad) continue;
      const quad = moved?.sides.has(cell) ? shifted(cell, moved) : cell.quad;
      all.push(quad);
      if (isSelected(cell, s)) layers.selected.push(quad);
      if (isDoubtful(cell)) layers.doubtful.push(quad);
      else if (cell.header) layers.header.push(quad);
      else if (cell.rowspan * cell.colspan > 1) layers.spanning.push(quad);
    }
    for (const [name, quads] of Object.entries(layers)) fill(quads, COLORS[name]);
    stroke(all, COLORS.cell, 1);
    if (hover?.cell?.quad) stroke([hover.cell.quad], COLORS.cell, 2.5);
    const current = cellAt(active.row, active.col);
    if (current?.quad) stroke([moved?.sides.has(current) ? shifted(current, moved) : current.quad], COLORS.cell, 2.5);
    if (moved) strokeSides(moved, true);
    else if (hover?.line) strokeSides(hold(hover.line, hover.one), false);
    if (tool && pointer) drawDivision();
  }

  function shifted(cell, hit) {
    const quad = [...cell.quad], direction = state.directions[hit.axis];
    for (const corner of hit.sides.get(cell)) {
      quad[2 * corner] += hit.offset * direction[0];
      quad[2 * corner + 1] += hit.offset * direction[1];
    }
    return quad;
  }

  const x = (value) => value * view.scale + view.x, y = (value) => value * view.scale + view.y;

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
  function stroke(quads, color, width) {
    context.strokeStyle = color;
    context.lineWidth = width;
    paint(quads, () => context.stroke());
  }

  function strokeSides(hit, isMoved) {
    context.beginPath();
    for (const [cell, [a, b]] of hit.sides) {
      const quad = isMoved ? shifted(cell, hit) : cell.quad;
      context.moveTo(x(quad[2 * a]), y(quad[2 * a + 1]));
      context.lineTo(x(quad[2 * b]), y(quad[2 * b + 1]));
    }
    context.strokeStyle = COLORS.line;
    context.lineWidth = 2.5;
    context.stroke();
  }

  function drawDivision() {
    const found = findDivision(pointer);
    if (!found) return;
    context.beginPath();
    for (const cell of state.cells) {
      const [index, end] = span(cell, tool);
      if (!cell.quad || index !== found.index || end - index !== 1) continue;
      for (const corner of [0, 1]) {
        const [from, to] = [point(cell.quad, SIDES[tool][0][corner]), point(cell.quad, SIDES[tool][1][corner])];
        const p = [from[0] + found.fraction * (to[0] - from[0]), from[1] + found.fraction * (to[1] - from[1])];
        context[corner ? "lineTo" : "moveTo"](x(p[0]), y(p[1]));
      }
    }
    context.strokeStyle = COLORS.line;
    context.lineWidth = 2;
    context.stroke();
  }

  function makeHelp() {
    const dialog = make("dialog", { className: "help", ariaLabel: "Keys" }), list = make("dl");
    for (const [keys, what] of KEYS) list.append(make("dt", { textContent: keys }), make("dd", { textContent: what }));
    const close = make("button", { type: "button", textContent: "Close" });
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("keydown", (event) => event.stopPropagation());
    dialog.addEventListener("close", () => focusCell());
    dialog.append(make("h2", { textContent: "Keys" }), list, close);
    return dialog;
  }

  // A text that is being typed when the page is closed is kept.
  const keep = () => { if (root.ownerDocument.visibilityState === "hidden") grid.querySelector("textarea")?.blur(); };
  root.ownerDocument.addEventListener("visibilitychange", keep);
  const observer = new ResizeObserver(resize);
  observer.observe(pane);
  show();
  return {
    update,
    focus: focusCell,
    idle: () => chain,
    destroy() {
      grid.querySelector("textarea")?.blur();
      observer.disconnect();
      root.ownerDocument.removeEventListener("visibilitychange", keep);
      cancelAnimationFrame(frame);
    },
  };
}

function make(tag, properties = {}) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "role") element.setAttribute("role", value);
    else element[name] = value;
  }
  return element;
}

const clamp = (value, low, high) => Math.max(low, Math.min(value, Math.max(low, high)));

function columnName(index) {
  return (index >= 26 ? columnName(Math.floor(index / 26) - 1) : "") + String.fromCharCode(65 + index % 26);
}

function distanceToSegment(p, a, b) {
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]], length = dx * dx + dy * dy;
  const share = length ? clamp(((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / length, 0, 1) : 0;
  return Math.hypot(p[0] - a[0] - share * dx, p[1] - a[1] - share * dy);
}

function isInside(p, q) {
  let inside = false;
  for (let i = 0, j = 3; i < 4; j = i++) {
    const [ax, ay, bx, by] = [q[2 * i], q[2 * i + 1], q[2 * j], q[2 * j + 1]];
    if ((ay > p[1]) !== (by > p[1]) && p[0] < (bx - ax) * (p[1] - ay) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}

// The notebook's widget: steps go to the kernel as messages, each with a number that its answer repeats.
function render({ model, el }) {
  const picture = URL.createObjectURL(new Blob([model.get("picture")], { type: "image/png" }));
  const waiting = new Map();
  let count = 0;
  const send = (step) => new Promise((resolve, reject) => {
    waiting.set(++count, { resolve, reject });
    model.send({ id: count, view, step });
  });
  const view = `${Date.now()}-${Math.random()}`;
  const root = document.createElement("div");
  root.style.height = model.get("height");
  el.append(root);
  const editor = mount(root, { state: model.get("state"), picture, send });
  const onMessage = (message) => {
    if (message.view !== view || !waiting.has(message.id)) return;
    const { resolve, reject } = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error) reject(Object.assign(new Error(message.error), { table: message.table }));
    else resolve(message.table);
  };
  const onState = () => editor.update(model.get("state"));
  model.on("msg:custom", onMessage);
  model.on("change:state", onState);
  return () => {
    model.off("msg:custom", onMessage);
    model.off("change:state", onState);
    editor.destroy();
    URL.revokeObjectURL(picture);
  };
}

export default { render };

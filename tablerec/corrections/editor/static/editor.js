// The table editor: a picture with the cells drawn over it, and the table itself beside it.
//
// Used by `tablerec review` and by the notebook's widget. It draws and asks; what a step does to the table is decided
// in Python (tablerec/editor), which answers with the new state.
//
//   mount(element, host) -> { update(state), focus(), destroy(), idle() }
//   host: { state, picture (URL), send(step) -> Promise of the new state, next?(), go?(direction), frame?() }
//
// A step is { do: "move_line", axis: "row", line: 2, offset: 3.5, ... }, see tablerec/corrections/editor/operations.py.

import { makeBar } from "./bar.js";
import { make, makeButton } from "./elements.js";
import { OTHER, clamp, span } from "./geometry.js";
import { makeHints } from "./hints.js";
import { makeLens } from "./lens.js";
import { isDoubtful } from "./marks.js";
import { recall, remember, showTheme, switchTheme, theme } from "./memory.js";
import { openMenu } from "./menu.js";
import { makeNotes } from "./notes.js";
import { makePanes } from "./panes.js";
import { makePicture } from "./picture.js";
import { makeSheet } from "./sheet.js";
import { LANGUAGE_CHANGED, language, switchLanguage, text } from "./texts.js";
import { makeWords } from "./words.js";

export function mount(root, host) {
  // What the picture and the grid share.
  const editor = {
    host, root, state: host.state,
    anchor: { row: 0, col: 0 }, // where a selection began
    active: { row: 0, col: 0 }, // where it ends
    tool: null, // axis of the line to draw
    oneBorder: false, panning: false, hover: null,
    follows: recall("follows", false), magnifies: recall("magnifies", false),
    isEmbedded: !host.next, // in a page of others
    cellAt, selection, select, selectLine, step, go, saveAndGoOn,
    current: () => cellAt(editor.active.row, editor.active.col),
    isDoubtful: (cell) => isDoubtful(editor.state, cell),
    isSelected: (cell, s) => cell.row >= s.row && cell.row < s.endRow && cell.col >= s.col && cell.col < s.endCol,
    focus: () => sheet.focus(),
    edit: () => sheet.edit(),
    holds: (element) => sheet.holds(element),
    hasFocus: () => root.contains(document.activeElement),
    redraw: () => picture.redraw(),
    showPlace: (quad) => picture.showQuad(quad),
    openMenu: openPictureMenu, placeWord, showDrop,
    pointAt(row, col) { editor.hover = { cell: cellAt(row, col) }; picture.redraw(); },
  };
  let otherSide = false, chain = Promise.resolve();
  const ending = new AbortController(); // the element may get another editor after this one
  const listen = (target, type, work) => target.addEventListener(type, work, { signal: ending.signal });

  root.classList.add("tablerec-editor");
  root.dataset.lmSuppressShortcuts = "true"; // JupyterLab's own shortcuts are letters too
  const tools = make("div", { className: "bar", role: "toolbar" });
  const main = make("div", { className: "main" }), hints = make("aside", { className: "hints", hidden: true });
  const pane = make("div", { className: "picture" }), cells = make("div", { className: "sheet" });
  const foot = make("div", { className: "foot" }), status = make("div", { className: "status", role: "status" });
  const help = make("dialog", { className: "help" });
  foot.append(status);
  root.replaceChildren(tools, hints, main, foot, help);
  const panes = makePanes(editor, main, pane, cells, {
    out: () => picture.zoom(1 / 1.25), in: () => picture.zoom(1.25), fit: () => picture.fit(), cell: toggleFollow, lens: toggleLens,
  });
  const picture = makePicture(editor, pane), sheet = makeSheet(editor, cells);
  const lens = makeLens(editor, panes.lens, picture.image), notes = makeNotes(editor, panes.above, panes.below);
  const words = makeWords(editor, foot), tips = makeHints(hints, () => sheet.focus());
  const search = make("input", { type: "search", size: 12 });

  // --- the table ---

  function cellAt(row, col) {
    return editor.state.cells.find((c) => c.row <= row && row < c.row + c.rowspan && c.col <= col && col < c.col + c.colspan);
  }

  function selection() {
    const { anchor, active } = editor;
    let [row, endRow] = [Math.min(anchor.row, active.row), Math.max(anchor.row, active.row) + 1];
    let [col, endCol] = [Math.min(anchor.col, active.col), Math.max(anchor.col, active.col) + 1];
    for (let grown = true; grown;) { // until it holds whole cells
      grown = false;
      for (const c of editor.state.cells) {
        if (c.row >= endRow || c.row + c.rowspan <= row || c.col >= endCol || c.col + c.colspan <= col) continue;
        const wider = [Math.min(row, c.row), Math.max(endRow, c.row + c.rowspan),
          Math.min(col, c.col), Math.max(endCol, c.col + c.colspan)];
        grown ||= wider[0] < row || wider[1] > endRow || wider[2] < col || wider[3] > endCol;
        [row, endRow, col, endCol] = wider;
      }
    }
    return { row, endRow, col, endCol };
  }

  const isRtl = () => editor.state.direction === "rtl";

  // First and end of the selected rows (or columns).
  function lines(axis) {
    const s = selection();
    return axis === "row" ? [s.row, s.endRow] : [s.col, s.endCol];
  }

  function select(row, col, extend = false) {
    const { state } = editor;
    editor.active = { row: clamp(row, 0, state.n_rows - 1), col: clamp(col, 0, state.n_cols - 1) };
    if (!extend) editor.anchor = { ...editor.active };
    showSelection();
    picture.reveal(editor.current());
    sheet.focus();
  }

  function selectLine(axis, index, extend) {
    const { n_rows: rows, n_cols: cols } = editor.state;
    if (!extend) editor.anchor = axis === "row" ? { row: index, col: 0 } : { row: 0, col: index };
    select(axis === "row" ? index : rows - 1, axis === "row" ? cols - 1 : index, true);
  }

  function go(axis, direction, extend) {
    const cell = editor.current();
    if (!cell) return;
    const [first, end] = span(cell, axis), next = { ...editor.active };
    next[axis] = direction > 0 ? end : first - 1;
    if (next[axis] < 0 || next[axis] >= (axis === "row" ? editor.state.n_rows : editor.state.n_cols)) return;
    select(next.row, next.col, extend);
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

  // --- steps ---

  // The step is made when its turn comes, so that it speaks of the table as it is then.
  function step(makeStep) {
    chain = chain.then(async () => {
      const asked = makeStep();
      if (!asked) return;
      try {
        update(await host.send({ ...asked, version: editor.state.version }));
        const without = asked.do === "save" && editor.state.no_label;
        if (without) say(`${text("saidNoLabel")} ${without}`, true);
        else if (asked.do === "save") say(text("saidSaved"));
        if (asked.do === "reject") say(text("saidRejected"));
      } catch (error) {
        if (error.table) update(error.table);
        say(error.message, true);
      }
    });
    return chain;
  }

  function update(next) {
    if (next.version !== editor.state.version) picture.forget();
    editor.state = next;
    for (const place of [editor.anchor, editor.active]) {
      place.row = clamp(place.row, 0, next.n_rows - 1);
      place.col = clamp(place.col, 0, next.n_cols - 1);
    }
    show();
  }

  function show() {
    sheet.show();
    notes.show();
    words.show();
    showSelection();
    root.dataset.version = editor.state.version;
  }

  function showSelection() {
    sheet.showSelection();
    bar.show();
    lens.show();
    describe();
    picture.redraw();
  }

  const commands = {
    undo: () => ({ do: "undo" }),
    redo: () => ({ do: "redo" }),
    restore: () => ({ do: "restore" }),
    save: () => ({ do: "save" }),
    reject: () => ({ do: "reject" }),
    merge: () => {
      const s = selection();
      return { do: "merge", row: s.row, col: s.col, end_row: s.endRow, end_col: s.endCol };
    },
    split: () => ({ do: "split", ...editor.active }),
    divide: (axis, one) => {
      const at = editor.active[OTHER[axis]];
      return { do: "divide", axis, index: editor.active[axis], fraction: .5, at: one ? at : null };
    },
    extend: (axis, atEnd) => ({ do: "extend", axis, at_end: atEnd }),
    headers: (axis) => {
      const now = { row: editor.state.n_header_rows, col: editor.state.n_header_cols }, [, end] = lines(axis);
      now[axis] = now[axis] === end ? 0 : end;
      return { do: "set_headers", n_rows: now.row, n_cols: now.col };
    },
    section: () => {
      const { row, col, header } = editor.current();
      return { do: "set_header", row, col, kind: header === "section" ? null : "section" };
    },
    move: (axis, offset) => {
      const [first, end] = span(editor.current(), axis), at = editor.active[OTHER[axis]];
      return { do: "move_line", axis, line: otherSide ? first : end, offset, at: editor.oneBorder ? at : null };
    },
  };

  async function mergeSelected() {
    const { row, col } = selection();
    await step(commands.merge);
    editor.active = { row, col };
    editor.anchor = { row, col };
    showSelection();
  }

  // Take out the line after the cell; of several rows (or columns) all lines between them.
  async function join(axis) {
    const [first, end] = lines(axis), several = editor.anchor[axis] !== editor.active[axis];
    await step(() => ({ do: "remove_line", axis, ...(several ? { line: first + 1, ...counted(end - first - 1) } : { line: end }) }));
    if (several) { editor.active[axis] = editor.anchor[axis] = first; showSelection(); }
  }

  function removeSelected(axis) {
    const [first, end] = lines(axis);
    return step(() => ({ do: "remove", axis, index: first, ...counted(end - first) }));
  }

  const counted = (count) => count > 1 ? { count } : {};

  async function saveAndGoOn() {
    await step(commands.save);
    if (editor.state.verdict === "saved") host.next?.();
  }

  // --- tools ---

  const actions = {
    undo: () => step(commands.undo), redo: () => step(commands.redo), restore: () => step(commands.restore),
    rowLine: () => arm("row"), colLine: () => arm("col"), oneBorder: toggleOneBorder,
    joinRows: () => join("row"), joinCols: () => join("col"), merge: mergeSelected, split: () => step(commands.split),
    top: () => step(() => commands.extend("row", false)), bottom: () => step(() => commands.extend("row", true)),
    left: () => step(() => commands.extend("col", isRtl())), right: () => step(() => commands.extend("col", !isRtl())),
    dropRows: () => removeSelected("row"), dropCols: () => removeSelected("col"),
    headerRows: () => step(() => commands.headers("row")), headerCols: () => step(() => commands.headers("col")),
    section: () => step(commands.section),
    doubt: () => goTo(editor.isDoubtful, 1),
    theme: changeTheme, help: showHelp, language: switchLanguage,
    frame: host.frame, reject: () => step(commands.reject),
    save: () => step(commands.save), saveNext: host.next && saveAndGoOn,
  };
  const bar = makeBar(editor, tools, actions, search);

  function changeTheme() { switchTheme(); say(text("themeNow", text(`theme_${theme()}`))); }

  // The picture goes with the chosen cell, and is so large that it can be read.
  function toggleFollow() {
    editor.follows = !editor.follows;
    remember("follows", editor.follows);
    if (editor.follows) picture.zoomToCell();
    else picture.fit("table");
    panes.show();
  }

  function toggleLens() {
    editor.magnifies = !editor.magnifies;
    remember("magnifies", editor.magnifies);
    lens.show();
    panes.show();
  }

  // found: where a line would go through the point that was asked about.
  function openPictureMenu(event, word, found) {
    const cell = editor.current(), several = selection().endRow - selection().row > 1 || selection().endCol - selection().col > 1;
    const lineThrough = (axis) => () => step(() => ({ do: "divide", axis, ...found[axis], at: null }));
    openMenu(root, [
      word && { name: "place", action: () => placeWord(word, editor.active) },
      { name: "edit", action: () => sheet.edit(), isOff: !cell }, actions.read && { name: "read", action: actions.read }, null,
      { name: "rowLine", action: lineThrough("row"), isOff: !found.row }, { name: "colLine", action: lineThrough("col"), isOff: !found.col },
      { name: "joinRows", action: actions.joinRows }, { name: "joinCols", action: actions.joinCols }, null,
      { name: "merge", action: actions.merge, isOff: !several },
      { name: "split", action: actions.split, isOff: !cell || cell.rowspan * cell.colspan === 1 }, null,
      { name: "headerRows", action: actions.headerRows }, { name: "headerCols", action: actions.headerCols },
      { name: "section", action: actions.section }, null,
      { name: "cell", action: () => picture.zoomToCell() }, { name: "fit", action: () => picture.fit() },
      ...(host.frame ? [null, { name: "frame", action: host.frame }] : []),
    ].filter((entry) => entry !== undefined), [event.clientX, event.clientY], () => sheet.focus());
  }

  // A word that is in no cell goes into one.
  async function placeWord(word, { row, col }) {
    await step(() => ({ do: "place_word", word: word.index, row, col }));
    if (sheet.holds(document.activeElement) || document.activeElement === document.body) select(row, col);
  }

  function showDrop(cell) {
    for (const each of cells.querySelectorAll("[data-drop]")) delete each.dataset.drop;
    if (cell) cells.querySelector(`[data-place="${cell.row},${cell.col}"]`)?.setAttribute("data-drop", "");
  }

  function toggleOneBorder() { editor.oneBorder = !editor.oneBorder; bar.show(); }

  function arm(axis) {
    editor.tool = editor.tool === axis ? null : axis;
    bar.show();
    sheet.focus();
    picture.redraw();
    if (editor.tool) say(text(axis === "row" ? "drawRow" : "drawCol"));
  }

  // The server's messages are English, whatever the page speaks.
  function say(message, isError = false) {
    status.textContent = message;
    status.lang = isError ? "en" : language().tag;
    status.classList.toggle("error", isError);
  }

  function describe() {
    const { state } = editor, cell = editor.current();
    if (!cell) return say(text("noCells"));
    if (state.number === 0 && state.cells.length === 1) return say(text("nothingFound"));
    const parts = [text("where", state.n_rows, state.n_cols, cell.row + 1, cell.col + 1)];
    if (cell.rowspan * cell.colspan > 1) parts.push(text("covers", cell.rowspan, cell.colspan));
    if (cell.header) parts.push(text(`kind_${cell.header}`));
    const scores = { sure: cell.confidence, read: cell.ocr, found: cell.detector };
    for (const [name, value] of Object.entries(scores)) if (value !== null) parts.push(text(name, value.toFixed(2)));
    if (otherSide) parts.push(text("otherSide"));
    say(parts.join(" · "));
  }

  function makeHelp() {
    const list = make("dl"), close = makeButton(text("close"), "", () => help.close());
    for (const [keys, what, inReview] of language().keys) {
      if (host.frame || !inReview) list.append(make("dt", { textContent: keys }), make("dd", { textContent: what }));
    }
    help.ariaLabel = text("keys");
    help.replaceChildren(make("h2", { textContent: text("keys") }), list, close);
  }
  function showHelp() { help.showModal(); }
  help.addEventListener("keydown", (event) => event.stopPropagation());
  help.addEventListener("close", () => sheet.focus());

  // --- keys ---

  search.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.isComposing || !["Enter", "Escape"].includes(event.key)) return;
    event.preventDefault();
    if (event.key === "Escape") return sheet.focus();
    const wanted = search.value.trim().toLowerCase();
    const found = wanted && goTo((cell) => cell.text.toLowerCase().includes(wanted), event.shiftKey ? -1 : 1);
    search.focus();
    if (!found) say(text("notFound"));
  });

  // With Alt, by the place of the key: a letter alone begins a text, and on some systems Alt makes another letter of it.
  const COMMANDS = {
    KeyM: mergeSelected, KeyS: () => step(commands.split), KeyB: toggleOneBorder,
    KeyO: () => { otherSide = !otherSide; describe(); picture.redraw(); },
    KeyG: () => step(commands.section), KeyN: () => step(commands.reject), KeyT: () => host.frame?.(),
    KeyF: () => { search.focus(); search.select(); },
    KeyZ: (shift) => shift ? toggleFollow() : picture.zoomToCell(), KeyL: toggleLens, KeyV: panes.switchLayout, KeyW: () => words.toggle(),
    Equal: () => picture.zoom(1.25), NumpadAdd: () => picture.zoom(1.25), Digit0: () => picture.fit(), Numpad0: () => picture.fit(),
    Minus: () => picture.zoom(1 / 1.25), NumpadSubtract: () => picture.zoom(1 / 1.25),
    KeyR: (shift) => step(() => commands.divide("row", shift)), KeyC: (shift) => step(() => commands.divide("col", shift)),
    KeyJ: (shift) => join(shift ? "col" : "row"), KeyA: (shift) => step(() => commands.extend(shift ? "col" : "row", true)),
    KeyX: (shift) => removeSelected(shift ? "col" : "row"), KeyH: (shift) => step(() => commands.headers(shift ? "col" : "row")),
    KeyD: (shift) => goTo(editor.isDoubtful, shift ? -1 : 1),
  };
  const MIRRORED = { ArrowLeft: "ArrowRight", ArrowRight: "ArrowLeft" };
  const ARROWS = { ArrowUp: ["row", -1], ArrowDown: ["row", 1], ArrowLeft: ["col", -1], ArrowRight: ["col", 1] };

  listen(root, "keydown", (event) => {
    if (help.open) return;
    const control = event.ctrlKey || event.metaKey, key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const global = control && { z: event.shiftKey ? commands.redo : commands.undo, y: commands.redo, s: commands.save }[key];
    const { active, state } = editor, arrow = ARROWS[isRtl() ? MIRRORED[key] ?? key : key];
    if (global) step(global);
    else if (control && key === "Enter") saveAndGoOn();
    else if (event.altKey && (key === "PageDown" || key === "PageUp")) host.go?.(key === "PageDown" ? 1 : -1);
    else if (control || !sheet.holds(event.target)) return;
    else if (arrow && event.altKey) {
      const [axis, direction] = arrow;
      step(() => commands.move(axis, direction * (event.shiftKey ? 10 : 1)));
    } else if (arrow) go(...arrow, event.shiftKey);
    else if (key === "Home") select(active.row, 0, event.shiftKey);
    else if (key === "End") select(active.row, state.n_cols - 1, event.shiftKey);
    else if (key === "PageUp") select(0, active.col, event.shiftKey);
    else if (key === "PageDown") select(state.n_rows - 1, active.col, event.shiftKey);
    else if (key === "Enter" && editor.tool) { const axis = editor.tool; step(() => commands.divide(axis, event.shiftKey)); }
    else if (key === "Enter" || key === "F2") sheet.edit();
    else if (key === "Delete" || key === "Backspace") sheet.clear();
    else if (key === "Escape") { editor.tool = null; picture.letGo(); select(active.row, active.col); }
    else if (key === " ") { editor.panning = true; picture.redraw(); }
    else if (key === "F1") showHelp();
    else if (event.altKey && COMMANDS[event.code]) COMMANDS[event.code](event.shiftKey);
    else if (event.key.length === 1 && !event.altKey) sheet.edit(event.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  listen(root, "keyup", (event) => { if (event.key === " ") editor.panning = false; });
  listen(window, "blur", () => { editor.panning = false; });

  function speak() {
    root.lang = language().tag;
    bar.speak();
    panes.speak();
    tips.speak();
    makeHelp();
    show();
  }

  // A text that is being typed when the page is closed is kept.
  listen(document, "visibilitychange", () => {
    if (document.visibilityState !== "hidden") return;
    sheet.finish();
    notes.finish();
    rememberPlace();
  });
  listen(window, LANGUAGE_CHANGED, speak);

  // Where one was in this table, until the tab is closed.
  const stored = `place-${editor.state.name}`;
  function rememberPlace() {
    picture.remember();
    remember(stored, { anchor: editor.anchor, active: editor.active }, "session");
  }
  const known = recall(stored, null, "session"), { n_rows: rows, n_cols: cols } = editor.state;
  for (const end of ["anchor", "active"]) {
    const { row, col } = known?.[end] ?? {};
    if (row < rows && col < cols) editor[end] = { row, col };
  }
  showTheme();
  speak();
  return {
    update, say,
    focus: sheet.focus,
    idle: () => chain,
    destroy() {
      sheet.finish();
      notes.finish();
      rememberPlace();
      picture.destroy();
      panes.destroy();
      lens.destroy();
      ending.abort();
    },
  };
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

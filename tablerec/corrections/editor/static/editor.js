// The table editor: a picture with the cells drawn over it, and the table itself beside it.
//
// Used by `tablerec review` and by the notebook's widget. It draws and asks; what a step does to the table is decided
// in Python (tablerec/editor), which answers with the new state.
//
//   mount(element, host) -> { update(state), focus(), destroy(), idle() }
//   host: { state, picture (URL), send(step) -> Promise of the new state, next?(), go?(direction), frame?(),
//           proof?() -> Promise of what proves the table and what speaks against its cells, see proof.js,
//           page? (the element whose keys are the editor's, where it is not within a page of somebody else),
//           refresh?() -> Promise of the state as it is now }
//
// An error of send has isAway where nobody answered: then the step waits, and is sent again.
// A step is { do: "move_line", axis: "row", line: 2, offset: 3.5, ... }, see tablerec/corrections/editor/operations.py.

import { fillTools, makeBar } from "./bar.js";
import { copyText, makeBanners } from "./banners.js";
import { make, makeButton } from "./elements.js";
import { makeFinder } from "./finder.js";
import { OTHER, span } from "./geometry.js";
import { makeHints } from "./hints.js";
import { isGlobalKey, makeKeys } from "./keys.js";
import { makeLens } from "./lens.js";
import { isDoubtful } from "./marks.js";
import { recall, remember, showTheme, switchTheme, theme } from "./memory.js";
import { openMenu } from "./menu.js";
import { makeNotes } from "./notes.js";
import { makePanes } from "./panes.js";
import { makePicture } from "./picture.js";
import { changedBlock, isSameShape, isWithin, withChanges } from "./places.js";
import { makeProof } from "./proof.js";
import { makeQueue, textsOfStep, waitingTexts } from "./queue.js";
import { makeSelection } from "./selection.js";
import { makeSheet } from "./sheet.js";
import { LANGUAGE_CHANGED, language, makeError, saidBy, switchLanguage, text } from "./texts.js";
import { makeWords } from "./words.js";

const PATIENCE = 20000; // milliseconds that a notebook's kernel is waited for
const VIEW = ["theme", "language", "help"];

export function mount(root, host) {
  // What the picture and the grid share.
  const editor = {
    host, root, state: host.state,
    tool: null, // axis of the line to draw
    oneBorder: false, panning: false, hover: null,
    follows: recall("follows", false), magnifies: recall("magnifies", false),
    isEmbedded: !host.page, // in a page of somebody else
    waiting: new Map(), // place -> text that is not written yet
    others: new Set(), // places that another window has changed
    step, say,
    textOf: (cell) => editor.waiting.get(`${cell.row},${cell.col}`) ?? cell.text,
    isWaiting: (cell) => editor.waiting.has(`${cell.row},${cell.col}`),
    isDoubtful: (cell) => isDoubtful(editor, cell),
    proof: null, // what proves the table, and what speaks against it
    isSelected: (cell, s) => cell.row >= s.row && cell.row < s.endRow && cell.col >= s.col && cell.col < s.endCol,
    focus: () => sheet.focus(),
    edit: () => sheet.edit(),
    fill: (value) => sheet.fillAll(value),
    hasFocus: () => root.contains(document.activeElement),
    redraw: () => picture.redraw(),
    showPlace: (quad) => picture.showQuad(quad),
    openMenu: openPictureMenu, placeWord, showDrop,
    pointAt(row, col) { editor.hover = { cell: editor.cellAt(row, col) }; picture.redraw(); },
  };
  const choice = makeSelection(editor, (place) => {
    showSelection();
    if (place) picture.reveal(editor.cellAt(place.row, place.col));
    sheet.reveal(place);
  });
  Object.assign(editor, choice);
  const { current, selection, inside } = choice;
  let otherSide = false;
  const ending = new AbortController(); // the element may get another editor after this one
  const listen = (target, type, work) => target.addEventListener(type, work, { signal: ending.signal });

  root.classList.add("tablerec-editor");
  root.dataset.lmSuppressShortcuts = "true"; // JupyterLab's own shortcuts are letters too
  const tools = make("div", { className: "bar", role: "toolbar" });
  const alerts = make("div", { className: "banners" }), find = make("div", { className: "find" });
  const main = make("div", { className: "main" }), hints = make("aside", { className: "hints", hidden: true });
  const pane = make("div", { className: "picture" }), cells = make("div", { className: "sheet" });
  const foot = make("div", { className: "foot" }), status = make("div", { className: "status", role: "status" });
  const views = make("div", { className: "tools", role: "group" });
  const help = make("dialog", { className: "help" }), proofPane = make("dialog");
  foot.append(status);
  root.replaceChildren(tools, hints, alerts, find, main, foot, help, proofPane);
  const panes = makePanes(editor, main, pane, cells);
  const picture = makePicture(editor, pane), sheet = makeSheet(editor, cells);
  const lens = makeLens(editor, panes.lens, picture.image), notes = makeNotes(editor, panes.above, panes.below);
  const words = makeWords(editor, foot), tips = makeHints(hints, () => sheet.focus());
  foot.append(views);
  editor.proof = makeProof(editor, proofPane, picture.image, () => { sheet.show(true); showMarks(); });
  const banners = makeBanners(alerts), finder = makeFinder(editor, find);

  // --- steps ---

  const isRtl = () => editor.state.direction === "rtl";

  // First and end of the selected rows (or columns).
  function lines(axis) {
    const s = selection();
    return axis === "row" ? [s.row, s.endRow] : [s.col, s.endCol];
  }

  const { name, source, size } = host.state;
  const queue = makeQueue({
    key: `tablerec-steps ${JSON.stringify([source, name, size])}`,
    send: (step) => host.send(step), version: () => editor.state.version, answered, failed, changed: showQueue,
  });

  // Resolves to whether it was done.
  function step(makeStep) { return queue.push(makeStep); }

  function answered({ step: done, version }, answer) {
    const before = editor.state, next = withChanges(before, answer), isUndo = done.do === "undo" || done.do === "redo";
    const stays = isSameShape(before, next);
    const own = new Set(waitingTexts([{ step: done }]).keys());
    // Only what is written into cells is done although another window was quicker.
    editor.others = new Set(next.version > version + 1 && own.size ? changedPlaces(before, next).filter((place) => !own.has(place)) : []);
    if (sheet.typing.target && !editor.others.size) sheet.typing.target.version = next.version;
    update(next);
    if (isUndo) goToChange(before, next);
    if (done.do === "save") say(text("saidSaved"));
    if (done.do === "reject") say(text("saidRejected"));
    if (editor.others.size) say(text("saidOthers", editor.others.size));
    tellOthers();
    return stays;
  }

  // To what was undone. Texts are chosen; of lines only a cell beside them is: a tool is not meant for all of them.
  function goToChange(before, next) {
    const block = changedBlock(before, next), areTexts = block && changedPlaces(before, next).length && isSameShape(before, next);
    if (areTexts) choice.selectBlock(block);
    else if (block && !isWithin(editor.active, block)) choice.select(block.row, block.col);
    else if (block) sheet.reveal(editor.active);
  }

  function failed(_, error) {
    return error.table ? takeOver(error.table) : true;
  }

  // A state that another window has made.
  function takeOver(answer) {
    const before = editor.state, next = withChanges(before, answer), stays = isSameShape(before, next);
    if (next.version !== before.version) editor.others = new Set(changedPlaces(before, next));
    update(next);
    return stays;
  }

  const placeOf = (cell) => `${cell.row},${cell.col}`;

  function changedPlaces(before, after) {
    const known = new Map(before.cells.map((cell) => [placeOf(cell), cell.text]));
    return after.cells.filter((cell) => known.get(placeOf(cell)) !== cell.text).map(placeOf);
  }

  // Other windows of this browser that show the table, too.
  const windows = new BroadcastChannel("tablerec-steps");
  const told = () => ({ source, name, version: editor.state.version });
  function tellOthers() { windows.postMessage(told()); }
  windows.addEventListener("message", ({ data }) => {
    if (data.name === name && data.source === source && data.version > editor.state.version) refresh();
  });

  function refresh() {
    if (queue.entries.length) return;
    host.refresh?.().then((next) => {
      if (queue.entries.length || next.version <= editor.state.version) return;
      takeOver(next);
      say(text("saidOthers", editor.others.size));
    }, () => {}); // nobody answers: the next step will say so
  }

  // What waits, and what was refused.
  function showQueue() {
    const before = editor.waiting, { entries, refused, reason } = queue;
    editor.waiting = waitingTexts(entries);
    sheet.redraw([...new Set([...before.keys(), ...editor.waiting.keys()])].filter((place) => before.get(place) !== editor.waiting.get(place)));
    root.dataset.waiting = entries.length;
    const wanted = new Set(reason ? ["away"] : []);
    if (reason) {
      const message = `${saidBy(reason).words} ${text("stepsWait", entries.length)}`;
      banners.show("away", { message, lang: saidBy(reason).tag, isError: false, buttons: [[text("tryNow"), queue.tryNow]] });
    }
    for (const entry of refused) {
      const typed = textsOfStep(entry.step), { words, tag } = saidBy(entry);
      wanted.add(entry.id);
      banners.show(entry.id, {
        message: text("notDone", words), lang: tag, typed,
        buttons: [
          [text("again"), () => queue.again(entry)], ...(typed ? [[text("copyTyped"), () => copyText(typed)]] : []),
          [text(typed ? "dropTyped" : "close"), () => { queue.drop(entry); sheet.focus(); }],
        ],
      });
    }
    const { no_label: without, no_label_zh: zh, verdict } = editor.state;
    if (without && verdict === "saved") {
      wanted.add("label");
      banners.show("label", { message: `${text("saidNoLabel")} ${saidBy({ message: without, zh }).words}`, isError: false });
    }
    for (const key of banners.keys()) if (!wanted.has(key)) banners.drop(key);
  }

  function update(next) {
    if (next.version !== editor.state.version) picture.forget();
    if (next.version !== editor.state.version) editor.proof.load();
    editor.state = next;
    choice.update();
    show();
    showQueue();
  }

  function show() {
    sheet.show();
    notes.show();
    words.show();
    showSelection();
    sheet.lay();
    root.dataset.version = editor.state.version;
  }

  function showSelection() {
    showMarks();
    describe();
  }

  // What was said of the last step stays.
  function showMarks() {
    sheet.showSelection();
    bar.show();
    lens.show();
    picture.redraw();
  }

  const place = () => ({ row: editor.active.row, col: editor.active.col });
  const block = () => {
    const s = selection();
    return { row: s.row, col: s.col, end_row: s.endRow, end_col: s.endCol };
  };

  const commands = {
    undo: () => ({ do: "undo" }),
    redo: () => ({ do: "redo" }),
    restore: () => ({ do: "restore" }),
    save: () => ({ do: "save" }),
    reject: () => ({ do: editor.state.verdict === "rejected" ? "reopen" : "reject" }),
    merge: () => ({ do: "merge", ...block() }),
    split: () => ({ do: "split", ...(inside().length > 1 ? block() : place()) }),
    read: () => ({ do: "read", ...block() }),
    confirm: () => ({ do: "confirm", ...block(), is_right: !inside().every((cell) => cell.confirmed) }),
    resetText: () => ({ do: "reset_text", ...block() }),
    insert: (axis, after) => ({ do: "insert", axis, index: lines(axis)[Number(after)] }),
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
    choice.select(row, col);
  }

  // Take out the line after the cell; of several rows (or columns) all lines between them.
  async function join(axis) {
    const [first, end] = lines(axis), several = end - first > current()?.[`${axis}span`];
    await step(() => ({ do: "remove_line", axis, ...(several ? { line: first + 1, ...counted(end - first - 1) } : { line: end }) }));
    if (several) choice.select(...Object.values({ ...place(), [axis]: first }));
  }

  function removeSelected(axis) {
    const [first, end] = lines(axis);
    return step(() => ({ do: "remove", axis, index: first, ...counted(end - first) }));
  }

  const counted = (count) => count > 1 ? { count } : {};

  async function saveAndGoOn() {
    const before = queue.losses, isDone = await step(commands.save);
    if (isDone && queue.losses === before) host.next?.(); // who had to wait does something else by now
  }

  // --- tools ---

  const actions = {
    undo: () => step(commands.undo), redo: () => step(commands.redo), restore: () => step(commands.restore),
    rowLine: () => arm("row"), colLine: () => arm("col"), oneBorder: toggleOneBorder,
    joinRows: () => join("row"), joinCols: () => join("col"), merge: mergeSelected, split: () => step(commands.split),
    top: () => step(() => commands.extend("row", false)), bottom: () => step(() => commands.extend("row", true)),
    left: () => step(() => commands.extend("col", isRtl())), right: () => step(() => commands.extend("col", !isRtl())),
    insertRow: () => step(() => commands.insert("row", false)), insertRowAfter: () => step(() => commands.insert("row", true)),
    insertCol: () => step(() => commands.insert("col", false)), insertColAfter: () => step(() => commands.insert("col", true)),
    dropRows: () => removeSelected("row"), dropCols: () => removeSelected("col"),
    headerRows: () => step(() => commands.headers("row")), headerCols: () => step(() => commands.headers("col")),
    section: () => step(commands.section),
    clear: () => sheet.clear(), fillDown: () => sheet.fillDown(), fillRight: () => sheet.fillRight(),
    read: () => step(commands.read), confirm: () => step(commands.confirm), resetText: () => step(commands.resetText),
    proof: host.proof && (() => editor.proof.open()),
    doubt: () => choice.goTo(editor.isDoubtful, 1), doubtBefore: () => choice.goTo(editor.isDoubtful, -1),
    find: () => finder.open(false), replace: () => finder.open(true),
    out: () => picture.zoom(1 / 1.25), fit: () => picture.fit(), in: () => picture.zoom(1.25), near: () => picture.zoomToCell(),
    cell: toggleFollow, lens: toggleLens, arrange: panes.switchLayout, words: () => words.toggle(),
    theme: changeTheme, help: showHelp, language: switchLanguage, edit: () => sheet.edit(),
    frame: host.frame, reject: () => step(commands.reject),
    save: () => step(commands.save), saveNext: host.next && saveAndGoOn,
    // By keys alone.
    after: () => step(() => commands.extend("col", true)),
    divideRow: () => step(() => commands.divide("row", false)), divideRowOne: () => step(() => commands.divide("row", true)),
    divideCol: () => step(() => commands.divide("col", false)), divideColOne: () => step(() => commands.divide("col", true)),
    move: (axis, offset) => step(() => commands.move(axis, offset)),
    otherSide: () => { otherSide = !otherSide; describe(); picture.redraw(); },
    pan: () => { editor.panning = true; picture.redraw(); },
    escape: () => {
      editor.tool = null;
      picture.letGo();
      for (const entry of queue.refused) if (!textsOfStep(entry.step)) queue.drop(entry);
      choice.select(editor.active.row, editor.active.col);
    },
  };
  const bar = makeBar(editor, tools, actions);

  const NOTHING_TO_DO = {
    undo: () => !editor.state.can_undo, redo: () => !editor.state.can_redo, restore: () => !editor.state.can_undo,
    merge: () => inside().length < 2, split: () => !inside().some((each) => each.rowspan * each.colspan > 1),
    doubt: () => !hasDoubts(), read: () => !editor.state.has_reader,
    dropRows: () => editor.state.n_rows < 2, dropCols: () => editor.state.n_cols < 2, resetText: () => !inside().some((each) => each.typed),
  };

  // Asked with each key, of a table that may have many cells.
  let doubts = {};
  function hasDoubts() {
    const { state } = editor, { known } = editor.proof;
    if (doubts.state !== state || doubts.known !== known) doubts = { state, known, areSome: state.cells.some(editor.isDoubtful) };
    return doubts.areSome;
  }

  const isOff = (tool) => NOTHING_TO_DO[tool]?.() ?? false;
  Object.assign(editor, { actions, isOff });

  function changeTheme() {
    switchTheme();
    say(text("themeNow", text(`theme_${theme()}`)));
  }

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

  // word: what was asked about, if it is in no cell. found: where a line would go through the point.
  function openPictureMenu(event, word, found) {
    const lineThrough = (axis) => () => step(() => ({ do: "divide", axis, ...found[axis], at: null }));
    const own = {
      place: { action: () => placeWord(word, editor.active) },
      rowLine: { action: lineThrough("row"), isOff: !found.row }, colLine: { action: lineThrough("col"), isOff: !found.col },
    };
    const names = [
      ...(word ? ["place"] : []), "edit", "read", "confirm", null, "rowLine", "colLine", "joinRows", "joinCols", null, "merge", "split",
      null, "headerRows", "headerCols", "section", null, "near", "fit", ...(host.frame ? [null, "frame"] : []),
    ];
    const entries = names.map((each) => each && { name: each, action: actions[each], isOff: isOff(each), ...own[each] });
    openMenu(root, entries, [event.clientX, event.clientY], () => sheet.focus());
  }

  // A word that is in no cell goes into one.
  async function placeWord(word, { row, col }) {
    if (await step(() => ({ do: "place_word", word: word.index, row, col }))) choice.select(row, col);
  }

  function showDrop(cell) {
    for (const each of cells.querySelectorAll("[data-drop]")) delete each.dataset.drop;
    if (cell) cells.querySelector(`td[data-place="${cell.row},${cell.col}"]`)?.setAttribute("data-drop", "");
  }

  function toggleOneBorder() { editor.oneBorder = !editor.oneBorder; bar.show(); }

  function arm(axis) {
    editor.tool = editor.tool === axis ? null : axis;
    bar.show();
    sheet.focus();
    picture.redraw();
    if (editor.tool) say(text(axis === "row" ? "drawRow" : "drawCol"));
  }

  function say(message, isError = false) {
    status.textContent = message;
    status.lang = language().tag;
    status.classList.toggle("error", isError);
  }

  function describe() {
    const { state } = editor, cell = editor.current();
    if (!cell) return say(text("noCells"));
    if (state.number === 0 && state.cells.length === 1) return say(text("nothingFound"));
    const parts = [text("where", state.n_rows, state.n_cols, cell.row + 1, cell.col + 1)];
    if (cell.rowspan * cell.colspan > 1) parts.push(text("covers", cell.rowspan, cell.colspan));
    if (cell.header) parts.push(text(`kind_${cell.header}`));
    const scores = { sure: cell.confidence, readSure: cell.ocr, found: cell.detector };
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
    const top = make("div", { className: "top" });
    top.append(make("h2", { textContent: text("keys") }), close);
    help.replaceChildren(top, list);
  }
  function showHelp() { help.showModal(); }
  help.addEventListener("keydown", (event) => event.stopPropagation());
  help.addEventListener("close", () => sheet.focus());

  // --- keys ---

  const press = makeKeys(editor, sheet, actions);
  listen(host.page ?? root, "keydown", (event) => {
    if (document.querySelector("dialog[open]") || event.defaultPrevented) return;
    const isNowhere = event.target === document.body;
    if (isNowhere) sheet.focus(); // so that a key that begins a text goes there
    if (isNowhere || root.contains(event.target) || isGlobalKey(event)) press(event);
  });
  listen(root, "keyup", (event) => { if (event.key === " ") editor.panning = false; });
  listen(window, "blur", () => { editor.panning = false; });
  // By the mouse the focus does not leave the cells, but for fields; by keys it comes back from a tool.
  listen(root, "mousedown", (event) => {
    if (!event.target.closest("input, textarea, select, dialog, .banner, .status")) event.preventDefault();
  });
  root.addEventListener("click", (event) => { if (event.target.closest(".bar button")) sheet.finish(); }, { capture: true, signal: ending.signal });
  listen(root, "click", (event) => {
    const button = event.target.closest("button");
    if (button && !button.closest("dialog") && [button, document.body].includes(document.activeElement)) sheet.focus();
  });

  function speak() {
    root.lang = language().tag;
    bar.speak();
    panes.speak(actions);
    tips.speak();
    views.ariaLabel = text("groupView");
    fillTools(views, VIEW, actions);
    finder.speak();
    editor.proof.speak();
    makeHelp();
    show();
    showQueue();
  }

  // A text that is being typed when the page is closed is kept.
  listen(document, "visibilitychange", () => {
    if (document.visibilityState === "hidden") {
      sheet.finish();
      notes.finish();
      rememberPlace();
    } else refresh();
  });
  listen(window, "pagehide", () => {
    sheet.finish();
    queue.flush();
  });
  listen(window, "beforeunload", (event) => { if (queue.reason && queue.entries.length) event.preventDefault(); });
  listen(window, "online", queue.tryNow);
  listen(window, LANGUAGE_CHANGED, speak);

  // Where one was in this table, until the tab is closed.
  const stored = `place-${name}`;
  function rememberPlace() {
    picture.remember();
    remember(stored, { active: editor.active, end: editor.end }, "session");
  }
  const known = recall(stored, null, "session"), isPlace = ({ row, col } = {}) => row >= 0 && col >= 0;
  if (isPlace(known?.active) && isPlace(known.end)) Object.assign(editor, { active: known.active, end: known.end });
  choice.update();
  showTheme();
  speak();
  queue.start();
  editor.proof.load(0);
  return {
    say,
    // While something waits, the answer to come has it; a state that is shown already says nothing anew.
    update: (next) => { if (!queue.entries.length && next.version !== editor.state.version) takeOver(next); },
    focus: sheet.focus,
    idle: queue.idle,
    destroy() {
      sheet.finish();
      notes.finish();
      rememberPlace();
      panes.destroy();
      editor.proof.destroy();
      lens.destroy();
      queue.destroy();
      windows.close();
      picture.destroy();
      sheet.destroy();
      ending.abort();
    },
  };
}

// The notebook's widget: steps go to the kernel as messages, each with a number that its answer repeats.
function render({ model, el }) {
  const picture = URL.createObjectURL(new Blob([model.get("picture")], { type: "image/png" }));
  const waiting = new Map();
  let count = 0;
  const ask = (content) => new Promise((resolve, reject) => {
    const id = ++count;
    waiting.set(id, { resolve, reject });
    model.send({ id, view, ...content });
    // A kernel that is busy answers late, one that has died never does.
    setTimeout(() => { if (waiting.delete(id)) reject(makeError(text("kernelAway"), { isAway: true })); }, PATIENCE);
  });
  const view = `${Date.now()}-${Math.random()}`;
  const root = document.createElement("div");
  root.style.height = model.get("height");
  el.append(root);
  const editor = mount(root, { state: model.get("state"), picture, send: (step) => ask({ step }), proof: () => ask({ ask: "proof" }) });
  const onMessage = (message) => {
    if (message.view !== view || !waiting.has(message.id)) return;
    const { resolve, reject } = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error) reject(Object.assign(new Error(message.error), { table: message.table, zh: message.error_zh }));
    else resolve(message.proof ?? message.table);
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

// Proofreading: cell after cell, or a column at once, the picture of the cell above its text.
//
// Enter says that the text is right and goes on, typing corrects it: one key each. What is doubtful comes first; what
// sums, check digits and the like prove is left out, until all is wanted.

import { make, makeButton } from "./elements.js";
import { bounds } from "./geometry.js";
import { makeIcon } from "./icons.js";
import { drawCrop } from "./lens.js";
import { language, text } from "./texts.js";

const WAYS = ["texts", "borders", "unproved", "all"]; // what is gone through
const CROP = 46; // pixels of a cell's picture in a column
const MARK = { ground: "#ffe999", line: "#a85b00" }; // of a doubtful word on paper, so the same in every theme

const placeKey = ({ row, col }) => `${row},${col}`;

// host.proof() -> Promise of { cells, order, share_proved, version }.
export function makeProof(editor, dialog, image, changed) {
  let proof = null, byPlace = new Map(), asked = 0;
  let way = null, isColumn = false, queue = [], at = 0, shownText = "", timer = 0;

  // --- what is known ---

  // Ask anew what is proved, once nothing is asked for a while.
  function load(pause = 250 + editor.state.cells.length / 4) {
    if (!editor.host.proof) return Promise.resolve();
    clearTimeout(timer);
    const number = ++asked;
    return new Promise((resolve) => {
      timer = setTimeout(async () => {
        const found = await editor.host.proof().catch(() => null); // nobody answers: the next step says so
        if (found && number === asked && found.version >= editor.state.version) take(found);
        resolve();
      }, pause);
    });
  }

  function take(found) {
    proof = found;
    byPlace = new Map(found.cells.map((cell) => [placeKey(cell), cell]));
    changed();
    if (dialog.open) showProgress();
  }

  const about = (cell) => byPlace.get(placeKey(cell));
  const isTextual = (doubt) => doubt.kind !== "structure";

  // Severities of the worst doubt of each kind, null where there is none; undefined where nothing is known.
  function doubtsOf(cell) {
    if (!proof) return undefined;
    const doubts = about(cell)?.doubts ?? [];
    const worst = (kept) => kept.length ? Math.max(...kept.map(({ severity }) => severity)) : null;
    return { text: worst(doubts.filter(isTextual)), structure: worst(doubts.filter((doubt) => !isTextual(doubt))) };
  }

  const say = (doubt) => language().tag.startsWith("zh") ? doubt.message_zh : doubt.message;
  const saysOf = (cell) => (about(cell)?.doubts ?? []).map(say);

  // --- the queue ---

  function belongs(place, wanted) {
    const known = byPlace.get(place.join());
    if (!known) return false;
    if (wanted === "texts") return known.doubts.some(isTextual);
    if (wanted === "borders") return known.doubts.some((doubt) => !isTextual(doubt));
    return wanted === "all" || !known.proved_by;
  }

  const count = (wanted) => (proof?.order ?? []).filter((place) => belongs(place, wanted)).length;

  function choose(wanted) {
    way = wanted;
    queue = proof.order.filter((place) => belongs(place, way));
    if (way !== "texts" && way !== "borders") queue.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    at = 0;
    show();
  }

  const place = () => queue[at];
  const cellOf = (where) => where && editor.cellAt(...where);
  const columnCells = () => {
    const { col } = cellOf(place()) ?? editor.current();
    return editor.state.cells.filter((cell) => cell.col === col && (cell.text.trim() || about(cell)?.doubts.length));
  };

  // --- the dialog ---

  const title = make("h1"), progress = make("progress", { max: 1 }), share = make("span", { className: "share", role: "status" });
  const tabs = make("div", { className: "ways", role: "group" }), close = make("button", { type: "button", className: "tool" });
  const body = make("div", { className: "proof-body" }), foot = make("div", { className: "proof-foot" });
  const head = make("div", { className: "proof-head" });
  close.append(makeIcon("close"));
  close.addEventListener("click", () => dialog.close());
  head.append(title, progress, share, tabs, close);
  dialog.classList.add("proof");
  dialog.append(head, body, foot);

  async function open() {
    if (!editor.host.proof || dialog.open) return;
    if (!proof || proof.version !== editor.state.version) await load(0);
    if (!proof) return;
    speak();
    dialog.showModal();
    choose(WAYS.find((each) => count(each)) ?? "all");
  }

  function speak() {
    dialog.ariaLabel = text("proof");
    title.textContent = text("proof");
    progress.ariaLabel = text("proofShare");
    Object.assign(close, { title: text("closeHint"), ariaLabel: text("closeHint") });
    tabs.ariaLabel = text("proofWays");
  }

  function showProgress() {
    progress.value = proof.share_proved;
    share.textContent = text("proofPercent", Math.floor(100 * proof.share_proved));
    tabs.replaceChildren(...WAYS.map((each) => {
      const button = makeButton(text(`proof_${each}`, count(each)), "", () => choose(each));
      button.ariaPressed = String(each === way);
      button.dataset.way = each;
      return button;
    }));
  }

  function show() {
    showProgress();
    const cell = cellOf(place());
    if (!cell) return showEnd();
    editor.select(cell.row, cell.col);
    if (isColumn) showColumn();
    else showCell(cell);
  }

  function showEnd() {
    const done = make("p", { className: "done", textContent: text(way === "all" || !count("unproved") ? "proofAllDone" : "proofDone"), role: "status" });
    body.replaceChildren(done);
    const rest = count("unproved");
    foot.replaceChildren(
      ...(rest ? [makeButton(text("proofRest", rest), "", () => choose("unproved"))] : []),
      makeButton(text("close"), "", () => dialog.close()));
    (foot.querySelector("button")).focus();
  }

  // A picture of the cell, with its borders where these are in doubt.
  function draw(canvas, cell, width, height) {
    if (!cell.quad || !image.complete || !image.naturalWidth) return;
    const { x, y, scale } = drawCrop(canvas, image, cell.quad, width, height);
    const context = canvas.getContext("2d"), outline = (q) => {
      context.beginPath();
      for (let i = 0; i < 8; i += 2) context.lineTo((q[i] - x) * scale, (q[i + 1] - y) * scale);
      context.closePath();
    };
    context.lineWidth = 2 * (window.devicePixelRatio || 1);
    for (const quad of about(cell)?.quads ?? []) {
      outline(quad);
      context.globalCompositeOperation = "multiply"; // the print stays as dark as it is
      context.fillStyle = MARK.ground;
      context.fill();
      context.globalCompositeOperation = "source-over";
      context.strokeStyle = MARK.line;
      context.stroke();
    }
    if (doubtsOf(cell)?.structure == null) return;
    outline(cell.quad);
    context.strokeStyle = getComputedStyle(dialog).getPropertyValue("--accent-plain") || "#1a5fb4";
    context.stroke();
  }

  // A field with its text, in which the doubtful words are marked until it is changed; typing replaces the first one.
  function makeField(cell, reasons) {
    const lines = cell.text.split("\n").length, frame = make("div", { className: "field" });
    const field = make("textarea", { value: cell.text, rows: lines, dir: "auto", spellcheck: false });
    const spans = about(cell)?.spans ?? [], marked = spans.map(([start, end]) => cell.text.slice(start, end));
    const looks = marked.length ? [text("proofMarked", marked.join(", "))] : [];
    field.ariaLabel = [text("textOf", cell.row + 1, cell.col + 1), ...reasons, ...looks].join(". ");
    frame.append(field);
    if (marked.length) {
      const below = make("div", { className: "marks", ariaHidden: "true", dir: "auto" });
      let at = 0;
      for (const [start, end] of spans) {
        below.append(cell.text.slice(at, start), make("mark", { textContent: cell.text.slice(start, end) }));
        at = end;
      }
      below.append(`${cell.text.slice(at)}\u200b`); // a line end at the end has its height
      frame.prepend(below);
      field.addEventListener("input", () => { below.hidden = field.value !== cell.text; });
      field.addEventListener("scroll", () => { below.scrollTop = field.scrollTop; });
    }
    field.choose = () => marked.length ? field.setSelectionRange(...spans[0]) : field.select();
    return { frame, field };
  }

  function showCell(cell) {
    const known = about(cell), reasons = saysOf(cell);
    const canvas = make("canvas", { role: "img", ariaLabel: text("lensOf", cell.row + 1, cell.col + 1) });
    const crop = make("div", { className: "crop" }), { frame, field } = makeField(cell, reasons), list = make("ul", { className: "reasons" });
    shownText = cell.text;
    crop.append(canvas);
    list.append(...reasons.map((reason) => make("li", { textContent: reason })));
    if (known?.proved_by) list.append(make("li", { className: "proved", textContent: text(`proved_${known.proved_by.replace(" ", "_")}`) }));
    const mends = mendsOf(cell), offers = make("div", { className: "offers" });
    offers.append(...mends.map((mend, index) => {
      const button = makeButton(mend, text("proofTakeHint", index + 1), () => write(cell, mend));
      Object.assign(button, { dir: "auto", ariaLabel: `${mend} · ${button.title}` });
      return button;
    }));
    body.replaceChildren(crop, make("p", { className: "where", textContent: whereOf(cell) }), frame, list, offers);
    foot.replaceChildren(
      makeButton(text("proofRight"), text("proofRightHint"), () => accept(cell, field)),
      makeButton(text("proofBefore"), text("proofBeforeHint"), () => go(-1)),
      makeButton(text("proofNext"), text("proofNextHint"), () => go(1)),
      makeButton(text("proofColumn"), text("proofColumnHint"), () => turn(true)));
    foot.firstChild.classList.add("main-action");
    draw(canvas, cell, crop.clientWidth, crop.clientHeight);
    field.focus();
    field.choose();
  }

  const mendsOf = (cell) => [...new Set((about(cell)?.doubts ?? []).map(({ mended }) => mended))].filter((mend) => mend && mend !== cell.text).slice(0, 9);
  const whereOf = (cell) => text("proofWhere", at + 1, queue.length, cell.row + 1, cell.col + 1);

  function go(direction) {
    at = Math.min(Math.max(at + direction, 0), queue.length);
    show();
  }

  // The text is right as it stands, or was corrected.
  function accept(cell, field) {
    if (field.value !== shownText) return write(cell, field.value);
    confirm(cell);
    go(1);
  }

  function write(cell, value) {
    setText(cell, value);
    go(1);
  }

  const confirmBlock = (block) => editor.step(() => ({ do: "confirm", ...block, is_right: true })).then(() => load());
  const confirm = ({ row, col, rowspan, colspan }) => confirmBlock({ row, col, end_row: row + rowspan, end_col: col + colspan });
  const setText = ({ row, col }, value) => editor.step(() => ({ do: "set_text", row, col, text: value })).then(() => load());

  // --- a column at once ---

  function turn(toColumn) {
    isColumn = toColumn;
    show();
  }

  function showColumn() {
    const cells = columnCells(), here = cellOf(place()), rows = make("ol", { className: "column" });
    const fields = [];
    const seen = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) if (isIntersecting) { target.paint(); seen.unobserve(target); }
    }, { root: body, rootMargin: "300px" });
    for (const cell of cells) {
      const item = make("li"), canvas = make("canvas", { role: "img", ariaLabel: text("lensOf", cell.row + 1, cell.col + 1) });
      const reasons = saysOf(cell), { frame, field } = makeField(cell, reasons), known = about(cell);
      const [, y0, , y1] = cell.quad ? bounds(cell.quad) : [0, 0, 0, 0];
      field.dataset.place = placeKey(cell);
      item.classList.toggle("doubtful", Boolean(reasons.length));
      item.classList.toggle("is-proved", Boolean(known?.proved_by));
      canvas.paint = () => draw(canvas, cell, body.clientWidth * .55, Math.max(CROP, Math.min(160, 1.6 * (y1 - y0))));
      item.append(canvas, frame, make("span", { className: "reasons", textContent: reasons.join("; ") || (known?.proved_by ? "✓" : "") }));
      rows.append(item);
      fields.push(field);
      seen.observe(canvas);
    }
    body.replaceChildren(make("p", { className: "where", textContent: text("proofColumnWhere", here.col + 1, cells.length) }), rows);
    foot.replaceChildren(
      makeButton(text("proofAllRight"), text("proofAllRightHint"), () => acceptColumn(cells, fields)),
      makeButton(text("proofCells"), text("proofCellsHint"), () => turn(false)));
    foot.firstChild.classList.add("main-action");
    const first = fields[Math.max(0, cells.findIndex((cell) => cell.row === here.row))];
    first?.focus();
    first?.choose();
    first?.scrollIntoView({ block: "nearest" });
  }

  // What was typed is written, each as a step; then the column is right.
  function acceptColumn(cells, fields) {
    const { col } = cells[0];
    for (const [index, field] of fields.entries()) writeIfTyped(cells[index], field);
    const first = Math.min(...cells.map((cell) => cell.row)), end = Math.max(...cells.map((cell) => cell.row + cell.rowspan));
    const endCol = Math.max(...cells.map((cell) => cell.col + cell.colspan));
    confirmBlock({ row: first, col, end_row: end, end_col: Math.min(endCol, col + 1) });
    goBehind(cells);
  }

  // To the next one that is none of these.
  function goBehind(cells) {
    const done = new Set(cells.map(placeKey)), next = queue.findIndex((each, index) => index > at && !done.has(each.join()));
    at = next < 0 ? queue.length : next;
    show();
  }

  function writeIfTyped(cell, field) {
    const value = field.value;
    if (value === (editor.cellAt(cell.row, cell.col)?.text ?? cell.text)) return;
    setText(cell, value);
  }

  // --- keys ---

  function inColumn(event, field) {
    const fields = [...body.querySelectorAll("textarea")], here = fields.indexOf(field);
    const step = { ArrowDown: 1, ArrowUp: -1, Enter: event.shiftKey ? 0 : 1 }[event.key];
    if (!step || event.altKey) return false;
    if (event.key === "Enter") {
      const cell = editor.cellAt(...field.dataset.place.split(",").map(Number));
      if (field.value !== cell.text) writeIfTyped(cell, field);
      else confirm(cell);
      field.closest("li").classList.replace("doubtful", "is-proved");
    }
    const next = fields[here + step];
    if (!next && event.key === "Enter") { goBehind(columnCells()); return true; }
    next?.focus();
    next?.choose();
    return true;
  }

  function inCell(event, field) {
    const cell = cellOf(place()), mends = mendsOf(cell), digit = Number(event.key) || Number(event.code.replace("Digit", ""));
    const isPlain = field.value === shownText && !shownText.includes("\n") && !event.shiftKey;
    if (event.key === "Enter" && !event.shiftKey) accept(cell, field);
    else if (event.altKey && digit && mends[digit - 1] !== undefined) write(cell, mends[digit - 1]);
    else if (event.key === "PageDown" || (event.key === "ArrowDown" && isPlain)) go(1);
    else if (event.key === "PageUp" || (event.key === "ArrowUp" && isPlain)) go(-1);
    else return false;
    return true;
  }

  dialog.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.isComposing) return;
    const field = event.target.closest("textarea"), control = event.ctrlKey || event.metaKey;
    let isDone = true;
    if (control && event.key === "Enter" && isColumn) foot.querySelector(".main-action").click();
    else if (control && ["z", "Z", "y"].includes(event.key) && field?.value === shownText) undo(event.key !== "z");
    else if (event.altKey && event.code === "KeyC") turn(!isColumn);
    else if (event.key === "Escape" && field && !isColumn && field.value !== shownText) { field.value = shownText; field.dispatchEvent(new Event("input")); field.choose(); }
    else if (field && !control) isDone = isColumn ? inColumn(event, field) : inCell(event, field);
    else isDone = false;
    if (isDone) event.preventDefault();
  });

  // The last step goes, and one is where one was.
  function undo(isRedo) {
    editor.step(() => ({ do: isRedo ? "redo" : "undo" })).then(() => load(0)).then(() => go(isRedo ? 1 : -1));
  }

  dialog.addEventListener("close", () => {
    const cell = cellOf(place());
    if (cell) editor.select(cell.row, cell.col);
    editor.focus();
  });
  new ResizeObserver(() => {
    const cell = cellOf(place()), canvas = body.querySelector(".crop canvas");
    if (dialog.open && cell && canvas) draw(canvas, cell, canvas.parentElement.clientWidth, canvas.parentElement.clientHeight);
  }).observe(dialog);

  return {
    open, load, doubtsOf, saysOf,
    speak: () => { if (dialog.open) { speak(); show(); } },
    destroy: () => { clearTimeout(timer); asked += 1; },
    get isKnown() { return proof !== null; },
    get known() { return proof; }, // the same as long as nothing else is known
  };
}

// A page of the input in a dialog, on which a person frames a table that was missed.

import { make, makeButton } from "/static/elements.js";
import { clamp } from "/static/geometry.js";
import { language, saidBy, text } from "/static/texts.js";

const SMALLEST = 8; // pixels of the page that a frame has at least, as in tablerec/corrections/editor/framing.py
const MARGIN = .02; // of the page, around what is on it
const SEEN = 240; // points along the larger side of the page, as it is looked at for what is on it
const INK = 40; // steps of grey, of 255, that what is on it differs from the paper
// Which sides a handle takes along: of the left, top, right, bottom.
const HANDLES = ["nw", "n", "ne", "e", "se", "s", "sw", "w"].map((name) => ({
  name, sides: [name.includes("w"), name.includes("n"), name.includes("e"), name.includes("s")],
}));

// others: windows of known tables. add({ box, rows, cols }) -> Promise; an error that it throws is shown.
export function openFrame({ picture, others, add }) {
  const dialog = make("dialog", { className: "frame", ariaLabel: text("frameTitle"), lang: language().tag });
  const view = make("div", { className: "view" });
  const stage = make("div", { className: "stage", tabIndex: 0, role: "application", ariaLabel: text("framePage") });
  const page = make("img", { alt: "", src: picture, draggable: false });
  const frame = make("div", { className: "box guess", hidden: true });
  const status = make("p", { role: "status" });
  const [rows, cols] = ["frameRows", "frameCols"].map((name) => {
    const input = make("input", { type: "number", min: 1, max: 200, step: 1 });
    return { input, label: make("label", { textContent: `${text(name)} ` }) };
  });
  const begin = makeButton(text("frameAdd"), "", send), cancel = makeButton(text("cancel"), "", () => dialog.close());
  const zooms = [["−", "out", 1 / 1.5], ["+", "in", 1.5]].map(([sign, name, factor]) => makeButton(sign, text(name), () => zoom(factor)));
  begin.className = "main";
  for (const each of [rows, cols]) each.label.append(each.input);
  for (const { name } of HANDLES) frame.append(makeHandle(name));
  const tools = make("div", { className: "tools" });
  tools.append(...zooms, rows.label, cols.label, make("span", { className: "hint", textContent: text("frameEven") }), begin, cancel);
  stage.append(page, ...others.map(() => make("div", { className: "known" })), frame);
  view.append(stage);
  dialog.append(make("h2", { textContent: text("frameTitle") }), make("p", { className: "explains", textContent: text("frameHelp") }), view, tools, status);
  document.body.append(dialog);
  let box = null, isGuess = true, drag = null, scale = 0; // box: x0, y0, x1, y1 in pixels of the page

  const size = () => [page.naturalWidth, page.naturalHeight];

  function makeHandle(name) {
    const handle = make("div", { className: "handle" });
    handle.dataset.side = name;
    Object.assign(handle.style, {
      left: name.includes("w") ? "0" : name.includes("e") ? "100%" : "50%", top: name.includes("n") ? "0" : name.includes("s") ? "100%" : "50%",
      cursor: `${name}-resize`,
    });
    return handle;
  }

  function place(element, [x0, y0, x1, y1]) {
    const [width, height] = size();
    Object.assign(element.style, {
      left: `${100 * x0 / width}%`, top: `${100 * y0 / height}%`,
      width: `${100 * (x1 - x0) / width}%`, height: `${100 * (y1 - y0) / height}%`,
    });
  }

  function setBox(next) {
    box = next.map(Math.round);
    frame.hidden = false;
    place(frame, box);
    status.textContent = text("frameNow", ...box);
  }

  // Where the frame is stays in sight.
  function zoom(factor) {
    const [width, height] = size(), whole = Math.min((view.clientWidth - 4) / width, (view.clientHeight - 4) / height);
    scale = clamp((scale || whole) * factor, Math.min(whole, 1), 8);
    stage.style.width = `${width * scale}px`;
    stage.style.height = `${height * scale}px`;
    if (!box) return;
    view.scrollLeft = (box[0] + box[2]) / 2 * scale - view.clientWidth / 2;
    view.scrollTop = (box[1] + box[3]) / 2 * scale - view.clientHeight / 2;
  }

  page.addEventListener("load", () => {
    stage.querySelectorAll(".known").forEach((element, index) => place(element, others[index]));
    zoom(1);
    setBox(guess(page, others));
  });
  page.addEventListener("error", () => { status.textContent = text("gone"); });

  // --- the mouse ---

  const toPage = (event) => {
    const bounds = page.getBoundingClientRect(), [width, height] = size();
    return [clamp((event.clientX - bounds.left) / bounds.width, 0, 1) * width, clamp((event.clientY - bounds.top) / bounds.height, 0, 1) * height];
  };
  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !box) return;
    event.preventDefault();
    stage.focus({ preventScroll: true });
    stage.setPointerCapture(event.pointerId);
    const side = event.target.dataset.side, from = toPage(event);
    // A frame that nobody has drawn yet is in nobody's way.
    const isMove = event.target === frame && !isGuess, sides = side ? HANDLES.find(({ name }) => name === side).sides : null;
    drag = { from, sides: isMove ? [true, true, true, true] : sides, box };
  });
  stage.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const to = toPage(event), { from, sides } = drag;
    setDrawn();
    if (!sides) {
      if (Math.hypot(to[0] - from[0], to[1] - from[1]) * scale < 4) return; // a press alone draws no frame
      setBox([Math.min(from[0], to[0]), Math.min(from[1], to[1]), Math.max(from[0], to[0]), Math.max(from[1], to[1])]);
    } else shift(drag.box, to[0] - from[0], to[1] - from[1], sides);
  });
  function setDrawn() {
    isGuess = false;
    frame.classList.remove("guess");
  }
  for (const type of ["pointerup", "pointercancel"]) stage.addEventListener(type, () => { drag = null; });
  view.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.25 : .8);
  }, { passive: false });

  // Some sides of a box move; it stays on the page.
  function shift(from, dx, dy, [left, top, right, bottom]) {
    const [width, height] = size();
    let [x0, y0, x1, y1] = from;
    if (left && right) dx = clamp(dx, -x0, width - x1);
    if (top && bottom) dy = clamp(dy, -y0, height - y1);
    if (left) x0 = clamp(x0 + dx, 0, right ? width : x1 - SMALLEST);
    if (top) y0 = clamp(y0 + dy, 0, bottom ? height : y1 - SMALLEST);
    if (right) x1 = clamp(x1 + dx, x0 + SMALLEST, width);
    if (bottom) y1 = clamp(y1 + dy, y0 + SMALLEST, height);
    setBox([x0, y0, x1, y1]);
  }

  // --- the keyboard ---

  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  dialog.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter" && event.target.tagName !== "BUTTON") { event.preventDefault(); send(); }
    if (event.target !== stage || !box) return;
    if (["+", "=", "-"].includes(event.key) && !event.ctrlKey && !event.metaKey) return zoom(event.key === "-" ? 1 / 1.5 : 1.5);
    const arrow = ARROWS[event.key];
    if (!arrow) return;
    event.preventDefault();
    const far = (event.ctrlKey ? .1 : .005) * Math.max(...size()), [dx, dy] = arrow.map((each) => each * Math.max(1, far));
    shift(box, dx, dy, event.shiftKey ? [false, false, true, true] : [true, true, true, true]);
  });

  const count = ({ input }) => input.value === "" ? null : Number(input.value);

  async function send() {
    if (!box || begin.disabled) return;
    begin.disabled = true;
    status.lang = language().tag;
    status.textContent = text("frameReading");
    try {
      await add({ box, rows: count(rows), cols: count(cols) });
      dialog.close();
    } catch (error) {
      const { words, tag } = saidBy(error);
      Object.assign(status, { textContent: words, lang: tag });
      begin.disabled = false;
    }
  }

  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
  stage.focus();
  return dialog;
}

// Around what is on the page, in the largest part of it that is free of known tables.
function guess(page, others) {
  const [width, height] = [page.naturalWidth, page.naturalHeight], free = largestFree([width, height], others);
  const ink = inkIn(page, free) ?? free, margin = MARGIN * Math.max(width, height);
  return [
    Math.max(free[0], ink[0] - margin), Math.max(free[1], ink[1] - margin), Math.min(free[2], ink[2] + margin), Math.min(free[3], ink[3] + margin),
  ];
}

function largestFree([width, height], others) {
  const xs = [0, width, ...others.flatMap(([x0, , x1]) => [x0, x1])], ys = [0, height, ...others.flatMap(([, y0, , y1]) => [y0, y1])];
  const isFree = ([x0, y0, x1, y1]) => !others.some(([a0, b0, a1, b1]) => a0 < x1 && a1 > x0 && b0 < y1 && b1 > y0);
  let best = null, most = 0;
  for (const x0 of xs) for (const x1 of xs) for (const y0 of ys) for (const y1 of ys) {
    const area = x1 - x0 > SMALLEST && y1 - y0 > SMALLEST ? (x1 - x0) * (y1 - y0) : 0;
    if (area > most && isFree([x0, y0, x1, y1])) [best, most] = [[x0, y0, x1, y1], area];
  }
  return best ?? [0, 0, width, height];
}

// The box around all that differs from the paper; null where nothing does.
function inkIn(page, [x0, y0, x1, y1]) {
  const scale = Math.min(1, SEEN / Math.max(x1 - x0, y1 - y0)), [w, h] = [x1 - x0, y1 - y0].map((side) => Math.max(1, Math.round(side * scale)));
  const canvas = make("canvas", { width: w, height: h }), context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(page, x0, y0, x1 - x0, y1 - y0, 0, 0, w, h);
  const { data } = context.getImageData(0, 0, w, h);
  const grey = Float64Array.from({ length: w * h }, (_, index) => (data[4 * index] + data[4 * index + 1] + data[4 * index + 2]) / 3);
  const paper = [...grey].sort((a, b) => a - b)[grey.length >> 1];
  let box = null;
  grey.forEach((value, index) => {
    if (Math.abs(value - paper) < INK) return;
    const [x, y] = [index % w, Math.floor(index / w)];
    box = box ? [Math.min(box[0], x), Math.min(box[1], y), Math.max(box[2], x + 1), Math.max(box[3], y + 1)] : [x, y, x + 1, y + 1];
  });
  return box && [x0 + box[0] / scale, y0 + box[1] / scale, x0 + box[2] / scale, y0 + box[3] / scale];
}

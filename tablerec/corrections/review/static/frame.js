// A page of the input in a dialog, on which a person frames a table that was missed.

import { make, makeButton } from "/static/elements.js";
import { clamp } from "/static/geometry.js";
import { language, text } from "/static/texts.js";

const SMALLEST = 8; // pixels of the page that a frame has at least, as in tablerec/corrections/editor/framing.py

// others: windows of known tables. add({ box, rows, cols }) -> Promise; an error that it throws is shown.
export function openFrame({ picture, others, add }) {
  const dialog = make("dialog", { className: "frame", ariaLabel: text("frameTitle"), lang: language().tag });
  const stage = make("div", { className: "stage", tabIndex: 0, role: "application", ariaLabel: text("framePage") });
  const page = make("img", { alt: "", src: picture, draggable: false });
  const frame = make("div", { className: "box" });
  const status = make("p", { role: "status" });
  const [rows, cols] = ["frameRows", "frameCols"].map((name) => {
    const input = make("input", { type: "number", min: 1, max: 200, step: 1 });
    return { input, label: make("label", { textContent: `${text(name)} ` }) };
  });
  const begin = makeButton(text("frameAdd"), "", send), cancel = makeButton(text("cancel"), "", () => dialog.close());
  begin.className = "main";
  for (const each of [rows, cols]) each.label.append(each.input);
  const tools = make("div", { className: "tools" });
  tools.append(rows.label, cols.label, make("span", { textContent: text("frameEven") }), begin, cancel);
  stage.append(page, ...others.map(() => make("div", { className: "known" })), frame);
  dialog.append(make("h2", { textContent: text("frameTitle") }), make("p", { textContent: text("frameHelp") }), stage, tools, status);
  document.body.append(dialog);
  let box = null, from = null; // x0, y0, x1, y1 in pixels of the page; where a drag began

  const size = () => [page.naturalWidth, page.naturalHeight];

  function place(element, [x0, y0, x1, y1]) {
    const [width, height] = size();
    Object.assign(element.style, {
      left: `${100 * x0 / width}%`, top: `${100 * y0 / height}%`,
      width: `${100 * (x1 - x0) / width}%`, height: `${100 * (y1 - y0) / height}%`,
    });
  }

  function setBox(next) {
    box = next.map(Math.round);
    place(frame, box);
    status.textContent = text("frameNow", ...box);
  }

  page.addEventListener("load", () => {
    const [width, height] = size();
    stage.style.aspectRatio = `${width} / ${height}`;
    stage.querySelectorAll(".known").forEach((element, index) => place(element, others[index]));
    setBox([.1 * width, .1 * height, .9 * width, .9 * height]);
  });
  page.addEventListener("error", () => { status.textContent = text("gone"); });

  const toPage = (event) => {
    const bounds = page.getBoundingClientRect(), [width, height] = size();
    return [clamp((event.clientX - bounds.left) / bounds.width, 0, 1) * width, clamp((event.clientY - bounds.top) / bounds.height, 0, 1) * height];
  };
  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !box) return;
    event.preventDefault();
    stage.focus();
    stage.setPointerCapture(event.pointerId);
    from = toPage(event);
  });
  stage.addEventListener("pointermove", (event) => {
    if (!from) return;
    const to = toPage(event);
    setBox([Math.min(from[0], to[0]), Math.min(from[1], to[1]), Math.max(from[0], to[0]), Math.max(from[1], to[1])]);
  });
  stage.addEventListener("pointerup", () => { from = null; });

  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  dialog.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter" && event.target.tagName !== "BUTTON") { event.preventDefault(); send(); }
    const arrow = event.target === stage && box && ARROWS[event.key];
    if (!arrow) return;
    event.preventDefault();
    const [width, height] = size(), far = event.ctrlKey ? .1 * Math.max(width, height) : .005 * Math.max(width, height);
    let [x0, y0, x1, y1] = box, [dx, dy] = arrow.map((each) => each * Math.max(1, far));
    if (event.shiftKey) {
      [x1, y1] = [clamp(x1 + dx, x0 + SMALLEST, width), clamp(y1 + dy, y0 + SMALLEST, height)];
    } else {
      [dx, dy] = [clamp(dx, -x0, width - x1), clamp(dy, -y0, height - y1)];
      [x0, y0, x1, y1] = [x0 + dx, y0 + dy, x1 + dx, y1 + dy];
    }
    setBox([x0, y0, x1, y1]);
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
      status.lang = "en";
      status.textContent = error.message;
      begin.disabled = false;
    }
  }

  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
  stage.focus();
  return dialog;
}

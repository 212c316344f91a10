// Picture and sheet in one window: beside or above each other, with a splitter between them, or behind two tabs where
// there is no room for both.

import { fillTools, rove } from "./bar.js";
import { make } from "./elements.js";
import { clamp } from "./geometry.js";
import { makeIcon } from "./icons.js";
import { recall, remember } from "./memory.js";
import { text } from "./texts.js";

export const SMALLEST = 240; // pixels of each, along the splitter's way
const SPLITTER = 10;
const TOOLS = ["out", "in", "fit", "cell", "lens", "arrange"];
const KEYS = { ArrowLeft: -.02, ArrowUp: -.02, ArrowRight: .02, ArrowDown: .02, PageUp: -.1, PageDown: .1 };

export function makePanes(editor, main, picture, sheet) {
  const pane = (className) => make("section", { className: `pane ${className}` });
  const first = pane("picture-pane"), second = pane("sheet-pane");
  const tools = make("div", { className: "strip", role: "toolbar" }), above = make("div", { className: "strip" });
  const lens = make("div", { className: "lens", hidden: true }), below = make("div", { className: "below", hidden: true });
  const splitter = make("div", { className: "splitter", role: "separator", tabIndex: 0 });
  const tabs = make("div", { className: "tabs", role: "tablist" });
  const tab = { picture: make("button", { type: "button", role: "tab" }), sheet: make("button", { type: "button", role: "tab" }) };
  let layout = "side", shown = "sheet", buttons = {};
  first.append(tools, picture);
  second.append(above, lens, sheet, below);
  tabs.append(tab.picture, tab.sheet);
  main.append(tabs, first, splitter, second);
  const settle = rove(tools);

  const room = () => layout === "side" ? main.clientWidth : main.clientHeight;
  const share = () => recall(`split-${layout}`, .5);

  function arrange() {
    const { clientWidth: width, clientHeight: height } = main, both = 2 * SMALLEST + SPLITTER;
    if (!width || !height) return;
    const fits = { side: width >= both, above: height >= both };
    const wanted = recall("arrangement", width >= 620 ? "side" : "above"), other = wanted === "side" ? "above" : "side";
    layout = fits[wanted] ? wanted : fits[other] ? other : "tabs";
    main.dataset.layout = layout;
    splitter.ariaOrientation = layout === "side" ? "vertical" : "horizontal";
    place();
    turn(shown);
    show();
  }

  function place() {
    if (layout === "tabs") {
      first.style.flexBasis = "";
      return;
    }
    const size = clamp(share() * room(), SMALLEST, room() - SMALLEST - SPLITTER);
    first.style.flexBasis = `${size}px`;
    splitter.ariaValueMin = Math.round(100 * SMALLEST / room());
    splitter.ariaValueMax = Math.round(100 * (room() - SMALLEST - SPLITTER) / room());
    splitter.ariaValueNow = Math.round(100 * size / room());
  }

  function move(next) {
    remember(`split-${layout}`, clamp(next, SMALLEST / room(), 1 - (SMALLEST + SPLITTER) / room()));
    place();
  }

  splitter.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    splitter.setPointerCapture(event.pointerId);
  });
  splitter.addEventListener("pointermove", (event) => {
    if (!splitter.hasPointerCapture(event.pointerId)) return;
    const box = main.getBoundingClientRect(), middle = SPLITTER / 2;
    const isRtl = getComputedStyle(main).direction === "rtl";
    const along = layout === "above" ? event.clientY - box.top : isRtl ? box.right - event.clientX : event.clientX - box.left;
    move((along - middle) / room());
  });
  splitter.addEventListener("dblclick", () => move(.5));
  splitter.addEventListener("keydown", (event) => {
    const ends = { Home: 0, End: 1, Enter: .5 }, step = KEYS[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey || (step === undefined && !(event.key in ends))) return;
    event.preventDefault();
    event.stopPropagation();
    move(step === undefined ? ends[event.key] : share() + step);
  });

  // --- tabs ---

  function turn(to) {
    shown = to;
    for (const [name, element] of [["picture", first], ["sheet", second]]) {
      element.classList.toggle("behind", layout === "tabs" && name !== shown);
      tab[name].ariaSelected = String(name === shown);
      tab[name].tabIndex = name === shown ? 0 : -1;
    }
  }
  for (const [name, button] of Object.entries(tab)) {
    button.addEventListener("mousedown", (event) => event.preventDefault());
    button.addEventListener("click", () => { turn(name); editor.focus(); });
  }
  tabs.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    event.stopPropagation();
    turn(shown === "sheet" ? "picture" : "sheet");
    tab[shown].focus();
  });
  // Who types sees what they type.
  second.addEventListener("input", () => { if (shown !== "sheet") turn("sheet"); });

  // --- what it says ---

  function speak(actions) {
    first.ariaLabel = text("picture");
    second.ariaLabel = text("cells");
    tools.ariaLabel = text("pictureTools");
    tabs.ariaLabel = text("panes");
    tab.picture.textContent = text("picture");
    tab.sheet.textContent = text("sheet");
    splitter.ariaLabel = text("splitter");
    splitter.title = text("splitterHint");
    buttons = fillTools(tools, TOOLS, actions);
    show();
  }

  function show() {
    if (!buttons.cell) return;
    buttons.cell.ariaPressed = String(editor.follows);
    buttons.lens.ariaPressed = String(editor.magnifies);
    buttons.arrange.querySelector("svg").replaceWith(makeIcon(layout === "side" ? "above" : "side"));
    buttons.arrange.hidden = layout === "tabs";
    settle();
  }

  function switchLayout() {
    remember("arrangement", layout === "side" ? "above" : "side");
    arrange();
  }

  const observer = new ResizeObserver(arrange);
  observer.observe(main);
  arrange();
  return { speak, show, switchLayout, above, lens, below, turn, destroy: () => observer.disconnect() };
}

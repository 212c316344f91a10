// The toolbar: a sign with a name for each tool, in groups. In narrow windows the names are hidden from the eye alone.

import { make } from "./elements.js";
import { makeIcon } from "./icons.js";
import { text } from "./texts.js";

const GROUPS = {
  groupSteps: ["undo", "redo", "restore"],
  groupLines: ["rowLine", "colLine", "oneBorder"],
  groupCells: ["joinRows", "joinCols", "merge", "split"],
  groupRows: ["top", "bottom", "left", "right", "dropRows", "dropCols"],
  groupHeaders: ["headerRows", "headerCols", "section"],
  groupDoubts: ["proof", "doubt", "find", "read", "confirm"],
  groupPage: ["frame", "reject"],
  groupDone: ["save", "saveNext"],
};

// A button with a sign. A press by mouse leaves the focus where it is, so that one goes on typing in the cell.
export function makeTool(name, action) {
  const button = make("button", { type: "button", title: text(`${name}Hint`), className: "tool" });
  button.dataset.tool = name;
  button.append(makeIcon(name), make("span", { className: "label", textContent: text(name) }));
  button.addEventListener("mousedown", (event) => event.preventDefault());
  button.addEventListener("click", action);
  return button;
}

export function fillTools(element, names, actions) {
  const buttons = Object.fromEntries(names.filter((name) => actions[name]).map((name) => [name, makeTool(name, actions[name])]));
  element.replaceChildren(...Object.values(buttons));
  return buttons;
}

// A toolbar is one stop of Tab; arrows go from tool to tool.
export function rove(element) {
  const tools = () => [...element.querySelectorAll("button:enabled, input")];
  const choose = (chosen) => { for (const each of tools()) each.tabIndex = each === chosen ? 0 : -1; };
  element.addEventListener("focusin", (event) => choose(event.target));
  element.addEventListener("keydown", (event) => {
    if (event.target.tagName === "INPUT") return;
    const all = tools(), here = all.indexOf(event.target);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const next = step ? all.at((here + step) % all.length) : { Home: all[0], End: all.at(-1) }[event.key];
    if (!next || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    next.focus();
  });
  return () => { // once its tools have changed
    const all = tools();
    if (!all.some((each) => each.tabIndex === 0)) choose(all[0]);
    else choose(all.find((each) => each === document.activeElement) ?? all.find((each) => each.tabIndex === 0));
  };
}

// actions: name -> what a click does; a tool without one is left out.
export function makeBar(editor, element, actions) {
  let buttons = {};
  const settle = rove(element);

  function speak() {
    buttons = {};
    element.ariaLabel = text("tools");
    element.replaceChildren(...Object.entries(GROUPS).map(([caption, names]) => {
      const group = make("div", { className: `group ${caption}`, role: "group", ariaLabel: text(caption) });
      const tools = make("div", { className: "tools" });
      Object.assign(buttons, fillTools(tools, names, actions));
      group.append(tools, make("span", { className: "caption", textContent: text(caption), ariaHidden: "true" }));
      return group;
    }));
  }

  function show() {
    const { state } = editor, hadFocus = element.contains(document.activeElement);
    const pressed = {
      oneBorder: editor.oneBorder, rowLine: editor.tool === "row", colLine: editor.tool === "col",
      reject: state.verdict === "rejected",
    };
    for (const [name, button] of Object.entries(buttons)) button.disabled = editor.isOff(name);
    for (const [name, on] of Object.entries(pressed)) buttons[name].ariaPressed = String(on);
    buttons.save.classList.toggle("done", state.verdict === "saved");
    buttons.save.querySelector(".label").textContent = text(state.verdict === "saved" ? "saved" : "save");
    if (hadFocus && document.activeElement?.disabled) editor.focus();
    settle();
  }

  return { speak, show };
}

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
  groupDoubts: ["doubt"],
  groupPage: ["frame", "reject"],
  groupView: ["theme", "language", "help"],
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

// actions: name -> what a click does; a tool without one is left out. search: the field that stands beside the doubts.
export function makeBar(editor, element, actions, search) {
  let buttons = {};
  const settle = rove(element);

  function speak() {
    buttons = {};
    element.ariaLabel = text("tools");
    element.replaceChildren(...Object.entries(GROUPS).map(([caption, names]) => {
      const group = make("div", { className: `group ${caption}`, role: "group", ariaLabel: text(caption) });
      const tools = make("div", { className: "tools" });
      for (const name of names) {
        if (!actions[name]) continue;
        buttons[name] = makeTool(name, actions[name]);
        tools.append(buttons[name]);
      }
      if (names.includes("doubt") && search) tools.append(search);
      group.append(tools, make("span", { className: "caption", textContent: text(caption), ariaHidden: "true" }));
      return group;
    }));
    if (search) Object.assign(search, { placeholder: text("find"), title: text("findHint"), ariaLabel: text("find") });
  }

  function show() {
    const { state } = editor, s = editor.selection(), cell = editor.current();
    const several = state.cells.filter((each) => editor.isSelected(each, s)).length > 1;
    const disabled = {
      undo: !state.can_undo, redo: !state.can_redo, restore: !state.can_undo, merge: !several,
      split: !cell || cell.rowspan * cell.colspan === 1, doubt: !state.cells.some(editor.isDoubtful),
      dropRows: state.n_rows < 2, dropCols: state.n_cols < 2,
    };
    const pressed = {
      oneBorder: editor.oneBorder, rowLine: editor.tool === "row", colLine: editor.tool === "col",
      reject: state.verdict === "rejected",
    };
    const hadFocus = element.contains(document.activeElement);
    for (const [name, off] of Object.entries(disabled)) if (buttons[name]) buttons[name].disabled = off;
    for (const [name, on] of Object.entries(pressed)) if (buttons[name]) buttons[name].ariaPressed = String(on);
    buttons.save.classList.toggle("done", state.verdict === "saved");
    buttons.save.querySelector(".label").textContent = text(state.verdict === "saved" ? "saved" : "save");
    if (hadFocus && document.activeElement?.disabled) editor.focus();
    settle();
  }

  return { speak, show };
}

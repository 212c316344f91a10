// The toolbar: a button for each tool, in groups.

import { make, makeButton } from "./elements.js";
import { text } from "./texts.js";

const GROUPS = [
  ["undo", "redo", "restore"],
  ["rowLine", "colLine", "oneBorder"],
  ["joinRows", "joinCols", "merge", "split"],
  ["top", "bottom", "left", "right", "dropRows", "dropCols"],
  ["headerRows", "headerCols", "section"],
  ["doubt", "find", "read", "confirm"],
  ["out", "fit", "in", "help", "language"],
  ["frame", "reject"],
  ["save", "saveNext"],
];

// actions: name -> what a click does; a tool without one is left out.
export function makeBar(editor, element, actions) {
  let buttons = {};

  function speak() {
    buttons = {};
    element.ariaLabel = text("tools");
    element.replaceChildren(...GROUPS.map((group) => {
      const box = make("div", { className: "group" });
      for (const name of group) {
        if (!actions[name]) continue;
        buttons[name] = makeButton(text(name), text(`${name}Hint`), actions[name]);
        buttons[name].dataset.tool = name;
        box.append(buttons[name]);
      }
      return box;
    }));
  }

  function show() {
    const { state } = editor;
    for (const [name, button] of Object.entries(buttons)) button.disabled = editor.isOff(name);
    buttons.oneBorder.ariaPressed = String(editor.oneBorder);
    buttons.rowLine.ariaPressed = String(editor.tool === "row");
    buttons.colLine.ariaPressed = String(editor.tool === "col");
    buttons.save.classList.toggle("done", state.verdict === "saved");
    buttons.save.textContent = text(state.verdict === "saved" ? "saved" : "save");
    buttons.reject.ariaPressed = String(state.verdict === "rejected");
  }

  return { speak, show };
}

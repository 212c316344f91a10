// The toolbar: a button for each tool, in groups.

import { make, makeButton } from "./elements.js";
import { text } from "./texts.js";

const GROUPS = [
  ["undo", "redo", "restore"],
  ["rowLine", "colLine", "oneBorder"],
  ["joinRows", "joinCols", "merge", "split"],
  ["top", "bottom", "left", "right", "dropRows", "dropCols"],
  ["headerRows", "headerCols", "section"],
  ["doubt"],
  ["out", "fit", "in", "help", "language"],
  ["frame", "reject"],
  ["save", "saveNext"],
];

// actions: name -> what a click does; a tool without one is left out. search: the field that stands beside the doubts.
export function makeBar(editor, element, actions, search) {
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
      if (group.includes("doubt")) box.append(search);
      return box;
    }));
    Object.assign(search, { placeholder: text("find"), title: text("findHint"), ariaLabel: text("find") });
  }

  function show() {
    const { state } = editor, s = editor.selection(), cell = editor.current();
    const several = state.cells.filter((each) => editor.isSelected(each, s)).length > 1;
    const disabled = {
      undo: !state.can_undo, redo: !state.can_redo, restore: !state.can_undo, merge: !several,
      split: !cell || cell.rowspan * cell.colspan === 1, doubt: !state.cells.some(editor.isDoubtful),
      dropRows: state.n_rows < 2, dropCols: state.n_cols < 2,
    };
    for (const [name, off] of Object.entries(disabled)) buttons[name].disabled = off;
    buttons.oneBorder.ariaPressed = String(editor.oneBorder);
    buttons.rowLine.ariaPressed = String(editor.tool === "row");
    buttons.colLine.ariaPressed = String(editor.tool === "col");
    buttons.save.classList.toggle("done", state.verdict === "saved");
    buttons.save.textContent = text(state.verdict === "saved" ? "saved" : "save");
    buttons.reject.ariaPressed = String(state.verdict === "rejected");
  }

  return { speak, show };
}

// What keys do in the editor.

import { arrowOf } from "./selection.js";

const keyOf = (event) => event.key.length === 1 ? event.key.toLowerCase() : event.key;

// Keys that do the same wherever the focus is, even while something is typed.
export function isGlobalKey(event) {
  const control = (event.ctrlKey || event.metaKey) && !event.altKey, key = keyOf(event);
  if (key === "F1") return true;
  if (event.altKey) return key === "PageDown" || key === "PageUp";
  return control && ["s", "f", "h", "Enter"].includes(key);
}

// actions: what the tools do, by their names, and `move`, `toggleSide`, `escape`. In a table from right to left the
// arrows to the sides change places.
export function makeKeys(editor, sheet, actions) {
  // With Alt, by the place of the key: a letter alone begins a text, and on some systems Alt makes another letter of it.
  const COMMANDS = {
    KeyM: "merge", KeyS: "split", KeyB: "oneBorder", KeyO: "otherSide", KeyG: "section", KeyN: "reject", KeyT: "frame", KeyF: "find",
    Equal: "in", NumpadAdd: "in", Digit0: "fit", Numpad0: "fit", Minus: "out", NumpadSubtract: "out", KeyE: "fillRight", KeyL: "read",
    KeyK: "confirm", KeyQ: "proof", KeyP: "lens", KeyV: "arrange", KeyW: "words",
    KeyR: ["divideRow", "divideRowOne"], KeyC: ["divideCol", "divideColOne"], KeyJ: ["joinRows", "joinCols"],
    KeyA: ["bottom", "after"], KeyX: ["dropRows", "dropCols"], KeyH: ["headerRows", "headerCols"], KeyI: ["insertRow", "insertCol"],
    KeyD: ["doubt", "doubtBefore"], KeyZ: ["near", "cell"],
  };
  let leaves = false; // Escape, then Tab leaves the table

  function withControl(key, { shiftKey: shift }, isInSheet) {
    if (key === "z") return shift ? actions.redo : actions.undo;
    if (key === "y") return actions.redo;
    if (key === "s") return actions.save;
    if (key === "f") return actions.find;
    if (key === "h") return actions.replace;
    if (key === "Enter") return actions.saveNext ?? actions.save;
    if (!isInSheet) return null;
    const { n_rows: rows, n_cols: cols } = editor.state, arrow = arrowOf(key, editor.state), s = editor.selection();
    if (arrow) return () => editor.goFar(...arrow, shift);
    if (key === "Home") return () => editor.select(0, 0, shift);
    if (key === "End") return () => editor.select(rows - 1, cols - 1, shift);
    if (key === "a") return editor.selectAll;
    if (key === "d") return actions.fillDown;
    if (key === " ") return () => editor.selectBlock({ ...s, row: 0, endRow: rows });
    return null;
  }

  function inSheet(key, { shiftKey: shift }) {
    const { active, end, state } = editor, arrow = arrowOf(key, editor.state), from = shift ? end : active;
    if (arrow) return () => editor.go(...arrow, shift);
    if (key === "Home") return () => editor.select(from.row, 0, shift);
    if (key === "End") return () => editor.select(from.row, state.n_cols - 1, shift);
    if (key === "PageUp") return () => editor.select(0, from.col, shift);
    if (key === "PageDown") return () => editor.select(state.n_rows - 1, from.col, shift);
    if (key === "Enter" && editor.tool) return actions[{ row: "divideRow", col: "divideCol" }[editor.tool] + (shift ? "One" : "")];
    if (key === "Enter" || key === "F2") return sheet.edit;
    if (key === "Delete" || key === "Backspace") return actions.clear;
    if (key === "Escape") return actions.escape;
    if (key === " " && shift) return () => editor.selectBlock({ ...editor.selection(), col: 0, endCol: state.n_cols });
    if (key === " ") return actions.pan;
    return null;
  }

  function withAlt(key, event) {
    if (key === "PageDown" || key === "PageUp") return () => editor.host.go?.(key === "PageDown" ? 1 : -1);
    const arrow = arrowOf(key, editor.state), found = COMMANDS[event.code];
    if (arrow) return () => actions.move(arrow[0], arrow[1] * (event.shiftKey ? 10 : 1));
    return actions[Array.isArray(found) ? found[Number(event.shiftKey)] : found];
  }

  return (event) => {
    if (event.isComposing) return;
    const control = event.ctrlKey || event.metaKey, key = keyOf(event), isInSheet = [event.target, document.activeElement].some(sheet.holds);
    let action = null;
    if (key === "F1") action = actions.help;
    else if (control && event.altKey) return; // AltGr: a character
    else if (control) action = withControl(key, event, isInSheet);
    else if (event.altKey && (isInSheet || key.startsWith("Page"))) action = withAlt(key, event);
    else if (isInSheet && key === "Tab") action = leaves ? null : editor.tab(event.shiftKey ? -1 : 1) && (() => {});
    else if (isInSheet) action = inSheet(key, event);
    leaves = key === "Escape" || (leaves && key === "Shift");
    if (!action) return;
    action();
    event.preventDefault();
    event.stopPropagation();
  };
}

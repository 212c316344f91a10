// The field that is typed into. It lies over the active cell and always has the focus, empty and not to be seen until
// something is typed: an input method begins its composition only in a field.

import { make } from "./elements.js";
import { isGlobalKey } from "./keys.js";
import { arrowOf } from "./selection.js";
import { text } from "./texts.js";

// rectOf(cell): its place in the pane. reveal(cell): brings it into view. write(target, value): keeps a text.
export function makeTyping(editor, pane, { rectOf, reveal, write }) {
  const box = make("textarea", { className: "typing", rows: 1, spellcheck: false, autocomplete: "off", dir: "auto" });
  let target = null; // of what is typed: { row, col, before, version, isNew }
  box.setAttribute("autocapitalize", "off");
  pane.append(box);

  // A new text, or the cell's own one.
  function open(isNew) {
    const cell = editor.current();
    if (!cell || target) return;
    const before = editor.textOf(cell);
    reveal(cell);
    target = { row: cell.row, col: cell.col, before, version: editor.state.version, isNew };
    box.classList.add("open");
    if (!isNew) box.value = before;
    place();
    box.focus({ preventScroll: true });
    if (!isNew) box.select();
  }

  // isChosen: by a key that keeps even the same text, which says that it is right.
  function close(keep, isChosen = false) {
    if (!target) return;
    const done = target, { value } = box;
    target = null;
    box.value = "";
    box.classList.remove("open");
    if (keep && (isChosen || value !== done.before)) write(done, value);
    place();
  }

  // Over its cell, at least as large as that.
  function place() {
    const cell = target ? editor.cellAt(target.row, target.col) : editor.current();
    if (!cell) return;
    const { left, top, width, height } = rectOf(cell);
    Object.assign(box.style, { left: `${left}px`, top: `${top}px`, minWidth: `${width}px`, width: `${width}px`, height: `${height}px` });
    box.dataset.place = `${cell.row},${cell.col}`;
    box.ariaLabel = text("textOf", cell.row + 1, cell.col + 1);
    if (target) grow(width, height);
  }

  function grow(width, height) {
    box.style.width = `${Math.max(width, Math.min(box.scrollWidth + 4, 384))}px`;
    box.style.height = `${Math.max(height, box.scrollHeight + 2)}px`;
  }

  function begin() {
    if (!target) open(true);
  }

  box.addEventListener("compositionstart", begin);
  box.addEventListener("input", () => {
    if (box.value) begin();
    if (target) place();
  });
  box.addEventListener("blur", () => close(true));
  box.addEventListener("mousedown", () => { if (target) target.isNew = false; });
  box.addEventListener("keydown", (event) => {
    if (!target) return;
    if (event.isComposing || event.keyCode === 229) return event.stopPropagation();
    const { key, shiftKey, altKey } = event, control = event.ctrlKey || event.metaKey;
    const arrow = target.isNew && !shiftKey && !altKey && !control && arrowOf(key, editor.state);
    if (key === "Escape") close(false);
    else if (key === "Enter" && control && editor.inside().length > 1) fillAll();
    else if (key === "Tab") {
      close(true, true);
      if (!editor.tab(shiftKey ? -1 : 1)) return event.stopPropagation();
    } else if (arrow) {
      close(true, true);
      editor.go(...arrow);
    } else if (key === "Enter" && altKey) {
      box.setRangeText("\n", box.selectionStart, box.selectionEnd, "end");
      place();
    } else if (key === "Enter" && !shiftKey && !control) {
      close(true, true);
      editor.enter(1);
    } else if (key === "F2") target.isNew = !target.isNew;
    else if (isGlobalKey(event)) {
      close(true);
      return; // goes on to what the key does
    } else return event.stopPropagation();
    event.preventDefault();
    event.stopPropagation();
  });

  // Into all that is chosen.
  function fillAll() {
    const { value } = box;
    close(false);
    editor.fill(value);
  }

  return {
    box, open, place,
    finish: () => close(true),
    cancel: () => close(false),
    get target() { return target; },
    focus: () => box.focus({ preventScroll: true }),
  };
}

// Title and notes of the table, above and below its cells: they stand in the workbook too.

import { make } from "./elements.js";
import { text } from "./texts.js";

export function makeNotes(editor, above, below) {
  const title = make("input", { className: "table-title", type: "text", spellcheck: false, dir: "auto" });
  const notes = make("textarea", { className: "table-notes", rows: 1, spellcheck: false, dir: "auto" });
  let typing = Promise.resolve();
  above.append(title);
  below.append(notes);
  const linesOf = (value) => value.split("\n").map((line) => line.trim()).filter(Boolean);

  function bind(field, kept, step) {
    field.addEventListener("change", () => {
      if (field.value.trim() !== kept()) typing = editor.step(() => step(field.value));
    });
    field.addEventListener("keydown", (event) => {
      const isUndo = (event.ctrlKey || event.metaKey) && ["z", "y"].includes(event.key.toLowerCase());
      if (isUndo && field.value !== kept()) event.stopPropagation(); // of what is being typed
      if (event.isComposing || event.ctrlKey || event.metaKey) return;
      if (event.key === "Escape") field.value = kept();
      else if (event.key !== "Enter" || (field === notes && event.shiftKey)) return;
      event.preventDefault();
      event.stopPropagation();
      editor.focus();
    });
  }
  bind(title, () => editor.state.title ?? "", (value) => ({ do: "set_title", text: value.trim() }));
  bind(notes, () => (editor.state.notes ?? []).join("\n"), (value) => ({ do: "set_notes", texts: linesOf(value) }));
  notes.addEventListener("input", size);

  function size() { notes.rows = Math.max(1, Math.min(5, notes.value.split("\n").length)); }

  function show() {
    const { state } = editor;
    Object.assign(title, { ariaLabel: text("tableTitle"), placeholder: text("tableTitle"), hidden: state.title === undefined });
    Object.assign(notes, { ariaLabel: text("tableNotes"), placeholder: text("tableNotes"), title: text("tableNotesHint") });
    notes.parentElement.hidden = state.notes === undefined;
    // What a person is typing stays.
    if (document.activeElement !== title) title.value = state.title ?? "";
    if (document.activeElement !== notes) notes.value = (state.notes ?? []).join("\n");
    size();
  }

  return {
    show,
    finish: () => { for (const field of [title, notes]) if (document.activeElement === field) field.blur(); return typing; },
  };
}

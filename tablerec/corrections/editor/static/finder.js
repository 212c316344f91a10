// The bar to find texts in the table and to replace them.

import { make, makeButton } from "./elements.js";
import { isGlobalKey } from "./keys.js";
import { text } from "./texts.js";

export function makeFinder(editor, element) {
  const wanted = make("input", { type: "search", size: 16 }), other = make("input", { type: "text", size: 16 });
  const matchCase = make("input", { type: "checkbox" }), caption = make("span"), count = make("span", { className: "count", role: "status" });
  const label = make("label");
  let replaces = false;
  label.append(matchCase, " ", caption);
  element.setAttribute("role", "search");
  element.hidden = true;

  const plain = (value) => matchCase.checked ? value : value.toLowerCase();
  const matches = (cell) => wanted.value !== "" && plain(editor.textOf(cell)).includes(plain(wanted.value));

  function speak() {
    element.ariaLabel = text("finder");
    Object.assign(wanted, { placeholder: text("find"), ariaLabel: text("find"), title: text("findHint") });
    Object.assign(other, { placeholder: text("replaceBy"), ariaLabel: text("replaceBy") });
    caption.textContent = text("matchCase");
    const button = (name, action) => {
      const made = makeButton(text(name), text(`${name}Hint`), action);
      made.dataset.find = name;
      return made;
    };
    element.replaceChildren(
      wanted, button("findBefore", () => next(-1)), button("findNext", () => next(1)), label, other,
      button("replaceOne", replaceOne), button("replaceAll", replaceAll), count, button("close", close));
    show();
  }

  function show() {
    for (const part of [other, ...element.querySelectorAll('[data-find^="replace"]')]) part.hidden = !replaces;
  }

  function open(withReplacing) {
    replaces = withReplacing || (replaces && !element.hidden);
    element.hidden = false;
    show();
    wanted.focus();
    wanted.select();
  }

  function close() {
    element.hidden = true;
    replaces = false;
    editor.focus();
  }

  function next(direction) {
    const found = editor.goTo(matches, direction), focused = document.activeElement;
    const all = editor.state.cells.filter(matches);
    count.textContent = found ? text("findCount", all.indexOf(found) + 1, all.length) : "";
    if (!found) editor.say(text("notFound"));
    if (element.contains(focused)) focused.focus();
    return found;
  }

  // In the chosen cell, if it has the text; then on to the next one.
  async function replaceOne() {
    const cell = editor.current();
    if (!cell || !matches(cell)) return next(1);
    const { row, col } = cell, value = replaced(editor.textOf(cell));
    const done = editor.step(() => ({ do: "set_text", row, col, text: value }));
    next(1);
    return done;
  }

  function replaced(value) {
    const pattern = wanted.value.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return value.replace(new RegExp(pattern, matchCase.checked ? "gu" : "giu"), () => other.value);
  }

  async function replaceAll() {
    const n = editor.state.cells.filter(matches).length, [find, value] = [wanted.value, other.value];
    if (!n) return editor.say(text("notFound"));
    const isDone = await editor.step(() => ({ do: "replace_all", find, text: value, match_case: matchCase.checked }));
    if (!isDone) return;
    editor.focus(); // so that it can be undone
    editor.say(text("saidReplaced", n));
  }

  element.addEventListener("keydown", (event) => {
    if (event.isComposing) return event.stopPropagation();
    if (isGlobalKey(event)) return;
    event.stopPropagation();
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && event.target === wanted) next(event.shiftKey ? -1 : 1);
    else if (event.key === "Enter" && event.target === other) replaceOne();
    else return;
    event.preventDefault();
  });
  wanted.addEventListener("input", () => { count.textContent = ""; });
  return { open, speak };
}

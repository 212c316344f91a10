// Words that were read but are in no cell: a list of them beside the status, for the keyboard.

import { make } from "./elements.js";
import { makeIcon } from "./icons.js";
import { wordsOf } from "./marks.js";
import { text } from "./texts.js";

export function makeWords(editor, foot) {
  const button = make("button", { type: "button", className: "words-button", hidden: true });
  const label = make("span"), panel = make("div", { className: "words", role: "group", hidden: true });
  const list = make("ul"), hint = make("p");
  button.append(makeIcon("words"), label);
  panel.append(hint, list);
  foot.append(button, panel);

  const words = () => wordsOf(editor.state);
  const light = (word) => { editor.hover = word ? { word } : null; editor.redraw(); };

  function toggle(isOpen = panel.hidden) {
    panel.hidden = !isOpen || !words().length;
    button.ariaExpanded = String(!panel.hidden);
    if (panel.hidden) light(null);
    else list.querySelector("button")?.focus();
  }

  function show() {
    const left = words(), here = [...list.querySelectorAll("button")].indexOf(document.activeElement);
    button.hidden = !left.length;
    button.title = text("wordsHint");
    label.textContent = text(left.length === 1 ? "wordsOne" : "wordsLeft", left.length);
    panel.ariaLabel = text("words");
    hint.textContent = text("wordsHelp");
    list.replaceChildren(...left.map((word) => {
      const item = make("li"), choice = make("button", { type: "button", textContent: word.text, dir: "auto" });
      choice.addEventListener("focus", () => { light(word); editor.showPlace(word.quad); });
      choice.addEventListener("pointerenter", () => light(word));
      choice.addEventListener("pointerleave", () => light(null));
      choice.addEventListener("click", () => editor.placeWord(word, editor.active));
      item.append(choice);
      return item;
    }));
    if (!left.length) {
      if (here >= 0) editor.focus();
      toggle(false);
    } else if (here >= 0) {
      list.querySelectorAll("button")[Math.min(here, left.length - 1)].focus();
    }
  }

  button.addEventListener("mousedown", (event) => event.preventDefault());
  button.addEventListener("click", () => toggle());
  panel.addEventListener("keydown", (event) => {
    const all = [...list.querySelectorAll("button")], here = all.indexOf(event.target);
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") { toggle(false); editor.focus(); }
    else if (step && !event.altKey) all.at((here + step) % all.length).focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return { show, toggle };
}

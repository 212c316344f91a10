// Hints for who is here for the first time, one after the other until they are read or sent away for good.

import { make, makeButton } from "./elements.js";
import { recall, remember } from "./memory.js";
import { text } from "./texts.js";

const HINTS = ["hintLines", "hintCells", "hintType", "hintDoubt", "hintKeys"];

export function makeHints(element, focus) {
  const says = make("p"), count = make("span", { className: "count" });
  let next, end, at = 0;

  function dismiss() {
    remember("hints", "read");
    element.hidden = true;
    focus();
  }

  function go() {
    at += 1;
    if (at >= HINTS.length) dismiss();
    else show();
  }

  function show() {
    element.hidden = recall("hints") === "read";
    says.textContent = text(HINTS[at]);
    count.textContent = `${at + 1} / ${HINTS.length}`;
    next.textContent = text(at < HINTS.length - 1 ? "hintNext" : "hintDone");
    end.hidden = at === HINTS.length - 1;
  }

  function speak() {
    element.ariaLabel = text("hints");
    next = makeButton(text("hintNext"), text("hintNextHint"), go);
    end = makeButton(text("hintEnd"), text("hintEndHint"), dismiss);
    element.replaceChildren(count, says, next, end);
    show();
  }
  return { speak };
}

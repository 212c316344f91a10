// What is done with all tables, in the header of the page: files come in, tables go out, the detector learns.

import { make, makeButton } from "/static/elements.js";
import { mountAlike } from "/static/alike.js";
import { takeFiles } from "/static/drop.js";
import { mountLearning } from "/static/learning.js";
import { openOutputs } from "/static/outputs.js";
import { mountProposals } from "/static/proposals.js";
import { LANGUAGE_CHANGED, language, saidBy, text } from "/static/texts.js";

// host: { ask(address, options), post(address, data), listing(), current(), refresh(), open(name), idle(), changed(), focus() }
// root: in the header. note: what is said. line: where pages are joined.
export function mountWork(root, note, line, host) {
  const drop = takeFiles({ ask: host.ask, say, taken: host.refresh });
  const same = makeButton("", "", () => {}), alike = mountAlike(same, line, { ...host, say });
  const grids = makeButton("", "", () => {}), readings = makeButton("", "", () => {});
  mountProposals(grids, readings, { ...host, say, quiet: () => { note.hidden = true; } });
  const learn = makeButton("", "", () => {}), learning = mountLearning(learn, { ...host, say });

  // what: a message, or an error. buttons: [label, action] each.
  function say(what, buttons = []) {
    const isError = what instanceof Error, { words: message, tag } = isError ? saidBy(what) : { words: what, tag: language().tag };
    const close = makeButton("×", text("close"), () => { note.hidden = true; });
    const words = make("span", { textContent: message, lang: tag });
    note.replaceChildren(close, words, ...buttons.flatMap(([label, action]) => [" ", makeButton(label, "", action)]));
    close.className = "away";
    note.classList.toggle("error", isError);
    note.hidden = false;
  }

  function counts() {
    const tables = host.listing()?.tables ?? [], out = tables.filter(({ verdict, number, n_steps: steps }) => verdict !== "rejected" && (number || steps));
    return [out.filter(({ verdict }) => verdict === "saved").length, out.length];
  }

  const dialog = (opened) => opened.addEventListener("close", host.focus);

  function speak() {
    root.ariaLabel = text("work");
    root.replaceChildren(
      makeButton(text("addFiles"), text("addFilesHint"), drop.choose),
      makeButton(text("outputs"), text("outputsHint"), () => dialog(openOutputs({ post: host.post, counts }))), grids, readings, learn, same);
  }

  window.addEventListener(LANGUAGE_CHANGED, speak);
  speak();
  return { say, saved: learning.look, look: alike.look, stepped: alike.stepped };
}

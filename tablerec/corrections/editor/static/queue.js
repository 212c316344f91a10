// The steps of a table on their way to Python: one after the other, again and again while nobody answers, and kept over
// a reload of the page.

import { rowsToTsv } from "./tsv.js";

const PAUSES = [500, 1000, 2000, 4000, 8000, 15000, 30000]; // milliseconds before each next try
const KEPT_ALIVE = 60000; // characters that a browser still sends while a page is being closed
// They only write into cells or speak of the table as a whole: what follows them need not wait for their answer.
const LIGHT = new Set([
  "set_text", "set_texts", "fill", "reset_text", "replace_all", "confirm", "set_title", "set_notes", "save", "reject", "reopen",
]);
// They speak of no place, so that they hold for whatever the table has become.
const PLACELESS = new Set(["undo", "redo", "restore", "replace_all", "set_title", "set_notes", "save", "reject", "reopen"]);

const makeId = () => globalThis.crypto?.randomUUID?.() ?? `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;

// key: of this table in the session's storage. send(step) -> Promise of the answer; an error with isAway: nobody has
// answered. version(): of the state that is shown. answered(entry, answer) and failed(entry, error) show another state,
// and return whether the table has the same shape as before. changed(): what waits, or was refused, has changed.
export function makeQueue({ key, send, version, answered, failed, changed }) {
  const held = []; // of steps that speak of what an answer will bring: functions that make them
  let entries = [], refused = [], reason = null, busy = false, tries = 0, losses = 0, timer = 0, ended = false;
  let whenQuiet = [];

  function restore() {
    try {
      const kept = JSON.parse(sessionStorage.getItem(key)) ?? {};
      entries = kept.entries ?? [];
      refused = kept.refused ?? [];
    } catch { /* nothing is kept, or a page may not remember */ }
  }

  function store() {
    const plain = ({ id, step, version: seen, isTried }) => ({ id, step, version: seen, isTried });
    const kept = { entries: entries.map(plain), refused };
    try {
      if (entries.length || refused.length) sessionStorage.setItem(key, JSON.stringify(kept));
      else sessionStorage.removeItem(key);
    } catch { /* then they last as long as the page */ }
  }

  // The step is made when its turn comes, so that it speaks of the table as it is then. Resolves when it is answered.
  function push(makeStep) {
    return new Promise((resolve) => {
      held.push({ makeStep, resolve });
      pump();
    });
  }

  function take() {
    while (held.length && (reason || ended || entries.every((entry) => LIGHT.has(entry.step.do)))) {
      const { makeStep, resolve } = held.shift(), made = makeStep();
      if (!made) { resolve(false); continue; }
      const { version: seen = version(), ...step } = made;
      entries.push({ id: makeId(), step, version: seen, isTried: false, resolve });
    }
    store();
    changed();
  }

  async function pump() {
    take();
    if (busy || ended || !entries.length) return settle();
    clearTimeout(timer);
    busy = true;
    const entry = entries[0];
    entry.isTried = true;
    store();
    let answer = null, error = null;
    try {
      answer = await send({ ...entry.step, id: entry.id, version: entry.version, since: version() });
    } catch (caught) {
      error = caught;
    }
    busy = false;
    if (error?.isAway) return wait(error);
    entries = entries.filter((each) => each !== entry);
    reason = null;
    tries = 0;
    // A step of this kind works again, and nothing that was typed is in those that did not.
    refused = refused.filter((each) => each.step.do !== entry.step.do || hasTexts(each.step));
    if (error) refused.push({ id: entry.id, step: entry.step, message: error.message, zh: error.zh });
    store();
    if (ended) return;
    const before = version(), isSameShape = error ? failed(entry, error) : answered(entry, answer);
    // Those that were made on what this one was made on now speak of its result, if their places are still the same.
    const isNext = answer?.version === entry.version + 1;
    for (const each of entries) {
      const isKnown = isSameShape && (each.version === before || (isNext && each.version === entry.version));
      if (isKnown || PLACELESS.has(each.step.do)) each.version = version();
    }
    entry.resolve?.(!error);
    pump();
  }

  function wait(error) {
    reason = error;
    losses += 1;
    const pause = PAUSES[Math.min(tries++, PAUSES.length - 1)];
    if (!ended) timer = setTimeout(pump, pause);
    take();
    settle();
  }

  function settle() {
    if (entries.length && !reason) return;
    for (const resolve of whenQuiet.splice(0)) resolve();
  }

  function tryNow() {
    tries = 0;
    pump();
  }

  // The page may be closed: what waits for an answer before it is sent too.
  function flush() {
    take();
    for (const entry of entries) {
      if (reason || entry.isTried || !LIGHT.has(entry.step.do)) continue;
      entry.isTried = true;
      send({ ...entry.step, id: entry.id, version: entry.version }).catch(() => {});
    }
    store();
  }

  function drop(entry) {
    refused = refused.filter((each) => each !== entry);
    store();
    changed();
  }

  restore();
  return {
    push, drop, tryNow, flush,
    again(entry) {
      drop(entry);
      return push(() => entry.step);
    },
    start: pump,
    idle: () => new Promise((resolve) => { whenQuiet.push(resolve); pump(); }),
    get entries() { return entries; },
    get refused() { return refused; },
    get reason() { return reason; }, // the error where nobody answers; null where somebody does
    get losses() { return losses; }, // how often nobody answered
    destroy() {
      ended = true;
      clearTimeout(timer);
    },
  };
}

export const isSmall = (body) => body.length < KEPT_ALIVE;

// What a person typed, which a refusal must not lose.
export function textsOfStep(step) {
  if (step.do === "set_text") return step.text;
  if (step.do === "fill") return step.text;
  if (step.do === "set_texts") return rowsToTsv(step.texts);
  if (step.do === "set_title") return step.text;
  if (step.do === "set_notes") return step.texts.join("\n");
  return "";
}

const hasTexts = (step) => textsOfStep(step) !== "";

// The texts that entries will write, by their place; of a merged cell by its first one.
export function waitingTexts(entries) {
  const done = [], undone = [], texts = new Map();
  for (const { step } of entries) {
    if (step.do === "undo") undone.push(...done.splice(-1));
    else if (step.do === "redo") done.push(...undone.splice(-1));
    else if (step.do === "restore") done.length = 0;
    else if (step.do !== "save" && step.do !== "reject") done.push(step);
  }
  for (const step of done) {
    const { row, col } = step;
    if (step.do === "set_text") texts.set(`${row},${col}`, step.text);
    if (step.do === "set_texts") step.texts.forEach((line, r) => line.forEach((each, c) => texts.set(`${row + r},${col + c}`, each)));
    if (step.do !== "fill") continue;
    for (let r = row; r < step.end_row; r++) for (let c = col; c < step.end_col; c++) texts.set(`${r},${c}`, step.text);
  }
  return texts;
}

// Pictures and documents that are dropped into the page, or chosen, are sent one after the other.

import { make } from "/static/elements.js";
import { makeError, text } from "/static/texts.js";

const LARGEST = 256 * 2 ** 20; // bytes, as in tablerec/corrections/review/server.py

// ask(address, options) -> Promise of the answer. say(message or error): to a person. taken(): a file is on the list.
export function takeFiles({ ask, say, taken }) {
  const shade = make("div", { className: "drop-here", hidden: true });
  const chooser = make("input", { type: "file", multiple: true, hidden: true, accept: "image/*,.pdf,.heic,.heif,.avif" });
  let waiting = Promise.resolve(), depth = 0;
  document.body.append(shade, chooser);

  const holdsFiles = (event) => [...event.dataTransfer?.types ?? []].includes("Files");

  window.addEventListener("dragenter", (event) => {
    if (!holdsFiles(event)) return;
    depth += 1;
    shade.textContent = text("dropHere");
    shade.hidden = false;
  });
  window.addEventListener("dragleave", (event) => {
    if (holdsFiles(event) && (depth -= 1) <= 0) hide();
  });
  window.addEventListener("dragover", (event) => {
    if (holdsFiles(event)) event.preventDefault();
  });
  window.addEventListener("drop", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    hide();
    take(event.dataTransfer.files);
  });
  chooser.addEventListener("change", () => {
    take(chooser.files);
    chooser.value = "";
  });

  function hide() {
    depth = 0;
    shade.hidden = true;
  }

  function take(files) {
    for (const file of [...files]) waiting = waiting.then(() => send(file));
  }

  async function send(file) {
    say(text("dropSending", file.name));
    try {
      if (file.size > LARGEST) throw makeError(text("dropLarge", file.name, LARGEST / 2 ** 20));
      const headers = { "Content-Type": "application/octet-stream", "X-Name": encodeURIComponent(file.name) };
      const { name } = await ask("/inputs", { method: "POST", body: file, headers });
      say(text("dropTaken", name));
      taken();
    } catch (error) {
      say(error);
    }
  }

  return { choose: () => chooser.click() };
}

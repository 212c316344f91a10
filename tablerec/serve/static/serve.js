// Files are dropped, sent as one job, watched, and come back as one workbook.

import { switchLanguage, tag, text } from "/static/texts.js";

const TOKEN = "tablerec-token";
const DOWNLOADS = [["workbook", "xlsx"], ["html", "html"], ["csv", "csv"], ["zip", "zip"]];
const find = (id) => document.getElementById(id);
const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

let files = []; // of the next job
let job = null; // what the server said of the job last
let stage = "choosing"; // then "sending", "reading", "done", "failed"
let problems = []; // of the files of a job that was refused
let said = () => ""; // the status, in whatever language
let request = null; // the sending one
let turn = 0; // counts what was started and stopped: what belongs to an earlier one ends

function token() {
  try {
    return sessionStorage.getItem(TOKEN);
  } catch {
    return null;
  }
}

// Ask for a token; false where nobody gives one.
function askForToken(isWrong) {
  const dialog = find("token");
  find("token-wrong").textContent = isWrong ? text("tokenWrong") : "";
  find("token-text").value = "";
  dialog.returnValue = "cancel";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const given = dialog.returnValue === "ok" && find("token-text").value.trim();
      if (given) sessionStorage.setItem(TOKEN, given);
      resolve(Boolean(given));
    }, { once: true });
  });
}

// One request. Its upload is watched, which fetch cannot do.
function send(method, address, body, onProgress) {
  return new Promise((resolve, reject) => {
    request = new XMLHttpRequest();
    request.open(method, address);
    request.responseType = "blob";
    if (token()) request.setRequestHeader("Authorization", `Bearer ${token()}`);
    if (onProgress) request.upload.addEventListener("progress", (event) => onProgress(event.loaded / event.total));
    request.addEventListener("load", () => resolve(request));
    for (const kind of ["error", "abort"]) request.addEventListener(kind, () => reject(new Error(kind)));
    request.send(body);
  });
}

// The same, again where the server is busy or asks for a token.
async function ask(method, address, body, onProgress) {
  for (const mine = turn; ;) {
    const hadToken = Boolean(token());
    const answer = await send(method, address, body, onProgress);
    if (answer.status === 401) {
      if (!(await askForToken(hadToken))) throw new Error("abort");
    } else if (answer.status === 429 || answer.status === 503) {
      const seconds = Math.min(60, Number(answer.getResponseHeader("Retry-After")) || 2);
      say(() => text("busy", seconds));
      await pause(seconds);
      if (mine !== turn) throw new Error("abort");
    } else {
      return answer;
    }
  }
}

const toData = async (answer) => JSON.parse(await answer.response.text());

function say(what) {
  said = what;
  find("status").textContent = said();
}

const toMegabytes = (bytes) => text("size", Math.max(0.1, bytes / 1e6).toFixed(1));

function make(tagName, className, content) {
  const element = document.createElement(tagName);
  element.className = className;
  if (content !== undefined) element.textContent = content;
  return element;
}

function showItem(file, index) {
  const item = make("li", "file");
  const name = make("span", "name", file.name);
  name.id = `file-${index}`;
  item.append(name);
  const known = job?.files[index];
  if (stage === "choosing") {
    item.append(make("span", "state", toMegabytes(file.size)));
    const remove = make("button", "remove", "×");
    remove.type = "button";
    remove.ariaLabel = text("remove", file.name);
    remove.addEventListener("click", () => {
      files.splice(index, 1);
      showFiles();
      (find("list").querySelectorAll("button")[index] ?? find("choose")).focus();
    });
    item.append(remove);
    return item;
  }
  const { total, done } = known?.pages ?? { total: 0, done: 0 };
  const isOver = known && done >= total;
  if (known && !isOver) {
    const bar = make("progress", "bar");
    [bar.max, bar.value] = [total, done];
    bar.setAttribute("aria-labelledby", name.id);
    item.append(bar, make("span", "state", text("pages", done, total)));
  } else if (isOver && total) {
    item.append(make("span", "state done", known.tables ? text("tables", known.tables) : text("noTable")));
  } else if (!known && !problems.length) {
    item.append(make("span", "state", text("waiting")));
  }
  const failed = known?.failed ?? problems.filter((each) => each.file === index);
  if (failed.length) {
    const list = make("ul", "errors");
    for (const each of failed) {
      list.append(make("li", "error", each.page ? text("page", each.page, each.detail) : each.detail));
    }
    item.append(list);
  }
  return item;
}

function showFiles() {
  find("list").replaceChildren(...files.map(showItem));
  const isChoosing = stage === "choosing";
  for (const id of ["choose", "options"]) find(id).disabled = !isChoosing;
  find("start").disabled = !(isChoosing && files.length);
  find("start").hidden = !isChoosing;
  find("stop").hidden = !["sending", "reading"].includes(stage);
  find("clear").hidden = !["done", "failed"].includes(stage);
  find("downloads").hidden = stage !== "done";
  if (isChoosing && files.length) {
    const size = files.reduce((sum, file) => sum + file.size, 0);
    say(() => text("chosen", files.length, toMegabytes(size)));
  }
}

function add(list) {
  if (stage !== "choosing") return;
  files.push(...list);
  showFiles();
}

function showTexts() {
  document.documentElement.lang = tag();
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = text(element.dataset.text);
  for (const element of document.querySelectorAll("[data-label]")) element.ariaLabel = text(element.dataset.label);
  [find("language").textContent, find("language").title] = [text("language"), text("languageHint")];
  find("downloads").replaceChildren(...DOWNLOADS.map(([key, format], index) => {
    const button = make("button", index ? "" : "main", text(key));
    button.type = "button";
    button.addEventListener("click", () => download(format));
    return button;
  }));
  showFiles();
  say(said);
}

async function download(format) {
  const answer = await ask("GET", `/v1/jobs/${job.id}/result?format=${format}`);
  if (answer.status !== 200) {
    const { detail } = await toData(answer);
    say(() => detail);
    return;
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(answer.response);
  link.download = files.length === 1 ? `${files[0].name.replace(/\.[^.]*$/, "")}.${format}` : `tables.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function run(mine) {
  [stage, job, problems] = ["sending", null, []];
  say(() => text("sending", 0));
  showFiles();
  find("stop").focus();
  const body = new FormData();
  for (const file of files) body.append("file", file);
  const options = new URLSearchParams({ layout: find("layout").value, join_pages: find("join").checked });
  if (find("mark").checked) options.set("mark_below", "0.9");
  const answer = await ask("POST", `/v1/jobs?${options}`, body, (share) => {
    if (stage === "sending") say(() => text("sending", Math.round(100 * share)));
  });
  const data = await toData(answer);
  if (answer.status !== 202) {
    problems = data.errors ?? (files.length === 1 ? [{ file: 0, ...data }] : []);
    end("failed", () => data.detail);
    return;
  }
  [stage, job] = ["reading", data];
  for (let wait = 0.2; ["queued", "running"].includes(job.state); wait = Math.min(2, 1.3 * wait)) {
    say(() => job.state === "queued" ? text("queued") : text("reading", job.pages.done, job.pages.total));
    showFiles();
    await pause(wait);
    if (mine !== turn) return;
    const state = await ask("GET", `/v1/jobs/${job.id}`);
    const next = await toData(state);
    if (mine !== turn) return;
    if (state.status !== 200) {
      end("failed", () => next.detail);
      return;
    }
    job = next;
  }
  if (job.state === "failed") {
    end("failed", () => job.problem.detail);
    return;
  }
  const sum = (count) => job.files.reduce((total, file) => total + count(file), 0);
  const [nTables, nFailed] = [sum((file) => file.tables), sum((file) => file.failed.length)];
  end("done", () => [text("done", nTables, job.files.length), ...(nFailed ? [text("failed", nFailed)] : []),
    text("expires", new Date(job.expires).toLocaleTimeString(tag()))].join(text("between")));
  find("downloads").querySelector("button").focus();
}

function end(how, what) {
  stage = how;
  say(what);
  showFiles();
}

async function start() {
  const mine = ++turn;
  try {
    await run(mine);
  } catch (error) {
    if (mine !== turn) return;
    if (error.message === "abort") end("choosing", () => text("stopped"));
    else end("failed", () => text("gone"));
  }
}

function stop() {
  const before = job;
  turn += 1;
  [job, stage] = [null, "choosing"];
  request?.abort();
  showFiles();
  say(() => text("stopped"));
  find("start").focus();
  if (before) send("DELETE", `/v1/jobs/${before.id}`).catch(() => {});
}

function clear() {
  [files, job, problems, stage] = [[], null, [], "choosing"];
  say(() => "");
  showFiles();
  find("choose").focus();
}

find("choose").addEventListener("click", () => find("files").click());
find("files").addEventListener("change", () => {
  add(find("files").files);
  find("files").value = "";
});
find("start").addEventListener("click", start);
find("stop").addEventListener("click", stop);
find("clear").addEventListener("click", clear);
find("language").addEventListener("click", () => {
  switchLanguage();
  showTexts();
});
for (const kind of ["dragover", "drop"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    find("drop").classList.toggle("over", kind === "dragover" && stage === "choosing");
    if (kind === "drop") add(event.dataTransfer.files);
  });
}
document.addEventListener("dragleave", () => find("drop").classList.remove("over"));
document.addEventListener("paste", (event) => add(event.clipboardData.files));
showTexts();

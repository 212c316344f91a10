"""The widget as VS Code's notebook shows it: ``python -m tests.benchmarks.editor.vscode NODE_MODULES``.

VS Code shows widgets in a page of its own, by a widget manager that it loads there and that talks to the kernel by
messages. That manager is a package of npm, and so is what it loads modules by:

    npm install --ignore-scripts @vscode/jupyter-ipywidgets8@1.0.9 requirejs

Chromium shows a table in it as VS Code's page would; what the widget sends goes to the widget in this process, which is
no kernel. A line is dragged, cells are merged by keys, a text is typed, the table is saved; printed is what was done.
What VS Code itself does around the page, its keyboard and its themes, is not in it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from tests.helpers.browsing import drag, open_browser, to_screen
from tests.helpers.review import make_page, make_table

PAGE = """<!doctype html><meta charset="utf-8"><body><div id="output"></div>
<script src="/modules/requirejs/require.js"></script>
<script type="module">
import { activate } from "/modules/@vscode/jupyter-ipywidgets8/dist/ipywidgets.js";
activate();
window.vscIPyWidgets8.load();
requirejs.config({ paths: { anywidget: "/anywidget/index" } });
const scripts = {
  widgetsRegisteredInRequireJs: new Set(), loadWidgetScript: async () => {}, successHandler() {},
  errorHandler(...what) { console.error(what.join(" ")); },
};
let opened;
const signal = { connect: () => true, disconnect: () => true };
const known = {
  registerCommTarget: (name, open) => { opened = open; },
  createComm() { throw new Error("no comm is begun here"); }, then: undefined,
  requestCommInfo: async () => ({ content: { comms: {} } }),
};
// Of a kernel's many signals none is ever sent here.
const kernel = new Proxy(known, { get: (kernel, name) => (name in kernel ? kernel[name] : signal) });
const manager = new window.vscIPyWidgets.WidgetManager(
  kernel, document.getElementById("output"), scripts, () => {}, undefined);
const comms = {};
window.openComm = async (id, data, buffers) => {
  const comm = {
    commId: id, targetName: "jupyter.widget", open() {}, close() {},
    send(sent) {
      window.toKernel(id, JSON.stringify(sent));
      return { msg: { header: { msg_id: String(Math.random()) } }, done: Promise.resolve() };
    },
  };
  comms[id] = comm;
  const bytes = buffers.map((text) => new DataView(Uint8Array.from(atob(text), (each) => each.charCodeAt(0)).buffer));
  const content = { comm_id: id, target_name: "jupyter.widget", data };
  await opened(comm, { content, metadata: { version: "2.1.0" }, buffers: bytes });
};
window.toPage = (id, data) => comms[id].onMsg({ content: { comm_id: id, data }, buffers: [], parent_header: {} });
window.show = async (id) => {
  const model = await manager.get_model(id), view = await manager.create_view(model);
  await manager.display_view({}, view, { node: document.getElementById("output") });
};
window.isReady = true;
</script>"""


def serve(page: Any, modules: Path) -> None:
    """Answer what the page loads; nothing else is reached."""
    import anywidget

    nbextension = Path(anywidget.__file__).parent / "nbextension"
    kinds = {".js": "text/javascript", ".html": "text/html"}

    def answer(route: Any) -> None:
        path = route.request.url.split("/", 3)[3].split("?")[0]
        if not path:
            return route.fulfill(body=PAGE, content_type="text/html")
        top, _, rest = path.partition("/")
        file = (modules if top == "modules" else nbextension) / rest
        if not file.is_file():
            return route.fulfill(status=404)
        return route.fulfill(body=file.read_bytes(), content_type=kinds.get(file.suffix, "application/octet-stream"))

    page.route("http://webview.test/**", answer)


def open_widget(page: Any, widget: Any) -> None:
    """Show a widget in the page, and pass messages between them."""
    import base64

    from ipywidgets.widgets.widget import _remove_buffers

    state, paths, buffers = _remove_buffers(widget.get_state())
    layout = widget.layout
    models = [(layout.model_id, layout.get_state(), [], []), (widget.model_id, state, paths, buffers)]
    widget.send = lambda content, buffers=None: push(page, widget, {"method": "custom", "content": content})
    for name, each, where, parts in models:
        data = {"state": json.loads(json.dumps(each, default=str)), "buffer_paths": where}
        page.evaluate(
            "([id, data, buffers]) => openComm(id, data, buffers)",
            [name, data, [base64.b64encode(bytes(part)).decode() for part in parts]],
        )
    page.evaluate("(id) => show(id)", widget.model_id)


def push(page: Any, widget: Any, data: dict[str, Any]) -> None:
    """Send something to the page."""
    page.evaluate("([id, data]) => toPage(id, data)", [widget.model_id, data])


def main() -> None:
    """Do it, and print what was done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", type=Path, help="node_modules with the two packages")
    parser.add_argument("--shot", type=Path, help="where a picture of the page is written")
    args = parser.parse_args()
    from tablerec.corrections.widgets import TableEditor

    with tempfile.TemporaryDirectory() as name, open_browser() as browser:
        widget = TableEditor(make_page(make_table()), folder=Path(name))
        page = browser.new_page(viewport={"width": 1000, "height": 800})
        said: list[str] = []
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        waiting: list[tuple[str, Any]] = []
        page.expose_function("toKernel", lambda comm, sent: waiting.append((comm, json.loads(sent))))
        serve(page, args.modules)
        page.goto("http://webview.test/")
        page.wait_for_function("() => window.isReady")
        open_widget(page, widget)
        page.locator(".sheet td[data-place]").first.wait_for()

        def finish(version: int) -> None:
            """Let the widget answer until the page shows a version."""
            for _ in range(100):
                while waiting:
                    _, sent = waiting.pop(0)
                    if sent.get("method") == "custom":
                        widget._answer(widget, sent["content"], [])
                if page.locator(f'.tablerec-editor[data-version="{version}"]').count():
                    return
                page.wait_for_timeout(50)
            raise AssertionError(f"version {version} is not shown: {said}")

        correction = widget.correction
        _, _, (x1, y1), (x0, _) = correction.table[0, 0].quad or ()
        start = to_screen(page, correction, (x0 + x1) / 2, y1)
        drag(page, start, to_screen(page, correction, (x0 + x1) / 2, y1 + 12))
        finish(1)
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("Alt+m")
        finish(2)
        page.keyboard.type("typed")
        page.keyboard.press("Enter")
        finish(3)
        page.keyboard.press("Control+s")
        finish(4)
        page.screenshot(path=args.shot or Path(name) / "shot.png")
        table = correction.table
        print(
            f"moved, merged, typed and saved: {table[0, 0].colspan} columns, {table[0, 0].text!r}, {correction.verdict}"
        )
        print(f"labels: {[path.name for path in (Path(name) / 'images').glob('*.json')]}")
        print(f"console: {said or 'nothing'}")


if __name__ == "__main__":
    main()

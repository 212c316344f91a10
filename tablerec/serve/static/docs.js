// The addresses of openapi.json as a page.

function make(tag, content, ...children) {
  const element = document.createElement(tag);
  if (content) element.textContent = content;
  element.append(...children);
  return element;
}

function toType(schema) {
  const kinds = (schema.anyOf ?? [schema]).filter((each) => each.type !== "null");
  return kinds.map((each) => each.enum?.join(" | ") ?? each.type ?? "").join(" or ");
}

function toTable(heads, rows) {
  const table = make("table");
  table.append(make("tr", "", ...heads.map((head) => make("th", head))));
  for (const cells of rows) {
    table.append(make("tr", "", ...cells.map((cell, index) => index ? make("td", cell) : make("td", "", make("code", cell)))));
  }
  return table;
}

function toSection(method, path, operation) {
  const section = make("section", "", make("h2", `${method.toUpperCase()} ${path}`));
  section.className = "operation";
  section.append(make("p", operation.description ?? operation.summary));
  if (operation.requestBody) {
    const kinds = Object.keys(operation.requestBody.content).join(", ");
    section.append(make("p", operation.requestBody.description ?? ""), make("p", "Body: ", make("code", kinds)));
  }
  const parameters = operation.parameters ?? [];
  if (parameters.length) {
    section.append(toTable(["Option", "Values", "Description"],
      parameters.map((each) => [each.name, toType(each.schema), each.description ?? each.schema.description ?? ""])));
  }
  section.append(toTable(["Status", "Response"],
    Object.entries(operation.responses).map(([status, answer]) => [status, answer.description ?? ""])));
  return section;
}

const { paths } = await (await fetch("/openapi.json")).json();
document.getElementById("operations").append(...Object.entries(paths).flatMap(
  ([path, operations]) => Object.entries(operations).map(([method, operation]) => toSection(method, path, operation)),
));

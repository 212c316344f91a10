// Elements of the page.

export function make(tag, properties = {}) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "role") element.setAttribute("role", value);
    else element[name] = value;
  }
  return element;
}

// A button with a hint; a sign has no name, so the hint is its name.
export function makeButton(label, title, action) {
  const button = make("button", { type: "button", textContent: label, title });
  if (!/\p{L}/u.test(label)) button.ariaLabel = title;
  button.addEventListener("click", action);
  return button;
}

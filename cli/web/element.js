// Elements made of text: nothing from a file is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

/** The element of that id, which the page has. */
export function byId(id) {
  return document.getElementById(id);
}

/** An element. Attributes that are functions listen (`onclick`), those that are null or false are left out. */
export function element(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

/** The same for drawings. */
export function drawing(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS(SVG, tag), attributes, children);
}

function furnish(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

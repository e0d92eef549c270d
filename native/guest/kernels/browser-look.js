// Looks at a page, in a world of its own: what the page has made of the language does not reach it. What it gives has a length.
globalThis.look = {};

globalThis.look.isShown = (selector) => {
  return [...document.querySelectorAll(selector)].some((element) => element.getClientRects().length > 0);
};

globalThis.look.about = () => {
  return [document.title.slice(0, 1000), location.href.slice(0, 8192)];
};

globalThis.look.readText = (mostCharacters) => {
  // biome-ignore lint/performance/useDomNodeTextContent: what is displayed, as it is laid out
  const text = document.body?.innerText ?? "";
  return [text.slice(0, mostCharacters), text.length > mostCharacters];
};

// HTML of the tree as it is, open shadow roots in the place of what they hide; what is not displayed only if asked for.
globalThis.look.readTree = (mostCharacters, mostNodes, displayedOnly) => {
  const voids = new Set("area base br col embed hr img input link meta source track wbr".split(" "));
  const left = new Set("script style noscript template".split(" "));
  const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  const encode = (text) => text.replace(/[&<>"]/g, (found) => entities[found]);
  const parts = [];
  const stack = [];
  let length = 0;
  let nodes = 0;
  let isCut = false;

  const put = (text) => {
    const rest = mostCharacters - length;
    if (text.length > rest) isCut = true;
    parts.push(text.slice(0, rest));
    length += Math.min(text.length, rest);
  };
  const isLeftOut = (element) => {
    if (left.has(element.localName)) return true;
    const isHead = element.localName === "head" || element.parentNode?.localName === "head";
    return displayedOnly && !isHead && getComputedStyle(element).display === "none";
  };
  const childrenOf = (element) => {
    if (element.shadowRoot) return element.shadowRoot.childNodes;
    const assigned = element.localName === "slot" ? element.assignedNodes() : [];
    return assigned.length > 0 ? assigned : element.childNodes;
  };
  const open = (element) => {
    put(`<${element.localName}`);
    for (const { name, value } of element.attributes) {
      if (isCut || name === "style" || /^on|["'<>=\s]/.test(name)) continue;
      put(` ${name}="${encode(value.slice(0, 8192))}"`);
    }
    put(">");
    if (!voids.has(element.localName)) stack.push({ name: element.localName, children: childrenOf(element), at: 0 });
  };
  const visit = (node) => {
    nodes++;
    if (nodes > mostNodes) isCut = true;
    else if (node.nodeType === Node.TEXT_NODE) put(encode(node.data));
    else if (node.nodeType === Node.ELEMENT_NODE && !isLeftOut(node)) open(node);
  };

  if (document.documentElement !== null) visit(document.documentElement);
  while (stack.length > 0 && !isCut) {
    const top = stack[stack.length - 1];
    if (top.at < top.children.length) visit(top.children[top.at++]);
    else put(`</${stack.pop().name}>`);
  }
  return [parts.join(""), isCut];
};

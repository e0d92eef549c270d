export interface MadePage {
  type?: string;
  body: string;
  status?: number;
  headers?: Record<string, string>;
}

const html = (body: string): MadePage => ({ body: `<!doctype html>${body}` });
const script = (code: string): MadePage => html(`<title>A page</title><p>before</p><script>${code}</script>`);
const say = (text: string) => `document.body.append(${JSON.stringify(text)});`;

/** A site for browsers: without its scripts it says nothing. */
export const madePages: Readonly<Record<string, MadePage>> = {
  "/made": html(`<title>…</title><div id="app"></div><script>
    document.title = "Made by a script";
    fetch("/data.json").then((answer) => answer.json()).then(({ title }) => {
      const app = document.querySelector("#app");
      app.innerHTML = "<h1>" + title + "</h1><ul></ul><p style='display: none'>hidden words</p>";
      setTimeout(() => { app.querySelector("ul").innerHTML = "<li class=late>late</li>"; }, 300);
    });
  </script>`),
  "/data.json": { type: "application/json", body: JSON.stringify({ title: "Hello from data" }) },
  "/parts": script(`class Part extends HTMLElement {
    connectedCallback() { this.attachShadow({ mode: "open" }).innerHTML = "<b>in the shadow</b><slot></slot>"; }
  }
  customElements.define("x-part", Part);
  document.body.insertAdjacentHTML("beforeend", "<x-part><i>in the light</i></x-part>");
  document.body.dataset.long = "x".repeat(300);`),
  "/red": script(
    `document.documentElement.style.background = "rgb(200, 10, 20)"; document.body.style.height = "3000px";`,
  ),
  "/elsewhere": script(`const image = new Image(); image.src = "http://other.example/x.png";
    image.onerror = () => { document.body.insertAdjacentHTML("beforeend", "<p class=none>no picture</p>"); };
    document.body.append(image);`),
  "/moved": { body: "", status: 302, headers: { location: "http://other.example/" } },
  "/leaves": script(`location.href = "https://other.example/there";`),
  "/state": script(`${say("was: ")} document.body.append(document.cookie + (localStorage.mark ?? "nothing"));
    document.cookie = "mark=kept"; localStorage.mark = "kept";`),
  // As the gate of a sandbox speaks.
  "/alike": {
    ...{ type: "application/problem+json", status: 403 },
    body: JSON.stringify({ title: "Not allowed by the network policy of this sandbox" }),
  },

  "/endless": script("for (;;);"),
  "/slow": html(`<title>A page</title><p>before</p><img src="/never">`),
  "/dialogs": script(`for (let i = 0; i < 20; i++) { alert(i); confirm(i); prompt(i); } ${say("after dialogs")}`),
  "/popups": script(`for (let i = 0; i < 50; i++) open("/data.json?window"); ${say("after popups")}`),
  "/reloads": script("setTimeout(() => location.reload(), 20);"),
  "/forges": script(`document.querySelectorAll = () => [1]; Document.prototype.querySelectorAll = () => [1];
    Element.prototype.getClientRects = () => [1]; String.prototype.slice = () => "forged"; Array.from = () => ["forged"];
    Object.defineProperty(document, "title", { get: () => "forged" });`),
  "/wide": script(`const list = document.createElement("ol"); list.hidden = true; document.body.append(list);
    for (let i = 0; i < 120000; i++) list.append(document.createElement("li"));`),
  "/deep":
    script(`let at = document.body; for (let i = 0; i < 1000; i++) { at.append(at = document.createElement("div")); }
    at.append("at the bottom");`),
  "/long": script(`document.body.append("x".repeat(6000000));`),
  "/noise":
    script(`const c = document.createElement("canvas"); c.width = 1280; c.height = 2000; document.body.append(c);
    const x = c.getContext("2d"), d = x.createImageData(1280, 2000); for (let i = 0; i < d.data.length; i++) d.data[i] = Math.random() * 256;
    x.putImageData(d, 0, 0);`),
  "/memory": script("const all = []; for (;;) all.push(new Uint8Array(1 << 24).fill(all.length));"),
  "/file": { body: "PK", type: "application/zip", headers: { "content-disposition": "attachment; filename=x.zip" } },
};

/** Settings of web tools. Policies decide which hosts they may connect to. */
export const webSettings = {
  "web.search": {
    type: "list",
    default: ["searxng", "mojeek", "duckduckgo", "yandex"],
    env: "CAISSON_WEB_SEARCH",
    help: "search providers in the order they are tried, as NAME or NAME=URL; searxng requires a URL: searxng=https://searx.example.org",
  },
} as const;

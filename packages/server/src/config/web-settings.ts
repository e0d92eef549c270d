/** Settings of what is fetched on behalf of sandboxes. Which hosts may be reached is for policies to say. */
export const webSettings = {
  "web.search": {
    type: "list",
    default: ["searxng", "mojeek", "duckduckgo", "yandex"],
    env: "CAISSON_WEB_SEARCH",
    help: "search providers in the order they are asked, each by its name or as NAME=URL; searxng needs a URL: searxng=https://searx.example.org",
  },
} as const;

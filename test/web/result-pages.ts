/** Synthetic pages in the markup that search providers are known to have. */
const page = (body: string) => `<!doctype html><html><head><title>Search</title></head><body>${body}</body></html>`;

export const resultPages = {
  mojeek: {
    base: "https://www.mojeek.com/search?q=x",
    results: page(`<ul class="results-standard">
      <li class="r1"><a class="ob" href="https://one.example/a?b=c"><p class="i">one.example</p></a>
        <h2><a class="title" title="x" href="https://one.example/a?b=c">First &amp; <b>best</b></a></h2><p class="s">What it <strong>is</strong> about.</p></li>
      <li class="r2"><h2><a class="title" href="https://two.example/">Second</a></h2><p class="s">More.</p></li></ul>`),
    none: page('<div class="results"><p class="no-results">No pages found matching: x</p></div>'),
    captcha: page('<form action="/captcha-check"><input></form>'),
  },
  duckduckgo: {
    base: "https://html.duckduckgo.com/html/?q=x",
    results: page(`<div id="links" class="results">
      <div class="result results_links results_links_deep result--ad"><h2><a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=x">Ad</a></h2></div>
      <div class="result results_links results_links_deep web-result"><div class="links_main"><h2 class="result__title">
        <a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fone.example%2Fa%3Fb%3Dc&amp;rut=12">First &amp; best</a></h2>
        <a class="result__snippet" href="#">What it <b>is</b> about.</a></div></div>
      <div class="result web-result"><h2><a class="result__a" href="https://two.example/">Second</a></h2><a class="result__snippet">More.</a></div></div>`),
    none: page('<div class="result result--no-result"><div class="no-results">No results.</div></div>'),
    captcha: page('<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div>'),
  },
  yandex: {
    base: "https://yandex.com/search/?text=x",
    results: page(`<ul id="search-result">
      <li class="serp-item"><h2><a class="OrganicTitle-Link" href="https://yabs.yandex.com/count/x">Ad</a></h2></li>
      <li class="serp-item serp-item_card"><div class="Organic"><a class="Link OrganicTitle-Link" href="https://one.example/a?b=c">
        <h2 class="OrganicTitle-LinkText"><span class="OrganicTitleContentSpan">First &amp; <b>best</b></span></h2></a>
        <div class="TextContainer"><span class="OrganicTextContentSpan">What it is about.</span></div></div></li>
      <li class="serp-item"><a class="OrganicTitle-Link" href="https://two.example/">Second</a><span class="OrganicTextContentSpan">More.</span></li></ul>`),
    none: page('<div class="EmptySearchResults-Title">Nothing found</div>'),
    captcha: page('<form method="POST" action="/checkcaptcha?key=1"><div class="CheckboxCaptcha"></div></form>'),
  },
  searxng: {
    base: "https://searx.example/search?q=x",
    results: JSON.stringify({
      query: "x",
      number_of_results: 2,
      results: [
        { url: "https://one.example/a?b=c", title: "First & best", content: "What it is about.", engine: "one" },
        {
          url: "https://two.example/",
          title: "Second",
          content: "More.",
          engines: ["one", "two"],
          publishedDate: null,
        },
        { url: "ftp://three.example/", title: "Third", content: null },
      ],
      unresponsive_engines: [],
    }),
    none: JSON.stringify({ results: [], unresponsive_engines: [] }),
    captcha: "",
  },
} as const;

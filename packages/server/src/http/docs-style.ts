/** Of every page of this server; light or dark as its reader has it. */
export const docsStyle = `:root{color-scheme:light dark;--text:#1c1e21;--soft:#667;--line:#e3e5e8;--back:#fff;--box:#f6f7f8;--link:#0b57d0;
--get:#0a6b3d;--post:#0b57d0;--put:#8a5200;--patch:#8a5200;--delete:#b3261e}
@media(prefers-color-scheme:dark){:root{--text:#dfe1e5;--soft:#9aa0a8;--line:#33363b;--back:#17181a;--box:#202226;--link:#8ab4f8;
--get:#6dd58c;--post:#8ab4f8;--put:#fcc26b;--patch:#fcc26b;--delete:#f2938c}}
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:var(--text);background:var(--back)}
body:has(.docs){max-width:78rem;margin:0 auto}
a{color:var(--link)}code,pre,.t{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,monospace}
pre{background:var(--box);border:1px solid var(--line);border-radius:6px;padding:.6rem .8rem;margin:.6rem 0;white-space:pre-wrap;overflow-wrap:anywhere}
h1{font-size:1.6rem;margin:2rem 0 1rem}h1 small{font-size:1rem;font-weight:400;color:var(--soft)}
h2{font-size:1.15rem;margin:2.5rem 0 .5rem;scroll-margin-top:1rem}h2 a{color:inherit;text-decoration:none}h2 a:hover{text-decoration:underline}
h4{font-size:.8rem;text-transform:uppercase;letter-spacing:.05em;color:var(--soft);margin:1.2rem 0 .2rem}
.docs{display:grid;grid-template-columns:11rem minmax(0,1fr);gap:2.5rem}
nav{position:sticky;top:0;align-self:start;max-height:100vh;overflow:auto;padding:2.2rem 0;font-size:14px}
nav>a{font-weight:600;color:inherit;text-decoration:none}nav ul{list-style:none;margin:.8rem 0;padding:0}
nav li{display:flex;justify-content:space-between}nav li a{color:inherit;text-decoration:none}nav li a:hover{text-decoration:underline}nav span,.l{color:var(--soft)}
main{padding-bottom:6rem}main>details{border-top:1px solid var(--line)}main>details:last-of-type{border-bottom:1px solid var(--line)}
summary{cursor:pointer}main>details>summary{display:flex;gap:.9rem;padding:.45rem .2rem;list-style:none;align-items:baseline}
main>details>summary::-webkit-details-marker{display:none}main>details>summary:hover,main>details[open]>summary{background:var(--box)}
summary>i{margin-left:auto;font-style:normal;font-size:13px;color:var(--soft)}
.r{display:flex;flex-wrap:wrap;column-gap:1rem;min-width:0}.r code{font-weight:600;overflow-wrap:anywhere}.r span{color:var(--soft);font-size:14px}
.m{font:600 12px ui-monospace,monospace;flex:0 0 3.6rem}.get,.head{color:var(--get)}.post{color:var(--post)}.put{color:var(--put)}.patch{color:var(--patch)}.delete{color:var(--delete)}
.b{padding:.2rem .2rem 1.5rem 4.7rem}.a{float:right;font-size:12px;scroll-margin-top:6rem}.a+pre{clear:both}.s{font-family:ui-monospace,monospace}
.b p{margin:.4rem 0}.c{font-size:14px}table{border-collapse:collapse;width:100%;font-size:14px}
td{padding:.3rem .9rem .3rem 0;vertical-align:top;border-top:1px solid var(--line);overflow-wrap:anywhere}tr:first-child td{border-top:0}
td:first-child{width:32%}td.t{width:24%}td b{color:var(--delete)}.t{color:var(--soft)}
.l{font-size:13px}.l span{margin-right:.9rem}.l code{font-size:12px}.o{margin:.2rem 0 .2rem .2rem}.o>table{margin-left:1rem;width:calc(100% - 1rem)}
@media(max-width:50rem){.docs{display:block}nav{position:static;max-height:none;padding:1rem 0 0}nav ul{columns:2}.b{padding-left:.2rem}tr{display:block;border-top:1px solid var(--line);padding:.3rem 0}td,td:first-child,td.t{display:inline-block;width:auto;border:0;padding:0 .6rem 0 0}}`;

/** The style of the reference page, with the colors of the console. */
export const style = `
:root{color-scheme:light;--page:#f7f8fa;--card:#fff;--side:#f1f3f6;--line:#e3e6ec;--ink:#1b202b;--soft:#5d6473;--quiet:#f4f5f8;--accent:#2c4dcb;--accent-soft:#eef3ff;--get:#0b6b4b;--post:#2c4dcb;--patch:#8a5300;--delete:#b32424}
@media(prefers-color-scheme:dark){:root:not([data-scheme=light]){color-scheme:dark;--page:#0d1016;--card:#14181f;--side:#0a0c11;--line:#252b36;--ink:#e7eaf0;--soft:#98a0b0;--quiet:#1b2029;--accent:#8faafc;--accent-soft:#182138;--get:#34c796;--post:#8faafc;--patch:#f0ad3d;--delete:#ff8585}}
:root[data-scheme=dark]{color-scheme:dark;--page:#0d1016;--card:#14181f;--side:#0a0c11;--line:#252b36;--ink:#e7eaf0;--soft:#98a0b0;--quiet:#1b2029;--accent:#8faafc;--accent-soft:#182138;--get:#34c796;--post:#8faafc;--patch:#f0ad3d;--delete:#ff8585}
*{box-sizing:border-box}[hidden]{display:none!important}html{scroll-padding-top:5rem;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:14px/1.55 Inter,ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;-webkit-font-smoothing:antialiased}
code,pre,kbd{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.8125rem}
a{color:var(--accent)}:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.skip{position:absolute;left:-999px}.skip:focus{left:1rem;top:1rem;z-index:9;padding:.5rem 1rem;background:var(--card);border-radius:8px}
header{position:sticky;top:0;z-index:5;display:flex;flex-wrap:wrap;align-items:center;gap:.6rem 1.25rem;padding:.65rem 1.5rem;background:var(--card);border-bottom:1px solid var(--line)}
header b{font-size:1rem;letter-spacing:-.014em}header nav{display:flex;gap:1rem}
.search{flex:1 1 16rem;max-width:34rem;margin-left:auto;position:relative}
.search input{width:100%;padding:.5rem 2.5rem .5rem .75rem;font:inherit;color:inherit;background:var(--page);border:1px solid var(--line);border-radius:8px}
.search input::placeholder{color:var(--soft);opacity:1}.search kbd{position:absolute;right:.6rem;top:.5rem;padding:0 .4rem;color:var(--soft);border:1px solid var(--line);border-radius:5px}
.frame{display:grid;grid-template-columns:15rem minmax(0,1fr)}
aside{position:sticky;top:3.6rem;height:calc(100vh - 3.6rem);overflow-y:auto;padding:1.25rem .75rem 2rem;background:var(--side);border-right:1px solid var(--line)}
aside ul{margin:0;padding:0;list-style:none}aside a{display:flex;justify-content:space-between;gap:.5rem;padding:.3rem .6rem;border-radius:8px;color:var(--soft);text-decoration:none;font-weight:520}
aside a:hover{color:var(--ink);background:var(--quiet)}
main{width:100%;max-width:64rem;padding:2rem 2.25rem 5rem;margin:0 auto}
h1{margin:0 0 .4rem;font-size:1.5rem;letter-spacing:-.014em}h2{margin:2.5rem 0 .75rem;font-size:1.15rem;letter-spacing:-.014em}h4{margin:1.25rem 0 .4rem;font-size:.875rem}
.lead,.soft{color:var(--soft)}.lead{max-width:46rem;margin:0 0 1rem}.count{margin:1.25rem 0 0;color:var(--soft);font-size:.8125rem;min-height:1.4em}
.op{background:var(--card);border:1px solid var(--line);border-radius:10px;margin:0 0 .5rem}
.op>summary{display:flex;flex-wrap:wrap;align-items:baseline;gap:.15rem .75rem;padding:.65rem .9rem;cursor:pointer;list-style:none;border-radius:10px}
.op>summary::-webkit-details-marker{display:none}.op>summary:hover{background:var(--quiet)}.op[open]>summary{border-bottom:1px solid var(--line);border-radius:10px 10px 0 0}
.op h3{display:inline;margin:0;font-size:.875rem;font-weight:580}.op>summary code{color:var(--soft);overflow-wrap:anywhere}
.method{flex:none;width:3.9rem;font:600 .75rem ui-monospace,Menlo,Consolas,monospace;color:var(--post)}.method[data-m=GET]{color:var(--get)}.method[data-m=PATCH]{color:var(--patch)}.method[data-m=DELETE]{color:var(--delete)}
.body{padding:.85rem .9rem 1.1rem}.body>p{margin:0}
table{width:100%;border-collapse:collapse}th,td{padding:.45rem .75rem .45rem 0;border-top:1px solid var(--line);text-align:left;vertical-align:top;font-weight:400;overflow-wrap:anywhere}thead th{border:0;color:var(--soft);font-size:.75rem}tbody th{width:32%}td:nth-child(2){width:24%;color:var(--soft)}
.need{margin-left:.4rem;color:var(--delete);font-size:.75rem}
figure{margin:0;border:1px solid var(--line);border-radius:8px;overflow:hidden}figcaption{display:flex;justify-content:space-between;align-items:center;padding:.3rem .75rem;background:var(--quiet);color:var(--soft);font-size:.75rem}
pre{margin:0;padding:.75rem;overflow-x:auto;max-height:26rem;line-height:1.5}
button{padding:.15rem .6rem;font:inherit;color:var(--ink);background:var(--card);border:1px solid var(--line);border-radius:6px;cursor:pointer}
.two{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:0 1rem}
.errors{margin:0;padding:0;list-style:none;columns:2}.errors code{margin-right:.5rem}
@media(max-width:56rem){.frame{display:block}aside{display:none}main{padding:1.25rem 1rem 4rem}header{padding:.6rem 1rem}.search{margin-left:0;max-width:none;flex-basis:100%}.search kbd{display:none}.two{grid-template-columns:minmax(0,1fr)}.errors{columns:1}
thead{display:none}tr{display:block;padding:.5rem 0;border-top:1px solid var(--line)}th,td,tbody th,td:nth-child(2){display:block;width:auto;padding:.05rem 0;border:0}}
@media(prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}`

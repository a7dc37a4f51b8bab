/** The style of the reference page, with the colors of the console. */
const light =
  'color-scheme:light;--page:#f7f8fa;--card:#fff;--side:#f1f3f6;--line:#e3e6ec;--ink:#1b202b;--soft:#5d6473;--quiet:#f4f5f8;--accent:#2c4dcb;--on-accent:#fff;--get:#0b6b4b;--post:#2c4dcb;--patch:#8a5300;--delete:#b32424'
const dark =
  'color-scheme:dark;--page:#0d1016;--card:#14181f;--side:#0a0c11;--line:#252b36;--ink:#e7eaf0;--soft:#98a0b0;--quiet:#1b2029;--accent:#8faafc;--on-accent:#0d1016;--get:#34c796;--post:#8faafc;--patch:#f0ad3d;--delete:#ff8585'

export const style = `
:root{${light}}
@media(prefers-color-scheme:dark){:root:not([data-scheme=light]){${dark}}}
:root[data-scheme=dark]{${dark}}
*{box-sizing:border-box}[hidden]{display:none!important}html{scroll-padding-top:4.5rem;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:14px/1.55 Inter,ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;-webkit-font-smoothing:antialiased}
code,pre,kbd,textarea{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.8125rem}
a{color:var(--accent)}:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.skip{position:absolute;left:-999px}.skip:focus{left:1rem;top:1rem;z-index:9;padding:.5rem 1rem;background:var(--card);border-radius:8px}
header{position:sticky;top:0;z-index:5;display:flex;flex-wrap:wrap;align-items:center;gap:.6rem 1.25rem;padding:.65rem 1.5rem;background:var(--card);border-bottom:1px solid var(--line)}
header b{font-size:1rem;letter-spacing:-.014em}header nav{display:flex;gap:1rem}
.search{flex:1 1 16rem;max-width:34rem;margin-left:auto;position:relative}
input,select,textarea{width:100%;padding:.45rem .65rem;font-size:inherit;font-family:inherit;color:inherit;background:var(--page);border:1px solid var(--line);border-radius:8px}
.search input{padding-right:2.5rem}.search input::placeholder{color:var(--soft);opacity:1}.search kbd{position:absolute;right:.6rem;top:.45rem;padding:0 .4rem;color:var(--soft);border:1px solid var(--line);border-radius:5px}
.frame{display:grid;grid-template-columns:15rem minmax(0,1fr)}
aside{position:sticky;top:3.4rem;height:calc(100vh - 3.4rem);overflow-y:auto;padding:1.1rem .75rem 2rem;background:var(--side);border-right:1px solid var(--line)}
aside summary{display:none}aside ul{margin:0 0 1rem;padding:0;list-style:none}aside a{display:flex;justify-content:space-between;gap:.5rem;padding:.26rem .6rem;border-radius:8px;color:var(--soft);text-decoration:none;font-weight:520}
aside a:hover{color:var(--ink);background:var(--quiet)}
main{width:100%;max-width:82rem;padding:2rem 2.25rem 5rem;margin:0 auto}
h1{margin:0 0 .4rem;font-size:1.6rem;letter-spacing:-.014em}h2{margin:2.75rem 0 .25rem;font-size:1.2rem;letter-spacing:-.014em}h4{margin:1.4rem 0 .4rem;font-size:.875rem}h5{margin:1rem 0 .25rem;font-size:.8125rem}
.lead,.soft,.count{color:var(--soft)}.lead{max-width:46rem;margin:0 0 .9rem}.count{margin:0;font-size:.8125rem}
.guide dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(19rem,1fr));gap:.6rem;margin:1.25rem 0 0}.guide dl div,.card{padding:.75rem .9rem;background:var(--card);border:1px solid var(--line);border-radius:10px}.guide dt{font-weight:600}.guide dd{margin:.15rem 0 0;color:var(--soft)}
.op{background:var(--card);border:1px solid var(--line);border-radius:10px;margin:0 0 .5rem}
summary{cursor:pointer}.op>summary{display:flex;flex-wrap:wrap;align-items:baseline;gap:.15rem .75rem;padding:.6rem .9rem;list-style:none;border-radius:10px}
.op>summary::-webkit-details-marker{display:none}.op>summary:hover{background:var(--quiet)}.op[open]>summary{border-bottom:1px solid var(--line);border-radius:10px 10px 0 0}
.op h3{display:inline;margin:0;font-size:.875rem;font-weight:580}.op>summary code{color:var(--soft);overflow-wrap:anywhere}.hit{color:var(--soft);font-size:.75rem;font-style:italic}
.method{flex:none;width:3.9rem;font:600 .75rem ui-monospace,Menlo,Consolas,monospace;color:var(--post)}.method[data-m=GET]{color:var(--get)}.method[data-m=PATCH]{color:var(--patch)}.method[data-m=DELETE]{color:var(--delete)}
.body{display:grid;grid-template-columns:minmax(0,1.1fr) minmax(0,1fr);gap:0 1.75rem;padding:.9rem .9rem 1.1rem}.body>div>:first-child{margin-top:0}.body>div:last-child>*{margin:0 0 .9rem}.schema .fields{padding:.4rem .9rem .9rem}
p{margin:.3rem 0}table{width:100%;border-collapse:collapse}th,td{padding:.5rem .75rem .5rem 0;border-top:1px solid var(--line);text-align:left;vertical-align:top;font-weight:400;overflow-wrap:anywhere}thead th{border:0;padding-bottom:.2rem;color:var(--soft);font-size:.75rem}tbody th{width:30%}td:nth-child(2){width:21%;color:var(--soft)}
td p{margin:0}td ul{margin:.2rem 0;padding-left:1.1rem}td .soft{font-size:.8125rem}th .soft{font-size:.75rem}th>code{font-weight:600}
.d1 th{padding-left:1.1rem}.d2 th{padding-left:2.2rem}.d3 th{padding-left:3.3rem}.d4 th{padding-left:4.4rem}
.need{color:var(--delete);font-size:.75rem}
.card thead th{padding-top:0}.card tbody th{width:12rem}
:target:is(tr,dl div){outline:2px solid var(--accent);outline-offset:2px}
figure{margin:0;border:1px solid var(--line);border-radius:8px;overflow:hidden}figcaption{display:flex;justify-content:space-between;align-items:center;padding:.3rem .5rem .3rem .75rem;background:var(--quiet);color:var(--soft);font-size:.75rem}
pre{margin:0;padding:.75rem;overflow:auto;max-height:26rem;line-height:1.5;tab-size:2}
.samples figure+figure{margin-top:.6rem}.samples [role=tablist]+figure~figure{margin-top:0}.samples:has([role=tablist]) figure{position:relative;border-radius:0 8px 8px;overflow:visible}.samples:has([role=tablist]) figcaption{position:absolute;top:-2.1rem;right:0;padding:0;background:none;font-size:0}.samples pre{white-space:pre-wrap;overflow-wrap:anywhere}.samples figcaption button{font-size:.75rem}
[role=tablist]{display:flex;gap:.25rem;margin-bottom:-1px}[role=tab]{padding:.3rem .75rem;background:none;border:1px solid transparent;border-radius:8px 8px 0 0;color:var(--soft)}[role=tab][aria-selected=true]{color:var(--ink);font-weight:580;background:var(--quiet);border-color:var(--line);border-bottom-color:var(--quiet)}
button{padding:.15rem .6rem;font:inherit;color:var(--ink);background:var(--card);border:1px solid var(--line);border-radius:6px;cursor:pointer}button:hover{border-color:var(--soft)}button:disabled{opacity:.6;cursor:default}
.primary,.danger{padding:.35rem .9rem;border-radius:8px;font-weight:580;color:var(--on-accent);background:var(--accent);border-color:transparent}.danger{background:var(--delete)}
.more summary{padding:.15rem 0;color:var(--accent)}.more .fields{padding:0}.more>p{margin:.4rem 0}
.statuses{display:flex;flex-wrap:wrap;gap:.3rem}.statuses a{padding:.1rem .5rem;font-size:.8125rem;color:var(--soft);text-decoration:none;background:var(--quiet);border-radius:6px}.statuses a:hover{color:var(--ink)}
.try{padding:.75rem .9rem;border:1px solid var(--line);border-radius:8px;background:var(--quiet)}.try label{display:block;margin-bottom:.6rem}.try label span{display:flex;margin-bottom:.2rem;gap:.5rem;font:600 .8125rem ui-monospace,Menlo,Consolas,monospace}.try small{font-weight:400;color:var(--soft)}.try :is(input,select,textarea){background:var(--card)}.try textarea{display:block;font-size:.8125rem;resize:vertical}.try .note{margin:0}
.send{display:flex;flex-wrap:wrap;align-items:center;gap:.25rem .9rem}.send p{margin:0}[data-ok=true]{color:var(--get)}[data-ok=false]{color:var(--delete)}
.result pre{margin:.75rem 0 .4rem;background:var(--card);border:1px solid var(--line);border-radius:8px}
dialog{max-width:30rem;padding:1.25rem;color:var(--ink);background:var(--card);border:1px solid var(--line);border-radius:12px}dialog::backdrop{background:rgb(0 0 0/.45)}dialog h2{margin:0}dialog p{overflow-wrap:anywhere;color:var(--soft)}dialog div{display:flex;justify-content:flex-end;gap:.5rem;margin-top:1rem}dialog button{padding:.35rem .9rem;border-radius:8px}
@media(min-width:75.01rem){.body>div:last-child{position:sticky;top:4rem;align-self:start;max-height:calc(100vh - 5rem);padding:2px;overflow-y:auto}}
@media(max-width:75rem){.body{grid-template-columns:minmax(0,1fr);gap:1.4rem}}
@media(max-width:56rem){html{scroll-padding-top:.75rem}.frame{display:block}aside{position:static;height:auto;padding:.5rem 1rem;border:0;border-bottom:1px solid var(--line)}aside summary{display:list-item;padding:.2rem 0;font-weight:580}aside ul{columns:2;margin:.3rem 0}aside li{break-inside:avoid}main{padding:1.25rem 1rem 4rem}header{position:static;padding:.6rem 1rem}header nav{flex-wrap:wrap;gap:.2rem 1rem}.search{margin-left:0;max-width:none;flex-basis:100%}.search kbd{display:none}
thead{display:none}tr{display:block;padding:.5rem 0;border-top:1px solid var(--line)}th,td,tbody th,.card tbody th,td:nth-child(2){display:block;width:auto;padding:.05rem 0;border:0}.d1>*{margin-left:1rem}.d2>*{margin-left:2rem}.d3>*{margin-left:3rem}.d4>*{margin-left:4rem}:is(.d1,.d2,.d3,.d4) th{padding-left:0}}
@media(prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}`

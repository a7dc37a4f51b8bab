/**
 * The style sheet of the hosted pages. Except for shadows and the QR code, colors are variables of the theme. The style
 * sheet loads no other resources.
 */
export const style = `
*,*::before,*::after{box-sizing:border-box}
html{height:100%;-webkit-text-size-adjust:100%}
body{margin:0;min-height:100%;min-height:100dvh;display:grid;grid-template-rows:1fr auto;justify-items:center;align-items:center;gap:1.5rem;padding:clamp(1rem,4vw,3rem) 1rem 1.25rem;background:var(--background);color:var(--text);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;-webkit-font-smoothing:antialiased}
body::before{content:"";position:fixed;inset:0;z-index:-1;background:radial-gradient(60rem 30rem at 50% -12rem,color-mix(in srgb,var(--primary) 20%,transparent),transparent)}
main{width:100%;max-width:25.5rem;background:var(--card);border:1px solid var(--line);border-radius:1.125rem;padding:clamp(1.5rem,6vw,2.5rem);box-shadow:0 1px 2px rgb(0 0 0/.05),0 18px 40px -18px rgb(0 0 0/.24)}
.brand{display:flex;align-items:center;gap:.75rem;margin-bottom:1.75rem;font-weight:600;letter-spacing:-.01em}
.brand img{height:2.5rem;max-width:10rem;object-fit:contain}
.brand .mark{flex:none;display:grid;place-items:center;width:2.5rem;height:2.5rem;border-radius:.75rem;background:var(--primary);color:var(--on-primary);font-size:1.125rem;font-weight:700}
.brand span:last-child{min-width:0;overflow-wrap:anywhere}
[hidden]{display:none!important}
h1{margin:0;font-size:1.625rem;line-height:1.2;font-weight:680;letter-spacing:-.022em;text-wrap:balance}
.lead{margin:.5rem 0 0;color:var(--soft);text-wrap:pretty;overflow-wrap:anywhere}
.lead strong{color:var(--text);font-weight:600}
form{display:grid;gap:1.125rem;margin-top:1.75rem}
.field{display:grid;gap:.4rem}
label{font-size:.9rem;font-weight:560}
input{width:100%;min-height:3rem;padding:.65rem .875rem;font:inherit;color:inherit;background:var(--field);border:1px solid var(--edge);border-radius:.7rem;transition:border-color .15s,box-shadow .15s}
input:hover{border-color:var(--text)}
input:focus-visible{outline:none;border-color:var(--accent);box-shadow:0 0 0 3px color-mix(in srgb,var(--accent) 26%,transparent)}
input[aria-invalid=true]{border-color:var(--alarm)}
fieldset.checks{display:grid;gap:.65rem;margin:0;padding:0;border:0}
.checks legend{margin-bottom:.65rem;padding:0;font-size:.9rem;color:var(--soft)}
.checks label{display:flex;align-items:center;gap:.65rem;overflow-wrap:anywhere}
.checks input{flex:none;width:1.15rem;min-height:1.15rem;accent-color:var(--primary)}
blockquote{margin:1.25rem 0 0;padding:.25rem 0 .25rem 1rem;border-left:3px solid var(--line);color:var(--soft);overflow-wrap:anywhere;white-space:pre-line}
.hint{margin:0;font-size:.85rem;color:var(--soft)}
button,.button{display:inline-flex;align-items:center;justify-content:center;min-height:3rem;padding:.65rem 1.25rem;font:inherit;font-weight:600;text-decoration:none;border:1px solid transparent;border-radius:.7rem;background:var(--primary);color:var(--on-primary);cursor:pointer;transition:filter .15s,transform .05s}
button:hover{filter:brightness(1.08)}
button:active{transform:translateY(1px)}
button:focus-visible,.button:focus-visible,.problem:focus-visible{outline:3px solid color-mix(in srgb,var(--accent) 55%,transparent);outline-offset:2px}
button.quiet{background:transparent;color:var(--text);border-color:var(--edge)}
button.link{min-height:1.75rem;padding:0 .15rem;justify-self:center;background:none;border:0;color:var(--accent);font-weight:560;font-size:.925rem;text-decoration:underline;text-underline-offset:.2em}
.or{display:flex;align-items:center;gap:.75rem;margin:0;color:var(--soft);font-size:.875rem}
.or::before,.or::after{content:"";flex:1;border-top:1px solid var(--line)}
.aside{margin:0;text-align:center;color:var(--soft);font-size:.925rem}
input.code{font-size:1.375rem;letter-spacing:.3em;text-align:center;font-variant-numeric:tabular-nums}
input.code.long{font-size:1.125rem;letter-spacing:.12em}
.qr{display:grid;justify-items:center;margin:0}
.qr svg{width:min(100%,12.5rem);padding:.75rem;background:#fff;border:1px solid var(--line);border-radius:.85rem}
.secret{margin:0;padding:.7rem .875rem;border:1px dashed var(--edge);border-radius:.7rem;font:.9375rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;letter-spacing:.04em;overflow-wrap:anywhere;text-align:center;user-select:all}
.codes{display:grid;grid-template-columns:repeat(2,1fr);gap:.5rem 1rem;margin:0;padding:1rem;list-style:none;border:1px solid var(--line);border-radius:.85rem;background:var(--field);font:.9375rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;text-align:center}
input[readonly]{color:var(--soft)}
.problem{margin-top:1.5rem;padding:.8rem .95rem;border:1px solid color-mix(in srgb,var(--alarm) 32%,transparent);border-radius:.7rem;background:var(--alarm-ground);color:var(--alarm);font-size:.925rem}
.problem p{margin:0}
.problem p+p{margin-top:.35rem}
.problem+form{margin-top:1.25rem}
form .problem{margin:0}
.detail{margin:1.5rem 0 0;padding-top:1.125rem;border-top:1px solid var(--line);font:.8125rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;color:var(--soft);overflow-wrap:anywhere}
.facts{margin-top:1.5rem;padding-top:1.125rem;border-top:1px solid var(--line);font-size:.875rem;overflow-wrap:anywhere}
.facts h2{margin:0;font-size:.9rem}
.facts dl{margin:0}
.facts dt{margin-top:.75rem;color:var(--soft);font-size:.8125rem}
.facts dd{margin:0}
.facts a{color:var(--accent);text-underline-offset:.2em}
footer{font-size:.8125rem;color:var(--soft);text-align:center}
@media(max-width:30rem){body{align-items:start;padding-top:max(1rem,6vh)}main{border-radius:1rem}}
@media(prefers-reduced-motion:reduce){*{transition:none!important}}
@media(forced-colors:active){button,input,main,.problem{border:1px solid}}
`

// `npm run lint` runs this script, which fails on words that this project avoids in code, SQL, pages and documents
// (CONTRIBUTING.md, "Style"). With arguments, it checks only files whose paths begin with one of them. A line that
// contains `words-ok` is skipped.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

// Each row is a pattern and what to write instead.
const words = [
  [/\b(?:audit )?trail\b/, 'audit log'],
  [/\b(?:told|tells)\b/, 'recorded, notified, says'],
  [/\b(?:nobody|somebody|everybody|anybody)(?:'s)?\b/, 'no one, a user, everyone, anyone'],
  [/\bwho(?:m)?(?:so)?ever\b/, 'the caller, any user'],
  [/\banew\b/, 'again, reset'],
  [/\b[Ss]tranger(?:s)?\b/, 'anonymous caller'],
  [/\bportions?\b/, 'batch'],
  [/\b(?:un)?seal(?:ed|er|s|ing)?\b/, 'encrypt, encrypted, decrypt'],
  [/\bdecoys?\b/, 'dummy hash'],
  [/\bverdicts?\b/, 'decision'],
  [/\bwish(?:es|ed)?\b/, 'request'],
  [/\b(?:foresee|foreseen|unforeseen)\b/, 'prefetch'],
  [/\bjourneys?\b/, 'login transaction'],
  [/\blanes?\b/, 'delivery queue'],
  [/\bparcels?\b/, 'delivery'],
  [/\bPATIENCE\b/, 'the name of the timeout'],
  [/\bheld_until\b/, 'lease_expires_at'],
  [/\bpromised work\b/, 'outbox, queued job'],
  [/\b(?:house rules?|rooms?)\b/, 'architecture, module'],
  [/\bHappening\b/, 'event'],
  [/\bfor good\b/, 'permanently'],
  [/\bis good (?:until|for|once)\b/, 'is valid until, can be used once'],
  [/\b(?:lies|lie) (?:in|at|on|there|outside|between|sealed|below|behind)\b/, 'is'],
  [/\bstands? (?:in|at|there|here|beside|alone|for|as|apart|still)\b/, 'is'],
  [/\bmay be a thief\b/, 'reuse revokes the family'],
  [/\b(?:whilst|hitherto|thereof|thereby|midst|lest|ere|hence|henceforth|meanwhile that)\b/, 'a plain word'],
  [/\b(?:spec|security rule|decisions? D)\s?\d/, 'a heading of docs/contract.md'],
  [
    /\b(?:colour|behaviour|favour|honour|neighbour|catalogue|centre|enrolments?|enrol|fulfil|judgement|licence|grey|cancelled|cancelling|labelled|signalling|travelled)s?\b/,
    'the US spelling',
  ],
  [/\b\w{3,}(?:ganis|horis|ognis|ialis|malis|nalis|calis|imis|rnis)(?:e|ed|es|ing|ation)\b/, 'the US spelling (-ize)'],
]

/** Words that the patterns would find but that are correct, such as words in -ise and names of other products. */
const allowed =
  /\b(?:promis(?:e|es|ed|ing)|premises?|compromis(?:e|ed|es|ing)|otherwise|comprise[sd]?|enterprise|precise|raise[sd]?|raising|rising|arise[sn]?|arising|surprise[sd]?|surprising|likewise|exercise[sd]?|advertise[sd]?|advertising|noise|praise|rise|Promise\w*)\b/g

const extensions = /\.(?:ts|tsx|mjs|cjs|js|sql|prisma|graphql|md|html|css|svg|ya?ml|json)$/
// Released migrations and dumps keep their text, and this file contains the words themselves.
const skipped =
  /^(?:prisma\/migrations\/|test\/stories\/upgrade\/|package-lock\.json|scripts\/check-words\.mjs|LICENSE)/

const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  .trim()
  .split('\n')
const only = process.argv.slice(2)
const findings = []
for (const file of files.filter((path) => extensions.test(path) && !skipped.test(path))) {
  if (only.length > 0 && !only.some((folder) => file.startsWith(folder))) continue
  let text
  try {
    text = readFileSync(join(root, file), 'utf8')
  } catch {
    continue
  }
  text.split('\n').forEach((line, at) => {
    if (line.includes('words-ok')) return
    const rest = line.replace(allowed, '')
    for (const [pattern, instead] of words) {
      const found = pattern.exec(rest)
      if (found) findings.push(`${file}:${at + 1} "${found[0]}": write ${instead}`)
    }
  })
}
if (findings.length > 0) {
  console.error(`${findings.join('\n')}\n${findings.length} words that this project avoids`)
  process.exitCode = 1
}

/**
 * The program of `npm run bench -- <name> [options]`. Runs one benchmark of this folder and prints its results as a
 * table.
 */
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('.', import.meta.url))
const names = readdirSync(folder)
  .filter(
    (file) =>
      file.endsWith('.js') &&
      !['run', 'seed', 'server', 'baseline-provider', 'load', 'login-load', 'proofs'].includes(file.slice(0, -3)),
  )
  .map((file) => file.slice(0, -3))

const [name = '', ...options] = process.argv.slice(2)
if (!names.includes(name)) {
  process.stderr.write(`Specify a benchmark: ${names.join(', ')}.\nExample: npm run bench -- ${names[0]}\n`)
  process.exit(1)
}
const { bench } = (await import(`./${name}.js`)) as { bench(options: string[]): Promise<Record<string, unknown>[]> }
console.table(await bench(options))
process.exit(0)

import { defineConfig } from 'prisma/config'

// Generating, validating and formatting need no schema engine, yet the command line would download one first.
// Naming any existing program as the engine stops that download; it is never run.
if (process.argv.some((word) => ['generate', 'validate', 'format'].includes(word))) {
  process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= process.execPath
}

export default defineConfig({ schema: 'prisma', migrations: { path: 'prisma/migrations' } })

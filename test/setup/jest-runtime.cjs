// Jest gives each test file its own copy of every module, the product and all libraries included: two seconds of
// compiling before the first test, for each of 140 files. This runtime reloads only the test files; src/ and libraries
// are loaded by Node once per worker. So a test must not rely on a fresh copy of a module and must not mock one. Without
// this file (without "runtime" in jest.config.js) all tests pass as well, in twice the time.
const { isAbsolute, join, sep } = require('node:path')
const { pathToFileURL } = require('node:url')
const { SyntheticModule } = require('node:vm')
const { default: Runtime } = require('jest-runtime')

// Each test file runs in its own realm. These globals are shared so that `instanceof` in src/ and in libraries accepts
// objects that tests create.
const sharedGlobals = { Map, Set, Date, RegExp, Error, TypeError, RangeError, SyntaxError, AggregateError }

// The scripts import helpers of test/setup, so they are loaded with the tests: two copies of a helper would not share
// state.
const perFileFolders = ['test', 'scripts'].map((folder) => join(__dirname, '..', '..', 'dist', folder) + sep)

/** Is this a file of the product or of a library? Node's own modules are shared anyway. */
const isShared = (file) =>
  isAbsolute(file) && !perFileFolders.some((folder) => file.startsWith(folder)) && !file.endsWith('.json')

/** Wraps a module that Node loaded, so that modules of jest can import it. */
async function asModule(file, context) {
  const exported = await import(pathToFileURL(file).href)
  const names = Object.keys(exported)
  const fill = () => {
    for (const name of names) module.setExport(name, exported[name])
  }
  const module = new SyntheticModule(names, fill, { context, identifier: file })
  await module.link(() => {})
  await module.evaluate()
  return module
}

class SharingRuntime extends Runtime {
  constructor(...all) {
    super(...all)
    const { _environment: environment, _resolution: resolution, esmLoader: loader } = this
    // The loader is internal to jest and may be absent in another version.
    if (!loader?.resolveModule || !resolution?.resolveEsmAsync) throw new Error('jest loads modules in another way now')
    const { global } = environment
    Object.assign(global, sharedGlobals)
    for (const kind of [Object, Array]) global[kind.name].prototype.constructor = kind
    const resolveModule = loader.resolveModule.bind(loader)
    const shared = new Map()
    // Disables jest's synchronous import path for newer versions of Node, which bypasses resolveModule.
    resolution.hasDistinctAsyncResolver = () => true
    loader.resolveModule = async (name, from, context) => {
      // Jest captures 100 stack frames per error, which is slow because tests cause many errors.
      Error.stackTraceLimit = 10
      if (name === '@jest/globals' || name.startsWith('data:')) return resolveModule(name, from, context)
      const file = await resolution.resolveEsmAsync(from, name)
      if (!isShared(file)) return resolveModule(name, from, context)
      if (!shared.has(file)) shared.set(file, asModule(file, context))
      return shared.get(file)
    }
  }
}

module.exports = { __esModule: true, default: SharingRuntime }

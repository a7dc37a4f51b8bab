// Jest loads all modules again for each test file, including src/ and the libraries, which takes two seconds of
// compilation for each file. This runtime loads only the modules of test/ and scripts/ again. Node loads src/ and the
// libraries once in each worker. Therefore tests must not mock modules of src/ or rely on their initial state. Without
// this file (without `runtime` in jest.config.js) all tests pass as well, in twice the time.
const { isAbsolute, join, sep } = require('node:path')
const { pathToFileURL } = require('node:url')
const { SyntheticModule } = require('node:vm')
const { default: Runtime } = require('jest-runtime')

// Jest runs each test file in its own JavaScript realm. These constructors are shared with the realm, so that
// `instanceof` in src/ and in libraries accepts objects that tests create.
const sharedGlobals = { Map, Set, Date, RegExp, Error, TypeError, RangeError, SyntaxError, AggregateError }

// scripts/ is included because it imports test/setup: if Node loaded the scripts, the tests and the scripts would have
// two copies of test/setup with separate state.
const perFileFolders = ['test', 'scripts'].map((folder) => join(__dirname, '..', '..', 'dist', folder) + sep)

/**
 * Returns true for a file of src/ or of a library, except JSON files. Jest itself shares the modules of Node, such as
 * `node:fs`.
 */
const isShared = (file) =>
  isAbsolute(file) && !perFileFolders.some((folder) => file.startsWith(folder)) && !file.endsWith('.json')

/** Wraps a module that Node loaded, so that modules that Jest loads can import it. */
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
    // These objects are internal to Jest, so another version may not have them.
    if (!loader?.resolveModule || !resolution?.resolveEsmAsync)
      throw new Error('This version of Jest loads modules differently. Adapt test/setup/jest-runtime.cjs.')
    const { global } = environment
    Object.assign(global, sharedGlobals)
    for (const kind of [Object, Array]) global[kind.name].prototype.constructor = kind
    const resolveModule = loader.resolveModule.bind(loader)
    const shared = new Map()
    // With newer versions of Node, Jest imports modules synchronously and does not call resolveModule.
    // `hasDistinctAsyncResolver` disables the synchronous imports.
    resolution.hasDistinctAsyncResolver = () => true
    loader.resolveModule = async (name, from, context) => {
      // Jest sets a limit of 100 stack frames for each error, which is slow because tests cause many errors.
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

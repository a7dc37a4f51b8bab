// Jest gives each test file its own copy of every module, the product and all libraries included: two seconds of
// compiling before the first test, 140 times, in code that never gets warm. Here only the tests themselves are loaded
// anew for each file; what they import of the product and of libraries is Node's own, once per worker, as in a process
// that runs. No test may rely on a fresh copy then, and none replaces a module. Without this file, that is without
// "runtime" in jest.json, all tests pass as well, in twice the time.
const { isAbsolute, join, sep } = require('node:path')
const { pathToFileURL } = require('node:url')
const { SyntheticModule } = require('node:vm')
const { default: Runtime } = require('jest-runtime')

// A test file has a realm of its own. What it makes with these is of the kinds that the product and libraries know by
// `instanceof` all the same; what it writes as literals is so by its constructor.
const kinds = { Map, Set, Date, RegExp, Error, TypeError, RangeError, SyntaxError, AggregateError }

const tests = join(__dirname, '..', 'dist', 'test') + sep

/** Is this a file of the product or of a library? Node's own modules are shared anyway. */
const isShared = (file) => isAbsolute(file) && !file.startsWith(tests) && !file.endsWith('.json')

/** A module of Node's, as one that modules of jest can import. */
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
    // The loader is jest's own affair, so that another version of it may have no such place.
    if (!loader?.resolveModule || !resolution?.resolveEsmAsync) throw new Error('jest loads modules in another way now')
    const { global } = environment
    Object.assign(global, kinds)
    for (const kind of [Object, Array]) global[kind.name].prototype.constructor = kind
    const resolveModule = loader.resolveModule.bind(loader)
    const shared = new Map()
    // Its other way, for newer versions of Node, asks nobody.
    resolution.hasDistinctAsyncResolver = () => true
    loader.resolveModule = async (name, from, context) => {
      // Jest wants a hundred frames of each error, of which a product that is asked wrong things makes many.
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

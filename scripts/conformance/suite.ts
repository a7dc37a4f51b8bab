/** Starts the conformance suite with its database, and calls its API. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../src/platform/package-info.js'
import { waitUntil } from '../../test/setup/wait-until.js'
import type { Certificate } from './tls.js'

const databaseFolder = join(packageRoot, 'scripts/conformance/mongodb')

/** A module of a plan, which the suite runs as one test. */
export interface PlanModule {
  testModule: string
  variant?: Record<string, string>
}

/** An entry of the log of a test. */
export interface LogEntry {
  src: string
  msg?: string
  result?: string
}

/** A picture that the suite expects. */
export interface MissingPicture {
  upload: string
  /** Since when the suite expects it, in Unix milliseconds. */
  time: number
}

export interface TestState {
  status: 'CREATED' | 'CONFIGURED' | 'RUNNING' | 'WAITING' | 'FINISHED' | 'INTERRUPTED'
  result?: string
}

/** A URL that the suite asks the user to open. */
export interface UrlToVisit {
  url: string
  method: string
}

/**
 * The path of the classes of the database server, which Maven downloads into its local repository.
 * @throws Error if Maven is missing or fails
 */
function databaseClassPath(folder: string): string {
  const file = join(folder, 'classpath')
  const goal = ['-q', '-B', 'dependency:build-classpath', `-Dmdep.outputFile=${file}`]
  execFileSync('mvn', ['-f', join(databaseFolder, 'pom.xml'), ...goal], { stdio: ['ignore', 'ignore', 'inherit'] })
  return readFileSync(file, 'utf8').trim()
}

/** Starts a Java program whose output goes to a file. */
function startJava(args: string[], logFile: string): ChildProcess {
  const log = openSync(logFile, 'w')
  return spawn('java', args, { stdio: ['ignore', log, log] })
}

export interface SuiteOptions {
  jar: string
  /** The folder for the logs and the class path. */
  folder: string
  certificate: Certificate
  /** The URL under which Gatehouse and the browser reach the suite. */
  url: string
  port: number
  databasePort: number
}

/**
 * Starts the suite and its database. They are ready when `waitUntilReady` of the API resolves.
 * @returns the two processes, which the caller stops
 */
export function startSuite(options: SuiteOptions): ChildProcess[] {
  const { folder, certificate } = options
  const classPath = databaseClassPath(folder)
  const database = ['-Xmx1g', '-cp', classPath, join(databaseFolder, 'DatabaseServer.java')]
  const properties = {
    'server.address': '127.0.0.1',
    'server.port': options.port,
    // Without sign-in to the suite.
    'fintechlabs.devmode': true,
    'fintechlabs.base_url': options.url,
    'fintechlabs.base_mtls_url': options.url,
    'spring.data.mongodb.uri': `mongodb://127.0.0.1:${options.databasePort}/test_suite`,
  }
  const suite = [
    '-Xmx2g',
    `-Djavax.net.ssl.trustStore=${certificate.trustStore}`,
    `-Djavax.net.ssl.trustStorePassword=${certificate.passphrase}`,
    '-jar',
    options.jar,
    ...Object.entries(properties).map(([name, value]) => `--${name}=${value}`),
  ]
  return [
    startJava([...database, String(options.databasePort)], join(folder, 'database.log')),
    startJava(suite, join(folder, 'suite.log')),
  ]
}

/** The API of the suite, as its own web pages use it. Methods throw an Error for each response that is not 2xx. */
export class SuiteApi {
  constructor(private readonly port: number) {}

  /** Waits until the suite accepts requests; the start takes about 20 seconds on an idle machine. */
  async waitUntilReady(processes: ChildProcess[], folder: string): Promise<void> {
    const isReady = async () => {
      const stopped = processes.find((process) => process.exitCode !== null)
      if (stopped) throw new Error(`A Java process exited with code ${stopped.exitCode}; see its log in ${folder}.`)
      return this.version().catch(() => undefined)
    }
    await waitUntil('the suite is ready', isReady, { limit: 300_000, interval: 500 })
  }

  async version(): Promise<string> {
    const { version } = await this.call<{ version: string }>('GET', '/api/server')
    return version
  }

  /** Creates a plan with the configuration that its modules use. */
  createPlan(planName: string, variant: object | undefined, configuration: object) {
    const query = new URLSearchParams({ planName, ...(variant && { variant: JSON.stringify(variant) }) })
    return this.call<{ id: string; modules: PlanModule[] }>('POST', `/api/plan?${query}`, configuration)
  }

  /** Starts a module of a plan and returns the id of the test. */
  async startModule(plan: string, { testModule, variant }: PlanModule): Promise<string> {
    const query = new URLSearchParams({ test: testModule, plan, ...(variant && { variant: JSON.stringify(variant) }) })
    return (await this.call<{ id: string }>('POST', `/api/runner?${query}`)).id
  }

  state = (test: string): Promise<TestState> => this.call('GET', `/api/info/${test}`)
  log = (test: string): Promise<LogEntry[]> => this.call('GET', `/api/log/${test}`)
  cancel = (test: string): Promise<unknown> => this.call('DELETE', `/api/runner/${test}`)

  /** Returns the URLs that the user has to open next. */
  async urlsToVisit(test: string): Promise<UrlToVisit[]> {
    const { browser } = await this.call<{ browser?: { urlsWithMethod: UrlToVisit[] } }>('GET', `/api/runner/${test}`)
    return browser?.urlsWithMethod ?? []
  }

  /** Reports that the user has opened a URL, so that `urlsToVisit` no longer returns it. */
  markVisited(test: string, url: string): Promise<unknown> {
    return this.call('POST', `/api/runner/browser/${test}/visit?${new URLSearchParams({ url })}`)
  }

  /** Returns the pictures that the suite expects and does not have. */
  async missingPictures(test: string): Promise<MissingPicture[]> {
    const images = await this.call<Partial<MissingPicture>[]>('GET', `/api/log/${test}/images`)
    return images.filter((image): image is MissingPicture => image.upload !== undefined)
  }

  /** Uploads a picture, PNG of at most 500 KB. */
  uploadPicture(test: string, id: string, png: Buffer): Promise<unknown> {
    return this.call('POST', `/api/log/${test}/images/${id}`, `data:image/png;base64,${png.toString('base64')}`)
  }

  private async call<T>(method: string, path: string, body?: object | string): Promise<T> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      // The suite refuses requests that did not arrive over https at the proxy in front of it.
      headers: {
        'x-forwarded-proto': 'https',
        'content-type': typeof body === 'string' ? 'text/plain' : 'application/json',
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`The suite responded ${response.status} to ${method} ${path}: ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as T
  }
}

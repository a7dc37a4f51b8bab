/**
 * The relying parties that connect to Gatehouse, one row each:
 *
 * - `title` and `version`: the library, and the version that the manifest of the folder installs; a function returns the
 *   version that is installed on this machine, if it is known
 * - `client`: `openid` settings of the client, with paths instead of redirect URIs; `confidential` is the default
 * - `install`: commands that install the packages and compile the program, in a copy of the folder
 * - `command`: starts the program in that copy
 * - `env`: environment variables besides ISSUER, CLIENT_ID, CLIENT_SECRET, SESSION_SECRET and PORT
 * - `missing()`: why the relying party cannot run on this machine, or undefined
 * - `check`: the texts of the pages and of the output that the browser test waits for, if they differ from the usual ones,
 *   and `refresh: false` if the program does not refresh tokens
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const npmInstall = ['npm', 'install', '--no-package-lock', '--no-fund', '--no-audit', '--loglevel=error']
const pipInstall = [
  ['python3', '-m', 'venv', '.venv'],
  ['.venv/bin/pip', 'install', '--quiet', '--disable-pip-version-check', '-r', 'requirements.txt'],
]
const web = { application_type: 'web', redirect_uris: ['/callback'], post_logout_redirect_uris: ['/'] }

/** Returns the first line that a program prints, or undefined if it cannot be started. */
function firstLineOf(program, ...args) {
  try {
    const text = execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
    return text.trim().split('\n')[0]
  } catch {
    return undefined
  }
}

/** Returns a message if a program is not on the PATH. */
const needs = (program, product, ...args) =>
  firstLineOf(program, ...args) === undefined ? `Install ${product}: ${program} is not on the PATH.` : undefined

/** Reads a file of the folder with the relying parties. */
export const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8')

const npmVersion = (folder, name) => JSON.parse(read(`${folder}/package.json`)).dependencies[name]
const pythonVersion = (folder, name) => new RegExp(`^${name}==(.*)$`, 'm').exec(read(`${folder}/requirements.txt`))[1]

/** The folder of the modules of Apache httpd: the one of Debian and Ubuntu, or APACHE_MODULES. */
const apacheModules = process.env.APACHE_MODULES ?? '/usr/lib/apache2/modules'
const apacheModule = join(apacheModules, 'mod_auth_openidc.so')

export const relyingParties = {
  'openid-client-6': {
    title: 'openid-client 6',
    version: npmVersion('openid-client-6', 'openid-client'),
    client: web,
    install: [npmInstall],
    command: ['node', 'app.mjs'],
  },

  'openid-client-5': {
    title: 'openid-client 5',
    version: npmVersion('openid-client-5', 'openid-client'),
    client: { ...web, response_signature_alg: 'RS256' },
    install: [npmInstall],
    command: ['node', 'app.mjs'],
  },

  'oidc-client-ts': {
    title: 'oidc-client-ts',
    version: npmVersion('oidc-client-ts', 'oidc-client-ts'),
    client: { application_type: 'spa', redirect_uris: ['/'], post_logout_redirect_uris: ['/'] },
    confidential: false,
    install: [npmInstall],
    command: ['node', 'serve.mjs'],
  },

  'next-auth': {
    title: 'Auth.js for Next.js',
    version: npmVersion('next-auth', 'next-auth'),
    client: { ...web, redirect_uris: ['/api/auth/callback/gatehouse'] },
    install: [npmInstall, ['npm', 'run', 'build']],
    command: ['npm', 'start'],
    env: ({ secret }) => ({ AUTH_SECRET: secret, NEXT_TELEMETRY_DISABLED: '1' }),
  },

  authlib: {
    title: 'Authlib with Flask',
    version: pythonVersion('authlib', 'Authlib'),
    client: web,
    missing: () => needs('python3', 'Python 3', '--version'),
    install: pipInstall,
    command: ['.venv/bin/python', 'app.py'],
  },

  'requests-oauthlib': {
    title: 'requests-oauthlib',
    version: pythonVersion('requests-oauthlib', 'requests-oauthlib'),
    client: web,
    missing: () => needs('python3', 'Python 3', '--version'),
    install: pipInstall,
    command: ['.venv/bin/python', 'app.py'],
  },

  'go-oidc': {
    title: 'go-oidc',
    version: /go-oidc\/v3 v(\S+)/.exec(read('go-oidc/go.mod'))[1],
    client: web,
    missing: () => needs('go', 'Go', 'version'),
    install: [['go', 'build', '-o', 'relying-party', '.']],
    command: ['./relying-party'],
  },

  'spring-security': {
    title: 'Spring Security',
    version: `Boot ${/<version>([\d.]+)<\/version>/.exec(read('spring-security/pom.xml'))[1]}`,
    client: { ...web, redirect_uris: ['/login/oauth2/code/gatehouse'], response_signature_alg: 'RS256' },
    missing: () => needs('java', 'Java 17', '-version') ?? needs('mvn', 'Maven', '--version'),
    install: [['mvn', '-q', '-B', 'package']],
    command: ['java', '-jar', 'target/relying-party.jar'],
  },

  'mod-auth-openidc': {
    title: 'mod_auth_openidc',
    version: () => firstLineOf('dpkg-query', '-W', 'libapache2-mod-auth-openidc')?.split('\t')[1],
    client: { ...web, redirect_uris: ['/protected/callback'] },
    missing: () =>
      existsSync(apacheModule)
        ? needs('apache2', 'Apache httpd', '-v')
        : `Install mod_auth_openidc (libapache2-mod-auth-openidc): ${apacheModule} does not exist.`,
    install: [],
    command: ['sh', '-c', 'exec apache2 -X -f "$FOLDER/apache.conf"'],
    // Apache started as root reads the pages as another user, who needs access to the folder.
    folder: () => mkdtempSync(join(tmpdir(), 'gatehouse-mod-auth-openidc-')),
    env: ({ folder }) => ({ FOLDER: folder, MODULES: apacheModules }),
  },

  'oauth2-proxy': {
    title: 'oauth2-proxy',
    version: () =>
      firstLineOf(process.env.OAUTH2_PROXY ?? 'oauth2-proxy', '--version')
        ?.split(' ')[1]
        ?.replace(/^v/, ''),
    client: { ...web, redirect_uris: ['/oauth2/callback'] },
    missing: () =>
      needs(process.env.OAUTH2_PROXY ?? 'oauth2-proxy', 'oauth2-proxy 7.15 or later, or set OAUTH2_PROXY', '--version'),
    install: [],
    command: ['node', 'app.mjs'],
    // The check sees a refresh only if the session is refreshed after a second.
    env: () => ({ OAUTH2_PROXY_COOKIE_REFRESH: '1s' }),
    check: {
      signInLabel: 'Sign in with OpenID Connect',
      signedOut: 'Sign in with OpenID Connect',
      refreshOutput: 'Refreshing session',
    },
  },

  'aspnet-core': {
    title: 'ASP.NET Core',
    version: /OpenIdConnect" Version="([^"]+)"/.exec(read('aspnet-core/aspnet-core.csproj'))[1],
    client: { ...web, redirect_uris: ['/signin-oidc'], post_logout_redirect_uris: ['/signout-callback-oidc'] },
    missing: () => needs('dotnet', 'the .NET SDK', '--version'),
    install: [['dotnet', 'build', '--nologo', '--verbosity', 'quiet']],
    command: ['dotnet', 'run', '--no-build'],
    check: { refresh: false },
  },
}

/** Returns a new secret for the sessions of a relying party: 64 hexadecimal characters. */
export const newSessionSecret = () => randomBytes(32).toString('hex')

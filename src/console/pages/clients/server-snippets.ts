/**
 * Code snippets for applications with a server, besides Express. Each line of code is also in the example of the same
 * framework in examples/relying-parties, which a test signs in to.
 */
import type { Snippet, SnippetParams } from './snippet'
import { doubleQuotedString, shellWord } from './string-literals'

interface Framework {
  label: string
  /** The folder in examples/relying-parties. */
  example: string
  text: string
  install: string
  /** Environment variables besides ISSUER, CLIENT_ID and CLIENT_SECRET, as in a shell. */
  environment?: string
  /** Algorithms of ID tokens that the library accepts without further configuration. */
  algorithms: readonly string[]
  /** The path at which the library receives authorization responses; undefined if the code names it. */
  callbackPath?: string
  files: readonly { title: string; code: string }[]
}

const nextjs: Framework = {
  label: 'Next.js',
  example: 'next-auth',
  text: 'With Auth.js. It reads name and email from /userinfo.',
  install: 'npm install next-auth@beta',
  environment: 'AUTH_SECRET=$(openssl rand -hex 32)',
  algorithms: ['ES256', 'RS256', 'EdDSA'],
  callbackPath: '/api/auth/callback/gatehouse',
  files: [
    {
      title: 'auth.mjs',
      code: `import NextAuth from 'next-auth'

const { ISSUER, CLIENT_ID, CLIENT_SECRET } = process.env

export const { handlers, auth, signIn, signOut, unstable_update } = NextAuth({
  trustHost: true,
  providers: [
    {
      id: 'gatehouse',
      name: 'Gatehouse',
      type: 'oidc',
      issuer: ISSUER,
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      authorization: { params: { scope: 'openid profile email offline_access' } },
      checks: ['pkce', 'state', 'nonce'],
      // Name and email come from /userinfo: the ID token of Gatehouse identifies the user.
      idToken: false,
    },
  ],
})`,
    },
    {
      title: 'app/api/auth/[...nextauth]/route.js',
      code: `import { handlers } from '../../../../auth.mjs'

export const { GET, POST } = handlers`,
    },
  ],
}

const flask: Framework = {
  label: 'Flask',
  example: 'authlib',
  text: 'With Authlib, which also has integrations for Django and Starlette.',
  install: 'pip install Authlib Flask requests',
  environment: 'SESSION_SECRET=$(openssl rand -hex 32)',
  algorithms: ['ES256', 'RS256', 'EdDSA'],
  files: [
    {
      title: 'app.py',
      code: `import os

from authlib.integrations.flask_client import OAuth
from flask import Flask, redirect, session

app = Flask(__name__)
app.secret_key = os.environ["SESSION_SECRET"]

oauth = OAuth(app)
oauth.register(
    "gatehouse",
    client_id=os.environ["CLIENT_ID"],
    client_secret=os.environ["CLIENT_SECRET"],
    server_metadata_url=f"{os.environ['ISSUER']}/.well-known/openid-configuration",
    client_kwargs={"scope": "openid profile email offline_access", "code_challenge_method": "S256"},
)


@app.get("/login")
def login():
    return oauth.gatehouse.authorize_redirect("REDIRECT_URI")


@app.get("CALLBACK_PATH")
def callback():
    # Verifies the ID token with the keys of the issuer.
    token = oauth.gatehouse.authorize_access_token()
    user = oauth.gatehouse.userinfo(token=token)
    # The session is a signed cookie. An application with larger tokens stores them on the server.
    session.update(user=user, id_token=token["id_token"], refresh_token=token["refresh_token"])
    return redirect("/")`,
    },
  ],
}

const spring: Framework = {
  label: 'Spring Boot',
  example: 'spring-security',
  text: 'With Spring Security: spring-boot-starter-security-oauth2-client, or spring-boot-starter-oauth2-client in Spring Boot 3.',
  install: '',
  algorithms: ['RS256'],
  callbackPath: '/login/oauth2/code/gatehouse',
  files: [
    {
      title: 'application.yml',
      code: `spring:
  security:
    oauth2:
      client:
        registration:
          gatehouse:
            client-id: \${CLIENT_ID}
            client-secret: \${CLIENT_SECRET}
            scope: openid, profile, email, offline_access
        provider:
          gatehouse:
            issuer-uri: \${ISSUER}`,
    },
  ],
}

const aspnet: Framework = {
  label: 'ASP.NET Core',
  example: 'aspnet-core',
  text: 'With the OpenID Connect handler.',
  install: 'dotnet add package Microsoft.AspNetCore.Authentication.OpenIdConnect',
  algorithms: ['ES256', 'RS256'],
  callbackPath: '/signin-oidc',
  files: [
    {
      title: 'Program.cs',
      code: `using Microsoft.AspNetCore.Authentication.Cookies;
using Microsoft.AspNetCore.Authentication.OpenIdConnect;

var builder = WebApplication.CreateBuilder(args);
var settings = builder.Configuration;

builder.Services
    .AddAuthentication(options =>
    {
        options.DefaultScheme = CookieAuthenticationDefaults.AuthenticationScheme;
        options.DefaultChallengeScheme = OpenIdConnectDefaults.AuthenticationScheme;
    })
    .AddCookie()
    .AddOpenIdConnect(options =>
    {
        options.Authority = settings["ISSUER"];
        options.ClientId = settings["CLIENT_ID"];
        options.ClientSecret = settings["CLIENT_SECRET"];
        // The default of the handler is id_token, which is the implicit flow.
        options.ResponseType = "code";
        options.Scope.Add("email");
        options.Scope.Add("offline_access");
        // Keeps the tokens in the cookie of the application, for sign-out and refresh.
        options.SaveTokens = true;
        // The ID token identifies the user; name and email come from /userinfo.
        options.GetClaimsFromUserInfoEndpoint = true;
        // Keeps the names of the claims, such as email.
        options.MapInboundClaims = false;
        // Only for a Gatehouse on this machine.
        options.RequireHttpsMetadata = !settings["ISSUER"]!.StartsWith("http://localhost");
    });
builder.Services.AddAuthorization();`,
    },
  ],
}

const go: Framework = {
  label: 'Go',
  example: 'go-oidc',
  text: 'With go-oidc and golang.org/x/oauth2.',
  install: 'go get github.com/coreos/go-oidc/v3 golang.org/x/oauth2',
  algorithms: ['ES256', 'RS256', 'EdDSA'],
  files: [
    {
      title: 'main.go',
      code: `provider, err := oidc.NewProvider(ctx, issuer)
if err != nil {
	log.Fatal(err)
}
config := oauth2.Config{
	ClientID:     os.Getenv("CLIENT_ID"),
	ClientSecret: os.Getenv("CLIENT_SECRET"),
	RedirectURL:  "REDIRECT_URI",
	Endpoint:     provider.Endpoint(),
	Scopes:       []string{oidc.ScopeOpenID, "profile", "email", oidc.ScopeOfflineAccess},
}
// Accepts the algorithms of the issuer's metadata, ES256 included.
verifier := provider.Verifier(&oidc.Config{ClientID: config.ClientID})`,
    },
  ],
}

export const frameworks: readonly Framework[] = [nextjs, flask, spring, aspnet, go]

/** Returns what has to change in the settings of the client before it works with a framework; empty if nothing has to. */
function requiredChanges(framework: Framework, { redirectUri, algorithm }: SnippetParams): string {
  const { label, algorithms, callbackPath } = framework
  const changes = [
    !algorithms.includes(algorithm) &&
      `${label} does not accept ${algorithm} by default: set the signing algorithm of this client to ${algorithms.at(-1)}.`,
    callbackPath &&
      new URL(redirectUri).pathname !== callbackPath &&
      `Add the redirect URI ${new URL(callbackPath, redirectUri)}.`,
  ]
  return changes.filter(Boolean).join(' ')
}

/** Returns a snippet for each framework, with the values of the client. */
export const frameworkSnippets = (params: SnippetParams): Snippet[] =>
  frameworks.map((framework) => {
    const { label, text, install, environment, files } = framework
    const { issuer, clientId, redirectUri } = params
    const variables = `export ISSUER=${shellWord(issuer)} CLIENT_ID=${shellWord(clientId)}`
    const secrets = `export CLIENT_SECRET=…${environment ? ` ${environment}` : ''}`
    const fill = (code: string) =>
      // A replacement text would expand patterns such as $' in the URI; a function does not.
      code
        .replace('"REDIRECT_URI"', () => doubleQuotedString(redirectUri))
        .replace('"CALLBACK_PATH"', () => doubleQuotedString(new URL(redirectUri).pathname))
    return {
      label,
      text: [text, requiredChanges(framework, params)].filter(Boolean).join(' '),
      steps: [
        { title: 'Terminal', code: [install, variables, secrets].filter(Boolean).join('\n') },
        ...files.map(({ title, code }) => ({ title, code: fill(code) })),
      ],
    }
  })

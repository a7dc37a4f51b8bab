"""A web application that signs users in with requests-oauthlib and Flask.

requests-oauthlib does not verify ID tokens. The application identifies the user with /userinfo, which it calls with the
access token that it received from the token endpoint.
"""

import os

import requests
from flask import Flask, redirect, request, session
from requests_oauthlib import OAuth2Session

app = Flask(__name__)
app.secret_key = os.environ["SESSION_SECRET"]
port = os.environ.get("PORT", "8080")
home = f"http://localhost:{port}"
issuer = os.environ["ISSUER"]
client_id, client_secret = os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"]
metadata = requests.get(f"{issuer}/.well-known/openid-configuration", timeout=10).json()
if issuer.startswith("http://localhost"):
    # The library refuses http URLs. Allow them only for a Gatehouse on this machine.
    os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"


def gatehouse(**options):
    scope = ["openid", "profile", "email", "offline_access"]
    return OAuth2Session(client_id, scope=scope, redirect_uri=f"{home}/callback", pkce="S256", **options)


@app.get("/")
def index():
    if "user" not in session:
        return '<h1>You are not signed in</h1><a href="/login">Sign in</a>'
    refreshed = "Tokens refreshed" if session.get("refreshed") else ""
    return (
        f"<h1>Signed in as {session['user']['email']}</h1><p>{refreshed}</p>"
        '<a href="/refresh">Refresh</a> <a href="/logout">Sign out</a>'
    )


@app.get("/login")
def login():
    oauth = gatehouse()
    url, session["state"] = oauth.authorization_url(metadata["authorization_endpoint"])
    session["code_verifier"] = oauth._code_verifier
    return redirect(url)


@app.get("/callback")
def callback():
    oauth = gatehouse(state=session.pop("state"))
    oauth._code_verifier = session.pop("code_verifier")
    token = oauth.fetch_token(
        metadata["token_endpoint"], authorization_response=request.url, client_secret=client_secret
    )
    user = oauth.get(metadata["userinfo_endpoint"]).json()
    session.update(user=user, id_token=token["id_token"], refresh_token=token["refresh_token"])
    return redirect("/")


@app.get("/refresh")
def refresh():
    token = gatehouse().refresh_token(
        metadata["token_endpoint"], refresh_token=session["refresh_token"], auth=(client_id, client_secret)
    )
    # Each refresh token can be used once: the response contains the next one.
    session.update(id_token=token["id_token"], refresh_token=token["refresh_token"], refreshed=True)
    return redirect("/")


@app.get("/logout")
def logout():
    query = f"id_token_hint={session.get('id_token')}&post_logout_redirect_uri={home}/"
    session.clear()
    return redirect(f"{metadata['end_session_endpoint']}?{query}")


if __name__ == "__main__":
    print(f"Open {home}", flush=True)
    app.run(host="localhost", port=int(port))

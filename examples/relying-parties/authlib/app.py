"""A web application that signs users in with Authlib and Flask."""

import os

from authlib.integrations.flask_client import OAuth
from flask import Flask, redirect, session

app = Flask(__name__)
app.secret_key = os.environ["SESSION_SECRET"]
port = os.environ.get("PORT", "8080")
home = f"http://localhost:{port}"

oauth = OAuth(app)
oauth.register(
    "gatehouse",
    client_id=os.environ["CLIENT_ID"],
    client_secret=os.environ["CLIENT_SECRET"],
    server_metadata_url=f"{os.environ['ISSUER']}/.well-known/openid-configuration",
    client_kwargs={"scope": "openid profile email offline_access", "code_challenge_method": "S256"},
)


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
    return oauth.gatehouse.authorize_redirect(f"{home}/callback")


@app.get("/callback")
def callback():
    # Verifies the ID token with the keys of the issuer.
    token = oauth.gatehouse.authorize_access_token()
    user = oauth.gatehouse.userinfo(token=token)
    # The session is a signed cookie. An application with larger tokens stores them on the server.
    session.update(user=user, id_token=token["id_token"], refresh_token=token["refresh_token"])
    return redirect("/")


@app.get("/refresh")
def refresh():
    token = oauth.gatehouse.fetch_access_token(grant_type="refresh_token", refresh_token=session["refresh_token"])
    # Each refresh token can be used once: the response contains the next one.
    session.update(id_token=token["id_token"], refresh_token=token["refresh_token"], refreshed=True)
    return redirect("/")


@app.get("/logout")
def logout():
    id_token = session.get("id_token")
    session.clear()
    metadata = oauth.gatehouse.load_server_metadata()
    query = f"id_token_hint={id_token}&post_logout_redirect_uri={home}/"
    return redirect(f"{metadata['end_session_endpoint']}?{query}")


if __name__ == "__main__":
    print(f"Open {home}", flush=True)
    app.run(host="localhost", port=int(port))

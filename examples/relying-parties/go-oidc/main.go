// A web application that signs users in with go-oidc and golang.org/x/oauth2.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"html"
	"log"
	"net/http"
	"net/url"
	"os"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// session is the state of one browser, by the value of its cookie.
type session struct {
	state, nonce, codeVerifier string
	email, idToken             string
	token                      *oauth2.Token
	refreshed                  bool
}

var sessions sync.Map

// start creates a session with a new id, so that an id from before the sign-in does not give access to the new session.
func start(w http.ResponseWriter, s *session) {
	id := rand.Text()
	sessions.Store(id, s)
	http.SetCookie(w, &http.Cookie{Name: "session", Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

func current(r *http.Request) *session {
	if cookie, err := r.Cookie("session"); err == nil {
		if found, ok := sessions.Load(cookie.Value); ok {
			return found.(*session)
		}
	}
	return &session{}
}

func main() {
	issuer, port := os.Getenv("ISSUER"), os.Getenv("PORT")
	home := "http://localhost:" + port
	ctx := context.Background()
	provider, err := oidc.NewProvider(ctx, issuer)
	if err != nil {
		log.Fatal(err)
	}
	config := oauth2.Config{
		ClientID:     os.Getenv("CLIENT_ID"),
		ClientSecret: os.Getenv("CLIENT_SECRET"),
		RedirectURL:  home + "/callback",
		Endpoint:     provider.Endpoint(),
		Scopes:       []string{oidc.ScopeOpenID, "profile", "email", oidc.ScopeOfflineAccess},
	}
	// Accepts the algorithms of the issuer's metadata, ES256 included.
	verifier := provider.Verifier(&oidc.Config{ClientID: config.ClientID})
	// go-oidc does not read the address for sign-out by itself.
	var metadata struct {
		EndSession string `json:"end_session_endpoint"`
	}
	if err := provider.Claims(&metadata); err != nil {
		log.Fatal(err)
	}

	http.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		s := current(r)
		w.Header().Set("Content-Type", "text/html")
		if s.email == "" {
			fmt.Fprint(w, `<h1>You are not signed in</h1><a href="/login">Sign in</a>`)
			return
		}
		fmt.Fprintf(w, `<h1>Signed in as %s</h1><a href="/refresh">Refresh</a> <a href="/logout">Sign out</a>`,
			html.EscapeString(s.email))
		if s.refreshed {
			fmt.Fprint(w, "<p>Tokens refreshed</p>")
		}
	})

	http.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		s := &session{state: rand.Text(), nonce: rand.Text(), codeVerifier: oauth2.GenerateVerifier()}
		start(w, s)
		address := config.AuthCodeURL(s.state, oidc.Nonce(s.nonce), oauth2.S256ChallengeOption(s.codeVerifier))
		http.Redirect(w, r, address, http.StatusFound)
	})

	http.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		s := current(r)
		if s.state == "" || r.URL.Query().Get("state") != s.state {
			http.Error(w, "The state differs from the one of this browser. Sign in again.", http.StatusBadRequest)
			return
		}
		token, err := config.Exchange(ctx, r.URL.Query().Get("code"), oauth2.VerifierOption(s.codeVerifier))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		raw, _ := token.Extra("id_token").(string)
		idToken, err := verifier.Verify(ctx, raw)
		if err != nil || idToken.Nonce != s.nonce {
			http.Error(w, fmt.Sprint("The ID token is not valid: ", err), http.StatusBadGateway)
			return
		}
		// The ID token identifies the user; name and email come from /userinfo.
		user, err := provider.UserInfo(ctx, config.TokenSource(ctx, token))
		if err != nil || user.Subject != idToken.Subject {
			http.Error(w, fmt.Sprint("The user cannot be read: ", err), http.StatusBadGateway)
			return
		}
		start(w, &session{email: user.Email, idToken: raw, token: token})
		http.Redirect(w, r, "/", http.StatusFound)
	})

	http.HandleFunc("GET /refresh", func(w http.ResponseWriter, r *http.Request) {
		s := current(r)
		// A token source renews a token when it has expired. Without an access token, it does so at once. Each refresh
		// token can be used once: the new token contains the next one.
		token, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: s.token.RefreshToken}).Token()
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		start(w, &session{email: s.email, idToken: s.idToken, token: token, refreshed: true})
		http.Redirect(w, r, "/", http.StatusFound)
	})

	http.HandleFunc("GET /logout", func(w http.ResponseWriter, r *http.Request) {
		query := url.Values{"id_token_hint": {current(r).idToken}, "post_logout_redirect_uri": {home + "/"}}
		start(w, &session{})
		http.Redirect(w, r, metadata.EndSession+"?"+query.Encode(), http.StatusFound)
	})

	log.Print("Open ", home)
	log.Fatal(http.ListenAndServe("localhost:"+port, nil))
}

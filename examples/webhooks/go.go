// A webhook receiver: it verifies the signature of each request and ignores duplicates.
//
//	SIGNATURE_SECRET=whsec_… PORT=8080 go run examples/webhooks/go.go
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const tolerance = 5 * time.Minute

// verify checks the signature and the time of a request. body is the raw body, before any JSON decoder.
// header is `t=<unix seconds>,v1=<hex>`. For 24 hours after a change of the secret, the header has a second `v1`,
// which is the signature with the previous secret.
func verify(secret, header string, body []byte) bool {
	var timestamp string
	var signatures []string
	for _, part := range strings.Split(header, ",") {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "t":
			timestamp = value
		case "v1":
			signatures = append(signatures, value)
		}
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	expected := mac.Sum(nil)
	for _, signature := range signatures {
		given, err := hex.DecodeString(signature)
		if err == nil && hmac.Equal(given, expected) {
			return true
		}
	}
	return false
}

func main() {
	var seen sync.Map
	http.HandleFunc("POST /", func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, 1<<20))
		if err != nil || !verify(os.Getenv("SIGNATURE_SECRET"), request.Header.Get("X-Webhook-Signature"), body) {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		var event struct{ ID, Type string }
		if err := json.Unmarshal(body, &event); err != nil {
			response.WriteHeader(http.StatusBadRequest)
			return
		}
		// An event may arrive more than once, and events may arrive in any order. Each event has one id.
		if _, twice := seen.LoadOrStore(event.ID, true); !twice {
			fmt.Println(event.Type, event.ID)
		}
		// Respond within 15 seconds. Do slow work after the response.
		response.WriteHeader(http.StatusNoContent)
	})
	port := os.Getenv("PORT")
	if port == "" {
		port = "8080"
	}
	fmt.Println("listening on", port)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}

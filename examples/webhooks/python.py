"""A webhook receiver: it verifies the signature of each request and ignores duplicates.

SIGNATURE_SECRET=whsec_… PORT=8080 python3 examples/webhooks/python.py
"""

import base64
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE = 5 * 60  # seconds


def verify(secret: str, header: str, body: bytes) -> bool:
    """Verify the signature and the time of a request. `body` is the raw body, before any JSON parser.

    `header` is `t=<unix seconds>,v1=<hex>`. For 24 hours after a change of the secret, the header has a second `v1`,
    which is the signature with the previous secret.
    """
    parts = [part.split("=", 1) for part in header.split(",") if "=" in part]
    timestamp = next((value for name, value in parts if name == "t"), "")
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > TOLERANCE:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = hmac.new(key, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return any(name == "v1" and hmac.compare_digest(value.encode(), expected.encode()) for name, value in parts)


seen = set()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not verify(os.environ["SIGNATURE_SECRET"], self.headers.get("X-Webhook-Signature", ""), body):
            self.send_response(401)
        else:
            event = json.loads(body)
            # An event may arrive more than once, and events may arrive in any order. Each event has one id.
            if event["id"] not in seen:
                print(event["type"], event["id"], flush=True)
            seen.add(event["id"])
            # Respond within 15 seconds. Do slow work after the response.
            self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver)
    print(f"listening on {server.server_port}", flush=True)
    server.serve_forever()

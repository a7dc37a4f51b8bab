#!/bin/sh
# Administration with curl: an issuer, a user, an idempotent retry, a conditional change, the audit log.
# Usage: KEY=ak_…:secret BASE_URL=http://localhost:3000 sh examples/rest/first-steps.sh
set -eu
: "${KEY:?set KEY to key_id:secret}" "${BASE_URL:=http://localhost:3000}"

# v1 METHOD PATH [curl options]: prints the response body. Fails if the response status is 400 or higher.
v1() {
  method=$1 path=$2
  shift 2
  curl --silent --show-error --fail-with-body --user "$KEY" --request "$method" "$BASE_URL/v1/$path" \
    --header 'Content-Type: application/json' "$@"
}
# id PREFIX: prints the id with this prefix in a JSON response, and fails if there is none, for example because the
# request failed. An id is a prefix, `_` and 26 characters, so that sed can find it without a JSON parser.
id() { sed -n "s/.*\"id\":\"\(${1}_[0-9a-z]*\)\".*/\1/p" | grep .; }

account=$(v1 GET 'accounts?limit=1' | id acc)
echo "account  $account"

issuer=$(v1 POST "accounts/$account/issuers" --data '{"name": "Created with curl"}' | id iss)
echo "issuer   $issuer"

# With the same Idempotency-Key and body, the second POST returns the response of the first POST and creates no user.
idempotency_key="first-steps-$issuer"
new='{"username_type": "email", "username": "bo@example.com"}'
users="accounts/$account/issuers/$issuer/users"
user=$(v1 POST "$users" --header "Idempotency-Key: $idempotency_key" --data "$new" | id usr)
again=$(v1 POST "$users" --header "Idempotency-Key: $idempotency_key" --data "$new" | id usr)
[ "$user" = "$again" ]
echo "user     $user (requested twice, created once)"

# If-Match contains the ETag of the GET response, so that the PATCH does not overwrite a concurrent change.
etag=$(v1 GET "$users/$user" --dump-header - --output /dev/null | tr -d '\r' | sed -n 's/^etag: //Ip')
v1 PATCH "$users/$user" --header "If-Match: $etag" --data '{"profile": {"name": "Bo"}}' >/dev/null
if v1 PATCH "$users/$user" --header "If-Match: $etag" --data '{"profile": {"name": "Bob"}}' >/dev/null 2>&1; then
  echo 'the second change should have been refused' >&2
  exit 1
fi
echo "changed  once; the second change with the old ETag was refused"

echo "events   $(v1 GET "accounts/$account/events?issuer_id=$issuer" | grep -o '"type":"[a-z]*\.[a-z._]*"' | tr -d '\n' | sed 's/"type":/ /g')"
v1 DELETE "accounts/$account/issuers/$issuer"
echo "deleted  $issuer"

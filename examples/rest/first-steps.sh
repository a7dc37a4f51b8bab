#!/bin/sh
# Administration with curl: an issuer, a user, a conditional change, an idempotent retry, the audit log.
# KEY=ak_…:secret BASE_URL=http://localhost:3000 sh examples/rest/first-steps.sh
set -eu
: "${KEY:?set KEY to key_id:secret}" "${BASE_URL:=http://localhost:3000}"

# v1 METHOD PATH [curl options]: prints the response, or prints the error and stops.
v1() {
  method=$1 path=$2
  shift 2
  curl --silent --show-error --fail-with-body --user "$KEY" --request "$method" "$BASE_URL/v1/$path" \
    --header 'Content-Type: application/json' "$@"
}
# Prints the first id in a response. Ids are "prefix_26 characters", so no JSON tool is needed.
id() { sed -n "s/.*\"id\":\"\(${1}_[0-9a-z]*\)\".*/\1/p"; }

account=$(v1 GET 'accounts?limit=1' | id acc)
echo "account  $account"

issuer=$(v1 POST "accounts/$account/issuers" --data '{"name": "Created with curl"}' | id iss)
echo "issuer   $issuer"

# With the same key and body, the second POST returns the response of the first one and creates nothing.
once="first-steps-$issuer"
new='{"username_type": "email", "username": "bo@example.com"}'
users="accounts/$account/issuers/$issuer/users"
user=$(v1 POST "$users" --header "Idempotency-Key: $once" --data "$new" | id usr)
again=$(v1 POST "$users" --header "Idempotency-Key: $once" --data "$new" | id usr)
[ "$user" = "$again" ]
echo "user     $user (requested twice, created once)"

# A conditional change: If-Match contains the ETag that was read, so a concurrent change is not overwritten.
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

#!/bin/sh
# Administration by curl: an issuer, a user, a change on condition, a repetition that does no harm, the trail.
# KEY=ak_…:secret BASE_URL=http://localhost:3000 sh examples/rest/first-steps.sh
set -eu
: "${KEY:?set KEY to key_id:secret}" "${BASE_URL:=http://localhost:3000}"

# v1 METHOD PATH [curl options]: prints the answer, or the error and stops.
v1() {
  method=$1 path=$2
  shift 2
  curl --silent --show-error --fail-with-body --user "$KEY" --request "$method" "$BASE_URL/v1/$path" \
    --header 'Content-Type: application/json' "$@"
}
# The first id in an answer; ids are "prefix_26 characters", so that no JSON tool is needed.
id() { sed -n "s/.*\"id\":\"\(${1}_[0-9a-z]*\)\".*/\1/p"; }

account=$(v1 GET 'accounts?limit=1' | id acc)
echo "account  $account"

issuer=$(v1 POST "accounts/$account/issuers" --data '{"name": "Made by curl"}' | id iss)
echo "issuer   $issuer"

# The same key, the same body: the second POST answers what the first one did, and makes nothing.
once="first-steps-$issuer"
new='{"username_type": "email", "username": "bo@example.com"}'
users="accounts/$account/issuers/$issuer/users"
user=$(v1 POST "$users" --header "Idempotency-Key: $once" --data "$new" | id usr)
again=$(v1 POST "$users" --header "Idempotency-Key: $once" --data "$new" | id usr)
[ "$user" = "$again" ]
echo "user     $user (made once, asked for twice)"

# A change on condition that nobody else has changed it since: the ETag goes back as If-Match.
etag=$(v1 GET "$users/$user" --dump-header - --output /dev/null | tr -d '\r' | sed -n 's/^etag: //Ip')
v1 PATCH "$users/$user" --header "If-Match: $etag" --data '{"profile": {"name": "Bo"}}' >/dev/null
if v1 PATCH "$users/$user" --header "If-Match: $etag" --data '{"profile": {"name": "Bob"}}' >/dev/null 2>&1; then
  echo 'the second change should have been refused' >&2
  exit 1
fi
echo "changed  once; the second one with the old ETag was refused"

echo "events   $(v1 GET "accounts/$account/events?issuer_id=$issuer" | grep -o '"type":"[a-z]*\.[a-z._]*"' | tr -d '\n' | sed 's/"type":/ /g')"
v1 DELETE "accounts/$account/issuers/$issuer"
echo "deleted  $issuer"

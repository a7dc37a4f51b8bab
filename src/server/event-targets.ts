/**
 * Loads the declarations of all resources that events are about (`@EventTarget`). Each process records events of any
 * resource, also if it serves only a part of the APIs.
 */
import '../resources/accounts/account.js'
import '../resources/agents/agent.js'
import '../resources/agents/verifier.js'
import '../resources/clients/client.js'
import '../resources/credentials/verifier.js'
import '../resources/domains/domain.js'
import '../resources/issuers/auth-method.js'
import '../resources/issuers/issuer.js'
import '../resources/keys/api-key.js'
import '../resources/keys/personal-token.js'
import '../resources/notes/note.js'
import '../resources/organizations/group.js'
import '../resources/organizations/invitation.js'
import '../resources/organizations/member.js'
import '../resources/organizations/organization.js'
import '../resources/payments/ledger-entry.js'
import '../resources/payments/payment-method.js'
import '../resources/sessions/session.js'
import '../resources/users/user.js'
import '../resources/webhooks/webhook.js'

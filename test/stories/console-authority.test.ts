import { system, testNoMutationEscalates } from './authority-attacks.js'

testNoMutationEscalates('at the console issuer', () => system)

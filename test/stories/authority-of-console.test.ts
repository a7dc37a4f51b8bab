import { noMutationAddsReach, system } from './attack.js'

noMutationAddsReach('at the console issuer', () => system)

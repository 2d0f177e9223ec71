/** What a supervisor makes of a protocol. */
export { InboundMemory } from './protocols/inbounds/inbound-memory.ts';
export type {
  CarrierProtocol,
  CreateInbound,
  CreateOutbound,
  InboundProtocol,
  Protocol,
  SessionProtocol,
} from './protocols/protocol.ts';
export { Accounts, accountsOf, NO_ACCOUNTS } from './protocols/users/standing.ts';

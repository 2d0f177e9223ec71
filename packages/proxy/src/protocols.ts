/** The protocols by name: their contracts, settings and accounts. */
export type {
  Dispatcher,
  InboundHandler,
  Outbound,
  SessionListener,
  SessionServer,
} from './protocols/contract.ts';
export type { Hysteria2OutboundSettings } from './protocols/hysteria2/settings.ts';
export { InboundMemory } from './protocols/inbounds/inbound-memory.ts';
export type {
  CarrierProtocol,
  CreateInbound,
  CreateOutbound,
  InboundProtocol,
  Protocol,
  SessionProtocol,
} from './protocols/protocol.ts';
export {
  allForms,
  allProtocolsLoaded,
  findProtocol,
  formsOf,
  inboundProtocol,
  loadForms,
  loadProtocols,
  outboundProtocol,
  protocolName,
  protocolNames,
  udpCarrier,
} from './protocols/registry.ts';
export type { TunSettings } from './protocols/tun/settings.ts';
export { Accounts, accountsOf, NO_ACCOUNTS, shortId } from './protocols/users/accounts.ts';
export { hyphenated, parseUuid } from './protocols/users/uuid.ts';
export type { WireGuardSettings } from './protocols/wireguard/settings.ts';

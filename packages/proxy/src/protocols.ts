/** The protocols by name, their contracts and settings. */
export type {
  Dispatcher,
  InboundHandler,
  Outbound,
  SessionListener,
  SessionServer,
} from './protocols/contract.ts';
export type { Hysteria2OutboundSettings } from './protocols/hysteria2/settings.ts';
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
export type { WireGuardSettings } from './protocols/wireguard/settings.ts';

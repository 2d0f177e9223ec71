/** Addresses and host names, as text and as bytes. */
export {
  decodeAddressed,
  decodeAddressField,
  decodeHost,
  encodeAddressField,
  readAddressField,
  SOCKS_ADDRESS,
  V2RAY_ADDRESS,
} from './net/addresses/address-field.ts';
export {
  canonicalHost,
  type Destination,
  type Endpoint,
  formatEndpoint,
  formatIP,
  ipVersion,
  mayRespondFor,
  type Network,
  parseIP,
  parseIPv6,
  unmapIPv4,
} from './net/addresses/address.ts';
export {
  decodeName,
  isLocalhost,
  normalizeDomain,
  normalizeHost,
  unicodeName,
} from './net/addresses/host-name.ts';
export { numericEndpoint } from './net/addresses/numeric-endpoint.ts';
export type { FamilyPolicy, Resolver } from './net/addresses/resolver.ts';
export {
  showAddresses,
  type ShownAddresses,
  shownEndpoint,
  shownForeign,
  shownHost,
  shownSource,
} from './net/addresses/shown-address.ts';

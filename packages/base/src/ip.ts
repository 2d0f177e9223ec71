/** IP addresses, networks and endpoints, and the contracts of datagram sockets and packet devices. */
export { addressHint, socketAddressHint } from './ip/address-hints.ts';
export {
  addressInNetwork,
  type Cidr,
  type CidrProblem,
  formatCidr,
  parseCidr,
  parseInterfaceAddress,
} from './ip/cidr.ts';
export type {
  BindDatagrams,
  DatagramFeatures,
  DatagramHandlers,
  DatagramSocket,
  DatagramSocketOptions,
  Ecn,
  ReceivedDatagrams,
  SendResult,
  Transmit,
  UnreachablePart,
} from './ip/datagram-socket.ts';
export {
  addressBytes,
  addressText,
  assignEndpoint,
  blankEndpoint,
  copyEndpoint,
  type IpEndpoint,
  isIPv4Endpoint,
  isSameAddress,
  isSameEndpoint,
  isWildcard,
  MAPPED,
  type MutableIpEndpoint,
  toEndpoint,
} from './ip/ip-endpoint.ts';
export {
  formatIP,
  formatIPv4,
  formatIPv6,
  isLoopbackHost,
  isMappedIPv4,
  parseIP,
  parseIPv6,
  putIPv4,
  putIPv6,
  putMappedIPv4,
  splitZone,
  unmapIPv4,
} from './ip/ip-text.ts';
export { ipVersion } from './ip/ip-version.ts';
export type {
  DeviceHandlers,
  DeviceTraits,
  InboundPacket,
  PacketDevice,
  PacketOutput,
} from './ip/packet-device.ts';

/** Sockets of this system, dials that race addresses, and listeners that a dial must not reach. */
export { type DescriptorHolder, descriptorHolders } from './net/sockets/descriptor-holders.ts';
export { alternate, connectAny } from './net/sockets/happy-eyeballs.ts';
export { endsOf, socketCarrier, SocketLink } from './net/sockets/node/socket-link.ts';
export { bindToServer, type HasRoute, reachableAddress } from './net/sockets/reachable-address.ts';
export type {
  AcceptedConnection,
  ConnectOptions,
  DatagramUse,
  DialledSocket,
  ListenOptions,
  ProgramRoute,
  SocketObserver,
  Sockets,
  TunEvents,
  UdpSocket,
  UnixPath,
} from './net/sockets/sockets.ts';
export { systemSockets } from './net/sockets/system-sockets.ts';
export { openDescriptors } from './platform/sockets/descriptor-room.ts';
export type { TunPlan } from './platform/tun/tun-device.ts';

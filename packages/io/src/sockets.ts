/** Sockets of this system, dials that race addresses, and listeners that a dial must not reach. */
export { type DescriptorHolder, descriptorHolders } from './net/sockets/descriptor-holders.ts';
export { alternate, connectAny } from './net/sockets/happy-eyeballs.ts';
export { endsOf, socketCarrier } from './net/sockets/node/socket-carrier.ts';
export { SocketLink } from './net/sockets/node/socket-link.ts';
export { type HasRoute, reachableAddress } from './net/sockets/reachable-address.ts';
export { bindToServer } from './net/sockets/server-socket.ts';
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

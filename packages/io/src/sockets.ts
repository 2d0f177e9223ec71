/** Sockets of this system, dials that race addresses, and listeners that a dial must not reach. */
export { type DescriptorHolder, descriptorHolders } from './net/bounds/shares.ts';
export { alternate, connectAny } from './net/sockets/happy-eyeballs.ts';
export { endsOf, socketCarrier, SocketLink } from './net/sockets/node/socket-link.ts';
export {
  bindToServer,
  type HasRoute,
  reachableAddress,
  systemSockets,
} from './net/sockets/system-sockets.ts';
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
export { openDescriptors } from './platform/sockets/descriptor-room.ts';
export type { TunPlan } from './platform/tun/tun-device.ts';

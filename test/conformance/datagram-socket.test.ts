import { NodeDatagramSocket } from '../../src/net/node/datagram-socket.ts';
import { datagramSocketConformance } from './datagram-socket.ts';

datagramSocketConformance('a socket of node:dgram', (address, handlers) =>
  NodeDatagramSocket.bind({ family: address.includes(':') ? 6 : 4, address }, handlers),
);

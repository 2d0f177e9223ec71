import assert from 'node:assert/strict';
import { after } from 'node:test';
import { kernelSockets } from '../../src/net/sockets/kernel/kernel-sockets.ts';
import { nodeSockets } from '../../src/net/sockets/node/node-sockets.ts';
import type { Sockets } from '../../src/net/sockets/sockets.ts';
import { checkedIo, noKernelSockets } from '../../../../test/support/links/kernel-io.ts';
import { datagramSocketConformance } from './datagram-socket.ts';

const conformance = (name: string, sockets: Sockets): void =>
  datagramSocketConformance(name, (options, handlers) => sockets.bindDatagrams(options, handlers));

conformance('a socket of node:dgram', nodeSockets('a test'));

if (noKernelSockets === false) {
  const { io, calls } = checkedIo();
  after(() => {
    assert.equal(io.poller.size, 0);
    assert.equal(calls.debug.open().length, 1, 'a descriptor is left open');
    io.close();
  });
  conformance('a socket of the kernel', kernelSockets(io));
}

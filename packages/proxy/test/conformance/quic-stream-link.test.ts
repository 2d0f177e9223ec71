import assert from 'node:assert/strict';
import { after } from 'node:test';
import { kernelSockets } from '../../../io/src/net/sockets/kernel/kernel-sockets.ts';
import { nodeSockets } from '../../../io/src/net/sockets/node/node-sockets.ts';
import type { BindDatagrams } from '@weir/base/ip';
import { checkedIo, noKernelSockets } from '../../../../test/support/links/kernel-io.ts';
import {
  openStream,
  QuicEnds,
  type QuicEndsOptions,
} from '../../../../test/support/quic/endpoint/quic-ends.ts';
import { byteLinkConformance, type LinkEnds } from '../../../io/test/conformance/byte-link.ts';

function conformance(name: string, bind: BindDatagrams, options?: QuicEndsOptions): void {
  const create = async (isReversed: boolean): Promise<LinkEnds> => {
    const ends = await QuicEnds.open(bind, options);
    const { near, far } = await ends.connect();
    const { left, right } = await openStream(near, far);
    const dispose = (): Promise<void> => ends[Symbol.asyncDispose]();
    return isReversed ? { left: right, right: left, dispose } : { left, right, dispose };
  };
  byteLinkConformance(`a stream of a QUIC client over ${name}`, () => create(false));
  byteLinkConformance(`a stream of a QUIC server over ${name}`, () => create(true));
}

const node = nodeSockets('a test');
conformance('sockets of node:dgram', (options, handlers) => node.bindDatagrams(options, handlers));

if (noKernelSockets === false) {
  const { io, calls } = checkedIo();
  after(() => {
    assert.equal(io.poller.size, 0);
    assert.equal(calls.debug.open().length, 1, 'a descriptor is left open');
    io.close();
  });
  const kernel = kernelSockets(io);
  const bind: BindDatagrams = (options, handlers) => kernel.bindDatagrams(options, handlers);
  conformance('sockets of the kernel', bind);
  conformance('sockets of the kernel on ::1', bind, { host: '::1' });
}

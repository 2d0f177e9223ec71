/**
 * Sends datagrams around the MTU of loopback, 1,400 bytes, and prints as JSON what became of them,
 * first with DF and then without. Run in a network namespace of its own.
 */
import { type Transmit, toEndpoint } from '@weir/base/ip';
import { systemClock } from '@weir/io/time';
import { kernelSockets } from '../../../packages/io/src/net/sockets/kernel/kernel-sockets.ts';
import { openSystemCalls } from '@weir/io/service';
import { KernelIo } from '../../../packages/io/src/platform/sockets/kernel-io.ts';

/** 1,400 bytes without the headers of IPv4 and UDP. */
const LARGEST = 1372;
const LAST = 5;

const local = toEndpoint('127.0.0.1', 0);
if (!local) throw new Error('not an address');
using io = new KernelIo(openSystemCalls(), systemClock);
const sockets = kernelSockets(io);
const reports = [];
for (const dontFragment of [true, false]) {
  const sizes: number[] = [];
  const last = Promise.withResolvers<void>();
  const far = await sockets.bindDatagrams(
    { local, coalesce: true, receiveBuffer: 1 << 20 },
    {
      onDatagrams: ({ length, stride }) => {
        for (let at = 0; at < length; at += stride) sizes.push(Math.min(stride, length - at));
        if (sizes.at(-1) === LAST) last.resolve();
      },
    },
  );
  const near = await sockets.bindDatagrams(
    { local, dontFragment },
    { onDatagrams: () => undefined },
  );
  const transmit = (length: number, segmentSize = 0): Transmit => ({
    destination: far.local,
    buffer: Buffer.alloc(length),
    offset: 0,
    length,
    segmentSize,
    source: undefined,
    ecn: 0,
  });
  const result = near.send([
    transmit(10 * LARGEST, LARGEST),
    transmit(LARGEST),
    transmit(LARGEST + 1),
    transmit(100),
    transmit(10 * (LARGEST + 10), LARGEST + 10),
    transmit(LARGEST),
    transmit(LARGEST),
    transmit(LAST),
  ]);
  const { dropped, features } = near;
  const { segmentation } = features;
  // Kernels before 6.14 blame the offload for the size, and without DF nothing clears it of that.
  const offload = dontFragment ? { segmentation } : {};
  reports.push({ dontFragment, result: { ...result }, dropped, ...offload, sizes });
  await last.promise;
  near.close();
  far.close();
}
console.log(JSON.stringify(reports));

import type { DeviceHandlers, InboundPacket, PacketDevice } from '@weir/base/ip';
import { systemSockets } from '@weir/io/sockets';
import { run } from '../tun/networks.ts';
import { FAR_ADDRESS, NEAR_ADDRESS, type Path } from './messages.ts';

/**
 * A path for any traffic: two TUN devices, the first in the network of this process and the second in that of another
 * process, with a delay and a bottleneck between them.
 *
 * Arguments: the process id, the path as JSON.
 */
const [far = '', description = ''] = process.argv.slice(2);
const path = JSON.parse(description) as Path;
const MTU = 1500;
const IP_HEADER = 20;
const TCP_CHECKSUM_AT = 16;

interface Delayed {
  readonly due: number;
  readonly bytes: Uint8Array;
  readonly segmentSize: number;
  readonly checksumVouched: boolean;
}

/** One direction. All packets are delayed alike, hence they leave in order. */
class Line {
  readonly #to: PacketDevice;
  #waiting: Delayed[] = [];
  #freeAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(to: PacketDevice) {
    this.#to = to;
  }

  get handlers(): DeviceHandlers {
    const nothing = (): void => undefined;
    return {
      onPacket: (packet) => this.#take(packet, performance.now()),
      onDrained: nothing,
      onWritable: nothing,
      onTraits: nothing,
      onPathRestored: nothing,
    };
  }

  #take({ buffer, start, end, segmentSize, checksumVouched }: InboundPacket, now: number): void {
    const length = end - start;
    const queued = Math.max(0, this.#freeAt - now) * (path.rate / 1000);
    if (queued + length > path.queue) return;
    this.#freeAt = Math.max(this.#freeAt, now) + (length / path.rate) * 1000;
    this.#waiting.push({
      due: this.#freeAt + path.roundTrip / 2,
      bytes: Uint8Array.from(buffer.subarray(start, end)),
      segmentSize,
      checksumVouched,
    });
    this.#timer ??= setTimeout(() => this.#release(), 1);
  }

  #release(): void {
    const now = performance.now();
    let sent = 0;
    for (const { due, bytes, segmentSize, checksumVouched } of this.#waiting) {
      if (due > now) break;
      const { output } = this.#to;
      const at = output.reserve(bytes.length);
      if (at >= 0) {
        output.buffer.set(bytes, at);
        output.commit(bytes.length, segmentSize, checksumVouched ? IP_HEADER : -1, TCP_CHECKSUM_AT);
      }
      sent++;
    }
    this.#waiting.splice(0, sent);
    this.#to.flush();
    this.#timer = this.#waiting.length > 0 ? setTimeout(() => this.#release(), 1) : undefined;
  }
}

const open = (name: string): PacketDevice =>
  systemSockets().openTun({ name, mtu: MTU, addresses: [], routes: [] });

const [near, distant] = [open('path0'), open('path1')];
run([], `ip link set path1 netns ${far}`);
run([], `ip address add ${NEAR_ADDRESS} peer ${FAR_ADDRESS} dev path0`);
run([], 'ip link set path0 up');
const inFar = ['nsenter', `--net=/proc/${far}/ns/net`];
run(inFar, `ip address add ${FAR_ADDRESS} peer ${NEAR_ADDRESS} dev path1`);
run(inFar, 'ip link set path1 up');
near.start(new Line(distant).handlers);
distant.start(new Line(near).handlers);
process.on('disconnect', () => process.exit());
process.stdout.write('ready\n');

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Via } from './flow.ts';
import { elapse, warmUp, type Load } from './load.ts';

const PAYLOAD = Buffer.alloc(512, 0x64);
/** Without a datagram for this long, those in flight count as lost. */
const STALL_MS = 100;

/**
 * Keeps `parallel` datagrams in flight and counts those that came back. Lost datagrams are replaced
 * once none has arrived for `STALL_MS`.
 */
export const exchangeDatagrams: Load = async (job, _origin, begin) => {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 4 << 20, sendBufferSize: 4 << 20 });
  const { host } = job.via;
  // Not a wildcard on the loopback: there nothing else is to reach it.
  socket.bind(0, host === '127.0.0.1' ? host : '0.0.0.0');
  await once(socket, 'listening');
  const way = await openWay(job.via);
  let sent = 0;
  let received = 0;
  let counting = true;
  const send = (): void => {
    sent++;
    socket.send(way.datagram, way.port, host);
  };
  socket.on('message', () => {
    received++;
    if (counting) send();
  });
  const fill = (): void => {
    for (let i = 0; i < job.parallel; i++) send();
  };
  let seen = -1;
  const watch = setInterval(() => {
    if (received === seen) fill();
    seen = received;
  }, STALL_MS);
  fill();
  await warmUp();
  const before = { sent, received };
  begin();
  const elapsed = await elapse(job.seconds);
  const replies = received - before.received;
  const lost = Math.max(0, sent - before.sent - replies - job.parallel);
  counting = false;
  clearInterval(watch);
  socket.close();
  way.control?.destroy();
  return { rate: replies / elapsed, lost: lost / Math.max(1, sent - before.sent) };
};

/** Where datagrams go, what each is, and the connection that keeps the way open. */
interface Way {
  readonly port: number;
  readonly datagram: Buffer;
  readonly control: Socket | undefined;
}

async function openWay({ host, port, target }: Via): Promise<Way> {
  if (!target) return { port, datagram: PAYLOAD, control: undefined };
  const control = connect({ host, port, noDelay: true });
  await once(control, 'connect');
  control.write(Buffer.from([5, 1, 0]));
  await once(control, 'data');
  control.write(Buffer.from([5, 3, 0, 1, 0, 0, 0, 0, 0, 0]));
  const [reply] = (await once(control, 'data')) as [Buffer];
  if (reply[1] !== 0 || reply.length < 10) throw new Error(`UDP ASSOCIATE: reply ${reply[1]}`);
  const address = [1, ...target.host.split('.').map(Number), target.port >> 8, target.port & 0xff];
  const datagram = Buffer.concat([Buffer.from([0, 0, 0, ...address]), PAYLOAD]);
  return { port: reply.readUInt16BE(8), datagram, control };
}

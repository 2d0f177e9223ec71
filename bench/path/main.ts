import { type DatagramSocket, copyEndpoint, toEndpoint, type IpEndpoint } from '@weir/base/ip';
import { systemSockets } from '@weir/io/sockets';
import { SeededRandom } from '../../test/support/simnet/seeded-random.ts';
import { DelayLine, type Tally } from './delay-line.ts';
import type { Path, PathReport, PathRequest } from './messages.ts';

/**
 * A relay for datagrams that is a long and lossy path to one server on this machine: each client
 * has a socket towards the server, as behind a NAT. Which datagrams are lost depends on the seed
 * and their order.
 *
 * Arguments: the server's port, the path as JSON.
 */
const [server = '', description = ''] = process.argv.slice(2);
const path = JSON.parse(description) as Path;
const SEED = 14;
const MOST_CLIENTS = 64;
const SHORTEST_WAIT_MS = 1;

const loopback = (port: number): IpEndpoint => {
  const endpoint = toEndpoint('127.0.0.1', port);
  if (!endpoint) throw new Error('not an address');
  return endpoint;
};
const options = {
  local: loopback(0),
  receiveBuffer: 4 << 20,
  sendBuffer: 4 << 20,
  coalesce: true,
};

/** The two directions of one client, and its socket towards the server. */
interface Client {
  readonly up: DelayLine;
  readonly down: DelayLine;
  socket: DatagramSocket | undefined;
}

const random = new SeededRandom(SEED);
const tally: Tally = { passed: 0, lost: 0, full: 0 };
const clients = new Map<number, Client>();
const lines: DelayLine[] = [];
let wakeAt = Infinity;
let timer: NodeJS.Timeout | undefined;

/** Sends what is due, and comes back when more is. */
function release(): void {
  const now = performance.now();
  let earliest = Infinity;
  for (const line of lines) {
    line.release(now);
    earliest = Math.min(earliest, line.due);
  }
  if (earliest >= wakeAt && wakeAt > now) return;
  clearTimeout(timer);
  wakeAt = earliest;
  if (earliest === Infinity) return;
  timer = setTimeout(
    () => {
      wakeAt = Infinity;
      release();
    },
    Math.max(SHORTEST_WAIT_MS, earliest - now),
  );
}

const front = await systemSockets().bindDatagrams(options, {
  onDatagrams: (received) => {
    const client = clients.get(received.peer.port) ?? admit(copyEndpoint(received.peer));
    client?.up.take(received, performance.now());
  },
  onDrained: release,
  onWritable: () => {
    const now = performance.now();
    for (const { down } of clients.values()) down.unblock(now);
    release();
  },
});

function admit(peer: IpEndpoint): Client | undefined {
  if (clients.size === MOST_CLIENTS) return undefined;
  const line = (): DelayLine => new DelayLine(path, random, tally);
  const client: Client = { up: line(), down: line(), socket: undefined };
  client.down.open(front, peer);
  clients.set(peer.port, client);
  lines.push(client.up, client.down);
  void connectToServer(client);
  return client;
}

async function connectToServer(client: Client): Promise<void> {
  client.socket = await systemSockets().bindDatagrams(options, {
    onDatagrams: (received) => client.down.take(received, performance.now()),
    onDrained: release,
    onWritable: () => {
      client.up.unblock(performance.now());
      release();
    },
  });
  client.up.open(client.socket, loopback(Number(server)));
  release();
}

const send = (report: PathReport): void => void process.send?.(report);

/** What the kernel dropped, for want of room in a socket. */
const overflowed = (): number =>
  [front, ...Array.from(clients.values(), ({ socket }) => socket)]
    .map((socket) => (socket?.overflowed ?? 0) + (socket?.dropped ?? 0))
    .reduce((all, value) => all + value, 0);

let before = { ...tally, overflowed: 0 };
process.on('disconnect', () => process.exit());
process.on('message', (request: PathRequest) => {
  if (request === 'begin') before = { ...tally, overflowed: overflowed() };
  else {
    const [passed, lost] = [tally.passed - before.passed, tally.lost - before.lost];
    const full = tally.full - before.full + overflowed() - before.overflowed;
    const all = Math.max(1, passed + lost + full);
    send({
      kind: 'figures',
      figures: { pathDatagrams: all, pathLoss: lost / all, pathFull: full / all },
    });
  }
});
send({ kind: 'ready', port: front.local.port });

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { encodeAddress } from '../peers/socks-client.ts';
import { numbers } from '../process/random-config.ts';
import type { ClientsJob, ClientsReport } from './busy-weir.ts';

/*
 * The clients of `BusyWeir`, a process of its own: flows that stay, some of which ask for bytes each second, and
 * flows that are opened and closed at a steady pace.
 */

/** SOCKS5 without authentication: method, reply with an IPv4 address, and the first byte of the origin. */
const FIRST_BYTES = 13;
/** Flows under way while those that stay are opened. */
const OPENING = 32;
const TICK_MS = 10;
const HOSTS = 3_000;
const SOURCES = 40;
/** Seconds that a flow lives which does not stay. */
const LIFE_S = 2;

/** What comes in lands here: it is only counted. */
const READ_BUFFER = Buffer.alloc(1 << 20);
const GREETING = Buffer.from([5, 1, 0, 5, 1, 0]);

const choose = numbers(1);
let opened = 0;
let failed = 0;

const report = (message: ClientsReport): void => void process.send?.(message);

/** A flow that has brought its first byte. Greeting, request and payload go together, as some clients send them. */
async function openFlow(port: number, origin: number, kind: string): Promise<Socket> {
  const number = choose(HOSTS);
  const host = `h${number}.d${number % 8}.${kind}.example`;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let missing = FIRST_BYTES;
  const socket = connect({
    host: '127.0.0.1',
    port,
    localAddress: `127.99.0.${1 + choose(SOURCES)}`,
    noDelay: true,
    onread: {
      buffer: READ_BUFFER,
      callback: (size) => {
        missing -= size;
        if (missing <= 0) resolve();
        return true;
      },
    },
  });
  socket.on('error', reject).once('close', () => reject(new Error('closed')));
  await once(socket, 'connect');
  socket.write(Buffer.concat([GREETING, encodeAddress({ host, port: origin }), ask(100)]));
  await promise;
  opened++;
  return socket;
}

function ask(bytes: number): Buffer {
  const message = Buffer.alloc(4);
  message.writeUInt32BE(bytes);
  return message;
}

async function hold({ held, tunnel, origin }: ClientsJob): Promise<Socket[]> {
  const flows: Socket[] = [];
  let left = held;
  const work = async (): Promise<void> => {
    while (left-- > 0) {
      const flow = await openFlow(tunnel, origin, 'held');
      flow.on('error', () => undefined).once('close', () => failed++);
      flows.push(flow);
    }
  };
  await Promise.all(Array.from({ length: OPENING }, work));
  return flows;
}

/** Each second some of the flows ask for bytes, the first ones more often. */
function keepBusy(flows: readonly Socket[], busy: number): void {
  setInterval(() => {
    for (let i = 0; i < busy; i++) {
      const part = choose(1 << 20) / (1 << 20);
      flows[Math.floor(flows.length * part ** 3)]?.write(ask(500 + choose(20_000)));
    }
  }, 1_000);
}

/** Opens flows, each of which is closed two seconds later. */
function churn({ perSecond, socks, origin }: ClientsJob): void {
  const begin = performance.now();
  const living: { readonly socket: Socket; readonly until: number }[] = [];
  let begun = 0;
  let opening = 0;
  setInterval(() => {
    const now = performance.now();
    const due = ((now - begin) / 1_000) * perSecond;
    // What a machine with other work to do was too slow for is left out.
    for (let most = perSecond / 10; begun < due; begun++) {
      if (most-- <= 0 || opening > perSecond / 2) continue;
      opening++;
      openFlow(socks, origin, 'short')
        .then(
          (socket) => {
            socket.removeAllListeners('error').on('error', () => undefined);
            living.push({ socket, until: performance.now() + LIFE_S * 1_000 });
          },
          () => failed++,
        )
        .finally(() => opening--);
    }
    while ((living[0]?.until ?? Infinity) <= now) living.shift()?.socket.destroy();
  }, TICK_MS);
}

process.on('disconnect', () => process.exit());
process.on('message', (message: ClientsJob | 'counts') => {
  if (message === 'counts') {
    report({ kind: 'counts', opened, failed });
    return;
  }
  hold(message).then(
    (flows) => {
      keepBusy(flows, message.busy);
      if (message.perSecond > 0) churn(message);
      report({ kind: 'ready' });
    },
    (error: unknown) => report({ kind: 'failed', message: String(error) }),
  );
});

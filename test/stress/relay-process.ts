/**
 * A relay to one destination in a process of its own, by kernel links or by Node's sockets.
 *
 * `node relay-process.ts kernel|node PORT`; it answers lines on its standard input with lines of
 * JSON: its processor time, descriptors, memory, and the events that the watchdog found lost.
 */
import { readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { systemClock } from '@weir/io/time';
import {
  connectKernel,
  listenKernel,
} from '../../packages/io/src/net/sockets/kernel/kernel-dial.ts';
import { LinkWatchdog, type LostEvent } from '../../packages/io/src/net/sockets/kernel/watchdog.ts';
import { type Carrier, relay } from '@weir/io/links';
import { SocketLink } from '@weir/io/sockets';
import { connectTcp } from '../../packages/io/src/net/sockets/node/node-sockets.ts';
import { KernelIo } from '../../packages/io/src/platform/sockets/kernel-io.ts';
import { probeSockets } from '../../packages/io/src/platform/sockets/probe.ts';

const [kind = 'kernel', target = '0'] = process.argv.slice(2);
const lost: LostEvent[] = [];
let flows = 0;
const { signal } = new AbortController();
const counter = { addUp: () => undefined, addDown: () => undefined };

async function serve(
  client: Carrier['link'],
  dial: () => Promise<Carrier>,
  join: (client: Carrier['link'], remote: Carrier['link']) => Promise<unknown>,
): Promise<void> {
  flows++;
  try {
    const remote = await dial();
    await join(client, remote.link);
  } catch (error) {
    client.destroy(error instanceof Error ? error : new Error(String(error)));
  } finally {
    flows--;
  }
}

function listen(): Promise<number> {
  if (kind === 'node') {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true });
    server.on('connection', (socket) => {
      void serve(
        new SocketLink(socket),
        () => connectTcp('127.0.0.1', Number(target), { signal }),
        (client, remote) => relay(client, remote, counter, systemClock),
      );
    });
    return new Promise((resolve) => {
      server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => {
        const address = server.address();
        resolve(typeof address === 'object' && address ? address.port : 0);
      });
    });
  }
  const probe = probeSockets();
  if (probe.kind === 'node') throw new Error(probe.reason);
  const io = new KernelIo(probe.calls, systemClock);
  const watchdog = probe.calls.debug
    ? new LinkWatchdog(systemClock, (event) => lost.push(event))
    : undefined;
  const listener = listenKernel(
    io,
    { host: '127.0.0.1', port: 0 },
    {
      onConnection: (connection) =>
        void serve(
          connection.link(),
          () => connectKernel(io, '127.0.0.1', Number(target), { signal, watchdog }),
          (client, remote) => relay(client, remote, counter, systemClock),
        ),
    },
    watchdog,
  );
  return Promise.resolve(listener.endpoint?.port ?? 0);
}

const say = (value: object): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

say({ port: await listen() });
createInterface({ input: process.stdin })
  .on('line', () => {
    const { user, system } = process.cpuUsage();
    say({
      cpuMs: (user + system) / 1000,
      descriptors: readdirSync('/proc/self/fd').length,
      residentMb: Math.round(process.memoryUsage.rss() / (1 << 20)),
      flows,
      lost,
    });
  })
  .on('close', () => process.exit(0));

/**
 * One QUIC stream between two processes over loopback: throughput, and processor time of both sides.
 *
 *   node packages/proxy/bench/quic-endpoint.ts [megabytes] [streams] [kernel|node]
 *
 * The other process is this file again, as the server: it reads what comes and drops it, and sends its
 * processor time back at the end of a stream. Nothing is measured before the code is compiled.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { SystemRandomSource } from '@weir/base/random';
import { parseCaBundle } from '@weir/crypto/certificates';
import { toEndpoint, type IpEndpoint } from '@weir/base/ip';
import { systemClock } from '@weir/io/time';
import { nodeSockets } from '../../io/src/net/sockets/node/node-sockets.ts';
import { systemSockets } from '@weir/io/sockets';
import { DEFAULT_SETTINGS, type QuicConnection, type QuicStream, QuicEndpoint } from '@weir/quic';
import { QuicClientTls, QuicServerTls } from '../src/transports/tls/quic.ts';
import { TestAuthority } from '../../../test/support/data/test-certificates.ts';

const CHUNK = 64 * 1024;
const WARM_UP_MB = 200;
const RUNS = 3;

const loopback = (port: number): IpEndpoint => {
  const endpoint = toEndpoint('127.0.0.1', port);
  assert.ok(endpoint);
  return endpoint;
};

const bind = (kind: string): Promise<QuicEndpoint> => {
  const sockets = kind === 'node' ? nodeSockets('asked for') : systemSockets();
  return QuicEndpoint.bind(
    (options, handlers) => sockets.bindDatagrams(options, handlers),
    loopback(0),
    { clock: systemClock, random: new SystemRandomSource() },
  );
};

/** Milliseconds of processor time of this process. */
function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function drain(stream: QuicStream): Promise<void> {
  while (await stream.read());
  await stream.write(Buffer.from(String(processorTime())));
  await stream.closeWrite();
}

async function serve(kind: string): Promise<void> {
  const authority = new TestAuthority();
  const { cert, key } = authority.issue({ dns: ['bench.example'] });
  const endpoint = await bind(kind);
  endpoint.serve({
    tls: new QuicServerTls({ certificates: cert, key }),
    connection: DEFAULT_SETTINGS,
    maxConnections: 10,
    onConnection: (connection) => {
      void connection.closed.then(() => endpoint.close(0));
      return { onStream: (stream) => void drain(stream), onDatagram: () => undefined };
    },
  });
  process.stdout.write(`${JSON.stringify({ port: endpoint.local.port, ca: authority.cert })}\n`);
  await endpoint.closed;
}

/** Sends so many bytes on one stream. Returns the processor time of the server so far. */
async function transfer(connection: QuicConnection, bytes: number): Promise<number> {
  const stream = await connection.openStream('bidirectional');
  const chunk = Buffer.alloc(CHUNK);
  for (let sent = 0; sent < bytes; sent += CHUNK) await stream.write(chunk);
  await stream.closeWrite();
  const time = await stream.read();
  assert.equal(await stream.read(), undefined);
  return Number(Buffer.from(time ?? []).toString());
}

async function measure(megabytes: number, streams: number, kind: string): Promise<void> {
  const child = spawn(process.execPath, [import.meta.filename, 'serve', kind], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const { port, ca } = JSON.parse(line.toString()) as { port: number; ca: string };
  const endpoint = await bind(kind);
  const connection = endpoint.dial(loopback(port), {
    tls: new QuicClientTls({
      serverName: 'bench.example',
      allowInsecure: false,
      ca: { certificates: parseCaBundle(Buffer.from(ca)), file: 'ca.pem' },
    }),
    connection: DEFAULT_SETTINGS,
    handlers: { onStream: () => undefined, onDatagram: () => undefined },
  });
  await connection.established;
  await transfer(connection, WARM_UP_MB * 1e6);
  for (let run = 0; run < RUNS; run++) {
    const remoteBefore = await transfer(connection, CHUNK);
    const before = processorTime();
    const start = performance.now();
    const each = (megabytes * 1e6) / streams;
    const remote = await Promise.all(
      Array.from({ length: streams }, () => transfer(connection, each)),
    );
    const seconds = (performance.now() - start) / 1000;
    const gigabytes = megabytes / 1000;
    const sending = (processorTime() - before) / gigabytes;
    const receiving = (Math.max(...remote) - remoteBefore) / gigabytes;
    console.log(
      `${streams} stream(s), ${kind}: ${(megabytes / seconds).toFixed(0)} MB/s; ` +
        `ms of processor time a GB: ${sending.toFixed(0)} to send, ${receiving.toFixed(0)} to receive`,
    );
  }
  connection.close(0);
  endpoint.close(0);
  await endpoint.closed;
}

const [first = '500', second = '1', third = 'kernel'] = process.argv.slice(2);
if (first === 'serve') await serve(second);
else await measure(Number(first), Number(second), third);

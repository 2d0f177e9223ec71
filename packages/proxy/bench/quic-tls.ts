/**
 * What the TLS of QUIC costs: handshakes a second of processor time (client and server in one process),
 * memory of a live connection, and whether memory stays when many come and go.
 *
 *     node --expose-gc packages/proxy/bench/quic-tls.ts [handshakes]
 */
import { QuicClientTls, QuicServerTls } from '../src/transports/tls/quic.ts';
import type { TlsEvents, TlsHandshake, TlsLevel } from '../../quic/src/contract.ts';
import { TestAuthority } from '../../../test/support/data/test-certificates.ts';

const count = Number(process.argv[2] ?? 10_000);
const LIVE = 500;

const authority = new TestAuthority();
const { cert, key } = authority.issue({ dns: ['test.example'] });
const server = new QuicServerTls({ certificates: cert, key });
const client = new QuicClientTls({
  serverName: 'test.example',
  allowInsecure: false,
  ca: { file: 'ca.pem', certificates: [authority.cert] },
});
const parameters = new Uint8Array(80).fill(1);

interface Message {
  readonly level: TlsLevel;
  readonly bytes: Uint8Array;
}

function eventsInto(out: Message[]): TlsEvents {
  return {
    onCryptoData: (level, bytes) => out.push({ level, bytes }),
    onSecret: () => undefined,
    onPeerParameters: () => undefined,
    onAlert: (code) => {
      throw new Error(`alert ${code}`);
    },
    onViolation: (reason) => {
      throw new Error(reason);
    },
    onComplete: () => undefined,
  };
}

function handshake(): [TlsHandshake, TlsHandshake] {
  const fromClient: Message[] = [];
  const fromServer: Message[] = [];
  const a = client.createHandshake(eventsInto(fromClient));
  const b = server.createHandshake(eventsInto(fromServer));
  a.setTransportParameters(parameters);
  b.setTransportParameters(parameters);
  a.start();
  for (let i = 0; i < 2; i++) {
    for (const { level, bytes } of fromClient.splice(0)) b.receive(level, bytes);
    for (const { level, bytes } of fromServer.splice(0)) a.receive(level, bytes);
  }
  if (!a.isComplete || !b.isComplete) throw new Error('incomplete');
  return [a, b];
}

const rss = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().rss / 1024;
};
const turn = () => new Promise((resolve) => setImmediate(resolve));

console.log(`first handshake: ${time(() => handshake()).toFixed(1)} ms (loads the trust store)`);
for (let i = 0; i < 300; i++) for (const tls of handshake()) tls[Symbol.dispose]();

const before = rss();
const live = Array.from({ length: LIVE }, handshake);
console.log(
  `memory: ${((rss() - before) / LIVE / 2).toFixed(1)} KiB for each side of a connection`,
);
for (const pair of live.splice(0)) for (const tls of pair) tls[Symbol.dispose]();

const start = process.cpuUsage();
for (let i = 0; i < count; i++) {
  for (const tls of handshake()) tls[Symbol.dispose]();
  if (i % 100 === 0) await turn();
  if (i % (count / 5) === 0) console.log(`after ${i}: ${(rss() / 1024).toFixed(1)} MiB resident`);
}
const { user, system } = process.cpuUsage(start);
console.log(`after ${count}: ${(rss() / 1024).toFixed(1)} MiB resident`);
const each = (user + system) / count;
console.log(`${(each / 1000).toFixed(2)} ms for both sides, ${Math.round(1e6 / each)} a second`);

function time(work: () => void): number {
  const from = performance.now();
  work();
  return performance.now() - from;
}

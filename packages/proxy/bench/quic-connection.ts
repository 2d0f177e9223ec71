/**
 * What a QUIC connection costs in process: one stream between two connections, each batch of datagrams
 * passed from one to the other, in virtual time and thus without waiting. Both ends share one thread, so
 * that the figure is for sending and receiving together.
 *
 *   node packages/proxy/bench/quic-connection.ts [megabytes] [bytes of a datagram]
 */
import { bbr, cubic } from '@weir/congestion';
import { parseCaBundle } from '@weir/crypto/certificates';
import { SystemRandomSource } from '@weir/base/random';
import { toEndpoint, type IpEndpoint } from '@weir/base/ip';
import { DEFAULT_SETTINGS } from '@weir/quic';
import { QuicCore, type IdIssuer } from '../../quic/src/connection/quic-core.ts';
import { TransmitBatch } from '@weir/io/datagrams';
import { PacketHeader, readPacketHeader } from '../../quic/src/wire/packet-header.ts';
import { QuicClientTls, QuicServerTls } from '../src/transports/tls/quic.ts';
import { TestAuthority } from '../../../test/support/data/test-certificates.ts';

const megabytes = Number(process.argv[2] ?? 400);
const maxDatagram = Number(process.argv[3] ?? 1472);
const controller = process.argv[4] === 'cubic' ? cubic : bbr;
/** Milliseconds that a batch takes to the other side. */
const DELAY = 1;
const CHUNK = 65_536;
/** Bytes that are not measured: the handshake, and until the code is compiled. */
const WARM_UP = 200e6;

const random = new SystemRandomSource();
const authority = new TestAuthority();
const { cert, key } = authority.issue({ dns: ['bench.example'] });
const ids: IdIssuer = {
  issue: () => ({ id: random.bytes(8), resetToken: random.bytes(16) }),
  release: () => undefined,
};
const endpoint = (host: string, port: number): IpEndpoint => {
  const at = toEndpoint(host, port);
  if (!at) throw new Error('no address');
  return at;
};
const clientAt = endpoint('192.0.2.1', 1000);
const serverAt = endpoint('192.0.2.2', 443);
const settings = { ...DEFAULT_SETTINGS, maxDatagram, congestion: controller } as const;

let now = 0;
const client = QuicCore.client({
  settings,
  random,
  ids,
  remote: serverAt,
  now,
  tls: new QuicClientTls({
    serverName: 'bench.example',
    allowInsecure: false,
    ca: { certificates: parseCaBundle(Buffer.from(authority.cert)), file: 'ca.pem' },
  }),
});
let server: QuicCore | undefined;
const tls = new QuicServerTls({ certificates: cert, key });

function accept(bytes: Uint8Array): QuicCore {
  const header = new PacketHeader();
  readPacketHeader(bytes, 0, bytes.length, 8, header);
  const { destinationIdOffset: to, sourceIdOffset: from } = header;
  return QuicCore.server({
    settings,
    random,
    ids,
    remote: clientAt,
    now,
    tls,
    originalId: bytes.slice(to, to + header.destinationIdSize),
    clientId: bytes.slice(from, from + header.sourceIdSize),
    isValidated: false,
  });
}

/** A batch on its way; batches are used again. */
interface Flight {
  readonly batch: TransmitBatch;
  at: number;
}
const free: TransmitBatch[] = [];
const toServer: Flight[] = [];
const toClient: Flight[] = [];
let batches = 0;
let datagrams = 0;

function send(from: QuicCore, flights: Flight[]): void {
  for (;;) {
    const batch = free.pop() ?? new TransmitBatch();
    if (!from.transmit(now, batch)) {
      free.push(batch);
      return;
    }
    flights.push({ batch, at: now + DELAY });
    batches++;
  }
}

function deliver(flights: Flight[], take: (batch: TransmitBatch, stride: number) => void): void {
  while (flights[0] !== undefined && flights[0].at <= now) {
    const { batch } = flights.shift() as Flight;
    const stride = batch.segmentSize || batch.length;
    take(batch, stride);
    datagrams += Math.ceil(batch.length / stride);
    free.push(batch);
  }
}

const chunk = new Uint8Array(CHUNK);
const total = WARM_UP + megabytes * 1e6;
let written = 0;
let received = 0;
let stream: number | undefined;

function fill(): void {
  if (stream === undefined) return;
  while (written < total) {
    written += CHUNK;
    if (client.write(stream, chunk) !== true) break;
  }
}

function onServerEvents(): void {
  for (let event = server?.nextEvent(); event; event = server?.nextEvent()) {
    if (event.kind !== 'stream-readable' && event.kind !== 'stream-opened') continue;
    for (
      let data = server?.read(event.id);
      data instanceof Uint8Array;
      data = server?.read(event.id)
    ) {
      received += data.length;
    }
  }
}

function onClientEvents(): void {
  for (let event = client.nextEvent(); event; event = client.nextEvent()) {
    if (event.kind === 'closed') throw new Error(event.reason.reason);
    if (event.kind === 'established') stream = client.openStream(true);
    if (event.kind === 'established' || event.kind === 'stream-writable') fill();
  }
}

let start = 0;
let cpuStart = process.cpuUsage();
while (received < total) {
  if (start === 0 && received >= WARM_UP) {
    start = performance.now();
    cpuStart = process.cpuUsage();
  }
  onClientEvents();
  send(client, toServer);
  if (server) send(server, toClient);
  const next = Math.min(
    toServer[0]?.at ?? Infinity,
    toClient[0]?.at ?? Infinity,
    client.nextTimeout(),
    server?.nextTimeout() ?? Infinity,
  );
  now = Math.max(now, next);
  client.onTimeout(now);
  server?.onTimeout(now);
  deliver(toServer, ({ buffer, length }, stride) => {
    server ??= accept(buffer.subarray(0, stride));
    server.receiveBatch(buffer, 0, length, stride, clientAt, serverAt, 0, now);
  });
  onServerEvents();
  deliver(toClient, ({ buffer, length }, stride) => {
    client.receiveBatch(buffer, 0, length, stride, serverAt, clientAt, 0, now);
  });
}
const seconds = (performance.now() - start) / 1000;
const { user, system } = process.cpuUsage(cpuStart);
const { packetsLost, datagramSize, window } = client.statistics();
console.log(
  `${(megabytes / seconds).toFixed(0)} MB/s, ${((user + system) / 1e3 / (megabytes / 1e3)).toFixed(0)} ms of processor time for a GB, ` +
    `${datagramSize}-byte datagrams, ${(datagrams / batches).toFixed(1)} in a batch, ${packetsLost} lost, window ${window}, ${now.toFixed(0)} ms virtual`,
);

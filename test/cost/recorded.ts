import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { initialKeys } from '../../packages/quic/src/protection/initial-secrets.ts';
import {
  PacketHeader,
  PacketType,
  readPacketHeader,
} from '../../packages/quic/src/wire/packet-header.ts';
import { open } from '../support/data/address.ts';
import { socksIn } from '../support/process/config.ts';
import { Weir } from '../support/process/weir.ts';
import { eventually, within } from '../support/wait.ts';
import { weirOut } from '../support/ways/weir-config.ts';

const TAG_SIZE = 16;

/** The first flight of a QUIC client, which has said nothing secret. */
export interface QuicFlight {
  /** The frames of its Initial packets, one list for each. */
  readonly flight: readonly Buffer[];
  /** Its source connection id in hexadecimal. */
  readonly sourceId: string;
  /** Its datagrams as they were sent. */
  readonly datagrams: readonly Buffer[];
}

/** Records the ClientHello of a TLS client. */
export async function recordClientHello(alpn: string): Promise<Buffer> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, 'connection');
  const raw = connect(port, '127.0.0.1');
  const tls = connectTls({ socket: raw, servername: 'server.test', ALPNProtocols: [alpn] });
  tls.on('error', () => undefined);
  const [socket] = (await accepted) as [Socket];
  try {
    const [hello] = (await within(once(socket, 'data'), 'a ClientHello')) as [Buffer];
    return hello;
  } finally {
    socket.destroy();
    raw.destroy();
    server.close();
  }
}

/** Records the first flight of Weir's own Hysteria 2 client to a server that does not respond. */
export async function recordQuicFlight(): Promise<QuicFlight> {
  const datagrams: Buffer[] = [];
  const sink = createSocket('udp4').on('message', (message) => void datagrams.push(message));
  await new Promise<void>((resolve) => sink.bind(0, '127.0.0.1', resolve));
  const { port } = sink.address();
  const way = { protocol: 'hysteria2', credentials: 'wrong' } as const;
  try {
    await using weir = await Weir.start(
      socksIn() + weirOut(way, { host: '127.0.0.1', port }) + '[route]\ndefault = "out"\n',
    );
    const socket = await open(weir.address('socks'));
    socket.write(Buffer.from([5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 80]));
    await eventually('a first flight', () => datagrams.length >= 2);
    socket.destroy();
  } finally {
    sink.close();
  }
  const initials = datagrams.map(openInitial);
  const [first] = initials;
  if (!first) throw new Error('the first flight of Hysteria 2 has no Initial packet');
  // Later datagrams repeat the first flight.
  const flight = initials.filter((one) => one !== undefined).slice(0, 2);
  return {
    flight: flight.map(({ frames }) => frames),
    sourceId: first.sourceId,
    datagrams: datagrams.slice(0, 2),
  };
}

/** The frames of the Initial packet that a client's datagram begins with. */
function openInitial(
  datagram: Buffer,
): { readonly frames: Buffer; readonly sourceId: string } | undefined {
  const header = new PacketHeader();
  if (readPacketHeader(datagram, 0, datagram.length, 8, header) !== undefined) return undefined;
  if (header.type !== PacketType.INITIAL) return undefined;
  const idAt = header.destinationIdOffset;
  const { sealer, opener } = initialKeys(
    datagram.subarray(idAt, idAt + header.destinationIdSize),
    'server',
  );
  sealer[Symbol.dispose]();
  using keys = opener;
  const packet = Buffer.from(datagram.subarray(0, header.end));
  const number = keys.unprotect(packet, 0, header.numberOffset, packet.length, -1);
  if (number < 0 || !keys.open(packet, 0, header.numberOffset, packet.length, number)) {
    return undefined;
  }
  const numberSize = ((packet[0] ?? 0) & 0x03) + 1;
  const sourceId = datagram.subarray(
    header.sourceIdOffset,
    header.sourceIdOffset + header.sourceIdSize,
  );
  return {
    frames: withoutPadding(packet.subarray(header.numberOffset + numberSize, -TAG_SIZE)),
    sourceId: sourceId.toString('hex'),
  };
}

function withoutPadding(frames: Buffer): Buffer {
  let end = frames.length;
  while (end > 0 && frames[end - 1] === 0) end--;
  return Buffer.from(frames.subarray(0, end));
}

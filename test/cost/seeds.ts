import { encodeHunks } from '../../packages/proxy/src/transports/grpc/hunks.ts';
import { frameHeader, Opcode } from '@weir/proxy/websocket';
import {
  CLIENT_START,
  frame,
  plainBlock,
  requestFrame,
  settingsFrame,
  uint32,
} from '../support/http2/raw-frames.ts';
import { SeededRandom } from '../support/simnet/seeded-random.ts';
import { piece, seed, type Attack, type Piece } from './attack.ts';
import type { QuicFlight } from './recorded.ts';

/*
 * First flights by protocol: valid but for their secret, and what is known to be costly elsewhere. The search
 * mixes those of one inbound.
 */

const random = new SeededRandom(28);
const noise = (length: number): Buffer => random.bytes(length);
const filled = (length: number, fill: string | number = 'a'): Buffer => Buffer.alloc(length, fill);

/** Seeds that every stream has: silence, noise, long noise, noise byte by byte. */
export const NOISE: readonly Attack[] = [
  seed('silence', []),
  seed('one byte', [piece([0x05])]),
  seed('noise', [piece(noise(200))]),
  seed('long noise', [piece(noise(1024), 40)]),
  seed('zeros', [piece(Buffer.alloc(1024), 40)]),
  seed('noise byte by byte', [piece(noise(200))], { writeSize: 1 }),
];

export const SOCKS: readonly Attack[] = [
  seed('greeting of SOCKS5', [piece([5, 1, 0])]),
  seed('255 methods', [piece([5, 255]), piece([2], 255)]),
  seed('wrong password', [piece([5, 1, 2, 1, 3]), piece('mia'), piece([5]), piece('wrong')]),
  seed('long wrong password', [
    piece([5, 1, 2, 1, 255]),
    piece(filled(255)),
    piece([255]),
    piece(filled(255)),
  ]),
  seed('request without its end', [piece([5, 1, 0, 5, 1, 0, 3, 255]), piece(filled(254))]),
  seed('SOCKS4a without its end', [piece([4, 1, 0, 80, 0, 0, 0, 1]), piece(filled(1024), 8)], {
    writeSize: 64,
  }),
  seed('SOCKS4 byte by byte', [piece([4, 1, 0, 80, 0, 0, 0, 1]), piece(filled(255))], {
    writeSize: 1,
  }),
];

const request = (lines: string): Piece =>
  piece(`GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n${lines}\r\n`);

/** @param path of a request that needs a secret. */
export const http = (path = 'http://a.test/'): readonly Attack[] => [
  seed('request', [request('')]),
  seed('wrong password', [
    request('Proxy-Authorization: Basic bWlhOndyb25n\r\nAuthorization: Bearer wrong\r\n'),
  ]),
  seed('pipelined requests', [piece(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`, 1000)]),
  seed('shortest pipelined requests', [piece('G / HTTP/1.1\r\n\r\n', 2500)]),
  seed('pipelined GET', [piece('GET / HTTP/1.1\r\nHost:a\r\n\r\n', 1800)]),
  seed('many fields', [piece(`GET ${path} HTTP/1.1\r\nHost: a\r\n`), piece('a:\r\n', 4000)]),
  seed('one long field', [
    piece(`GET ${path} HTTP/1.1\r\nHost: a\r\nX: `),
    piece(filled(1024), 40),
  ]),
  seed('a head without its end', [piece(`GET ${path} HTTP/1.1\r\nX: `), piece(filled(14_000))]),
  seed('a head in many writes', [piece(`GET ${path} HTTP/1.1\r\nX: `), piece(filled(8000))], {
    writeSize: 16,
  }),
  seed('empty lines', [piece('\r\n', 20_000)]),
  seed('a long target', [piece('GET http://'), piece('a.', 8000), piece('/ HTTP/1.1\r\n\r\n')]),
  seed('a chunked body', [
    piece(`POST ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`),
    piece('1\r\na\r\n', 6000),
  ]),
  seed('chunk extensions', [
    piece(`POST ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;`),
    piece('a=b;', 6000),
  ]),
  seed('pipelined posts', [
    piece(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na`, 600),
  ]),
  seed('many blanks', [
    piece(`GET ${path} HTTP/1.1\r\nHost: a\r\nX:`),
    piece(' ', 15_000),
    piece('a\r\n\r\n'),
  ]),
  seed('many list members', [
    piece(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: `),
    piece('a,', 7000),
    piece('\r\n\r\n'),
  ]),
];

export const TROJAN: readonly Attack[] = [
  seed('unknown key', [
    piece(filled(56, 'a1')),
    piece('\r\n'),
    piece([1, 1, 127, 0, 0, 1, 0, 80]),
    piece('\r\n'),
  ]),
  seed('half a key', [piece(filled(30, 'a1'))]),
  seed('key byte by byte', [piece(filled(58, 'a1'))], { writeSize: 1 }),
  seed('unknown key and a lot', [piece(filled(56, 'a1')), piece('\r\n'), piece(noise(1024), 40)]),
];

export const VLESS: readonly Attack[] = [
  seed('unknown id', [piece([0]), piece(noise(16)), piece([0, 1, 0, 80, 1, 127, 0, 0, 1])]),
  seed('half an id', [piece([0]), piece(noise(8))]),
  seed('unknown id and a lot', [piece([0]), piece(noise(16)), piece(noise(1024), 40)]),
  seed('bytes apart', [piece([0]), piece(noise(60))], { writeSize: 1 }),
];

/** VMess and Shadowsocks, whose bytes look random. */
export const RANDOM_LOOKING: readonly Attack[] = [
  seed('an id or salt', [piece(noise(16))]),
  seed('a salt', [piece(noise(32))]),
  seed('a first chunk', [piece(noise(50))]),
  seed('a first chunk from many sources', [piece(noise(50))], { sources: 64, clients: 64 }),
  seed('a request', [piece(noise(300))]),
  seed('a request and a lot', [piece(noise(1024), 40)]),
  seed('many clients', [piece(noise(100))], { clients: 64 }),
];

/** Datagrams that look random, each piece one. */
export const RANDOM_DATAGRAMS: readonly Attack[] = [
  seed('an empty datagram', [piece([])]),
  seed('short datagrams', [piece(noise(50), 20)]),
  seed('datagrams', [piece(noise(300), 20)]),
  seed('long datagrams', [piece(noise(1400), 20)]),
  seed(
    'different datagrams',
    Array.from({ length: 20 }, () => piece(noise(60))),
  ),
  seed(
    'from many sources',
    Array.from({ length: 8 }, () => piece(noise(60))),
    { sources: 64, clients: 64 },
  ),
];

const KEY = Buffer.from([1, 2, 3, 4]);
const wsFrame = (opcode: number, payload: Uint8Array = Buffer.alloc(0)): Buffer =>
  Buffer.concat([frameHeader(opcode, payload.length, KEY), payload]);
const UPGRADE =
  'GET /tunnel HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n';
const upgraded = piece(`${UPGRADE}\r\n`);

/** WebSocket, and the frames in which it carries the seeds of a protocol. */
export const ws = (inner: readonly Attack[]): readonly Attack[] => [
  ...http('/tunnel').slice(4, 10),
  seed('an upgrade alone', [upgraded]),
  seed('another path', [piece('GET / HTTP/1.1\r\nHost: a\r\n\r\n')]),
  seed('early data', [
    piece(`${UPGRADE}Sec-WebSocket-Protocol: `),
    piece('AAAA', 500),
    piece('\r\n\r\n'),
  ]),
  seed('empty frames', [upgraded, piece(frameHeader(Opcode.binary, 0, KEY), 6000)]),
  seed('empty pings', [upgraded, piece(wsFrame(Opcode.ping), 6000)]),
  seed('long pings', [upgraded, piece(wsFrame(Opcode.ping, filled(125)), 350)]),
  seed('pings apart', [upgraded, piece(wsFrame(Opcode.ping), 400)], { writeSize: 6 }),
  seed('frames of a byte', [upgraded, piece(wsFrame(Opcode.binary, filled(1)), 6000)]),
  seed('an endless frame', [
    upgraded,
    piece([0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4]),
    piece(noise(1024), 40),
  ]),
  ...inner.map((one) => ({
    ...one,
    story: [`in frames: ${one.story[0]}`],
    pieces: [
      upgraded,
      ...one.pieces.map(({ bytes, repeat }) => piece(wsFrame(Opcode.binary, bytes), repeat)),
    ],
  })),
];

const BLOCK = plainBlock([
  [':method', 'POST'],
  [':scheme', 'https'],
  [':path', '/Tunnel/Tun'],
  [':authority', 'a'],
  ['content-type', 'application/grpc'],
  ['te', 'trailers'],
]);
const start = piece(CLIENT_START);
const each = (count: number, make: (streamId: number) => Buffer): Piece =>
  piece(Buffer.concat(Array.from({ length: count }, (_, index) => make(1 + 2 * index))));
const RST = 3;
const WINDOW_UPDATE = 8;
const CONTINUATION = 9;
const PING = 6;
/** A field that the table then holds, and references to it of one byte. */
const bomb = (references: number): Buffer =>
  Buffer.concat([
    BLOCK,
    Buffer.from([0x40, 1]),
    Buffer.from('x'),
    Buffer.from([0x7f, 0xa1, 0x1e]),
    filled(4000),
    filled(references, 0xbe),
  ]);

/** gRPC over HTTP/2, and the messages in which it carries the seeds of a protocol. */
export const grpc = (inner: readonly Attack[]): readonly Attack[] => [
  seed('the preface', [start]),
  seed('tunnels', [start, each(100, (id) => requestFrame(id, BLOCK))]),
  seed('too many tunnels', [start, each(500, (id) => requestFrame(id, BLOCK))]),
  seed('rapid resets', [
    start,
    each(300, (id) => Buffer.concat([requestFrame(id, BLOCK), frame(RST, 0, id, uint32(8))])),
  ]),
  seed('requests for nothing', [
    start,
    each(500, (id) =>
      requestFrame(
        id,
        plainBlock([
          [':method', 'GET'],
          [':scheme', 'https'],
          [':path', '/'],
          [':authority', 'a'],
        ]),
      ),
    ),
  ]),
  seed('SETTINGS', [start, piece(settingsFrame(), 4000)]),
  seed('SETTINGS with parameters', [
    start,
    piece(settingsFrame(...Array.from({ length: 60 }, () => [4, 65_535] as const)), 100),
  ]),
  seed('changes of windows', [
    start,
    each(100, (id) => requestFrame(id, BLOCK)),
    piece(Buffer.concat([settingsFrame([4, 1]), settingsFrame([4, 65_535])]), 900),
  ]),
  seed('PINGs', [start, piece(frame(PING, 0, 0, Buffer.alloc(8)), 2500)]),
  seed('window updates', [start, piece(frame(WINDOW_UPDATE, 0, 0, uint32(1)), 3000)]),
  seed('empty DATA', [start, piece(requestFrame(1, BLOCK)), piece(frame(0, 0, 1), 4500)]),
  seed('DATA of a byte', [
    start,
    piece(requestFrame(1, BLOCK)),
    piece(frame(0, 0, 1, Buffer.from([0])), 4000),
  ]),
  seed('PRIORITY', [start, piece(frame(2, 0, 1, Buffer.alloc(5)), 3000)]),
  seed('empty CONTINUATIONs', [
    start,
    piece(frame(1, 0, 1, BLOCK)),
    piece(frame(CONTINUATION, 0, 1), 4000),
  ]),
  seed('a header bomb', [start, piece(requestFrame(1, bomb(4000)))]),
  seed('many header bombs', [
    start,
    each(20, (id) => requestFrame(id, id === 1 ? bomb(100) : filled(1500, 0xbe))),
  ]),
  seed('Huffman', [
    start,
    each(30, (id) =>
      requestFrame(
        id,
        Buffer.concat([
          BLOCK,
          Buffer.from([0, 1]),
          Buffer.from('x'),
          Buffer.from([0xff, 0xe9, 6]),
          noise(1000),
        ]),
      ),
    ),
  ]),
  seed('unknown frames', [start, piece(frame(99, 0, 0), 4500)]),
  ...inner.map((one) => ({
    ...one,
    story: [`in messages: ${one.story[0]}`],
    pieces: [
      start,
      piece(requestFrame(1, BLOCK)),
      ...one.pieces.map(({ bytes, repeat }) =>
        piece(frame(0, 0, 1, Buffer.concat(encodeHunks(bytes))), repeat),
      ),
    ],
  })),
];

/** The same inside TLS, and what can be sent in place of TLS. */
export const overTls = (inside: readonly Attack[], clientHello: Buffer): readonly Attack[] => [
  ...inside.map((one) => ({ ...one, insideTls: true })),
  seed('no TLS', [piece(noise(200))]),
  seed('ClientHello', [piece(clientHello)]),
  seed('ClientHello and reset', [piece(clientHello)], { end: 'reset' }),
  seed('ClientHello in many writes', [piece(clientHello)], { writeSize: 16 }),
  seed('ClientHello in records of a byte', [
    piece(
      Buffer.concat(
        [...clientHello.subarray(5)].map((byte) => Buffer.from([22, 3, 1, 0, 1, byte])),
      ),
    ),
  ]),
  seed('half of a ClientHello', [piece(clientHello.subarray(0, clientHello.length >> 1))]),
  seed('a long handshake message', [
    piece([22, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff]),
    piece(Buffer.alloc(16_380), 2),
  ]),
  seed('empty records', [piece([22, 3, 1, 0, 0], 8000)]),
  seed('alerts', [piece(clientHello), piece([21, 3, 3, 0, 2, 1, 90], 5000)]),
  seed('ChangeCipherSpec', [piece(clientHello), piece([20, 3, 3, 0, 1, 1], 6000)]),
  seed('ClientHellos', [piece(clientHello, 20)]),
];
const QUIC_PING = 0x01;
const QUIC_CRYPTO = 0x06;

/** Initial packets, noise, and the first flight of a client that knows no secret yet. */
export const quic = ({ flight, datagrams, sourceId }: QuicFlight): readonly Attack[] => [
  ...RANDOM_DATAGRAMS,
  seed(
    'a first flight',
    flight.map((frames) => piece(frames, 1, 'initial')),
    { sourceId },
  ),
  seed(
    'a first flight from many sources',
    flight.map((frames) => piece(frames, 1, 'initial')),
    { sources: 64, clients: 64, sourceId },
  ),
  seed(
    'first flights again',
    flight.map((frames) => piece(frames, 8, 'initial')),
    { sourceId },
  ),
  seed(
    'half a first flight',
    flight.slice(0, 1).map((frames) => piece(frames, 1, 'initial')),
  ),
  seed('Initial packets without a hello', [piece([QUIC_PING], 16, 'initial')]),
  seed('PINGs', [piece(filled(1100, 0x01), 16, 'initial')]),
  seed('CRYPTO far ahead', [
    piece(
      Buffer.concat([Buffer.from([QUIC_CRYPTO, 0x7f, 0xf0, 0x44, 0]), noise(1024)]),
      16,
      'initial',
    ),
  ]),
  seed('CRYPTO of a byte', [
    piece(
      Buffer.concat(
        Array.from({ length: 220 }, (_, i) =>
          Buffer.from([QUIC_CRYPTO, 0x40 | (i >> 7), (2 * i) & 0xff, 1, 0]),
        ),
      ),
      8,
      'initial',
    ),
  ]),
  seed('ACK ranges', [
    piece(
      Buffer.concat([Buffer.from([2, 0x40, 200, 0, 0x40, 90, 0]), Buffer.alloc(180)]),
      16,
      'initial',
    ),
  ]),
  seed('another version', [
    piece(
      Buffer.concat([
        Buffer.from([0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 8]),
        noise(8),
        Buffer.from([8]),
        noise(8),
        Buffer.alloc(1180),
      ]),
      16,
    ),
  ]),
  seed('short headers', [piece(Buffer.concat([Buffer.from([0x40]), noise(60)]), 16)]),
  seed(
    'recorded datagrams',
    datagrams.map((datagram) => piece(datagram)),
  ),
];

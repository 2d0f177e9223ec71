import assert from 'node:assert/strict';
import {
  FrameType as Http3FrameType,
  frameHead,
  readFirstVarint,
} from '../../../packages/http/src/http3/frames.ts';
import {
  createDecoder,
  requestFraming,
  responseFraming,
  parseRequestHead,
  parseResponseHead,
  parseStrictResponseHead,
  readHead,
  startsRequest,
  startsResponse,
} from '@weir/http/http1';
import { HpackDecoder, HpackEncoder } from '../../../packages/http/src/http2/hpack.ts';
import {
  ControlReader,
  encodeSettings,
  ownSettings,
} from '../../../packages/http/src/http3/connection.ts';
import { http3ErrorName } from '../../../packages/http/src/http3/errors.ts';
import { BUFFERED_FIELDS_LIMIT, DECODER_TABLE_BYTES } from '../../../packages/http/src/limits.ts';
import {
  decodeHeaderBlock,
  InstructionReader,
  encodeHeaderBlock,
} from '../../../packages/http/src/http3/qpack.ts';
import {
  FieldBudget,
  Http3RequestReader,
  Http3ResponseReader,
} from '../../../packages/http/src/http3/request-stream.ts';
import { MuxFrameDecoder } from '../../../packages/proxy/src/mux/frame.ts';
import {
  frame as dnsFrame,
  FramedMessageReader,
} from '../../../packages/proxy/src/dns/exchanges/exchange.ts';
import { HunkDecoder, encodeHunks } from '../../../packages/proxy/src/transports/grpc/hunks.ts';
import { frameHeader, Opcode, WsFrameDecoder } from '@weir/proxy/websocket';
import { parseHead } from '../../../packages/server/src/api/http/request-filter.ts';
import { EventReader } from '../../../packages/client/src/client/event-reader.ts';
import { Core, corePair, exchange, REQUEST } from '../../support/http2/core.ts';
import {
  CLIENT_START,
  frame,
  requestFrame,
  settingsFrame,
  uint32,
} from '../../support/http2/raw-frames.ts';
import {
  addressed,
  END,
  FAILED,
  frame as muxFrame,
  KEEP,
  KEEP_ALIVE,
  NEW,
} from '../../support/peers/mux-client.ts';
import { readFromLink, sameHoweverSplit, shown } from './stream-outcome.ts';
import { chunksOf, hex, textSamples, type FuzzTarget } from './target.ts';

const SITE = { host: 'a.example', port: 80 };
const REQUEST_HEADS = textSamples(
  'GET http://a.example/x?y HTTP/1.1\r\nHost: a.example\r\nProxy-Connection: keep-alive\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 5\r\n\r\nhello',
  'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
  'CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nProxy-Authorization: Basic YTpi\r\n\r\n',
  'OPTIONS * HTTP/1.0\r\nMax-Forwards: 0\r\n\r\n',
);
const RESPONSE_HEADS = textSamples(
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello',
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
  'HTTP/1.0 404 \r\nContent-Type : text/html\r\n folded\r\n\r\n',
  'HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n3\r\nabc\r\n0\r\nX: y\r\n\r\n',
);

const http1Heads: FuzzTarget = {
  name: 'http1-heads',
  files: ['http/http1/head.ts', 'http/http1/message.ts', 'server/api/http/request-filter.ts'],
  samples: [...REQUEST_HEADS, ...RESPONSE_HEADS],
  share: 1,
  run: (input, random) => {
    switch (random.below(4)) {
      case 0:
        requestFraming(parseRequestHead(input));
        return;
      case 1:
        responseFraming(parseResponseHead(input), 'GET');
        return;
      case 2:
        parseStrictResponseHead(input, 20);
        return;
      default:
        parseHead(input, random.below(input.length + 1));
    }
  },
};

const http1Streams: FuzzTarget = {
  name: 'http1-streams',
  files: ['http/http1/read-head.ts', 'http/http1/message.ts'],
  samples: [...REQUEST_HEADS, ...RESPONSE_HEADS],
  share: 0.3,
  run: (input, random) =>
    readFromLink(input, random, 1, async (_reader, link) => {
      const starts = input.length % 2 === 0 ? startsRequest : startsResponse;
      const head = await readHead(link, starts, undefined, 400);
      return head && shown(head.bytes);
    }),
};

const http1Bodies: FuzzTarget = {
  name: 'http1-bodies',
  files: ['http/http1/body.ts'],
  samples: textSamples(
    '5\r\nhello\r\n0\r\n\r\n',
    'A;x="y"\r\n0123456789\r\n1 \r\nz\r\n0\r\nX-A: b\r\nX-C: d\r\n\r\n',
    '0010\r\n0123456789abcdef\r\n000\r\n\r\n',
  ),
  share: 1,
  run: (input, random) =>
    sameHoweverSplit(input, random, (chunks, found) => {
      const decoder = createDecoder({ kind: 'chunked' });
      const out: Uint8Array[] = [];
      let used = 0;
      for (const chunk of chunks) {
        if (!decoder.done) used += decoder.push(chunk, out);
      }
      decoder.end();
      found.push(shown(Buffer.concat(out)), String(used));
      for (const { name, value } of decoder.trailers) found.push(`${name}=${value}`);
    }),
};

/** HTTP/2 of a client: preface, SETTINGS, and frames that a server may get. */
const HTTP2_CLIENT: readonly Uint8Array[] = [
  Buffer.concat([CLIENT_START, requestFrame(1), frame(0, 1, 1, Buffer.from('data'))]),
  Buffer.concat([
    CLIENT_START,
    settingsFrame([1, 0], [3, 10], [4, 70_000], [5, 20_000]),
    requestFrame(1),
    frame(8, 0, 0, uint32(1000)),
    frame(8, 0, 1, uint32(1)),
    frame(6, 0, 0, Buffer.alloc(8, 1)),
    requestFrame(3),
    frame(3, 0, 1, uint32(8)),
    frame(2, 0, 3, Buffer.alloc(5)),
    frame(7, 0, 0, Buffer.alloc(8)),
  ]),
  Buffer.concat([
    CLIENT_START,
    frame(1, 0, 1, requestFrame(1).subarray(9, 30)),
    frame(9, 4, 1, requestFrame(1).subarray(30)),
    frame(0, 8, 1, Buffer.from('\u0003abc\0\0\0')),
    frame(1, 5, 1, Buffer.from('00017801 79'.replace(' ', ''), 'hex')),
  ]),
];

const http2Server: FuzzTarget = {
  name: 'http2-server',
  files: [
    'http/http2/connection.ts',
    'http/http2/frame-reader.ts',
    'http/http2/streams.ts',
    'http/http2/fields.ts',
    'http/http2/settings.ts',
    'http/http2/frames.ts',
  ],
  samples: HTTP2_CLIENT,
  share: 0.25,
  run: (input, random) => {
    const core = new Core();
    const bytes = random.chance(0.3) ? Buffer.concat([CLIENT_START, input]) : input;
    for (const chunk of chunksOf(bytes, random)) {
      if (core.isEnded) break;
      core.now += random.below(100);
      core.receive(chunk);
      core.send();
      for (const request of core.requests) {
        if (!request.end && random.chance(0.2)) request.write(random.bytes(random.below(2000)));
      }
    }
  },
};

const http2Client: FuzzTarget = {
  name: 'http2-client',
  files: ['http/http2/stream.ts'],
  samples: [
    ...HTTP2_CLIENT.map((bytes) => bytes.subarray(24)),
    Buffer.concat([settingsFrame(), frame(1, 4, 1, hex('88')), frame(0, 0, 1, Buffer.from('x'))]),
    Buffer.concat([frame(1, 5, 1, hex('88')), frame(5, 4, 1, hex('0000000288'))]),
  ],
  share: 0.2,
  run: (input, random) => {
    const { client, server } = corePair();
    const call = client.request(REQUEST);
    call.write('x'.repeat(random.below(3000)));
    exchange(client, server);
    for (const chunk of chunksOf(input, random)) {
      if (client.isEnded) break;
      client.receive(chunk);
      client.send();
    }
  },
};

const FIELDS = [
  { name: ':method', value: 'POST' },
  { name: ':path', value: '/hysteria/auth?x=é' },
  { name: 'hysteria-auth', value: 'secret' },
  { name: 'x'.repeat(40), value: 'y'.repeat(60) },
  { name: ':status', value: '233' },
];

const hpack: FuzzTarget = {
  name: 'hpack',
  files: ['http/http2/hpack.ts', 'http/fields/literals.ts'],
  samples: [
    ...HTTP2_CLIENT.map((bytes) => bytes.subarray(33 + 9, 100)),
    hex('828684410f7777772e6578616d706c652e636f6d'),
    hex('828684418cf1e3c2e5f23a6ba0ab90f4ff 58086e6f2d6361636865'),
    hex('3fe11f 4088 25a849e95ba97d7f 8925a849e95bb8e8b4bf'),
    hpackSample(),
  ],
  share: 1,
  run: (input, random) => {
    const decoder = new HpackDecoder();
    for (const block of [...chunksOf(input, random), input]) {
      decoder.decode(block);
      assert.ok(decoder.tableSize <= DECODER_TABLE_BYTES);
    }
  },
};

function hpackSample(): Uint8Array {
  return Uint8Array.from(new HpackEncoder().encode(FIELDS));
}

const http3Frame = (type: number, payload: Uint8Array): Buffer =>
  Buffer.concat([frameHead(type, payload.length), payload]);

const HEADERS3 = http3Frame(Http3FrameType.HEADERS, encodeHeaderBlock(FIELDS.slice(0, 4)));

const http3Streams: FuzzTarget = {
  name: 'http3-streams',
  files: [
    'http/http3/frames.ts',
    'http/http3/connection.ts',
    'http/http3/request-stream.ts',
    'http/http3/message.ts',
    'http/http3/qpack.ts',
  ],
  samples: [
    http3Frame(Http3FrameType.SETTINGS, encodeSettings(ownSettings('client'))),
    hex('04 06 0600 0700 0801 07 01 04 0d 01 05'),
    Buffer.concat([HEADERS3, http3Frame(Http3FrameType.DATA, Buffer.from('body')), HEADERS3]),
    hex('01 12 0000 d1 d7 50 86 9fd2125b0c3f 51 84 6076a67f 00 03 616263'),
    hex('01 03 0000 d9 00 01 61'),
    hex('21 04 01020304 3f 40 80 00'),
  ],
  share: 1,
  run: (input, random) => {
    const kind = random.below(6);
    sameHoweverSplit(input, random, (chunks, found) => {
      const reader = http3Reader(kind);
      for (const chunk of chunks) {
        const error = reader.feed(chunk);
        if (!error) continue;
        found.push(`${error.scope} ${http3ErrorName(error.code)}`);
        return;
      }
    });
  },
};

function http3Reader(kind: number) {
  switch (kind) {
    case 0:
      return new ControlReader('server');
    case 1:
      return new ControlReader('client');
    case 2:
      return new InstructionReader('encoder');
    case 3:
      return new InstructionReader('decoder');
    case 4:
      return new Http3RequestReader(new FieldBudget(BUFFERED_FIELDS_LIMIT));
    default:
      return new Http3ResponseReader(new FieldBudget(BUFFERED_FIELDS_LIMIT));
  }
}

const qpack: FuzzTarget = {
  name: 'qpack',
  files: ['http/http3/qpack.ts'],
  samples: [encodeHeaderBlock(FIELDS), hex('0000 d1 d7 50 86 9fd2125b0c3f 51 84 6076a67f')],
  share: 1,
  run: (input) => {
    decodeHeaderBlock(input);
  },
};

const http3Types: FuzzTarget = {
  name: 'http3-stream-types',
  files: ['http/http3/frames.ts'],
  samples: [hex('00'), hex('02'), hex('4021'), hex('8000 0401'), hex('c000000000000001')],
  share: 0.2,
  run: (input, random) =>
    readFromLink(input, random, 1, async (_reader, link) => {
      await readFirstVarint(link);
      return '';
    }),
};

const mux: FuzzTarget = {
  name: 'mux',
  files: ['proxy/mux/frame.ts'],
  samples: [
    muxFrame(1, NEW, 'hello', addressed('tcp', SITE)),
    muxFrame(
      2,
      NEW,
      undefined,
      addressed('udp', { host: '2001:db8::7', port: 53 }, Buffer.alloc(8, 1)),
    ),
    muxFrame(1, KEEP, 'x'.repeat(60)),
    muxFrame(2, KEEP, '', addressed('udp', SITE)),
    muxFrame(1, END, undefined, undefined, FAILED),
    muxFrame(9, KEEP_ALIVE, 'pad'),
  ],
  share: 1,
  run: (input, random) =>
    sameHoweverSplit(input, random, (chunks, found) => {
      const decoder = new MuxFrameDecoder();
      let data = '';
      for (const chunk of chunks) {
        for (const event of decoder.decode(chunk)) {
          if (event.kind === 'header') found.push(JSON.stringify(event));
          else {
            data += shown(event.bytes);
            if (!event.last) continue;
            found.push(data);
            data = '';
          }
        }
      }
    }),
};

const wsFrame = (opcode: number, payload: string, key?: Uint8Array): Buffer => {
  const bytes = Buffer.from(payload);
  return Buffer.concat([frameHeader(opcode, bytes.length, key), bytes]);
};
const KEY = Buffer.of(1, 2, 3, 4);

const webSocket: FuzzTarget = {
  name: 'websocket-frames',
  files: ['proxy/transports/ws/frames.ts'],
  samples: [
    wsFrame(Opcode.binary, 'hello', KEY),
    wsFrame(Opcode.binary, 'x'.repeat(130), KEY),
    wsFrame(Opcode.ping, 'p', KEY),
    wsFrame(Opcode.close, '\u0003\u00e8', KEY),
    wsFrame(Opcode.binary, 'from a server'),
    wsFrame(Opcode.pong, ''),
  ],
  share: 1,
  run: (input, random) => {
    const masked = random.chance(0.7);
    sameHoweverSplit(input, random, (chunks, found) => {
      const decoder = new WsFrameDecoder(masked);
      const most = 1 + random.below(4);
      let data = '';
      for (const chunk of chunks) {
        for (let rest: Uint8Array | undefined = chunk; rest; rest = decoder.rest) {
          for (const event of decoder.push(rest, most)) {
            if (event.kind === 'data') data += shown(event.data);
            else found.push(event.kind === 'invalid' ? event.error.message : event.kind);
          }
          assert.ok(decoder.frames <= most);
        }
      }
      found.push(data);
    });
  },
};

const hunks: FuzzTarget = {
  name: 'grpc-hunks',
  files: ['proxy/transports/grpc/hunks.ts'],
  samples: [
    Buffer.concat(encodeHunks(Buffer.from('hello'))),
    Buffer.concat(encodeHunks(Buffer.alloc(300, 1))),
    hex('00 00000005 1202 6869 0a 00'),
    hex('00 00000006 0802 0a02 6869'),
  ],
  share: 1,
  run: (input, random) =>
    sameHoweverSplit(input, random, (chunks, found) => {
      const decoder = new HunkDecoder();
      let data = '';
      for (const chunk of chunks) for (const piece of decoder.push(chunk)) data += shown(piece);
      found.push(data, String(decoder.atBoundary));
    }),
};

const dnsStreams: FuzzTarget = {
  name: 'dns-streams',
  files: ['proxy/dns/exchanges/exchange.ts'],
  samples: [dnsFrame(Buffer.alloc(30, 7)), dnsFrame(Buffer.alloc(0))],
  share: 0.2,
  run: (input, random) =>
    readFromLink(input, random, 1, async (_reader, link) => {
      const reader = new FramedMessageReader(link);
      for (;;) await reader.next();
    }),
};

const events: FuzzTarget = {
  name: 'server-sent-events',
  files: ['client/client/event-reader.ts'],
  samples: textSamples(
    'event: flow\ndata: {"id":1}\n\n',
    ': comment\n\nevent: x\nid: 3\ndata: y\ndata: z\n\n',
  ),
  share: 1,
  run: (input, random) =>
    sameHoweverSplit(input, random, (chunks, found) => {
      const reader = new EventReader();
      for (const chunk of chunks) {
        for (const event of reader.push(shown(chunk))) found.push(`${event.event} ${event.data}`);
      }
    }),
};

/** Decoders of streams that do not depend on a key. */
export const STREAMS: readonly FuzzTarget[] = [
  http1Heads,
  http1Streams,
  http1Bodies,
  http2Server,
  http2Client,
  hpack,
  http3Streams,
  http3Types,
  qpack,
  mux,
  webSocket,
  hunks,
  dnsStreams,
  events,
];

import { isDeepStrictEqual } from 'node:util';
import assert from 'node:assert/strict';
import { field, MessageError } from '@weir/http/http1';
import {
  decodeAddressed,
  decodeAddressField,
  encodeAddressField,
  type Endpoint,
  SOCKS_ADDRESS,
  V2RAY_ADDRESS,
} from '@weir/io/addresses';
import { ProtocolError } from '@weir/io';
import { atOnce } from '@weir/io/time';
import { createOpener } from '@weir/crypto/aead';
import { METHODS } from '@weir/proxy/protocols/shadowsocks/methods';
import { accountOf } from '../../../packages/proxy/src/protocols/http/responses.ts';
import { hopsLeft } from '../../../packages/proxy/src/protocols/http/forwarding/forwarded-heads.ts';
import {
  parseHost,
  parseRequestTarget,
} from '../../../packages/proxy/src/protocols/http/request-target.ts';
import { Salamander } from '../../../packages/proxy/src/protocols/hysteria2/salamander.ts';
import { MessageReassembly } from '../../../packages/proxy/src/protocols/hysteria2/udp-sessions.ts';
import {
  decodeUdpMessage,
  encodeTcpRequest,
  encodeTcpResponse,
  encodeUdpMessage,
  parseHostPort,
  readTcpRequest,
  readTcpResponse,
} from '../../../packages/proxy/src/protocols/hysteria2/wire.ts';
import {
  ChunkOpener,
  ChunkSealer,
} from '../../../packages/proxy/src/protocols/shadowsocks/chunks.ts';
import { readMessage } from '../../../packages/proxy/src/protocols/shadowsocks/edition-2022/datagrams.ts';
import {
  decodeRequestFixed,
  decodeRequestVariable,
  decodeResponseFixed,
  encodeRequestFixed,
  encodeRequestVariable,
  writeStamp,
} from '../../../packages/proxy/src/protocols/shadowsocks/edition-2022/wire.ts';
import { readSocksRequest } from '../../../packages/proxy/src/protocols/socks/inbound.ts';
import { UdpFraming } from '../../../packages/proxy/src/protocols/socks/association.ts';
import {
  encodeCredentials,
  encodeOffer,
  encodeReply,
  encodeRequest as encodeSocksRequest,
} from '../../../packages/proxy/src/protocols/socks/wire.ts';
import {
  encodeRequest as encodeTrojanRequest,
  KEY_BYTES,
  MAX_TROJAN_REQUEST,
  readTrojanRequest,
  TrojanFraming,
} from '../../../packages/proxy/src/protocols/trojan/wire.ts';
import { AccountTable } from '../../../packages/proxy/src/protocols/users/account-table.ts';
import {
  encodeRequest as encodeVlessRequest,
  ID_BYTES,
  MAX_VLESS_REQUEST,
  readVlessRequest,
  requestPrefix,
  VlessFraming,
} from '../../../packages/proxy/src/protocols/vless/wire.ts';
import {
  BodyOpener,
  BodySealer,
} from '../../../packages/proxy/src/protocols/vmess/body/body-chunks.ts';
import { requestKeys } from '../../../packages/proxy/src/protocols/vmess/body/body-keys.ts';
import { userKey } from '../../../packages/proxy/src/protocols/vmess/header/header-seal.ts';
import {
  MAX_REQUEST,
  readRequest as readVmessRequest,
  RequestSealer,
} from '../../../packages/proxy/src/protocols/vmess/header/request.ts';
import {
  ResponseDecoder,
  sealResponse,
} from '../../../packages/proxy/src/protocols/vmess/header/response.ts';
import {
  decodeRequest as decodeVmessRequest,
  encodeRequest as encodeVmessRequest,
  fnv1a,
  type RequestHeader,
} from '../../../packages/proxy/src/protocols/vmess/wire.ts';
import { KnownRandom } from '../../support/known-random.ts';
import { ID } from '../../support/protocols/vmess/harness.ts';
import { readFromLink, sameHoweverSplit, shown } from './stream-outcome.ts';
import { type FuzzTarget, hex, textSamples } from './target.ts';
import {
  makeRequest,
  requestFromServer,
} from '../../../packages/proxy/src/protocols/socks/outbound.ts';
import { ResponseLink } from '../../../packages/proxy/src/protocols/vless/outbound.ts';

const SITE: Endpoint = { host: 'a.example', port: 443 };
const V6: Endpoint = { host: '2001:db8::1', port: 53 };
const V4: Endpoint = { host: '192.0.2.1', port: 80 };
const known = new KnownRandom();
const ACCOUNTS = atOnce(AccountTable.of([{ user: 'ann', pass: 'secret' }]));

/** What a codec makes of a valid argument. */
function made<T>(value: T | undefined): T {
  assert.ok(value !== undefined);
  return value;
}

const ADDRESSES = [SITE, V6, V4].flatMap((endpoint) =>
  [SOCKS_ADDRESS, V2RAY_ADDRESS].map((format) => made(encodeAddressField(endpoint, format))),
);

const addresses: FuzzTarget = {
  name: 'address-fields',
  files: ['io/net/addresses/address-field.ts', 'io/net/addresses/addresses.ts'],
  samples: ADDRESSES,
  share: 1,
  run: (input, random) => {
    const format = random.chance(0.5) ? SOCKS_ADDRESS : V2RAY_ADDRESS;
    const found = decodeAddressField(input, random.below(3), format);
    decodeAddressed(input, 0, format);
    if (!found?.endpoint) return;
    // What was read can be written, and is read as the same.
    const again = decodeAddressField(made(encodeAddressField(found.endpoint, format)), 0, format);
    assert.ok(isDeepStrictEqual(again?.endpoint, found.endpoint));
  },
};

const socksServer: FuzzTarget = {
  name: 'socks-server',
  files: ['proxy/protocols/socks/inbound.ts', 'proxy/protocols/socks/wire.ts'],
  samples: [
    Buffer.concat([encodeOffer(0), made(encodeSocksRequest(1, SITE))]),
    Buffer.concat([
      encodeOffer(2),
      encodeCredentials('ann', 'secret'),
      made(encodeSocksRequest(3, V6)),
    ]),
    hex('04 01 0050 00000001 6100 612e6578616d706c6500'),
    hex('04 01 0050 c0000201 00'),
  ],
  share: 0.2,
  run: (input, random) => {
    const accounts = random.chance(0.5) ? ACCOUNTS : undefined;
    return readFromLink(input, random, 1024, (reader) =>
      readSocksRequest({ reader, send: () => Promise.resolve() }, accounts),
    );
  },
};

const socksClient: FuzzTarget = {
  name: 'socks-client',
  files: ['proxy/protocols/socks/outbound.ts', 'proxy/protocols/socks/wire.ts'],
  samples: [
    Buffer.concat([hex('0500'), encodeReply(5, 0, V4)]),
    Buffer.concat([hex('0502 0100'), encodeReply(5, 0, V6)]),
    Buffer.concat([hex('0500'), encodeReply(5, 5)]),
  ],
  share: 0.2,
  run: (input, random) => {
    const account = random.chance(0.5) ? { user: 'ann', pass: 'secret' } : undefined;
    return readFromLink(input, random, 1024, async (reader) => {
      await requestFromServer(
        { reader, send: () => Promise.resolve() },
        account,
        makeRequest(1, SITE),
      );
      return '';
    });
  },
};

const socksUdp: FuzzTarget = {
  name: 'socks-udp',
  files: ['proxy/protocols/socks/association.ts'],
  samples: [SITE, V4, V6].map((peer) =>
    made(new UdpFraming().encode({ data: Buffer.from('data'), peer })),
  ),
  share: 1,
  run: (input, random) => {
    const framing = new UdpFraming();
    const first = framing.decode(Buffer.from(input));
    const found = framing.decode(input);
    assert.ok(
      isDeepStrictEqual(
        first && { ...first, data: shown(first.data) },
        found && { ...found, data: shown(found.data) },
      ),
    );
    if (found && random.chance(0.2)) assert.ok(framing.encode(found));
  },
};

const TROJAN_KEY = Buffer.alloc(KEY_BYTES, 'a');

const trojanRequest: FuzzTarget = {
  name: 'trojan-request',
  files: ['proxy/protocols/trojan/wire.ts'],
  samples: [SITE, V4, V6].map((to) =>
    made(encodeTrojanRequest(TROJAN_KEY, 1, to)).subarray(KEY_BYTES),
  ),
  share: 0.2,
  run: (input, random) => readFromLink(input, random, MAX_TROJAN_REQUEST, readTrojanRequest),
};

const trojanPackets: FuzzTarget = {
  name: 'trojan-packets',
  files: ['proxy/protocols/trojan/wire.ts'],
  samples: [SITE, V4, V6].map((peer) =>
    Buffer.concat([...made(new TrojanFraming().encode({ data: Buffer.from('some data'), peer }))]),
  ),
  share: 1,
  run: (input, random) =>
    sameHoweverSplit(input, random, (chunks, found) => {
      const framing = new TrojanFraming();
      for (const chunk of chunks) {
        for (const packet of framing.decode(chunk)) {
          found.push(
            packet ? `${packet.peer.host} ${packet.peer.port} ${shown(packet.data)}` : 'none',
          );
        }
      }
    }),
};

const vlessRequest: FuzzTarget = {
  name: 'vless-request',
  files: ['proxy/protocols/vless/wire.ts'],
  samples: [
    ...[SITE, V4, V6].map((to) =>
      made(encodeVlessRequest(requestPrefix(Buffer.alloc(16), 1), to)).subarray(1 + ID_BYTES),
    ),
    hex('12 0a10 78746c732d727072782d766973696f6e 01'),
    hex('00 03'),
  ],
  share: 0.2,
  run: (input, random) => readFromLink(input, random, MAX_VLESS_REQUEST, readVlessRequest),
};

const vlessPackets: FuzzTarget = {
  name: 'vless-packets',
  files: ['proxy/protocols/vless/wire.ts'],
  samples: [hex('0003 616263 0000 0001 64')],
  share: 1,
  run: (input, random) =>
    sameHoweverSplit(input, random, (chunks, found) => {
      const framing = new VlessFraming(SITE);
      for (const chunk of chunks) {
        for (const { data } of framing.decode(chunk)) found.push(shown(data));
      }
    }),
};

const vlessResponse: FuzzTarget = {
  name: 'vless-response',
  files: ['proxy/protocols/vless/outbound.ts'],
  samples: [hex('0000 616263'), hex('0002 0a00 616263')],
  share: 0.2,
  run: (input, random) =>
    readFromLink(input, random, 1, async (_reader, link) => {
      const response = new ResponseLink(link);
      while (await response.read());
      return '';
    }),
};

const VMESS_HEADER: RequestHeader = {
  iv: Buffer.alloc(16, 1),
  key: Buffer.alloc(16, 2),
  answer: 3,
  options: 0x0d,
  security: 3,
  request: { command: 1, destination: SITE },
};
const VMESS_HEADERS: readonly RequestHeader[] = [
  VMESS_HEADER,
  { ...VMESS_HEADER, options: 0x1d, security: 4, request: { command: 2, destination: V6 } },
  { ...VMESS_HEADER, request: { command: 3 } },
];
const VMESS_KEY = userKey(ID);

/** Puts the sum after a header, so that what is mutated is not rejected for it alone. */
function withSum(plain: Buffer): Buffer {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(fnv1a(plain));
  return Buffer.concat([plain, sum]);
}

const vmessHeader: FuzzTarget = {
  name: 'vmess-header',
  files: ['proxy/protocols/vmess/wire.ts'],
  samples: VMESS_HEADERS.map((header) =>
    made(encodeVmessRequest(header, known.bytes(5))).subarray(0, -4),
  ),
  share: 1,
  run: (input, random) => {
    decodeVmessRequest(random.chance(0.9) ? withSum(input) : input);
  },
};

const vmessRequest: FuzzTarget = {
  name: 'vmess-request',
  files: ['proxy/protocols/vmess/header/request.ts', 'proxy/protocols/vmess/header/header-seal.ts'],
  samples: VMESS_HEADERS.map((header) =>
    made(new RequestSealer(VMESS_KEY, known).seal(header, 1e9)),
  ),
  share: 0.05,
  run: (input, random) =>
    readFromLink(input, random, MAX_REQUEST, (reader) =>
      readVmessRequest(reader, () => Promise.resolve(VMESS_KEY)),
    ),
};

const sealedBody = (header: RequestHeader): Uint8Array => {
  using sealer = new BodySealer(requestKeys(header), known);
  return Buffer.concat([
    sealer.stream(Buffer.from('hello')),
    sealer.stream(Buffer.alloc(300, 1)),
    sealer.end(),
  ]);
};

const vmessBody: FuzzTarget = {
  name: 'vmess-body',
  files: ['proxy/protocols/vmess/body/body-chunks.ts'],
  samples: [sealedBody(VMESS_HEADER)],
  share: 0.1,
  run: (input, random) =>
    sameHoweverSplit(input, random, (chunks, found) => {
      using opener = new BodyOpener(requestKeys(VMESS_HEADER));
      let data = '';
      try {
        for (const chunk of chunks) data += shown(opener.push(chunk));
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error;
        // The next length is read before the chunks of a turn are opened: either fault may be first.
        throw new ProtocolError('the body is not authentic', { cause: error });
      }
      found.push(data);
    }),
};

const RESPONSE = { ...VMESS_HEADER, answer: 3 };

const vmessResponse: FuzzTarget = {
  name: 'vmess-response',
  files: ['proxy/protocols/vmess/header/response.ts'],
  samples: [sealResponse(RESPONSE)],
  share: 0.05,
  run: (input, random) =>
    sameHoweverSplit(input, random, (chunks, found) => {
      using decoder = new ResponseDecoder(RESPONSE);
      let data = '';
      for (const chunk of chunks) data += shown(decoder.push(chunk));
      found.push(data);
    }),
};

const WALL = Date.UTC(2026, 0, 1);
const SS2022 = METHODS['2022-blake3-aes-256-gcm'];
const SUBKEY = Buffer.alloc(SS2022.keyLength, 6);

const shadowsocksHeaders: FuzzTarget = {
  name: 'shadowsocks-headers',
  files: [
    'proxy/protocols/shadowsocks/edition-2022/wire.ts',
    'proxy/protocols/shadowsocks/edition-2022/datagrams.ts',
  ],
  samples: [
    encodeRequestFixed(WALL, 40),
    encodeRequestVariable(
      made(encodeAddressField(SITE, SOCKS_ADDRESS)),
      Buffer.alloc(9),
      Buffer.from('p'),
    ),
    Buffer.concat([
      hex('00 0000000000000000 0003 000000'),
      made(encodeAddressField(V4, SOCKS_ADDRESS)),
      hex('64'),
    ]),
  ],
  share: 1,
  run: (input, random) => {
    const isStamped = random.chance(0.8) && input.length >= 9;
    if (isStamped) writeStamp(input, random.below(2), WALL);
    switch (random.below(4)) {
      case 0:
        if (input.length >= 11) decodeRequestFixed(input.subarray(0, 11), WALL);
        return;
      case 1:
        if (input.length >= 43)
          decodeResponseFixed(input.subarray(0, 43), WALL, input.subarray(9, 41));
        return;
      case 2:
        decodeRequestVariable(input);
        return;
      default: {
        const clientSession = random.chance(0.5) ? input.subarray(9, 17) : undefined;
        const packet = readMessage(input, 0, { wallMs: WALL, clientSession });
        assert.ok(!packet || packet.data.length < input.length);
      }
    }
  },
};

const sealedChunks = (): Uint8Array => {
  using sealer = new ChunkSealer(SS2022, SUBKEY);
  const pieces = [Buffer.from('hello'), Buffer.alloc(200, 3)];
  const out = Buffer.alloc(
    pieces.reduce((sum, { length }) => sum + sealer.sealedLength(length), 0),
  );
  let at = 0;
  for (const piece of pieces) at = sealer.payload(piece, out, at);
  return out;
};

const shadowsocksChunks: FuzzTarget = {
  name: 'shadowsocks-chunks',
  files: ['proxy/protocols/shadowsocks/chunks.ts'],
  samples: [sealedChunks()],
  share: 0.1,
  run: (input, random) =>
    sameHoweverSplit(input, random, (chunks, found) => {
      using opener = new ChunkOpener(SS2022, createOpener(SS2022.aead, SUBKEY));
      let data = '';
      for (const chunk of chunks) data += shown(opener.push(chunk));
      found.push(data, String(opener.atBoundary));
    }),
};

const hysteriaStreams: FuzzTarget = {
  name: 'hysteria2-streams',
  files: ['proxy/protocols/hysteria2/wire.ts'],
  samples: [
    encodeTcpRequest('a.example:443', known).subarray(2),
    encodeTcpRequest('[2001:db8::1]:53', known).subarray(2),
    encodeTcpResponse({ ok: true, message: '' }, known),
    encodeTcpResponse({ ok: false, message: 'connection refused' }, known),
  ],
  share: 0.2,
  run: (input, random) =>
    input.length % 2 === 0
      ? readFromLink(input, random, 8192, async (reader) =>
          parseHostPort(await readTcpRequest(reader)),
        )
      : readFromLink(input, random, 8192, readTcpResponse),
};

const udpMessage = (fragmentId: number, fragmentCount: number): Uint8Array =>
  encodeUdpMessage({
    sessionId: 0x8000_0001,
    packetId: 7,
    fragmentId,
    fragmentCount,
    address: Buffer.from('a.example:443'),
    data: Buffer.from('data'),
  });

const reassembly = new MessageReassembly();

const hysteriaDatagrams: FuzzTarget = {
  name: 'hysteria2-datagrams',
  files: ['proxy/protocols/hysteria2/udp-sessions.ts'],
  samples: [udpMessage(0, 1), udpMessage(0, 3), udpMessage(1, 3), udpMessage(2, 3)],
  share: 1,
  run: (input) => {
    const message = decodeUdpMessage(input);
    if (!message) return;
    assert.ok(message.data.length > 0 && message.data.length < input.length);
    const { address, data } = message;
    if (!address.includes('\ufffd')) {
      const again = decodeUdpMessage(
        encodeUdpMessage({ ...message, address: Buffer.from(address) }),
      );
      assert.deepEqual(
        { ...again, data: Buffer.from(made(again).data) },
        { ...message, data: Buffer.from(data) },
      );
    }
    parseHostPort(address);
    const whole = reassembly.add(message);
    assert.ok(!whole || whole.fragmentCount <= 1);
  },
};

const salamander = new Salamander('secret', known);

const obfuscation: FuzzTarget = {
  name: 'salamander',
  files: ['proxy/protocols/hysteria2/salamander.ts'],
  samples: [Buffer.alloc(1200, 5), Buffer.alloc(9, 5)],
  share: 0.5,
  longest: 1500,
  run: (input, random) => {
    const at = random.below(8);
    const memory = Buffer.alloc(input.length + 24);
    const length = salamander.seal(input, memory, at);
    const opened = salamander.open(memory.subarray(at, at + length));
    assert.ok(opened ? input.equals(opened) : input.length === 0);
    salamander.open(input);
  },
};

const httpRequests: FuzzTarget = {
  name: 'http-proxy-requests',
  files: [
    'proxy/protocols/http/request-target.ts',
    'proxy/protocols/http/responses.ts',
    'proxy/protocols/http/forwarding/forwarded-heads.ts',
  ],
  samples: textSamples(
    'http://a.example:8080/x?y',
    'a.example:443',
    '[2001:db8::1]:443',
    '*',
    'http://user@h/',
    'Basic YW5uOnNlY3JldA==',
    '12',
  ),
  share: 1,
  run: (input, random) => {
    const text = shown(input);
    const method = ['GET', 'CONNECT', 'OPTIONS', 'TRACE'][random.below(4)] ?? 'GET';
    accountOf([field('Proxy-Authorization', text)], ACCOUNTS);
    for (const read of [
      () => parseRequestTarget(method, text),
      () => parseHost(text),
      () =>
        hopsLeft({
          method,
          target: '*',
          version: '1.1',
          fields: [field('Max-Forwards', text)],
        }),
    ]) {
      try {
        read();
      } catch (error) {
        if (!(error instanceof MessageError)) throw error;
      }
    }
  },
};

/** Requests, responses and datagrams of the protocols of `packages/proxy/src/protocols`. */
export const TUNNELS: readonly FuzzTarget[] = [
  addresses,
  socksServer,
  socksClient,
  socksUdp,
  trojanRequest,
  trojanPackets,
  vlessRequest,
  vlessPackets,
  vlessResponse,
  vmessHeader,
  vmessRequest,
  vmessBody,
  vmessResponse,
  shadowsocksHeaders,
  shadowsocksChunks,
  hysteriaStreams,
  hysteriaDatagrams,
  obfuscation,
  httpRequests,
];

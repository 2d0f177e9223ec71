import { atOnce } from '@weir/io/time';
import { BodySealer } from '../../../../packages/proxy/src/protocols/vmess/body/body-chunks.ts';
import { requestKeys } from '../../../../packages/proxy/src/protocols/vmess/body/body-keys.ts';
import { userKey } from '../../../../packages/proxy/src/protocols/vmess/header/header-seal.ts';
import { RequestSealer } from '../../../../packages/proxy/src/protocols/vmess/header/request.ts';
import { ResponseDecoder } from '../../../../packages/proxy/src/protocols/vmess/header/response.ts';
import {
  VmessInbound,
  VmessUsers,
} from '../../../../packages/proxy/src/protocols/vmess/inbound.ts';
import type { RequestHeader } from '../../../../packages/proxy/src/protocols/vmess/wire.ts';
import {
  type InboundClient,
  type InboundHarness,
  SILENCE,
  type User,
} from '../../../../packages/proxy/test/conformance/inbound/harness.ts';
import { KnownRandom } from '../../known-random.ts';
import type { Target } from './address.ts';

export const vmessIds: Readonly<Record<User, string>> = {
  ann: 'b8314fca25d94e0c9a1b1d3a5c7e9f10',
  bob: '00000000000040008000000000000001',
  eve: '00000000000040008000000000000002',
};
/** That of a ManualClock. */
const NOW = Date.UTC(2026, 0, 1) / 1000;

interface Terms {
  readonly options: number;
  readonly security: 3 | 4;
}

/** Request and body by the codecs whose vectors are in the tests of VMess: `transcripts`, `kdf`, `body`. */
class Client implements InboundClient {
  readonly #header: RequestHeader;
  readonly #request: Buffer;
  readonly #sealer: BodySealer;
  readonly end: (() => Uint8Array) | undefined;

  constructor(
    { options, security }: Terms,
    request: RequestHeader['request'],
    { user = 'ann', seed, seconds = NOW }: { user?: User; seed: string; seconds?: number },
  ) {
    const random = new KnownRandom(seed);
    const [iv, key] = [random.bytes(16), random.bytes(16)];
    this.#header = { iv, key, answer: 200, options, security, request };
    const sealed = new RequestSealer(userKey(vmessIds[user]), random).seal(this.#header, seconds);
    if (!sealed) throw new Error('a destination that does not fit');
    this.#request = sealed;
    this.#sealer = new BodySealer(requestKeys(this.#header), random);
    if ((options & 1) !== 0) this.end = () => this.#sealer.end();
  }

  first(payload: Uint8Array): Buffer {
    return Buffer.concat([this.#request, this.more(payload)]);
  }

  more(payload: Uint8Array): Uint8Array {
    if (payload.length === 0) return payload;
    return this.#header.request.command === 2
      ? this.#sealer.datagram(payload)
      : this.#sealer.stream(payload);
  }

  open(received: Buffer): ReturnType<InboundClient['open']> {
    const decoder = new ResponseDecoder(this.#header);
    const ends: number[] = [];
    const payload = decoder.push(received, ends);
    const datagrams = ends.map((end, i) => ({ data: payload.subarray(ends[i - 1] ?? 0, end) }));
    return { payload, ended: decoder.ended, datagrams };
  }
}

const encodable = ({ host, port }: Target): { host: string; port: number } | undefined =>
  typeof host === 'string' ? { host, port } : undefined;

/** Every way in which a client may have the body framed and sealed. */
export const vmess = (terms: Terms): InboundHarness => {
  const request = (seed: string, { seconds = NOW, options = terms.options } = {}): Buffer =>
    new Client(
      { ...terms, options },
      { command: 1, destination: { host: 'www.example', port: 80 } },
      { seed, seconds },
    ).first(Buffer.alloc(0));
  const changed = (at: number): Buffer => {
    const bytes = request(`changed at ${at}`);
    bytes.writeUInt8((bytes[at] ?? 0) ^ 1, at);
    return bytes;
  };
  return {
    create: (users, context) =>
      new VmessInbound(
        atOnce(
          VmessUsers.of(
            users.map((user) => ({ id: vmessIds[user] })),
            context,
          ),
        ),
        context,
        new KnownRandom('server'),
      ),
    label: () => undefined,
    client: (user, target, seed) => {
      const to = encodable(target);
      return to && new Client(terms, { command: 1, destination: to }, { user, seed });
    },
    rejected: { ...SILENCE, how: 'closed' },
    sealed: true,
    padded: (terms.options & 8) !== 0,
    secret: 42,
    runs: 10,
    rejections: [
      { name: 'noise', sends: Buffer.alloc(500, 0x55), error: /no user/ },
      ...[-121, 121].map((off) => ({
        name: `a clock that is off by ${off} s`,
        sends: request('late', { seconds: NOW + off }),
        error: /off by -?121 s/,
      })),
      { name: 'a changed length', sends: changed(20), error: /not authentic, or too long/ },
      { name: 'a changed header', sends: changed(60), error: /header .* not authentic/ },
      {
        name: 'padding without masking',
        sends: request('padding', { options: 9 }),
        error: /padding without masking/,
      },
    ],
    datagrams: {
      peers: 'one',
      longest: 60_000,
      invalid: [],
      client: (user, peer, seed) =>
        new Client(terms, { command: 2, destination: peer }, { user, seed }),
    },
  };
};

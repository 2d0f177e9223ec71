import { atOnce } from '@weir/io/time';
import {
  createVlessInbound,
  vlessUsers,
} from '../../../../packages/proxy/src/protocols/vless/inbound.ts';
import {
  SILENCE,
  type InboundHarness,
  type User,
} from '../../../../packages/proxy/test/conformance/inbound/harness.ts';
import { addressField } from './address.ts';
import { bytes } from './bytes.ts';

export const vlessIds: Readonly<Record<User, string>> = {
  ann: 'b831381d63244d53ad4f8cda48b30811',
  bob: 'a831381d63244d53ad4f8cda48b30811',
  eve: 'b831381d63244d53ad4f8cda48b30812',
};
const of = (rest: string): Buffer => bytes(`00 ${vlessIds.ann} ${rest}`);
const HEADER = bytes('00 00');

/** What follows the header of a response. */
function afterHeader(received: Buffer): Buffer {
  const header = received.subarray(0, HEADER.length);
  if (!HEADER.subarray(0, header.length).equals(header)) throw new Error('another header');
  return received.subarray(HEADER.length);
}

const counted = (data: Uint8Array): Buffer =>
  Buffer.concat([Buffer.of(data.length >> 8, data.length & 0xff), data]);

/** Xray-core, proxy/vless/encoding. */
export const vless: InboundHarness = {
  create: (users, context) =>
    createVlessInbound(
      atOnce(vlessUsers({ users: users.map((user) => ({ id: vlessIds[user] })) })),
      context,
    ),
  label: () => undefined,
  client: (user, destination) => ({
    first: (payload) =>
      Buffer.concat([
        bytes(`00 ${vlessIds[user]} 00 01`),
        addressField(destination, 'v2ray'),
        payload,
      ]),
    more: (payload) => payload,
    open: (received) => ({ payload: afterHeader(received) }),
  }),
  rejected: SILENCE,
  secret: 17,
  rejections: [
    { name: 'another version', sends: bytes(`01 ${vlessIds.ann} 00 01`), error: /unknown version/ },
    {
      name: 'a client of HTTP',
      sends: Buffer.from('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n'),
      error: /unknown version/,
    },
    {
      name: 'a flow',
      sends: of(`12 0a10 'xtls-rprx-vision' 01 0050 01 c0000207`),
      error: /a flow .*leave "flow" empty in the client$/,
    },
    { name: 'an unknown command', sends: of('00 04 0050 01 c0000207'), error: /unknown command 4/ },
    {
      name: 'an unknown type of address',
      sends: of('00 01 0050 04 c0000207'),
      error: /unknown address type/,
    },
  ],
  datagrams: {
    peers: 'one',
    longest: 65_535,
    invalid: [],
    client: (user, peer) => ({
      first: (data) =>
        Buffer.concat([
          bytes(`00 ${vlessIds[user]} 00 02`),
          addressField(peer, 'v2ray'),
          counted(data),
        ]),
      more: counted,
      open: (received) => {
        const payload = afterHeader(received);
        const datagrams = [];
        for (let at = 0; at < payload.length;) {
          const length = payload.readUInt16BE(at);
          datagrams.push({ data: payload.subarray(at + 2, at + 2 + length) });
          at += 2 + length;
        }
        return { payload, datagrams };
      },
    }),
  },
};

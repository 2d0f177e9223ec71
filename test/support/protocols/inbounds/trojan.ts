import { hash } from 'node:crypto';
import { atOnce } from '@weir/io/time';
import {
  createTrojanInbound,
  trojanUsers,
} from '../../../../packages/proxy/src/protocols/trojan/inbound.ts';
import {
  SILENCE,
  type DatagramClient,
  type InboundHarness,
  type User,
} from '../../../../packages/proxy/test/conformance/inbound/harness.ts';
import { addressField, decodeSocksAddress } from './address.ts';
import { bytes } from './bytes.ts';

export const trojanPasswords: Readonly<Record<User, string>> = {
  ann: 'correct horse',
  bob: 'ü€',
  eve: 'x',
};
const key = (user: User): string => hash('sha224', trojanPasswords[user], 'hex');
const KEY = key('ann');
const CRLF = bytes('0d0a');

const request = (user: User, command: number, address: Buffer): Buffer =>
  Buffer.concat([bytes(`'${key(user)}' 0d0a`), Buffer.of(command), address, CRLF]);

const datagram = (data: Uint8Array, address: Buffer): Buffer =>
  Buffer.concat([address, Buffer.of(data.length >> 8, data.length & 0xff), CRLF, data]);

/** https://trojan-gfw.github.io/trojan/protocol */
export const trojan: InboundHarness = {
  create: (users, context) => {
    const accounts = users.map((user) => ({
      password: trojanPasswords[user],
      email: user === 'bob' ? '' : user,
    }));
    return createTrojanInbound(atOnce(trojanUsers({ users: accounts })), context);
  },
  label: (user) => (user === 'bob' ? undefined : user),
  client: (user, destination) => ({
    first: (payload) =>
      Buffer.concat([request(user, 1, addressField(destination, 'socks')), payload]),
    more: (payload) => payload,
    open: (received) => ({ payload: received }),
  }),
  rejected: SILENCE,
  secret: KEY.length,
  rejections: [
    {
      name: 'a key in upper case',
      sends: bytes(`'${KEY.toUpperCase()}' 0d0a 01 01 7f000001 0050 0d0a`),
      error: /^trojan: invalid user$/,
    },
    {
      name: 'a client of HTTP',
      sends: Buffer.from(`GET / HTTP/1.1\r\nHost: a.example\r\nUser-Agent: probe/1.0\r\n\r\n`),
      error: /^trojan: invalid user$/,
    },
    ...(
      [
        ['a key without CRLF', '0d0d 01 01 7f000001 0050 0d0a', /CRLF/],
        ['an unknown command', '0d0a 02 01 7f000001 0050 0d0a', /unknown command 2/],
        ['an unknown type of address', '0d0a 01 02 7f000001', /unknown address type/],
        ['an address without CRLF', '0d0a 01 01 7f000001 0050 0a0a', /CRLF/],
      ] as const
    ).map(([name, rest, error]) => ({ name, sends: bytes(`'${KEY}' ${rest}`), error })),
  ],
  datagrams: {
    peers: 'any',
    longest: 8192,
    invalid: [bytes(`03 03 'a b' 0035 0001 0d0a 'x'`), bytes(`03 00 0035 0001 0d0a 'x'`)],
    client: (user, peer): DatagramClient => ({
      first: (data) => {
        const address = addressField(peer, 'socks');
        return Buffer.concat([request(user, 3, address), datagram(data, address)]);
      },
      more: (data, to) => datagram(data, addressField(to, 'socks')),
      open: (received) => {
        const datagrams = [];
        for (let at = 0; at < received.length;) {
          const { endpoint, end } = decodeSocksAddress(received, at);
          const length = received.readUInt16BE(end);
          const data = received.subarray(end + 4, end + 4 + length);
          datagrams.push({ data, peer: endpoint });
          at = end + 4 + length;
        }
        return { payload: Buffer.alloc(0), datagrams };
      },
    }),
  },
};

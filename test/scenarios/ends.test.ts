import { test } from 'node:test';
import { freedom, rule, socksIn } from '../support/process/config.ts';
import { ENDS, type EndName } from '../support/matrix/ends.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { TLS, wayTitle, WS_TLS, type Carrier, type Way } from '../support/ways/way.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import { Weir } from '../support/process/weir.ts';

const CARRIERS: readonly Carrier[] = [
  TLS,
  { network: 'ws' },
  WS_TLS,
  { network: 'ws', earlyData: true },
  { network: 'grpc' },
];

/** Every protocol over plain TCP or QUIC, and one over every carrier. */
const WAYS: readonly Way[] = [
  { protocol: 'socks' },
  { protocol: 'http' },
  { protocol: 'trojan' },
  { protocol: 'vless' },
  { protocol: 'vmess', cipher: 'aes-128-gcm' },
  { protocol: 'shadowsocks', cipher: 'aes-256-gcm' },
  { protocol: 'shadowsocks', cipher: '2022-blake3-aes-128-gcm' },
  { protocol: 'hysteria2' },
  ...CARRIERS.map((carrier): Way => ({ protocol: 'vless', carrier })),
];

/** Node destroys a socket to which a write fails, and with it what the peer sent before its reset. */
const lackOf = (name: EndName): string | false =>
  process.env['WEIR_IO'] === 'node' && name === 'the server resets after data'
    ? 'sockets of Node.js lose what they have not read when a write fails'
    : false;

const tagOf = (index: number): string => `way-${index}`;

test('the end of one side reaches the other as it was, after all that was sent before', async (t) => {
  await using exit = await Weir.start(
    [...WAYS.map((way, index) => weirIn(way, { tag: tagOf(index) })), freedom()].join('\n'),
  );
  await using entry = await Weir.start(
    [
      socksIn('direct'),
      ...WAYS.map((way, index) => {
        const tag = tagOf(index);
        const out = weirOut(way, exit.address(tag), { tag: `out-${tag}` });
        return [socksIn(tag), out, rule(`out-${tag}`, `inbound_tag = ["${tag}"]`)].join('\n');
      }),
      freedom('exit'),
      rule('exit', 'inbound_tag = ["direct"]'),
    ].join('\n'),
  );
  const inbounds: readonly (readonly [tag: string, title: string])[] = [
    ['direct', 'freedom'],
    ...WAYS.map((way, index) => [tagOf(index), wayTitle(way)] as const),
  ];
  for (const [tag, title] of inbounds) {
    for (const name of Object.keys(ENDS) as EndName[]) {
      await t.test(`${title}: ${name}`, { skip: lackOf(name) }, () =>
        ENDS[name]((to) => socksConnect(entry.address(tag), to.target)),
      );
    }
  }
});

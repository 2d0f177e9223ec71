import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { untakenOfNodeSocket } from '../../packages/io/src/net/sockets/node/socket-link.ts';
import { open } from '../support/data/address.ts';
import { freedom, httpIn, rule, socksIn } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import { ENDS, type EndName } from '../support/matrix/ends.ts';
import { tcpServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { readAll, readExactly } from '../support/read.ts';
import { TLS, wayTitle, WS_TLS, type Carrier, type Way } from '../support/ways/way.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import { Weir } from '../support/process/weir.ts';
import { eventually } from '../support/wait.ts';

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

test('a response that comes before the upload has ended, and then a reset, reaches a plain HTTP client', async () => {
  const BODY = 20_000;
  const HEAD = `HTTP/1.1 413 Content Too Large\r\nconnection: close\r\ncontent-length: ${BODY}\r\n\r\n`;
  await using origin = await tcpServer((socket) => {
    socket.once('readable', () => {
      socket.write(HEAD + 'r'.repeat(BODY), () => socket.resetAndDestroy());
    });
  });
  await using weir = await Weir.start(httpIn() + freedom());
  const once = async (): Promise<string> => {
    const client = await open(weir.address('http'));
    client.on('error', () => undefined);
    client.write(
      `POST http://127.0.0.1:${origin.port}/ HTTP/1.1\r\nhost: 127.0.0.1:${origin.port}\r\nconnection: close\r\ncontent-length: 3000\r\n\r\n`,
    );
    client.write('b'.repeat(3000));
    const { data } = await readAll(client);
    client.destroy();
    const text = data.toString('latin1');
    return `${text.slice(9, 12)} with ${text.length - text.indexOf('\r\n\r\n') - 4} bytes`;
  };
  const seen = await Promise.all(Array.from({ length: 20 }, once));
  assert.deepEqual([...new Set(seen)], [`413 with ${BODY} bytes`]);
});

test('a client that has yet to receive the rest sees no clean end when the process is killed', async () => {
  // More than the kernel of a client that does not read takes, and less than Weir's kernel does.
  const SIZE = 1_000_000;
  await using origin = await tcpServer((socket) => {
    socket.once('readable', () => {
      socket.write(Buffer.alloc(SIZE));
      // A reset discards what is still in this kernel.
      void acknowledged(socket).then(() => socket.resetAndDestroy());
    });
  });
  await using weir = await Weir.start(API + socksIn() + freedom());
  const control = await Control.of(weir);
  const client = await socksConnect(weir.address('socks'), origin.target);
  client.on('error', () => undefined).write('a request');
  await readExactly(client, 1);
  client.pause();
  await eventually(
    'the end of the flow',
    async () => (await control.connections()).flows.length === 0,
  );
  const exited = once(weir.child.process, 'exit');
  weir.child.process.kill('SIGKILL');
  await exited;
  const { clean } = await readAll(client);
  client.destroy();
  assert.equal(clean, false);
});

/** Resolves when the peer's kernel has acknowledged everything. */
async function acknowledged(socket: Socket): Promise<void> {
  while (socket.writableLength > 0 || untakenOfNodeSocket(socket) > 0) await nextTurn();
}

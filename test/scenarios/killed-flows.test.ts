import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { codeOf } from '@weir/base';
import { freedom, rule, socksIn } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import { roundTrip } from '../support/read.ts';
import { tcpServer, type Origin } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { eventually } from '../support/wait.ts';
import { TLS, wayTitle, WS_TLS, type Carrier, type Way } from '../support/ways/way.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import { Weir } from '../support/process/weir.ts';

const CARRIERS: readonly Carrier[] = [{ network: 'tcp' }, TLS, WS_TLS, { network: 'grpc' }];

/** Every protocol over plain TCP, and one over every carrier. */
const WAYS: readonly Way[] = [
  { protocol: 'socks' },
  { protocol: 'http' },
  { protocol: 'vless' },
  { protocol: 'vmess', cipher: 'aes-128-gcm' },
  { protocol: 'shadowsocks', cipher: 'aes-256-gcm' },
  { protocol: 'shadowsocks', cipher: '2022-blake3-aes-128-gcm' },
  { protocol: 'hysteria2' },
  ...CARRIERS.map((carrier): Way => ({ protocol: 'trojan', carrier })),
];

const RESET = 'ECONNRESET';

const tagOf = (index: number): string => `way-${index}`;

/** How a connection has closed: after a clean end, or with the code of an error. */
const endOf = (socket: Socket): Promise<string> =>
  new Promise((resolve) => {
    let end: string | undefined = 'close';
    socket.once('end', () => (end = 'end'));
    // A write after a reset fails with EPIPE where the end of the peer's stream came before.
    socket.once('error', (error) => (end = codeOf(error) === 'EPIPE' ? RESET : codeOf(error)));
    socket.once('close', () => resolve(end ?? 'an error without a code'));
  });

/** A connection at the origin, and how it ends. */
interface Arrived {
  readonly socket: Socket;
  readonly ended: Promise<string>;
}

/** An origin that echoes the first bytes of a connection, and nothing behind them. */
async function recordingOrigin(): Promise<{
  readonly origin: Origin;
  readonly next: () => Promise<Arrived>;
}> {
  const waiting: Arrived[] = [];
  const origin = await tcpServer((socket) => {
    // A clean end is what must not come, and need not be waited behind.
    const clean = new Promise<string>((resolve) => {
      socket.once('end', () => resolve('a clean end'));
    });
    waiting.push({ socket, ended: Promise.race([endOf(socket), clean]) });
    socket.once('data', (chunk: Buffer) => void socket.write(chunk));
  });
  return { origin, next: () => eventually('a connection', () => waiting.shift()) };
}

const PIECE = Buffer.alloc(256 << 10, 'upload');

/** Writes until the socket is destroyed, as fast as it takes bytes. */
function flood(socket: Socket): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(PIECE));
  };
  socket.on('drain', more);
  more();
}

/** Waits until a socket that is being written to takes no more. */
async function stalls(socket: Socket): Promise<void> {
  let before = -1;
  let same = 0;
  await eventually('an upload that stalls', () => {
    same = before === socket.bytesWritten && socket.writableLength > 0 ? same + 1 : 0;
    before = socket.bytesWritten;
    return same > 5;
  });
}

/** What ends a flow, by which side, and what it is doing at that time. */
const ENDS: readonly {
  readonly name: string;
  readonly end: (flow: {
    readonly client: Socket;
    readonly arrived: Arrived;
    readonly kill: () => Promise<void>;
    /** At the server of the way, where there is one. */
    readonly killAtExit: () => Promise<void>;
  }) => Promise<void> | void;
  /** What the client sends when the flow ends, to an origin that reads, or that does not. */
  readonly upload?: 'read' | 'stalled' | 'ended';
}[] = [
  { name: 'a kill of a flow at rest', end: ({ kill }) => kill() },
  { name: 'a kill in the middle of an upload', end: ({ kill }) => kill(), upload: 'read' },
  { name: 'a kill of an upload that is stalled', end: ({ kill }) => kill(), upload: 'stalled' },
  {
    name: 'a kill of an upload that has ended and is stalled',
    end: ({ kill }) => kill(),
    upload: 'ended',
  },
  {
    name: 'a kill at the server in the middle of an upload',
    end: ({ killAtExit }) => killAtExit(),
    upload: 'read',
  },
  {
    name: 'a kill after the origin has half-closed',
    end: async ({ arrived, client, kill }) => {
      const ended = once(client, 'end');
      arrived.socket.end();
      await ended;
      await kill();
    },
    upload: 'read',
  },
  {
    name: 'a kill in the middle of a download that is stalled',
    end: async ({ arrived, client, kill }) => {
      client.pause();
      flood(arrived.socket);
      await stalls(arrived.socket);
      await kill();
      client.resume();
    },
  },
  {
    name: 'a reset of the client in the middle of an upload',
    end: ({ client }) => void client.resetAndDestroy(),
    upload: 'read',
  },
  {
    name: 'a reset of the client of an upload that is stalled',
    end: ({ client }) => void client.resetAndDestroy(),
    upload: 'stalled',
  },
  {
    name: 'a reset of the origin in the middle of an upload',
    end: ({ arrived }) => void arrived.socket.resetAndDestroy(),
    upload: 'read',
  },
];

test('the end of a flow that was cut reaches both sides as a reset', async (t) => {
  await using exit = await Weir.start(
    [...WAYS.map((way, index) => weirIn(way, { tag: tagOf(index) })), freedom(), API].join('\n'),
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
      API,
    ].join('\n'),
  );
  const atEntry = await Control.of(entry);
  const atExit = await Control.of(exit);
  const { origin, next } = await recordingOrigin();
  await using _ = origin;

  const inbounds: readonly (readonly [tag: string, title: string])[] = [
    ['direct', 'freedom'],
    ...WAYS.map((way, index) => [tagOf(index), wayTitle(way)] as const),
  ];
  for (const [tag, title] of inbounds) {
    for (const { name, end, upload } of ENDS) {
      await t.test(`${title}: ${name}`, async () => {
        const client = await socksConnect(entry.address(tag), origin.target);
        const clientEnded = endOf(client);
        await roundTrip(client, 'hello');
        client.resume();
        const arrived = await next();
        if (upload === 'read' || !upload) arrived.socket.resume();
        else arrived.socket.pause();
        if (upload === 'ended') client.end(Buffer.alloc(64 << 20));
        else if (upload) flood(client);
        if (upload === 'read') {
          await eventually('an upload', () => arrived.socket.bytesRead > 4 * PIECE.length);
        } else if (upload) await stalls(client);
        const killAt = async ({ api }: Control): Promise<void> => {
          const report = await api.json('DELETE', `/v1/connections?inbound=${tag}`);
          assert.deepEqual(report, { closed: 1 });
        };
        const kill = (): Promise<void> => killAt(atEntry);
        const killAtExit = tag === 'direct' ? kill : (): Promise<void> => killAt(atExit);
        await end({ client, arrived, kill, killAtExit });
        arrived.socket.resume();
        assert.deepEqual(
          { origin: await arrived.ended, client: await clientEnded },
          {
            origin: name.startsWith('a reset of the origin') ? 'close' : RESET,
            client: name.startsWith('a reset of the client') ? 'close' : RESET,
          },
        );
      });
    }
  }
});

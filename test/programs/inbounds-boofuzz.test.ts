import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { requestStatus } from '@weir/server/control';
import { portOf } from '../support/data/address.ts';
import { Child } from '../support/process/child.ts';
import { blackhole, freedom, httpIn, rule, socksIn } from '../support/process/config.ts';
import { openDescriptors } from '../support/process/proc.ts';
import { roundTrip } from '../support/read.ts';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { ID, PASSWORD } from '../support/ways/secrets.ts';
import { GRPC_TLS, TLS, type Way } from '../support/ways/way.ts';
import { weirIn } from '../support/ways/weir-config.ts';
import { eventually } from '../support/wait.ts';
import { scratch, Weir } from '../support/process/weir.ts';
import { programOrSkip } from './support/program.ts';
import { shared } from '../support/shared.ts';

/*
 * boofuzz at the handshake of each inbound (test/programs/fuzz/handshakes.py): fields, lengths and strings that a
 * client would never send, of clients that know the password and of those that do not.
 */

const boofuzz = programOrSkip('boofuzz');
const SCRIPT = fileURLToPath(new URL('fuzz/handshakes.py', import.meta.url));
/** Cases for each handshake: `WEIR_FUZZ_CASES`, or a hundred and more. */
const CASES = Number(process.env['WEIR_FUZZ_CASES'] ?? 150);
/** Bytes of resident memory that they may leave. */
const MEMORY = 96 << 20;

const cipher = (name: string): Way => ({ protocol: 'shadowsocks', cipher: name });
const WS: Way = { protocol: 'vless', carrier: { network: 'ws' } };

/** Inbounds by tag, and the handshakes that each gets, with their arguments. */
const INBOUNDS: readonly (readonly [
  tag: string,
  config: string,
  ...handshakes: (readonly string[])[],
])[] = [
  ['socks', socksIn('socks'), ['socks5'], ['socks4'], ['http']],
  ['http', httpIn('http'), ['http'], ['tls']],
  ['trojan', weirIn({ protocol: 'trojan' }), ['trojan', hash('sha224', PASSWORD)], ['http']],
  ['vless', weirIn({ protocol: 'vless' }), ['vless', ID], ['sealed']],
  ['vmess', weirIn({ protocol: 'vmess', cipher: 'aes-128-gcm' }), ['sealed']],
  ['old', weirIn(cipher('aes-256-gcm'), { tag: 'old' }), ['sealed']],
  ['new', weirIn(cipher('2022-blake3-aes-128-gcm'), { tag: 'new' }), ['sealed']],
  ['tls', weirIn({ protocol: 'vless', carrier: TLS }, { tag: 'tls' }), ['tls'], ['http']],
  ['ws', weirIn(WS, { tag: 'ws' }), ['websocket'], ['http'], ['http2']],
  ['grpc', weirIn({ protocol: 'vless', carrier: GRPC_TLS }, { tag: 'grpc' }), ['tls']],
  [
    'h2c',
    weirIn({ protocol: 'vless', carrier: { network: 'grpc' } }, { tag: 'h2c' }),
    ['http2'],
    ['http'],
  ],
];

/** A case may by chance be a request: nothing but loopback is then connected to. */
const CONFIG = [
  ...INBOUNDS.map(([, config]) => config),
  socksIn('honest'),
  blackhole(),
  freedom(),
  rule('direct', 'cidr = ["127.0.0.0/8"]'),
].join('\n');

describe('boofuzz at the handshakes of inbounds', { skip: boofuzz.skip }, () => {
  let weir: Weir;

  shared(async (use) => {
    weir = use(await Weir.start(CONFIG, { control: true }));
    // The first request begins to measure the event loop.
    await requestStatus(weir.controlPath);
  });

  async function honestClient(): Promise<void> {
    await using echo = await echoServer();
    const socket = await socksConnect(weir.address('honest'), echo.target);
    assert.equal(String(await roundTrip(socket, 'hello')), 'hello');
    socket.destroy();
  }

  async function fuzz(tag: string, [name = '', ...rest]: readonly string[]): Promise<void> {
    await using folder = await scratch();
    const port = String(portOf(weir.address(tag)));
    const args = ['-B', SCRIPT, '127.0.0.1', port, name, String(CASES), ...rest];
    await using child = new Child(boofuzz.path, args, { cwd: folder.path });
    const { code } = await child.exited;
    assert.equal(code, 0, child.stderr.slice(-2000));
    const sent = Number(child.stdout.trim().split('\n').at(-1));
    assert.ok(sent > CASES / 4, `${sent} cases were sent`);
  }

  for (const [tag, , ...handshakes] of INBOUNDS) {
    for (const handshake of handshakes) {
      test(`${handshake[0]} to the inbound ${tag}`, async () => {
        await fuzz(tag, handshake);
        await honestClient();
        assert.equal(weir.child.ended, undefined);
      });
    }
  }

  test('nothing is left of them', async (t) => {
    const FEW = 60;
    await eventually(
      () => `few descriptors, now ${openDescriptors(weir.pid)}`,
      () => openDescriptors(weir.pid) < FEW,
      30_000,
    );
    const { memory, event_loop: loop } = await requestStatus(weir.controlPath);
    t.diagnostic(
      `${memory.resident >> 20} MiB; the event loop was late by ${loop?.max} ms at most`,
    );
    assert.ok(memory.heap_used < MEMORY, `${memory.heap_used >> 20} MiB of heap`);
    assert.doesNotMatch(weir.child.stderr, /internal error|^\s+at .*\.[jt]s:\d/m);
  });
});

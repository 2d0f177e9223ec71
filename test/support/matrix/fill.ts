import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { hostPort } from '../data/address.ts';
import {
  bothWays,
  clientEndsFirst,
  datagrams,
  serverEndsFirst,
  type Tunnel,
  manyStreams,
} from '../programs/exchange.ts';
import { readExactly } from '../read.ts';
import { tcpServer, udpEcho, webServer } from '../peers/servers.ts';
import { socksConnect } from '../peers/socks-client.ts';
import type { Feature } from '../ways/lack.ts';
import { carriesDatagrams, isPlain, tellsItsEnd, type Protocol, type Way } from '../ways/way.ts';
import { lacksOf, type Cell } from './cell.ts';
import { killedInTheMiddle, worksAgain } from './kill.ts';
import type { Outcome } from './result.ts';
import type { SharedWeirs } from './shared-weirs.ts';

/** Runs every exchange that both ends of one cell support, each as a test of its own. */
export async function fill(t: TestContext, cell: Cell, weirs: SharedWeirs): Promise<Outcome> {
  const { way } = cell;
  await using ends = await weirs.ends(cell);
  const { socks } = ends;
  const tunnel: Tunnel = (to) => socksConnect(socks, to.target);
  const lacks = lacksOf(cell);
  const lackOf = (feature: Feature): string | undefined =>
    lacks.find(({ features }) => features.includes(feature))?.note;

  let failed = false;
  const check = async (name: string, body: () => Promise<void>): Promise<void> => {
    let passed = false;
    await t.test(name, async () => {
      await body();
      passed = true;
    });
    failed ||= !passed;
  };
  const checkFeature = async (feature: Feature, body: () => Promise<void>): Promise<void> => {
    const lack = lackOf(feature);
    if (lack === undefined) await check(feature, body);
    else await t.test(feature, { skip: lack }, () => undefined);
  };

  await check('a body both ways', async () => {
    await using web = await webServer();
    await bothWays(['-x', `socks5h://${hostPort(socks)}`], web, bodySize(cell));
  });
  await checkFeature('a server that speaks first', () => speaksFirst(tunnel));
  await checkFeature('the client ends first', () => clientEndsFirst(tunnel));
  await checkFeature('the server ends first', () => serverEndsFirst(tunnel));
  const streams = streamCount(way);
  const inOneGo = lackOf('a client that is silent at first') !== undefined;
  await check(`${streams} streams at once`, () => manyStreams(socks, streams, inOneGo));
  if (carriesDatagrams(way)) {
    const alone = lackOf('two destinations of one association') !== undefined;
    await check(
      `datagrams to two servers${alone ? ', each over an association of its own' : ''}`,
      async () => {
        await using first = await udpEcho();
        await using second = await udpEcho();
        if (alone) await datagrams(socks, [first]);
        await datagrams(socks, alone ? [second] : [first, second]);
      },
    );
  }
  const marked = cell.client.name === 'weir' && tellsItsEnd(way, cell.server.name);
  const noticed = lackOf('a dead server is noticed') === undefined;
  const sign = noticed ? (marked ? 'abort' : 'any end') : 'not checked';
  await check('the server killed in the middle of a body', () =>
    killedInTheMiddle(socks, () => ends.kill(), sign),
  );
  await check('the server back at its port', async () => {
    await ends.comeBack();
    await worksAgain(socks);
  });
  if (failed) return 'failed';
  return carriesDatagrams(way) ? 'TCP UDP' : 'TCP';
}

/** The bytes of a server that sends before its client arrive. */
async function speaksFirst(tunnel: Tunnel): Promise<void> {
  const TEXT = '220 welcome\r\n';
  await using banner = await tcpServer((socket) => {
    socket.resume().on('end', () => socket.end());
    socket.write(TEXT);
  });
  const client = await tunnel(banner);
  assert.equal(String(await readExactly(client, TEXT.length)), TEXT);
  client.destroy();
}

const MB = 1 << 20;

/** Each body in bytes: `WEIR_INTEROP_MB`, or a few. */
export function bodySize(cell: Cell): number {
  const wanted = Number(process.env['WEIR_INTEROP_MB'] ?? 16) * MB;
  return Math.max(wanted, leastBody(cell));
}

/** v2ray makes VMess chunks of 2 KB: 65,536 of them, where nonces begin again, are less than this. */
const leastBody = ({ way, client, server }: Cell): number =>
  way.protocol === 'vmess' &&
  way.cipher === 'aes-128-gcm' &&
  way.mux === undefined &&
  isPlain(way) &&
  [client.name, server.name].includes('v2ray')
    ? 144 * MB
    : 0;

/** Streams at once: `WEIR_INTEROP_STREAMS`, or a hundred, and a thousand with one header each. */
export function streamCount(way: Way): number {
  const wanted = process.env['WEIR_INTEROP_STREAMS'];
  if (wanted !== undefined) return Number(wanted);
  const light: readonly Protocol[] = ['trojan', 'vless', 'hysteria2'];
  const isLight = isPlain(way) && light.includes(way.protocol);
  return isLight ? 1000 : 100;
}

import assert from 'node:assert/strict';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { freedom, rule, socksIn } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import { scratch, Weir } from '../support/process/weir.ts';
import { roundTrip } from '../support/read.ts';
import { eventually } from '../support/wait.ts';
import { GRPC_TLS, WS_TLS, type Way } from '../support/ways/way.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';

const CLOCK = fileURLToPath(new URL('../support/process/skewed-clock.ts', import.meta.url));
const DAY_MS = 86_400_000;

/** Those whose messages have timestamps, and those whose connections are kept. */
const WAYS: ReadonlyMap<string, Way> = new Map<string, Way>([
  ['vmess', { protocol: 'vmess', cipher: 'aes-128-gcm' }],
  ['vmess-grpc', { protocol: 'vmess', cipher: 'aes-128-gcm', carrier: GRPC_TLS }],
  ['ss-2022', { protocol: 'shadowsocks', cipher: '2022-blake3-aes-128-gcm' }],
  ['trojan-ws', { protocol: 'trojan', carrier: WS_TLS }],
  ['hysteria2', { protocol: 'hysteria2' }],
]);

test('flows go on and others begin when the wall clocks of both ends jump a day ahead and two back', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'skew');
  const jump = async (milliseconds: number): Promise<void> => {
    await writeFile(`${file}.new`, String(milliseconds));
    await rename(`${file}.new`, file);
  };
  await jump(0);
  const options = { nodeArgs: ['--import', CLOCK], env: { WEIR_TEST_SKEW_FILE: file } };
  await using echo = await echoServer();
  const tags = [...WAYS.keys()];
  await using exit = await Weir.start(
    [...[...WAYS].map(([tag, way]) => weirIn(way, { tag })), freedom()].join(''),
    options,
  );
  const entry = [
    API,
    ...tags.map((tag) => socksIn(tag)),
    ...tags.map((tag) => rule(tag, `inbound_tag = ["${tag}"]`)),
    ...[...WAYS].map(([tag, way]) => weirOut(way, exit.address(tag), { tag })),
  ];
  await using weir = await Weir.start(entry.join('\n'), options);
  const control = await Control.of(weir);
  const dial = async (tag: string) => {
    const socket = await socksConnect(weir.address(tag), echo.target);
    assert.equal(String(await roundTrip(socket, tag)), tag);
    return { tag, socket };
  };
  const open = await Promise.all(tags.map(dial));
  for (const skew of [DAY_MS, -DAY_MS, 0]) {
    await jump(skew);
    await eventually('both ends have jumped', async () => {
      // A dial that only one of them has seen jump may fail.
      const again = await Promise.all(tags.map(dial)).catch(() => undefined);
      for (const { socket } of again ?? []) socket.destroy();
      const { flows } = await control.connections();
      const newest = Math.max(...flows.map(({ started_at: at }) => at));
      return again !== undefined && Math.abs(newest - Date.now() - skew) < DAY_MS / 2;
    });
    for (const { tag, socket } of open) {
      assert.equal(String(await roundTrip(socket, 'still here')), 'still here', tag);
    }
  }
  for (const { socket } of open) socket.destroy();
});

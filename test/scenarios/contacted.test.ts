import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ApiClient } from '../../packages/server/test/conformance/api-client.ts';
import { DIALED, inbounds, outbounds } from '../support/canaries/config.ts';
import { SECRETS } from '../support/canaries/secrets.ts';
import { DashboardClient, DashboardStream } from '../support/dashboard/client.ts';
import { parseAddress, portOf, type Address } from '../support/data/address.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import type { Child } from '../support/process/child.ts';
import { runWeir, scratch, Weir, weirCommand } from '../support/process/weir.ts';
import { contactsIn } from '../support/process/traced-contacts.ts';
import { roundTrip } from '../support/read.ts';
import { within } from '../support/wait.ts';
import { certificate } from '../support/ways/certificate.ts';

/*
 * Nothing is sent to a host that the file does not name: no check for updates, no telemetry. Every system call that
 * addresses something is recorded, in a network that has a loopback alone.
 */

const hasStrace = spawnSync('strace', ['-V']).status === 0;

const NODES =
  '[[proxy_server]]\nname = "Osaka"\nprotocol = "trojan"\nserver = "127.0.0.1"\nport = 9\nsettings = { password = "x" }\n';

inOwnNetwork(import.meta.url, () => {
  describe('Weir', { skip: hasStrace ? false : 'there is no strace' }, () => {
    test('contacts what the file names, what its clients ask for, and itself', async () => {
      await using folder = await scratch();
      await using origin = await echoServer();
      const traced = (name: string): string[] =>
        `strace -f -qq -s 128 -e trace=network -o ${join(folder.path, name)}`.split(' ');
      const files = certificate();
      const config = inbounds(files);
      await using weir = await Weir.start(config, {
        control: true,
        files: { 'nodes.toml': NODES },
        wrap: traced('weir'),
      });
      const api = parseAddress(
        await weir.child.until(
          'its API',
          ({ stderr }) => /API listening on (\S+)$/m.exec(stderr)?.[1],
        ),
      );
      const { status, text } = await reload(weir, config + outbounds(weir.addresses, files), api);
      assert.equal(status, 200, text);
      for (const tag of DIALED) {
        const socket = await socksConnect(weir.address(`to-${tag}`), origin.target);
        await roundTrip(socket, `hello ${tag}`);
        socket.destroy();
      }

      const file = join(weir.folder, 'weir.toml');
      const place = ['--config', file, '--socket', weir.controlPath];
      await steer('dashboard', weirCommand(['dashboard', ...place], { wrap: traced('dashboard') }));
      const adapter = ['clash-api', ...place, '--listen', '127.0.0.1:0'];
      await steer('clash-api', weirCommand(adapter, { wrap: traced('clash-api') }));
      for (const args of [
        ['metrics', '--once'],
        ['top'],
        ['show'],
        ['explain', 'a.example:443'],
        ['--test'],
        ['--version', '--verbose'],
      ]) {
        const [name = ''] = args;
        const hasSocket = name === 'metrics' || name === 'top';
        const more = name === '--version' ? [] : hasSocket ? place : place.slice(0, 2);
        const child = await runWeir([...args, ...more], { wrap: traced(name) });
        assert.equal(child.ended?.code, 0, child.stderr);
      }
      await stop(weir.child);

      const own = [...weir.addresses.values(), api, origin.target].map(
        (address) => `127.0.0.1:${portOf(address)}`,
      );
      const allowed = new Set([...own, '127.0.0.1:9', weir.controlPath]);
      const seen = new Map<string, string[]>();
      for (const name of await readdir(folder.path)) {
        const contacts = contactsIn(await readFile(join(folder.path, name), 'latin1'));
        seen.set(
          name,
          [...contacts].filter((contact) => !allowed.has(contact)),
        );
        // The trace itself is complete: what is known to be contacted is in it.
        if (name === 'weir') for (const contact of own.slice(-1)) assert.ok(contacts.has(contact));
        if (name === 'dashboard') assert.ok(contacts.has(weir.controlPath));
      }
      assert.ok(seen.size >= 9, [...seen.keys()].join());
      assert.deepEqual(
        [...seen].filter(([, contacts]) => contacts.length > 0),
        [],
      );
    });
  });
});

async function reload(
  weir: Weir,
  config: string,
  api: Address,
): Promise<{ status: number; text: string }> {
  await writeFile(join(weir.folder, 'weir.toml'), config);
  return new ApiClient(api, SECRETS.api).ask('POST', '/v1/reload');
}

/** Uses a program that stays, and stops it. */
async function steer(name: string, child: Child): Promise<void> {
  await using program = child;
  if (name === 'dashboard') {
    const link = await program.until('its link', ({ stdout }) => /^http\S+$/m.exec(stdout)?.[0]);
    const client = await DashboardClient.signIn(link);
    for (const topic of ['now', 'nodes', 'rules', 'users', 'log']) {
      await using stream = await DashboardStream.open(client, [
        { id: 1, topic, parameters: { search: '', first: 0, count: 10, dead: false } },
      ]);
      await within(
        stream.until(1, () => true),
        `the topic ${topic}`,
      );
    }
  } else {
    await program.until('its address', ({ stdout }) => /^secret: /m.exec(stdout)?.[0]);
  }
  await stop(program);
}

/** Ends the program that strace runs, and waits for the end of its trace. */
async function stop(child: Child): Promise<void> {
  const children = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
  process.kill(Number(children.trim().split(' ')[0]), 'SIGTERM');
  await within(child.exited, `the end of ${child.name}`);
}

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Exit } from '../support/process/child.ts';
import { freedom } from '../support/process/config.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { hasDevice, ip, mtuOf } from '../support/netns/site.ts';
import { tunConfig, tunIn, type TunOptions } from '../support/netns/tun-config.ts';
import { within } from '../support/wait.ts';
import { runWeir, scratch, Weir, weirCommand } from '../support/process/weir.ts';

const configOf = (options: TunOptions): string => tunConfig(freedom(), { routes: [], ...options });

/** Starts a Weir that cannot serve, and returns its last line without the time. */
async function failure(config: string, wrap: readonly string[] = []): Promise<[Exit, string]> {
  await using folder = await scratch();
  const file = join(folder.path, 'weir.toml');
  await writeFile(file, config);
  await using child = weirCommand(['--config', file], { wrap });
  const exit = await within(child.exited, 'the end of a Weir that cannot serve');
  const lines = child.stderr.trim().split('\n');
  return [exit, lines.at(-1)?.replace(/^\S+Z +/, '') ?? ''];
}

inOwnNetwork(import.meta.url, () => {
  describe('a TUN inbound at the start', () => {
    test('several have their own name, MTU, addresses and routes', async () => {
      const routes = ['192.0.2.0/24', '2001:db8:1::/48', '192.0.2.77'];
      const others = ['172.19.1.1', 'fd19:1::1/64'];
      const config =
        tunIn({ tag: 'a', routes, settings: 'mtu = 1280' }) +
        tunIn({ tag: 'b', name: 'fifteen-bytes-x', routes: [], address: others }) +
        tunIn({ tag: 'c', name: undefined, routes: [], address: [], settings: 'mtu = 65535' });
      await using weir = await Weir.start(config + freedom());
      assert.match(weir.child.stderr, / INFO svc_app: inbound c listening on tun0$/m);
      const names = ['weir0', 'fifteen-bytes-x', 'tun0'];
      assert.deepEqual(names.map(mtuOf), [1280, 1500, 65_535]);
      const addresses = names.map((name) =>
        ip(`-brief address show dev ${name}`).trim().split(/\s+/).slice(2),
      );
      assert.deepEqual(addresses, [
        ['172.19.0.1/30', 'fd19::1/126'],
        ['172.19.1.1/32', 'fd19:1::1/64'],
        [],
      ]);
      for (const address of ['192.0.2.9', '192.0.2.77', '2001:db8:1::5', '172.19.0.2']) {
        assert.match(ip(`route get ${address}`), / dev weir0 /);
      }
      assert.match(ip('route get fd19:1::77'), / dev fifteen-bytes-x /);
      assert.match(ip('route show dev weir0'), /^192\.0\.2\.77 proto static scope link/m);
      await weir.stop();
      assert.deepEqual(names.filter(hasDevice), []);
    });

    test('a name of sixteen bytes passes a check, and fails at the start', async () => {
      const config = configOf({ name: 'sixteen-bytes-xx' });
      await using folder = await scratch();
      const file = join(folder.path, 'weir.toml');
      await writeFile(file, config);
      const check = await runWeir(['--test', '--config', file]);
      assert.deepEqual([check.ended?.code, check.stdout], [0, 'Configuration OK.\n']);
      const [exit, line] = await failure(config);
      assert.equal(exit.code, 1);
      assert.match(line, /^ERROR svc_app: .*device name too long/);
    });

    test('without CAP_NET_ADMIN one line says so', async () => {
      const drop = ['setpriv', '--bounding-set', '-net_admin', '--inh-caps', '-net_admin'];
      const [exit, line] = await failure(configOf({}), drop);
      assert.equal(exit.code, 1);
      assert.match(line, /^ERROR svc_app: .*CAP_NET_ADMIN/);
      assert.equal(hasDevice('weir0'), false);
    });

    describe('beside devices of others', () => {
      before(() => {
        ip('link add taken type veth peer name other');
        ip('tuntap add mode tun name kept');
        ip('link set taken up');
        ip('route add 192.0.2.0/24 dev taken');
      });
      after(() => ip('link delete taken'));

      test('a name in use is said to be so', async () => {
        const [exit, line] = await failure(configOf({ name: 'taken' }));
        assert.equal(exit.code, 1);
        assert.match(line, /^ERROR svc_app: .*taken/);
      });

      test('a route in use is said to be so, and the device is removed', async () => {
        const [exit, line] = await failure(configOf({ routes: ['192.0.2.0/24'] }));
        assert.equal(exit.code, 1);
        assert.match(line, /^ERROR svc_app: .*add the route 192\.0\.2\.0\/24/);
        assert.equal(hasDevice('weir0'), false);
      });

      test('a persistent device of another program is not taken', async () => {
        const [exit, line] = await failure(configOf({ name: 'kept' }));
        assert.equal(exit.code, 1);
        assert.match(line, /^ERROR svc_app: .*a device named kept exists already/);
        assert.equal(hasDevice('kept'), true);
      });
    });
  });
});

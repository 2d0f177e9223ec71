import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { rmSync } from 'node:fs';
import { beforeEach, describe, test } from 'node:test';
import { freedom } from '../support/process/config.ts';
import { Control } from '../support/process/control.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { makePrivateSystem, put } from '../support/netns/private-system.ts';
import { FAR, ip, PORT, Site } from '../support/netns/site.ts';
import { TUN, tunConfig, tunIn, type TunOptions } from '../support/netns/tun-config.ts';
import { Weir } from '../support/process/weir.ts';
import { shared } from '../support/shared.ts';

const RESOLV = '/etc/resolv.conf';
const UPSTREAM = '/run/systemd/resolve/resolv.conf';
const DROP_IN = '/etc/systemd/resolved.conf.d/weir.conf';

const servers = (...addresses: readonly string[]): string =>
  addresses.map((address) => `nameserver ${address}\n`).join('');

const config = (options?: TunOptions): string =>
  `[log]\nlevel = "debug"\n[dns]\nbackend = "udp"\nserver = "${FAR.host}:${PORT.names}"\n` +
  tunConfig(freedom(), options);

const WARNING = '[dns] does not answer the names';
const ANSWERED = 'no server that programs of this host ask for names is past [dns]';

inOwnNetwork(import.meta.url, () => {
  describe('the resolver of the system beside a TUN inbound', () => {
    shared(async (use) => {
      use(makePrivateSystem());
      use(await Site.make());
    });

    beforeEach(() => {
      put('/etc/nsswitch.conf', 'hosts: files dns\n');
      for (const path of [UPSTREAM, DROP_IN]) rmSync(path, { force: true });
    });

    /** The warning of a Weir that starts now, without its level and what precedes the message. */
    async function warning(options?: TunOptions): Promise<string> {
      await using weir = await Weir.start(config(options));
      const control = await Control.of(weir);
      await control.logged(WARNING);
      assert.equal(control.count(WARNING), 1);
      const line = control.lines.find((each) => each.includes(WARNING)) ?? '';
      assert.match(line, /^WARN /);
      return line;
    }

    async function assertNoWarning(options?: TunOptions): Promise<void> {
      await using weir = await Weir.start(config(options));
      const control = await Control.of(weir);
      await control.logged(ANSWERED);
      assert.equal(control.count(WARNING), 0);
    }

    test('a server of the local network is asked in clear by the uplink, which is a warning', async () => {
      put(RESOLV, servers(FAR.gateway));
      const line = await warning();
      assert.ok(
        line.includes(`${FAR.gateway} (/etc/resolv.conf): past Weir, by the uplink in clear`),
        line,
      );
      assert.ok(line.includes(`"nameserver ${TUN.resolver}"`), line);
      assert.ok(line.includes('docs/tun.md'), line);
      // It is as the line says.
      await using _weir = await Weir.start(config());
      assert.match(ip(`route get ${FAR.gateway}`), / dev uplink /);
    });

    test('a server beyond is asked through Weir by the rules, which is a warning of its own', async () => {
      put(RESOLV, servers(FAR.host, FAR.host6));
      const line = await warning();
      for (const host of [FAR.host, FAR.host6]) {
        assert.ok(line.includes(`${host} (/etc/resolv.conf): through Weir, by the rules`), line);
      }
      await using weir = await Weir.start(config());
      const control = await Control.of(weir);
      const resolver = new Resolver();
      resolver.setServers([FAR.host]);
      assert.deepEqual(await resolver.resolve4('www.far.test'), [FAR.host]);
      const flows = await control.flowsTo(FAR.host);
      assert.deepEqual(
        flows.filter(({ port }) => port === 53).map(({ outbound }) => outbound),
        ['direct'],
      );
    });

    test('a server that a more specific route excludes is asked by the uplink', async () => {
      put(RESOLV, servers('198.51.100.53', TUN.resolver));
      ip(`route add 198.51.100.53/32 via ${FAR.gateway}`);
      try {
        const line = await warning();
        assert.ok(line.includes('198.51.100.53 (/etc/resolv.conf): past Weir'), line);
        assert.ok(!line.includes(`${TUN.resolver} (`), line);
      } finally {
        ip('route delete 198.51.100.53/32');
      }
    });

    test('a server with a zone is asked by the interface that it names', async () => {
      put(RESOLV, servers('fe80::1%uplink'));
      const line = await warning();
      assert.ok(line.includes('fe80::1%uplink (/etc/resolv.conf): past Weir'), line);
    });

    for (const address of ['127.0.0.1', '::1', '127.0.0.53']) {
      test(`a program of this host at ${address} asks servers that are not known`, async () => {
        put(RESOLV, servers(address));
        const line = await warning();
        assert.ok(line.includes(`${address} (/etc/resolv.conf): a program of this host`), line);
      });
    }

    test('behind systemd-resolved its own servers count', async () => {
      put(RESOLV, servers('127.0.0.53'));
      put(UPSTREAM, servers(FAR.gateway));
      const line = await warning();
      assert.ok(line.includes(`${FAR.gateway} (systemd-resolved): past Weir`), line);
      assert.ok(line.includes(`"DNS=${TUN.resolver}" and "Domains=~."`), line);
      put(UPSTREAM, servers(TUN.resolver));
      await assertNoWarning();
    });

    test('systemd-resolved that prefers the device for every name is no reason for a warning', async () => {
      put(RESOLV, servers('127.0.0.53'));
      put(UPSTREAM, servers(TUN.resolver, FAR.gateway));
      await warning();
      put(DROP_IN, `[Resolve]\nDNS=\nDNS=${TUN.resolver}#name\nDomains=~.\n`);
      await assertNoWarning();
      // It is not in force yet.
      put(UPSTREAM, servers(FAR.gateway));
      await warning();
    });

    test('the C library may ask systemd-resolved whatever resolv.conf says', async () => {
      put(RESOLV, servers(TUN.resolver));
      put(UPSTREAM, servers(FAR.gateway));
      await assertNoWarning();
      put('/etc/nsswitch.conf', 'hosts: files resolve [!UNAVAIL=return] dns\n');
      const line = await warning();
      assert.ok(line.includes(`${FAR.gateway} (systemd-resolved): past Weir`), line);
    });

    test('servers in the subnets of the device are no reason for a warning', async () => {
      put(RESOLV, servers(TUN.resolver, TUN.host, TUN.resolver6));
      await assertNoWarning();
    });

    test('without the file, or with a pipe in place of one, Weir starts as ever', async () => {
      rmSync(RESOLV, { force: true });
      await assertNoWarning();
      put(RESOLV, servers('127.0.0.53'));
      put(UPSTREAM, '');
      rmSync(UPSTREAM);
      execFileSync('mkfifo', [UPSTREAM]);
      await warning();
    });

    test('a device for the default route itself counts, and one for a single network does not', async () => {
      put(RESOLV, servers(FAR.gateway));
      for (const routes of [
        ['::/1', '8000::/1'],
        ['128.0.0.0/1', '0.0.0.0/1'],
      ]) {
        await warning({ routes });
      }
      const small = tunIn({
        tag: 'small',
        name: 'weir1',
        address: ['172.19.9.1/30'],
        routes: ['192.0.2.0/24', '0.0.0.0/1'],
      });
      await using weir = await Weir.start(
        config({ routes: ['128.0.0.0/1', '::/1', '8000::/1'] }) + small,
      );
      const control = await Control.of(weir);
      await control.logged(WARNING);
      assert.deepEqual(
        control.lines
          .filter((each) => each.includes(WARNING))
          .map((each) => /inbound (\S+):/.exec(each)?.[1]),
        ['tun'],
      );
    });

    test('the servers are looked at again for a new device, and not at every reload', async () => {
      put(RESOLV, servers(FAR.gateway));
      await using weir = await Weir.start(config());
      const control = await Control.of(weir);
      await control.logged(WARNING);
      await control.apply(config({ inbound: 'sniffing = true' }));
      await control.apply(config({ settings: 'mtu = 1400' }));
      // Were there one for the first reload, it would be the third by now.
      await control.logged(WARNING, 2);
      assert.equal(control.count(WARNING), 2);
      put(RESOLV, servers(TUN.resolver));
      await control.apply(config({ settings: 'mtu = 1300' }));
      await control.logged(ANSWERED);
      assert.equal(control.count(WARNING), 2);
    });
  });
});

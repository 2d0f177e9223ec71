import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test, type TestContext } from 'node:test';
import { findingsOf } from '../../packages/weir/src/cli/tun/command.ts';
import type { CheckedInbound } from '../../packages/weir/src/cli/tun/check/machine.ts';
import { readMachine } from '../../packages/weir/src/cli/tun/machine/read-machine.ts';
import { parseInterfaceAddress, type Cidr } from '@weir/base/ip';
import { recipeBlocks } from '../support/docs/recipe.ts';
import { withoutLoss } from '../support/netns/loss.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { makePrivateSystem, put } from '../support/netns/private-system.ts';
import { connectError } from '../support/netns/program.ts';
import { FAR, inside, ip, PORT, Site } from '../support/netns/site.ts';
import {
  endFlows,
  EVERYTHING,
  TUN,
  tunConfig,
  type TunOptions,
} from '../support/netns/tun-config.ts';
import { a, reply, startPlainDns } from '../support/peers/dns-server.ts';
import { Control } from '../support/process/control.ts';
import { Child } from '../support/process/child.ts';
import { freedom, rule } from '../support/process/config.ts';
import { runWeir, Weir } from '../support/process/weir.ts';
import { eventually } from '../support/wait.ts';
import { shared } from '../support/shared.ts';

const PAGE = 'docs/tun.md';

/** In front of the programs of the system. */
const OWN_PROGRAMS = '/run/weir-test';

const DNS = `[dns]\nbackend = "udp"\nserver = "${FAR.host}:${PORT.names}"\n`;

const config = (options?: TunOptions): string => DNS + tunConfig(freedom(), options);

const cidrs = (texts: readonly string[]): readonly Cidr[] =>
  texts.map((text) => {
    const parsed = parseInterfaceAddress(text);
    assert.ok(!('problem' in parsed));
    return parsed;
  });

const inbound = (more: Partial<CheckedInbound> = {}): CheckedInbound => ({
  tag: 'tun',
  name: TUN.name,
  mtu: 1500,
  addresses: cidrs(TUN.addresses),
  routes: cidrs(EVERYTHING),
  dns: { backend: 'udp', server: { host: FAR.host, port: PORT.names } },
  isGateway: false,
  ...more,
});

/** What breaks or leaks on this machine, as `weir tun check` says. */
async function problems(more?: Partial<CheckedInbound>): Promise<readonly string[]> {
  const own = inbound(more);
  const findings = findingsOf(await readMachine([own], process.env), own);
  return findings.filter(({ severity }) => severity !== 'note').map(({ id }) => id);
}

/** Runs lines of the page as their reader does; the page's uplink has another name here. */
function run(lines: string): void {
  const own = lines.replaceAll('eth0', 'uplink').replaceAll('192.0.2.1', FAR.gateway);
  execFileSync('sh', ['-e', '-c', own], {
    env: { ...process.env, PATH: `${OWN_PROGRAMS}:${process.env['PATH']}` },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

const [FIRST, BACK] = [0, 1];
const recipe = (heading: string, part = FIRST, language = 'sh'): string => {
  const found = recipeBlocks(PAGE, heading, language)[part];
  assert.ok(found !== undefined, `"${heading}" has no such part`);
  return found;
};

function nft(rules: string): void {
  const { status, stderr } = spawnSync('nft', ['-f', '-'], { input: rules, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
}

/** Seconds to wait for what the kernel drops: longer changes nothing. */
const DROPPED = '1';

/** What a server sends to a program in a namespace; '' when it is not reached. */
const bannerIn = (namespace: string, host: string, port: number, seconds = '20'): string =>
  spawnSync(
    'ip',
    [
      'netns',
      'exec',
      namespace,
      'timeout',
      seconds,
      'bash',
      '-c',
      `exec 3<>/dev/tcp/${host}/${port} && head -n 1 <&3`,
    ],
    { encoding: 'utf8' },
  ).stdout.trim();

/** Questions to the router of the local network, where no server takes them. */
const askedRouter = (): number =>
  Number(/^Udp: \d+ (\d+)/m.exec(inside('far', 'cat', '/proc/net/snmp'))?.[1]);

/** The address of a name as the C library finds it; '' when it does not. */
async function lookUp(name: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const options = { encoding: 'utf8', timeout: 20_000 } as const;
  execFile('getent', ['ahostsv4', name], options, (_, stdout) => resolve(stdout));
  return (await promise).split(' ', 1)[0] ?? '';
}

inOwnNetwork(import.meta.url, () => {
  describe(
    'the recipes of docs/tun.md, and what weir tun check says',
    { skip: withoutLoss() },
    () => {
      let site: Site;
      let weir: Weir;
      let control: Control;

      shared(async (use) => {
        use(makePrivateSystem());
        mkdirSync(OWN_PROGRAMS, { recursive: true });
        site = use(await Site.make());
        weir = use(await Weir.start(config()));
        control = await Control.of(weir);
      });

      beforeEach(() => {
        put('/etc/nsswitch.conf', 'hosts: files dns\n');
        put('/etc/resolv.conf', `nameserver ${TUN.resolver}\n`);
      });

      afterEach(() => nft('flush ruleset'));

      /** A device is only replaced when it has no live flows. */
      async function apply(text: string): Promise<void> {
        await endFlows(control);
        await control.apply(text);
      }

      test('the command prints findings, and its status says whether something breaks', async () => {
        const args = ['tun', 'check', '--json', '--config', join(weir.folder, 'weir.toml')];
        const clean = await runWeir(args);
        const report = JSON.parse(clean.stdout) as {
          inbounds: { tag: string; findings: { id: string; severity: string }[] }[];
        };
        assert.deepEqual(
          report.inbounds.map(({ tag }) => tag),
          ['tun'],
        );
        const { findings = [] } = report.inbounds[0] ?? {};
        assert.deepEqual(
          findings.filter(({ severity }) => severity !== 'note'),
          [],
        );
        assert.equal(clean.ended?.code, 0);
        ip('link add dummy0 type veth peer name dummy1');
        ip('address add 172.19.0.9/16 dev dummy0');
        const broken = await runWeir(args.filter((word) => word !== '--json'));
        ip('link delete dummy0');
        assert.equal(broken.ended?.code, 1, broken.stderr);
        assert.match(
          broken.stdout,
          /^inbound tun: 1 break, 0 leak, .*\n\nbreaks {2}address-overlap\n/,
        );
      });

      /** The shape of Docker: a bridge, a container behind it, and its rules. */
      function startDocker(network = '172.17.0'): void {
        ip('link add docker0 type bridge');
        ip(`address add ${network}.1/16 dev docker0`);
        ip('link set docker0 up');
        ip('netns add box');
        ip('link add box0 type veth peer name eth0 netns box');
        ip('link set box0 master docker0 up');
        ip('-n box link set lo up');
        ip(`-n box address add ${network}.2/16 dev eth0`);
        ip('-n box link set eth0 up');
        ip(`-n box route add default via ${network}.1`);
        execFileSync('sysctl', ['-qw', 'net.ipv4.ip_forward=1']);
        nft(`table ip nat {
        chain PREROUTING { type nat hook prerouting priority dstnat;
          fib daddr type local tcp dport 8080 dnat to ${network}.2:80
        }
        chain POSTROUTING { type nat hook postrouting priority srcnat;
          ip saddr ${network}.0/16 oifname != "docker0" masquerade
        }
      }
      table ip filter {
        chain DOCKER-USER { }
        chain DOCKER-FORWARD {
          oifname "docker0" ct state established,related accept
          iifname "docker0" accept
          oifname "docker0" ct status dnat accept
        }
        chain FORWARD { type filter hook forward priority filter; policy drop;
          jump DOCKER-USER
          jump DOCKER-FORWARD
        }
      }`);
      }

      function stopDocker(): void {
        ip('netns delete box');
        ip('link delete docker0');
      }

      describe('beside Docker', () => {
        afterEach(stopDocker);

        test('containers go through the device, and a firewall by interface keeps them from it', async () => {
          startDocker();
          // A published port is a finding of its own, below.
          nft('flush chain ip nat PREROUTING');
          assert.equal(bannerIn('box', FAR.host, PORT.banner), 'welcome');
          assert.deepEqual(await problems(), []);
          nft(`table inet filter {
          chain forward { type filter hook forward priority filter; policy drop;
            iifname "docker0" oifname "uplink" accept
            iifname "uplink" oifname "docker0" ct state established,related accept
          }
        }`);
          assert.equal(bannerIn('box', FAR.host, PORT.banner, DROPPED), '');
          assert.deepEqual(await problems(), ['forward-dropped']);
          run(recipe('A firewall that forwards by interface'));
          assert.equal(bannerIn('box', FAR.host, PORT.banner), 'welcome');
          assert.deepEqual(await problems(), []);
        });

        test("a device at the address of a container's network hides the container", async () => {
          startDocker('172.19.0');
          nft('flush chain ip nat PREROUTING');
          await using server = boxServer();
          await server.until('a server', ({ stdout }) => stdout.includes('ready') || undefined);
          // The subnet of the device is more specific than that of the bridge.
          assert.notEqual(await connectError('172.19.0.2', 80), 'connected');
          assert.deepEqual(await problems(), ['address-overlap']);
          const text = recipe("A network of Docker at the device's address", FIRST, 'toml');
          const [, list = ''] = /^address = (.*)$/m.exec(text) ?? [];
          const address = JSON.parse(list) as readonly string[];
          await apply(config({ address }));
          assert.equal(await connectError('172.19.0.2', 80), 'connected');
          put('/etc/resolv.conf', 'nameserver 10.255.255.2\n');
          assert.deepEqual(await problems({ addresses: cidrs(address) }), []);
          assert.equal(await lookUp('www.far.test'), FAR.host);
          assert.equal(bannerIn('box', FAR.host, PORT.banner), 'welcome');
          await apply(config());
        });

        test('published ports are reached from beyond the local network', async () => {
          startDocker();
          await using server = boxServer();
          await server.until('a server', ({ stdout }) => stdout.includes('ready') || undefined);
          // A client beyond the router, which would be one of the connected network otherwise.
          ip(`-n far route add 10.9.9.1/32 dev downlink src ${FAR.host}`);
          try {
            assert.equal(bannerIn('far', '10.9.9.1', 8080, DROPPED), '');
            assert.deepEqual(await problems(), ['published-ports']);
            run(recipe('Published ports'));
            assert.equal(bannerIn('far', '10.9.9.1', 8080), 'inside');
            assert.equal(bannerIn('box', FAR.host, PORT.banner), 'welcome');
            assert.deepEqual(await problems(), []);
            run(recipe('Published ports', BACK));
            assert.deepEqual(await problems(), ['published-ports']);
          } finally {
            ip('-n far route delete 10.9.9.1/32');
          }
        });
      });

      test('a strict filter of return paths is found, and the loose one is not', async () => {
        execFileSync('sysctl', ['-qw', 'net.ipv4.conf.uplink.rp_filter=1']);
        try {
          assert.deepEqual(await problems(), ['rp-filter-strict']);
          const lines = recipe('A gateway').split('\n');
          run(
            lines
              .filter((line) => line.includes('rp_filter'))
              .join('\n')
              .replace('-w', '-qw'),
          );
          assert.deepEqual(await problems(), []);
        } finally {
          execFileSync('sysctl', [
            '-qw',
            'net.ipv4.conf.uplink.rp_filter=0',
            'net.ipv4.conf.all.rp_filter=0',
          ]);
        }
      });

      test('a gateway needs forwarding', async () => {
        const names = ['net.ipv4.ip_forward', 'net.ipv6.conf.all.forwarding'];
        execFileSync('sysctl', ['-qw', ...names.map((name) => `${name}=0`)]);
        assert.deepEqual(await problems(), []);
        assert.deepEqual(await problems({ isGateway: true }), [
          'forwarding-off',
          'forwarding6-off',
        ]);
        const lines = recipe('A gateway').split('\n');
        run(
          lines
            .filter((line) => line.includes('ip_forward'))
            .join('\n')
            .replace('-w', '-qw'),
        );
        assert.deepEqual(await problems({ isGateway: true }), []);
      });

      test('IPv6 that the device does not cover is a leak', async () => {
        const routes = cidrs(EVERYTHING.slice(0, 2));
        assert.deepEqual(await problems({ routes }), ['ipv6-leak']);
      });

      test('questions to systemd-resolved leave by the link, and the recipe ends that', async (t) => {
        await startResolved(t);
        const asked = askedRouter();
        await lookUp('www.far.test');
        // The stub asks by itself, if only after the C library has given up.
        await eventually('a question to the router', () => askedRouter() > asked);
        assert.deepEqual(await problems(), ['resolver-past-device']);
        run(recipe('systemd-resolved'));
        put(STUB_FILE, STUB);
        const later = askedRouter();
        assert.equal(await lookUp('www.far.test'), FAR.host);
        assert.equal(askedRouter(), later, 'the router was asked as well');
        assert.deepEqual(await problems(), []);
        run(recipe('systemd-resolved', BACK));
        assert.deepEqual(await problems(), ['resolver-past-device']);
        rmSync('/run/systemd', { recursive: true });
      });

      test('servers that programs have of their own are refused, in the local network and beyond', async (t) => {
        const dns = await startPlainDns(t, (question) =>
          reply(question, { answers: question.type === 'A' ? [a(question.name, FAR.host)] : [] }),
        );
        const lines = recipe('DNS leaks', FIRST, 'toml');
        const own = `[dns]\nbackend = "udp"\nserver = "127.0.0.1:${dns.port}"\n`;
        await apply(own + tunConfig(freedom() + rule('direct', 'port = ["7"]') + blackhole(lines)));
        const ask = async (server: string): Promise<void> => {
          put('/etc/resolv.conf', `nameserver ${server}\noptions timeout:1 attempts:1\n`);
          await lookUp('www.far.test');
        };
        const asked = askedRouter();
        await ask(FAR.gateway);
        assert.ok(askedRouter() > asked, 'the router was not asked');
        const { queries } = await site.counts();
        await ask(FAR.host);
        assert.equal((await site.counts()).queries, queries, 'a server beyond was asked');
        run(recipe('DNS leaks'));
        const later = askedRouter();
        await ask(FAR.gateway);
        assert.equal(askedRouter(), later, 'the router was asked');
        put('/etc/resolv.conf', `nameserver ${TUN.resolver}\n`);
        assert.equal(await lookUp('www.far.test'), FAR.host);
        run(recipe('DNS leaks', BACK));
        await apply(config());
      });

      test('NetworkManager is told to leave the device alone, and a roam leaves the tunnel alive', async () => {
        mkdirSync('/run/NetworkManager', { recursive: true });
        mkdirSync('/etc/NetworkManager/conf.d', { recursive: true });
        rmSync('/etc/NetworkManager/conf.d/90-weir.conf', { force: true });
        const ids = async (): Promise<readonly string[]> =>
          findingsOf(await readMachine([inbound()], process.env), inbound()).map(({ id }) => id);
        assert.ok((await ids()).includes('network-manager'));
        ownProgram(
          'nmcli',
          `[ "$*" = "general reload" ] && cat /etc/NetworkManager/conf.d/90-weir.conf > ${OWN_PROGRAMS}/loaded`,
        );
        run(recipe('NetworkManager and roaming'));
        assert.ok(!(await ids()).includes('network-manager'));
        assert.equal(await connectError(FAR.host, PORT.echo), 'connected');
        // Another network on the same interface.
        ip('-n far address add 10.6.6.2/24 dev downlink');
        ip('route delete default');
        ip('address delete 10.9.9.1/24 dev uplink');
        ip('address add 10.6.6.1/24 dev uplink');
        ip('route add default via 10.6.6.2');
        ip('-n far route replace default via 10.6.6.1');
        try {
          assert.equal(await connectError(FAR.host, PORT.echo), 'connected');
          assert.equal(await lookUp('www.far.test'), FAR.host);
          assert.match(ip(`route get ${FAR.host}`), / dev weir0 /);
          assert.deepEqual(await problems(), []);
        } finally {
          ip('address delete 10.6.6.1/24 dev uplink');
          ip('address add 10.9.9.1/24 dev uplink');
          ip(`route add default via ${FAR.gateway}`);
          ip('-n far route replace default via 10.9.9.1');
          rmSync('/run/NetworkManager', { recursive: true });
        }
      });
    },
  );
});

/** A server of a line, in the container. */
const boxServer = (): Child =>
  new Child('ip', [
    'netns',
    'exec',
    'box',
    process.execPath,
    '-e',
    "require('net').createServer((s) => s.on('error', () => {}).end('inside\\n')).listen(80, '0.0.0.0', () => console.log('ready'))",
  ]);

const STUB_FILE = '/run/systemd/resolve/stub-resolv.conf';
const STUB = 'nameserver 127.0.0.53\n';

/** The outbound that the page's rule names, and the rule. */
const blackhole = (lines: string): string =>
  `[[outbound]]\ntag = "blackhole"\nprotocol = "blackhole"\n${lines}`;

function ownProgram(name: string, lines: string): void {
  const path = join(OWN_PROGRAMS, name);
  writeFileSync(path, `#!/bin/sh\n${lines}\n`);
  chmodSync(path, 0o755);
}

/**
 * The shape of systemd-resolved: a stub that asks the server of the link, or those of its configuration for every
 * name; it takes these over when it is restarted.
 */
async function startResolved(t: TestContext): Promise<void> {
  mkdirSync('/run/systemd/resolve/netif', { recursive: true });
  const upstream = '/run/systemd/resolve/resolv.conf';
  const dropIn = '/etc/systemd/resolved.conf.d/weir.conf';
  rmSync(dropIn, { force: true });
  ownProgram(
    'systemctl',
    `[ "$*" = "restart systemd-resolved" ] || exit 1
    if [ -e ${dropIn} ]; then sed -n 's/^DNS=/nameserver /p' ${dropIn} > ${upstream}; else : > ${upstream}; fi
    echo 'nameserver ${FAR.gateway}' >> ${upstream}`,
  );
  run('systemctl restart systemd-resolved');
  // No question is answered before the recipe: longer changes nothing.
  put(STUB_FILE, `${STUB}options timeout:1 attempts:1\n`);
  rmSync('/etc/resolv.conf');
  symlinkSync(STUB_FILE, '/etc/resolv.conf');
  // The server of the link, as DHCP has it.
  put('/run/systemd/resolve/netif/2', `SERVERS=${FAR.gateway}\n`);
  const { StubResolver } = await import('../support/netns/stub-resolver.ts');
  const stub = new StubResolver('127.0.0.53', upstream);
  t.after(() => stub[Symbol.asyncDispose]());
  await stub.ready();
}

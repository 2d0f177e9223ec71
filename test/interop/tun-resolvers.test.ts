import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { beforeEach, describe, test } from 'node:test';
import { freedom } from '../support/process/config.ts';
import { Control } from '../support/process/control.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { makePrivateSystem, put } from '../support/netns/private-system.ts';
import { FAR, inside, NEAR, PORT, Site } from '../support/netns/site.ts';
import { tunConfig } from '../support/netns/tun-config.ts';
import { eventually } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';
import { shared } from '../support/shared.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/tun.md'), 'utf8');

const CONFIG =
  `[log]\nlevel = "debug"\n[dns]\nbackend = "udp"\nserver = "${FAR.host}:${PORT.names}"\n` +
  tunConfig(freedom());

const WARNING = '[dns] does not answer the names';
const ANSWERED = 'no server that programs of this host ask for names is past [dns]';

/** The two parts of a recipe of the page: there, and back. */
function recipe(heading: string): readonly [string, string] {
  const section = PAGE.split(`\n### ${heading}\n`)[1]?.split(/\n##/, 1)[0] ?? '';
  const parts = section.split('```sh\n').slice(1, 3);
  const [there, back] = parts.map((each) => each.split('```', 1)[0]);
  assert.ok(there !== undefined && back !== undefined, `the page has no recipe "${heading}"`);
  return [there, back];
}

/** Where daemons are that people do not start by hand, beside the usual folders. */
const FOLDERS = [
  ...(process.env['PATH'] ?? '').split(delimiter),
  '/usr/sbin',
  '/sbin',
  '/usr/lib/systemd',
  '/lib/systemd',
];

const pathOf = (program: string): string | undefined =>
  FOLDERS.map((folder) => join(folder, program)).find((path) => existsSync(path));

/** Why a test that needs programs is skipped; `false` when all of them are here. */
function without(...programs: readonly string[]): string | false {
  const missing = programs.filter((each) => pathOf(each) === undefined);
  return missing.length === 0 ? false : `not installed: ${missing.join(', ')}`;
}

const isOpenresolv = (): boolean =>
  spawnSync('resolvconf', ['--version'], { encoding: 'utf8' }).stdout?.includes('openresolv') ??
  false;

const RESOLVED_USER = 'systemd-resolve';

/** In front of the programs of the system. */
const OWN_PROGRAMS = '/run/weir-test';

/** Runs lines of the page as their reader does. */
function run(lines: string): void {
  execFileSync('sh', ['-e', '-c', lines], {
    env: { ...process.env, PATH: [OWN_PROGRAMS, ...FOLDERS].join(delimiter) },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

const waitFor = (what: string, check: string): Promise<true> =>
  eventually(
    what,
    () =>
      spawnSync('sh', ['-c', check], {
        env: { ...process.env, PATH: FOLDERS.join(delimiter) },
      }).status === 0 || undefined,
  );

/** Datagrams to the router of the local network that no server of its took: its port 53 has none. */
const askedRouter = (): number =>
  Number(/^Udp: \d+ (\d+)/m.exec(inside('far', 'cat', '/proc/net/snmp'))?.[1]);

/** The address of a name as the C library finds it; '' when it does not. */
const lookUp = (name: string): string =>
  spawnSync('getent', ['ahostsv4', name], { encoding: 'utf8', timeout: 20_000 }).stdout.split(
    ' ',
    1,
  )[0] ?? '';

inOwnNetwork(import.meta.url, () => {
  describe('the recipes for the resolver of a machine', () => {
    shared(async (use) => {
      use(makePrivateSystem());
      mkdirSync(OWN_PROGRAMS, { recursive: true });
      makeUser();
      use(await Site.make());
    });

    beforeEach(() => {
      put('/etc/nsswitch.conf', 'hosts: files dns\n');
      put('/etc/resolv.conf', `nameserver ${FAR.gateway}\noptions timeout:1 attempts:1\n`);
    });

    /** Weir warns, and the router is asked indeed. */
    async function assertBypassed(): Promise<void> {
      await using weir = await Weir.start(CONFIG);
      const control = await Control.of(weir);
      await control.logged(WARNING);
      const before = askedRouter();
      lookUp('www.far.test');
      assert.ok(askedRouter() > before, 'the router was not asked');
    }

    async function assertAnswered(): Promise<void> {
      await using weir = await Weir.start(CONFIG);
      const control = await Control.of(weir);
      await control.logged(ANSWERED);
      assert.equal(control.count(WARNING), 0);
      const before = askedRouter();
      assert.equal(lookUp('www.far.test'), FAR.host);
      assert.equal(askedRouter(), before, 'the router was asked as well');
    }

    async function assertRecipe(
      heading: string,
      settled = { there: 'true', back: 'true' },
    ): Promise<void> {
      const [there, back] = recipe(heading);
      await assertBypassed();
      run(there);
      await waitFor(`the recipe "${heading}"`, settled.there);
      await assertAnswered();
      run(back);
      await waitFor('the way back', settled.back);
      await assertBypassed();
    }

    test('a plain file', async () => {
      const before = readFileSync('/etc/resolv.conf', 'utf8');
      await assertRecipe('A plain file');
      assert.equal(readFileSync('/etc/resolv.conf', 'utf8'), before);
    });

    test('a plain file in place of the link of a service', async () => {
      put('/run/resolvconf/resolv.conf', readFileSync('/etc/resolv.conf', 'utf8'));
      rmSync('/etc/resolv.conf');
      symlinkSync('/run/resolvconf/resolv.conf', '/etc/resolv.conf');
      const [there, back] = recipe('A plain file');
      run(there);
      // As that service does when an interface comes.
      put('/run/resolvconf/resolv.conf', `nameserver ${FAR.gateway}\n`);
      await assertAnswered();
      run(back);
      assert.ok(lstatSync('/etc/resolv.conf').isSymbolicLink());
      await assertBypassed();
      put('/etc/resolv.conf', '');
    });

    test('openresolv', { skip: isOpenresolv() ? false : 'not installed: openresolv' }, async () => {
      run(`echo 'nameserver ${FAR.gateway}' | resolvconf -a ${NEAR.device}`);
      await assertRecipe('openresolv');
    });

    const noResolved = without('systemd-resolved', 'resolvectl', 'dbus-daemon');
    test('systemd-resolved', { skip: noResolved }, async () => {
      startBus();
      mkdirSync('/run/systemd/resolve', { recursive: true });
      execFileSync('chown', [`${RESOLVED_USER}:`, '/run/systemd/resolve']);
      rmSync('/etc/resolv.conf');
      symlinkSync('/run/systemd/resolve/stub-resolv.conf', '/etc/resolv.conf');
      // What the service manager does about `restart systemd-resolved`.
      writeFileSync(
        join(OWN_PROGRAMS, 'systemctl'),
        `#!/bin/sh
read old < ${OWN_PROGRAMS}/resolved.pid && kill "$old" && while [ -e "/proc/$old/exe" ]; do sleep 0.05; done
setsid ${pathOf('systemd-resolved')} > ${OWN_PROGRAMS}/resolved.log 2>&1 &
echo "$!" > ${OWN_PROGRAMS}/resolved.pid
`,
        { mode: 0o755 },
      );
      run(`systemctl restart systemd-resolved 2> ${OWN_PROGRAMS}/first`);
      await waitFor('systemd-resolved', 'resolvectl status');
      // As a program that has the answer of DHCP does.
      run(`resolvectl dns ${NEAR.device} ${FAR.gateway}`);
      const shows = (test: string): string => `resolvectl status | ${test}`;
      await assertRecipe('systemd-resolved', {
        there: shows(`grep -q 172.19.0.2`),
        back: shows(`grep -q ${FAR.gateway}`),
      });
      run(`read pid < ${OWN_PROGRAMS}/resolved.pid && kill "$pid"`);
    });

    const noManager = without('NetworkManager', 'nmcli', 'dbus-daemon');
    test('NetworkManager', { skip: noManager }, async () => {
      // Writable, it means to NetworkManager that there is an udev to wait for.
      execFileSync('mount', ['-t', 'sysfs', '-o', 'ro', 'sysfs', '/sys']);
      execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', '/var/lib']);
      mkdirSync('/etc/NetworkManager/conf.d', { recursive: true });
      put(
        '/etc/NetworkManager/NetworkManager.conf',
        `[main]\nplugins=keyfile\nno-auto-default=*\nrc-manager=symlink\nauth-polkit=false\n[device-${NEAR.device}]\nmatch-device=interface-name:${NEAR.device}\nmanaged=1\n`,
      );
      const profile = `/etc/NetworkManager/system-connections/${NEAR.device}.nmconnection`;
      put(
        profile,
        `[connection]\nid=${NEAR.device}\ntype=ethernet\ninterface-name=${NEAR.device}\n[ipv4]\nmethod=manual\naddress1=${NEAR.host}/24,${FAR.gateway}\ndns=${FAR.gateway};\n[ipv6]\nmethod=manual\naddress1=${NEAR.host6}/64,${FAR.gateway6}\n`,
      );
      execFileSync('chmod', ['600', profile]);
      startBus();
      const manager = spawn(pathOf('NetworkManager') ?? '', ['--no-daemon'], { stdio: 'ignore' });
      try {
        await waitFor('the connection', `nmcli connection up ${NEAR.device}`);
        const asks = (address: string): string =>
          `grep -qx 'nameserver ${address}' /etc/resolv.conf`;
        await waitFor('its resolv.conf', asks(FAR.gateway));
        await assertRecipe('NetworkManager', {
          there: asks('172.19.0.2'),
          back: asks(FAR.gateway),
        });
      } finally {
        manager.kill();
      }
    });
  });
});

/** A system bus of this namespace, unless there is one, on which both services may be offered. */
function startBus(): void {
  if (existsSync('/run/dbus')) return;
  const offers = Object.entries({ resolve1: RESOLVED_USER, NetworkManager: 'root' });
  for (const [name, user] of offers) {
    const service = `org.freedesktop.${name}`;
    put(
      `/etc/dbus-1/system.d/${service}.conf`,
      `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <policy user="${user}"><allow own="${service}"/></policy>
  <policy context="default"><allow send_destination="${service}"/></policy>
</busconfig>
`,
    );
  }
  mkdirSync('/run/dbus', { recursive: true });
  execFileSync('dbus-daemon', ['--system', '--fork', '--nopidfile']);
}

/** As the package of systemd-resolved makes it. */
function makeUser(): void {
  const users = readFileSync('/etc/passwd', 'utf8');
  if (users.includes(`${RESOLVED_USER}:`)) return;
  writeFileSync('/etc/passwd', `${users}${RESOLVED_USER}:x:64993:64993::/:/usr/sbin/nologin\n`);
  const groups = readFileSync('/etc/group', 'utf8');
  writeFileSync('/etc/group', `${groups}${RESOLVED_USER}:x:64993:\n`);
}

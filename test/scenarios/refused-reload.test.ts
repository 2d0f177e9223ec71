import assert from 'node:assert/strict';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { freedom, socksIn } from '../support/process/config.ts';
import { API, Control, errorOf } from '../support/process/control.ts';
import { Download, ownAddress, streamOrigin } from '../support/process/load.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { Weir } from '../support/process/weir.ts';

const UNCHANGED = ' (the files have not changed since this was found)';

const VALID = `${API}${socksIn()}${freedom()}`;

const GROUPS = `[[proxy_server]]\nname = "node"\nprotocol = "freedom"\n`;

interface Case {
  readonly what: string;
  readonly config: (folder: string, taken: number) => string;
  /** Files beside it. */
  readonly files?: Readonly<Record<string, string>>;
  readonly status: number;
  readonly error: string | ((folder: string, taken: number) => string);
  /** What precedes the error in the log. */
  readonly kind?: 'configuration' | 'apply';
  /** The line below it in the log. */
  readonly place?: string;
}

const subscribed = (path: string): string => `${VALID}[subscribe]\npath = "${path}"\n`;

const CASES: readonly Case[] = [
  {
    what: 'no TOML',
    config: () => `${VALID}[[inbound`,
    status: 422,
    error: 'TOML parse error at line 12, column 10\n',
  },
  {
    what: 'an unknown key',
    config: () => `${VALID}[log]\nlevle = "info"\n`,
    status: 422,
    error: 'TOML parse error at line 13, column 1\n',
  },
  {
    what: 'an unknown tag',
    config: () => `${VALID}[route]\ndefault = "absent"\n`,
    status: 422,
    error: 'route references unknown outbound tag: absent',
    place: 'weir.toml:13:11 (route)',
  },
  {
    what: 'a tag that two carry',
    config: () => `${VALID}${freedom()}`,
    status: 422,
    error: 'duplicate outbound tag: direct',
  },
  {
    what: 'wrong settings',
    config: () => `${VALID}${socksIn('b', '[inbound.settings]\nauth = "none "')}`,
    status: 422,
    error: 'inbound b: invalid settings: unknown socks auth',
  },
  {
    what: 'a member that no probe can reach',
    config: () => `${VALID}[[balancer]]\ntag = "b"\noutbounds = ["direct"]\n`,
    status: 422,
    error:
      'balancer b: outbound direct has no upstream a TCP health probe can reach, so it cannot be balanced',
  },
  {
    what: 'a port in use',
    config: (_, taken) => `${VALID}${socksIn('b').replace('port = 0', `port = ${taken}`)}`,
    status: 500,
    error: (_, taken) => `inbound b: cannot listen on 127.0.0.1:${taken}: address already in use`,
    kind: 'apply',
  },
  {
    what: 'an API that is open to all',
    config: () => VALID.replace('127.0.0.1:0', '0.0.0.0:0'),
    status: 422,
    error:
      '[api] listen 0.0.0.0:0: an API reachable from other hosts needs a secret; listen on a loopback address or a unix socket, or set one',
  },
  {
    what: '[subscribe] without a path',
    config: () => `${VALID}[subscribe]\n`,
    status: 422,
    error: (folder) =>
      `cannot read ${join(folder, 'weir.toml')}: [subscribe] needs a path naming the subscribe file`,
  },
  {
    what: 'a subscribe file that is not there',
    config: () => subscribed('gone.toml'),
    status: 500,
    error: (folder) =>
      `cannot read ${join(folder, 'weir.toml')}: subscribe file ${join(folder, 'gone.toml')}: no such file or directory`,
  },
  {
    what: 'groups that inherit in a cycle',
    config: () => subscribed('cycle.toml'),
    files: {
      'cycle.toml': `${GROUPS}[[route_group]]\nname = "A"\ninherit = { group = "B" }\n[[route_group]]\nname = "B"\ninherit = { group = "A" }\n`,
    },
    status: 422,
    error: 'route group "A" inherits in a cycle',
  },
  {
    what: 'a certificate file that is not there',
    config: (folder) => `${VALID}[dns]\nca_file = "${join(folder, 'ca.pem')}"\n`,
    status: 500,
    error: (folder) =>
      `dns: cannot read ca_file ${join(folder, 'ca.pem')}: no such file or directory`,
  },
  {
    what: 'a certificate file that is a folder',
    config: (folder) => `${VALID}[dns]\nca_file = "${folder}"\n`,
    status: 500,
    error: (folder) => `dns: cannot read ca_file ${folder}: is a directory`,
  },
  {
    what: 'invalid geo data',
    config: (folder) =>
      `${VALID}[route]\ngeosite = "${join(folder, 'sites.dat')}"\n[[route.rule]]\noutbound = "direct"\ngeosite = ["x"]\n`,
    files: { 'sites.dat': 'not a geosite file' },
    status: 422,
    error: (folder) => `${join(folder, 'sites.dat')}: not a geosite file: `,
  },
];

describe('a reload that is refused', () => {
  test('has its reason in the response and in the log, and changes nothing', async (t) => {
    await using origin = await streamOrigin();
    await using weir = await Weir.start(VALID);
    const control = await Control.of(weir);
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    t.after(() => taken.close());
    const { port } = taken.address() as AddressInfo;

    const host = ownAddress();
    const connect = () => socksConnect(weir.address('socks'), { host, port: origin.port });
    const download = new Download(await connect(), host);
    await download.round(1000);
    const [flow] = await control.flowsTo(host);

    for (const [number, { what, files = {}, config, status, error, ...rest }] of CASES.entries()) {
      for (const [name, content] of Object.entries(files)) {
        await writeFile(join(weir.folder, name), content);
      }
      await control.write(config(weir.folder, port));
      const expected = typeof error === 'string' ? error : error(weir.folder, port);
      const first = await control.post();
      const reported = errorOf(first);
      assert.ok(reported.startsWith(expected), `${what}: ${reported}`);
      assert.equal(first.status, status, what);

      const front = rest.kind === 'apply' ? '' : 'configuration invalid: ';
      const line = `ERROR svc_app::instance: reload: ${front}${reported.split('\n')[0]}`;
      await control.logged(line);
      const logged = weir.child.stderr;
      assert.ok(
        logged.includes(`reload: ${front}${reported}; keeping the running config\n`),
        `${what}: ${logged.slice(-500)}`,
      );
      if (rest.place !== undefined)
        assert.match(logged, new RegExp(`  at \\S*/${RegExp.escape(rest.place)}\n`));

      // A file that could not be read was not tried, so the same again is no repetition.
      const expectedAgain =
        status === 500 && rest.kind !== 'apply' ? [500, reported] : [422, reported + UNCHANGED];
      const second = await control.post();
      assert.deepEqual([second.status, errorOf(second)], expectedAgain, what);

      await download.round(1000);
      const [now] = await control.flowsTo(host);
      const { id, outbound, outbound_version, plane_epoch } = now ?? {};
      assert.deepEqual(
        { id, outbound, outbound_version, plane_epoch },
        { id: flow?.id, outbound: 'direct', outbound_version: 1, plane_epoch: 1 },
        what,
      );
      (await connect()).destroy();
      assert.equal(control.count('config reloaded'), 0, `${number}`);
      assert.equal(control.count('listening on'), 2, what);
    }

    // The file of the running configuration again: that is a change from what was last tried.
    const report = await control.apply(VALID);
    assert.equal(report.status, 'applied');
    assert.deepEqual([report.built, report.reused.length], [[], 4]);
    assert.equal((await control.apply(VALID)).status, 'unchanged');
    await control.logged('config reloaded: nothing that runs has changed');
    assert.equal(control.count('config reloaded: nothing that runs has changed'), 1);
    await download.end();
  });

  test('of a configuration file that is missing, or a folder, reports that it cannot be read', async () => {
    await using weir = await Weir.start(VALID);
    const control = await Control.of(weir);
    await rename(control.file, `${control.file}.away`);
    const gone = await control.post();
    assert.deepEqual(
      [gone.status, errorOf(gone)],
      [500, `cannot read ${control.file}: no such file or directory`],
    );
    await mkdir(control.file);
    const folder = await control.post();
    assert.deepEqual(
      [folder.status, errorOf(folder)],
      [500, `cannot read ${control.file}: is a directory`],
    );
    await rm(control.file, { recursive: true });
    // Back as it was: there is nothing to do.
    await rename(`${control.file}.away`, control.file);
    assert.deepEqual(await control.api.json('POST', '/v1/reload'), { status: 'unchanged' });
    assert.equal(control.count('config reloaded'), 0);
  });

  test('is refused again with the same text by a signal, until a file changes', async () => {
    await using weir = await Weir.start(VALID);
    const control = await Control.of(weir);
    const refusal = 'reload: configuration invalid: config defines no outbounds';
    await control.write(`${API}${socksIn()}`);
    weir.child.signal('SIGHUP');
    await control.logged(`${refusal}; keeping the running config`);
    weir.child.signal('SIGHUP');
    await control.logged(`${refusal}${UNCHANGED}; keeping the running config`);
    await control.write(VALID);
    weir.child.signal('SIGHUP');
    await control.logged('INFO svc_app::instance: config reloaded: nothing that runs has changed');
  });
});

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { requestLoadedFiles, requestStatus } from '@weir/server/control';
import { buildText, ownBuild } from '@weir/io/process';
import { freedom, proxyOut, socksIn } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import { Download, ownAddress, streamOrigin } from '../support/process/load.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { SocksServer } from '../support/peers/socks-server.ts';
import { freePort } from '../support/ports.ts';
import { eventually, within } from '../support/wait.ts';
import { Weir, weirCommand } from '../support/process/weir.ts';

/** A command of `weir` that has ended. */
async function weirRun(...args: string[]) {
  await using child = weirCommand(args);
  const { code } = await within(child.exited, `the end of weir ${args[0]}`);
  return { code, stdout: child.stdout, stderr: child.stderr };
}

const node = (name: string, { host, port }: { host: string; port: number }): string =>
  `[[proxy_server]]\nname = "${name}"\nprotocol = "socks"\nserver = "${host}"\nport = ${port}\n`;

describe('weir status', () => {
  test('tells inbounds, balancers with the error of a probe, limits and a refused reload', async () => {
    await using up = await SocksServer.start();
    const gone = { host: '127.0.0.1', port: await freePort() };
    const config = `${API}${socksIn()}${proxyOut('up', 'socks', up.address)}${proxyOut('gone', 'socks', gone)}[[balancer]]\ntag = "both"\noutbounds = ["gone", "up"]\n`;
    await using weir = await Weir.start(config, { control: true });
    const control = await Control.of(weir);
    const both = await eventually('both probes', async () => {
      const [group] = (await requestStatus(weir.controlPath)).balancers;
      return group?.members.every(({ health }) => health !== 'unknown') ? group : undefined;
    });
    assert.deepEqual(
      both.members.map(({ outbound, health }) => [outbound, health]),
      [
        ['gone', 'unavailable'],
        ['up', 'available'],
      ],
    );
    assert.match(both.members[0]?.error ?? '', /refused/);
    assert.equal(both.members[1]?.error, null);

    const file = { path: control.file, state: 'same' };
    assert.deepEqual(await requestLoadedFiles(weir.controlPath), { files: [file], more: 0 });
    const valid = await readFile(control.file, 'utf8');
    await writeFile(control.file, `${valid}\n[nonsense]\n`);
    const { files } = await requestLoadedFiles(weir.controlPath);
    assert.deepEqual(files, [{ ...file, state: 'changed' }]);
    await control.post();
    const status = await requestStatus(weir.controlPath);
    assert.equal(status.pid, weir.child.pid);
    assert.equal(status.config, control.file);
    assert.deepEqual(
      status.inbounds.map(({ tag, protocol, flows }) => [tag, protocol, flows]),
      [['socks', 'socks', 0]],
    );
    assert.equal(status.last_reload?.outcome.kind, 'failed');
    assert.equal(status.last_reload?.place?.file, control.file);
    assert.equal(status.last_reload?.place?.line, valid.split('\n').length + 1);
    assert.deepEqual([status.reloads.applied, status.reloads.failed], [0, 1]);
    assert.deepEqual([status.sessions_opened, status.flows_opened, status.traffic.up], [0, 0, 0]);
    assert.ok(status.processor.user > 0);
    assert.ok(status.limits.some(({ name, used, limit }) => name === 'open files' && used < limit));
    assert.ok(status.event_loop !== null && status.event_loop.max >= status.event_loop.p50);
    assert.ok(status.event_loop.sum >= 0 && status.event_loop.count > 0);

    const { build } = status;
    // A bundle has a date as well, and a mark for changed files.
    assert.equal(build?.commit.slice(0, 12), ownBuild()?.commit);
    const shown = await weirRun('status', '--socket', weir.controlPath);
    assert.deepEqual([shown.code, shown.stderr], [0, '']);
    const known = build ? ` (${buildText(build)})` : '';
    assert.ok(shown.stdout.startsWith(`weir ${status.version}${known}, pid `), shown.stdout);
    assert.match(shown.stdout, /^last reload: .* ago: reload: configuration invalid: /m);
    assert.match(shown.stdout, /both +failover +gone +unavailable +\S+ ago +.*refused/);
    const json = await weirRun('status', '--json', '--socket', weir.controlPath);
    assert.equal((JSON.parse(json.stdout) as { version: string }).version, status.version);
  });
});

describe('weir ctl pick --close', () => {
  test('closes the flows of the group on its old target, and no others', async () => {
    await using one = await SocksServer.start();
    await using two = await SocksServer.start();
    await using origin = await streamOrigin();
    const host = ownAddress();
    const config = `${API}${socksIn()}${freedom('own')}\n[subscribe]\npath = "sub.toml"\n\n[subscribe.routes]\nVideo = "One"\ndefault = "One"\n`;
    const groups = `[[route_group]]\nname = "Video"\n[[route_group.rule]]\ncidr = ["${host}"]\n`;
    await using weir = await Weir.start(config, {
      control: true,
      files: { 'sub.toml': node('One', one.address) + node('Two', two.address) + groups },
    });
    const control = await Control.of(weir);
    const proxy = weir.address('socks');
    const open = async (to: string): Promise<Download> =>
      new Download(await socksConnect(proxy, { host: to, port: origin.port }), to);
    const video = [await open(host), await open(host)];
    const other = await open('127.0.0.1');
    for (const download of [...video, other]) await download.round(1000);

    const [, at = ''] = /API listening on (\S+)/.exec(weir.child.stderr) ?? [];
    const pick = (target: string, ...options: string[]) =>
      weirRun(
        'ctl',
        '--api',
        at,
        'pick',
        'Video',
        target,
        '--close',
        ...options,
        '--socket',
        weir.controlPath,
      );
    const linesOf = (text: string): unknown[] =>
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown);

    const before = await readFile(control.file, 'utf8');
    const tried = await pick('Two', '--dry-run');
    assert.deepEqual([tried.code, linesOf(tried.stdout)], [0, [{ open: 2 }]]);
    assert.equal(await readFile(control.file, 'utf8'), before);

    const picked = await pick('Two');
    assert.equal(picked.code, 0, picked.stderr);
    const [counted, report, closed] = linesOf(picked.stdout);
    assert.deepEqual(counted, { open: 2 });
    assert.equal((report as { status: string }).status, 'applied');
    assert.deepEqual(closed, { closed: 2 });
    await other.round(1000);
    assert.deepEqual(
      (await control.connections()).flows.map(({ host: to, outbound }) => [to, outbound]),
      [['127.0.0.1', 'One']],
    );

    const unknown = await pick('Three');
    assert.equal(unknown.code, 1);
    assert.match(unknown.stderr, /no node, outbound or balancer is named "Three"/);
    await other.end();
  });
});

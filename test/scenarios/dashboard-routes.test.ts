import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { createFilePages } from '../../packages/watch/src/dashboard/create-file-pages.ts';
import type {
  ConfigTextView,
  ConfigView,
  ReloadResult,
  RestorePreview,
  RestoreResult,
} from '../../packages/watch/src/dashboard/config/view.ts';
import type {
  PickPreview,
  RoutePickResult,
  RoutesView,
} from '../../packages/watch/src/dashboard/routes/view.ts';
import { WatchedSource } from '../support/dashboard/watched-source.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { API } from '../support/process/control.ts';
import { Download, ownAddress, streamOrigin } from '../support/process/load.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { SocksServer } from '../support/peers/socks-server.ts';
import { Weir } from '../support/process/weir.ts';

const node = (name: string, { host, port }: { host: string; port: number }): string =>
  `[[proxy_server]]\nname = "${name}"\nprotocol = "socks"\nserver = "${host}"\nport = ${port}\n`;

const start = (config: string, files?: Record<string, string>): Promise<Weir> =>
  Weir.start(`${API}${socksIn()}${config}`, { control: true, ...(files && { files }) });

const hasRoutes = ({ etag }: RoutesView): boolean => etag !== null;

describe('the page Routes', { concurrency: true }, () => {
  test('shows ways and flows, and a pick changes one place of the file and closes what was wanted', async () => {
    await using one = await SocksServer.start();
    await using two = await SocksServer.start();
    await using origin = await streamOrigin();
    const host = ownAddress();
    const config = `${freedom('own')}\n[subscribe]\npath = "sub.toml"\n[subscribe.routes]\nVideo = 'One' # as it was\n`;
    const groups = `[[route_group]]\nname = "Video"\n[[route_group.rule]]\ncidr = ["${host}"]\n[[route_group]]\nname = "News"\ninherit = { group = "Video" }\n[[route_group.rule]]\ndomain_suffix = ["news.example"]\n`;
    await using weir = await start(config, {
      'sub.toml': node('One', one.address) + node('Two', two.address) + groups,
    });
    const proxy = weir.address('socks');
    const open = async (to: string): Promise<Download> =>
      new Download(await socksConnect(proxy, { host: to, port: origin.port }), to);
    const video = await open(host);
    const other = await open('127.0.0.1');
    for (const download of [video, other]) await download.round(1000);
    using page = await WatchedSource.of(weir, createFilePages);
    const routes = await page.until<RoutesView>(
      'routes',
      'flows of both routes',
      ({ rows }) => rows[0]?.flows === 1 && rows[1]?.flows === 1,
    );
    assert.deepEqual(
      routes.rows.map(({ name, pick, chain, target, kind, flows }) => [
        name,
        pick,
        chain,
        target,
        kind,
        flows,
      ]),
      [
        ['default', null, [], 'own', 'outbound', 1],
        ['Video', 'One', [], 'One', 'node', 1],
        ['News', null, ['Video'], 'One', 'node', 0],
      ],
    );
    assert.equal(page.view<RoutesView>('routes', { find: 'news' }).total, 1);

    const before = await readFile(page.context.config ?? '', 'utf8');
    const wanted = { group: 'Video', target: 'Two' };
    const preview = await page.act<PickPreview>('route-preview', wanted);
    assert.deepEqual(
      [preview.from, preview.to, preview.open, preview.followers, preview.others],
      ['One', 'Two', 1, ['News'], []],
    );
    const { etag } = preview;
    const picked = await page.act<RoutePickResult>('route-pick', { ...wanted, etag, close: true });
    assert.equal(picked.kind, 'done', JSON.stringify(picked));
    assert.deepEqual([picked.closed, picked.unclosed], [1, null]);
    assert.equal(
      await readFile(page.context.config ?? '', 'utf8'),
      before.replace(`Video = 'One' #`, `Video = "Two" #`),
    );
    await other.round(1000);
    await other.end();
  });
});

describe('the page Config', { concurrency: true }, () => {
  test('a refused edit is shown with place and lines, and restored only if nobody has written since', async () => {
    const secret = 'S3cretS3cret';
    const shadow = `[[outbound]]\ntag = "ss"\nprotocol = "shadowsocks"\nserver = "127.0.0.1"\nport = 1\n[outbound.settings]\nmethod = "aes-256-gcm"\npassword = "${secret}"\n`;
    await using weir = await start(`${freedom('near')}${shadow}`);
    using page = await WatchedSource.of(weir, createFilePages);
    await page.until<ConfigView>(
      'config',
      'the check',
      ({ sameness, check }) => sameness === 'same' && check?.kind === 'valid',
    );
    const file = page.context.config ?? '';
    const before = await readFile(file, 'utf8');
    const broken = before.replace(
      `password = "${secret}"`,
      `password = "${secret}"\nnonsense = "${secret}"`,
    );
    await writeFile(file, broken);
    const refused = await page.act<ReloadResult>('config-reload');
    assert.equal(refused.kind, 'refused');
    const line = broken.split('\n').findIndex((text) => text.startsWith('nonsense')) + 1;
    const view = await page.until<ConfigView>(
      'config',
      'the place, and the check of the file as it is now',
      ({ refusal, restore, check }) =>
        refusal !== null &&
        refusal.place !== null &&
        restore.kind === 'possible' &&
        check?.kind === 'invalid',
    );
    assert.equal(view.refusal?.place?.line, line, JSON.stringify(view.refusal));
    assert.equal(view.refusal?.lines.length, 7 - Math.max(0, line + 3 - broken.split('\n').length));
    assert.equal(view.sameness, 'changed');

    const { from, to, difference } = await page.act<RestorePreview>('config-difference');
    assert.deepEqual([difference.removed.length, difference.added.length], [1, 0]);
    await writeFile(file, `${broken}# newer\n`);
    const conflict = await page.act<RestoreResult>('config-restore', { from, to });
    assert.equal(conflict.kind, 'conflict');
    assert.equal(await readFile(file, 'utf8'), `${broken}# newer\n`);
    const again = await page.act<RestorePreview>('config-difference');
    const restored = await page.act<RestoreResult>('config-restore', {
      from: again.from,
      to: again.to,
    });
    assert.equal(restored.kind, 'applied');
    assert.equal(await readFile(file, 'utf8'), before);
    const after = await page.until<ConfigView>(
      'config',
      'what was restored',
      ({ refusal, sameness }) => refusal === null && sameness === 'same',
    );
    assert.deepEqual(
      after.reloads.map(({ by, outcome }) => [by, outcome]),
      [
        ['restore the last version that ran', 'applied'],
        ['reload', 'failed'],
      ],
    );
    const inForce = await page.until<ConfigTextView>(
      'config-text',
      'the starred line',
      ({ rows }) => rows.some(({ text }) => text.startsWith('password = "***"')),
      { find: 'PassWord' },
    );
    const whole = page.view('config-text', { count: 60 });
    assert.ok(!JSON.stringify([view, after, difference, inForce, whole]).includes(secret));
  });

  test('without a control socket the picks work, and what is not known is said', async () => {
    await using weir = await start(`${freedom('near')}${freedom('far')}`);
    using page = await WatchedSource.of(weir, createFilePages, false);
    const routes = await page.until<RoutesView>('routes', 'routes', hasRoutes);
    assert.equal(routes.noCounts, 'absent');
    const wanted = { group: 'default', target: 'far' };
    const preview = await page.act<PickPreview>('route-preview', wanted);
    assert.deepEqual([preview.open, preview.pick], [null, null]);
    assert.match(preview.uncounted ?? '', /control socket/);
    const view = page.view<ConfigView>('config');
    assert.deepEqual([view.sameness, view.running], ['unknown', null]);
    const picked = await page.act<RoutePickResult>('route-pick', { ...wanted, etag: preview.etag });
    assert.equal(picked.kind, 'done');
    await page.until<ConfigView>('config', 'what runs', ({ sameness }) => sameness === 'same');
  });
});

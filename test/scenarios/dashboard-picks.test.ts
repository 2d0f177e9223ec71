import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { describe, test } from 'node:test';
import { ApiClient, parsePlace } from '@weir/client/api';
import type { DashboardContext } from '@weir/watch/dashboard';
import { createFilePages } from '../../packages/watch/src/dashboard/create-file-pages.ts';
import type { ConfigView } from '../../packages/watch/src/dashboard/config/view.ts';
import type {
  PickPreview,
  RoutePickResult,
  RoutesView,
  UndoResult,
} from '../../packages/watch/src/dashboard/routes/view.ts';
import { WatchedSource } from '../support/dashboard/watched-source.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { API } from '../support/process/control.ts';
import { Weir } from '../support/process/weir.ts';

const group = (name: string, more = ''): string =>
  `[[route_group]]\nname = "${name}"\n${more}[[route_group.rule]]\ndomain_suffix = ["${name.toLowerCase()}.example"]\n`;

const SUBSCRIBE = group('Video') + group('News', 'inherit = { group = "Video" }\n');
const CONFIG = `${API}${socksIn()}${freedom('near')}${freedom('far')}[subscribe]\npath = "sub.toml"\n\n[subscribe.routes] # picks\ndefault = "near"\n  Video = 'far' # as it was\n`;

/** A Weir with two groups, and the sources of its dashboard. */
async function start(wrap = (context: DashboardContext, _weir: Weir) => context) {
  await using held = new AsyncDisposableStack();
  const files = { 'sub.toml': SUBSCRIBE };
  const weir = held.use(await Weir.start(CONFIG, { control: true, files }));
  const page = held.use(
    await WatchedSource.of(weir, (context) => createFilePages(wrap(context, weir))),
  );
  await page.until<ConfigView>('config', 'the comparison', ({ sameness }) => sameness === 'same');
  await page.until<RoutesView>('routes', 'the routes', ({ etag }) => etag !== null);
  const file = `${weir.folder}/weir.toml`;
  const done = held.move();
  return {
    weir,
    page,
    file,
    read: () => readFile(file, 'utf8'),
    preview: (parameters: { group: string; target?: string; inherit?: boolean }) =>
      page.act<PickPreview>('route-preview', parameters),
    pick: (parameters: { group: string; target?: string; inherit?: boolean; etag: string }) =>
      page.act<RoutePickResult>('route-pick', parameters),
    [Symbol.asyncDispose]: () => done.disposeAsync(),
  };
}

const VIDEO = { group: 'Video', inherit: true };

/** What only the reload finds: an inbound whose port is taken. */
async function takenInbound() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    text: `\n[[inbound]]\ntag = "second"\nprotocol = "socks"\nlisten = "127.0.0.1"\nport = ${port}\n`,
    [Symbol.dispose]: () => void server.close(),
  };
}

describe('a route inherits again', { concurrency: true }, () => {
  test('by the removal of one line, which is shown before, with what follows from it', async () => {
    await using scene = await start();
    const before = await scene.read();
    const preview = await scene.preview(VIDEO);
    const line = before.split('\n').findIndex((text) => text.includes('Video')) + 1;
    assert.deepEqual(
      [preview.from, preview.to, preview.pick, preview.line, preview.command],
      ['far', 'near', 'far', line, null],
    );
    assert.deepEqual([preview.open, preview.followers], [0, ['News']]);
    const result = await scene.pick({ ...VIDEO, etag: preview.etag });
    assert.equal(result.kind, 'done', JSON.stringify(result));
    assert.equal(await scene.read(), before.replace("  Video = 'far' # as it was\n", ''));
    const { rows } = await scene.page.until<RoutesView>(
      'routes',
      'no pick',
      (view) => view.rows[1]?.pick === null,
    );
    assert.deepEqual(
      rows.map(({ name, pick, target }) => [name, pick, target]),
      [
        ['default', 'near', 'near'],
        ['Video', null, 'near'],
        ['News', null, 'near'],
      ],
    );
    await assert.rejects(scene.preview(VIDEO), { code: 'no-pick' });
  });

  test('not if another writer came first', async () => {
    await using scene = await start();
    const { etag } = await scene.preview(VIDEO);
    const theirs = (await scene.read()).replace("'far'", '"direct"');
    await writeFile(scene.file, theirs);
    const result = await scene.pick({ ...VIDEO, etag });
    assert.ok(result.kind === 'conflict', JSON.stringify(result));
    assert.deepEqual(
      [result.seen?.pick, result.theirs?.pick, result.target, result.possible],
      ['far', 'direct', null, true],
    );
    assert.equal(await scene.read(), theirs);
    assert.equal((await scene.pick({ ...VIDEO, etag: result.etag })).kind, 'done');
    assert.equal(await scene.read(), theirs.replace('  Video = "direct" # as it was\n', ''));
  });

  test('not if the file would be invalid, and its place is shown', async () => {
    await using scene = await start();
    const { etag } = await scene.preview(VIDEO);
    const circle = group('Video', 'inherit = { group = "News" }\n');
    await writeFile(
      `${scene.weir.folder}/sub.toml`,
      circle + SUBSCRIBE.replace(group('Video'), ''),
    );
    const before = await scene.read();
    const result = await scene.pick({ ...VIDEO, etag });
    assert.ok(result.kind === 'refused', JSON.stringify(result));
    assert.match(result.refusal.message, /inherit|cycle|circle/);
    assert.ok(result.refusal.place);
    assert.equal(await scene.read(), before);
  });

  test('what was written and not loaded is undone byte for byte', async () => {
    await using scene = await start();
    using taken = await takenInbound();
    const edited = (await scene.read()) + taken.text;
    for (const change of [
      VIDEO,
      { group: 'Video', target: 'direct' },
      { group: 'News', target: 'far' },
    ]) {
      await writeFile(scene.file, edited);
      const { etag, others } = await scene.preview(change);
      assert.deepEqual(others, [scene.file]);
      const result = await scene.pick({ ...change, etag });
      assert.ok(result.kind === 'written', JSON.stringify(result));
      assert.match(result.refusal.message, /in use/);
      assert.notEqual(await scene.read(), edited);
      assert.ok(result.undo.kind === 'possible', JSON.stringify(result.undo));
      const undone = await scene.page.act<UndoResult>('route-undo', { etag: result.undo.etag });
      assert.equal(undone.kind, 'refused'); // for the inbound
      assert.equal(await scene.read(), edited);
    }
    // A later writer keeps what it wrote.
    const { etag } = await scene.preview(VIDEO);
    const result = await scene.pick({ ...VIDEO, etag });
    assert.ok(result.kind === 'written' && result.undo.kind === 'possible', JSON.stringify(result));
    const theirs = `${await scene.read()}# theirs\n`;
    await writeFile(scene.file, theirs);
    const undone = await scene.page.act<UndoResult>('route-undo', { etag: result.undo.etag });
    assert.equal(undone.kind, 'conflict');
    assert.equal(await scene.read(), theirs);
  });
});

describe('files that go away under the dashboard', { concurrency: true }, () => {
  test('a file that was removed is said to be, no pick makes a new one, and it is found again', async () => {
    await using scene = await start();
    const { etag } = await scene.preview(VIDEO);
    await rename(scene.file, `${scene.file}.away`);
    await scene.page.until<ConfigView>(
      'config',
      'that it is away',
      ({ unreadable, restore }) => unreadable !== null && restore.kind === 'impossible',
    );
    await scene.page.until<RoutesView>(
      'routes',
      'that it is unread',
      ({ unread }) => unread !== null,
    );
    for (const change of [VIDEO, { group: 'Video', target: 'near' }]) {
      await assert.rejects(async () => {
        const result = await scene.pick({ ...change, etag });
        assert.equal(result.kind, 'refused', JSON.stringify(result));
        throw new Error(`no such file: ${result.kind}`);
      }, /no such file|cannot read/);
    }
    await assert.rejects(scene.read(), { code: 'ENOENT' });
    await rename(`${scene.file}.away`, scene.file);
    await scene.page.until<ConfigView>(
      'config',
      'that it is back',
      ({ unreadable, sameness }) => unreadable === null && sameness === 'same',
    );
  });

  test('a file that cannot be read is said to be, and nothing is restored over it', async () => {
    await using scene = await start();
    await rename(scene.file, `${scene.file}.away`);
    await symlink(scene.file, scene.file); // a circle of links: tests may run as root, who reads every file
    const view = await scene.page.until<ConfigView>(
      'config',
      'that it cannot be read',
      // Before the link, the file was missing for a moment.
      ({ unreadable }) => /symbolic link|ELOOP/i.test(unreadable ?? ''),
    );
    assert.ok(view.restore.kind === 'impossible' && view.restore.reason.includes('cannot be read'));
    await assert.rejects(scene.page.act('config-difference'), { code: 'nothing-to-restore' });
    await rm(scene.file);
    await rename(`${scene.file}.away`, scene.file);
    await scene.page.until<ConfigView>(
      'config',
      'that it is back',
      ({ sameness }) => sameness === 'same',
    );
  });

  test('a group that was removed meanwhile is a conflict that can only be taken', async () => {
    await using scene = await start();
    const wanted = { group: 'News', target: 'far' };
    const { etag } = await scene.preview(wanted);
    await writeFile(`${scene.weir.folder}/sub.toml`, group('Video'));
    await writeFile(scene.file, `${await scene.read()}# theirs\n`);
    const result = await scene.pick({ ...wanted, etag });
    assert.ok(result.kind === 'conflict', JSON.stringify(result));
    assert.deepEqual([result.seen?.target, result.theirs, result.possible], ['far', null, false]);
    await assert.rejects(scene.pick({ ...wanted, etag: result.etag }), /no route group|News/);
    await assert.rejects(scene.preview(wanted), /no route group named "News"/);
  });
});

/** An API that does something before each change is sent. */
class HeldApi extends ApiClient {
  beforeChange: (() => Promise<void>) | undefined;

  override async ask(...parameters: Parameters<ApiClient['ask']>): Promise<unknown> {
    if (parameters[0] !== 'GET') await this.beforeChange?.();
    return super.ask(...parameters);
  }

  override async askTagged(
    ...parameters: Parameters<ApiClient['askTagged']>
  ): ReturnType<ApiClient['askTagged']> {
    if (parameters[0] !== 'GET') await this.beforeChange?.();
    return super.askTagged(...parameters);
  }
}

describe('a Weir that is killed between the write and the reload', { concurrency: true }, () => {
  const startHeld = async () => {
    let api: HeldApi | undefined;
    const scene = await start((context, { child }) => {
      const [, at = ''] = /API listening on (\S+)/.exec(child.stderr) ?? [];
      api = new HeldApi(parsePlace(at), undefined);
      return { ...context, api };
    });
    assert.ok(api);
    const { process } = scene.weir.child;
    const kill = async (): Promise<void> => {
      if (process.exitCode !== null || process.signalCode !== null) return;
      const ended = once(process, 'exit');
      process.kill('SIGKILL');
      await ended;
    };
    return { scene, api, kill };
  };

  test('a pick says what the file has', async () => {
    const { scene, api, kill } = await startHeld();
    await using _scene = scene;
    const wanted = { group: 'Video', target: 'near' };
    const { etag } = await scene.preview(wanted);
    const before = await scene.read();
    api.beforeChange = async () => {
      // As Weir writes it, before it would reload.
      await writeFile(scene.file, before.replace("'far'", '"near"'));
      await kill();
    };
    await assert.rejects(scene.pick({ ...wanted, etag }), /cannot reach the API.*may be written/s);
    await writeFile(scene.file, before);
    api.beforeChange = undefined;
    await assert.rejects(scene.pick({ ...wanted, etag }), /cannot reach the API.*as it was/s);
    assert.equal(await scene.read(), before);
  });

  test('a removal is written, with a way back', async () => {
    const { scene, api, kill } = await startHeld();
    await using _scene = scene;
    const { etag } = await scene.preview(VIDEO);
    const before = await scene.read();
    api.beforeChange = kill;
    const result = await scene.pick({ ...VIDEO, etag });
    assert.ok(result.kind === 'written' && result.undo.kind === 'possible', JSON.stringify(result));
    assert.match(result.refusal.message, /whether it was loaded is not known/);
    assert.equal(await scene.read(), before.replace("  Video = 'far' # as it was\n", ''));
    const undone = await scene.page.act<UndoResult>('route-undo', { etag: result.undo.etag });
    assert.equal(undone.kind, 'refused', JSON.stringify(undone));
    assert.equal(await scene.read(), before);
  });
});

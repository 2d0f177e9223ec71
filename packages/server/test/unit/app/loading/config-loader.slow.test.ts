import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import {
  ConfigLoader,
  ConfigThread,
  loadAtStart,
} from '../../../../src/app/loading/config-loader.ts';
import { loadConfigFile } from '../../../../src/app/loading/inline-runner.ts';
import { FileDigests } from '../../../../src/app/loading/file-digests.ts';
import { type TaskRunner, toLoadResult } from '../../../../src/app/loading/tasks.ts';
import { ConfigError, renderConfigError } from '@weir/config';
import { RegexCache } from '@weir/proxy/names';
import { Router } from '@weir/proxy/router';
import { atOnce } from '@weir/io/time';
import { planReload, reportOf } from '../../../../src/supervisor/plan.ts';
import type { DesiredState } from '../../../../src/supervisor/desired-state.ts';
import { inboundFacts } from '../../../../src/supervisor/inbound-listener.ts';
import { encodeGeosite } from '../../../../../../test/support/data/geo-fixture.ts';

const API = '[api]\nlisten = "127.0.0.1:9999"\nsecret = "hidden"\n';

/** Longer than what is loaded at once. */
const LONG = `# ${'x'.repeat(300_000)}\n`;

const config = (geosite: string): string =>
  `${API}[[inbound]]\ntag = "in"\nprotocol = "http"\nport = 0\n[inbound.settings]\naccounts = [{ user = "a", pass = "b" }]\n` +
  '[[outbound]]\ntag = "direct"\nprotocol = "freedom"\n[[outbound]]\ntag = "other"\nprotocol = "blackhole"\n' +
  `[route]\ngeosite = ${JSON.stringify(geosite)}\n` +
  '[[route.rule]]\noutbound = "other"\ngeosite = ["list"]\nport = ["443"]\n' +
  '[[route.rule]]\noutbound = "other"\ndomain_regex = ["^r[0-9]+$"]\ncidr = ["192.0.2.0/24", "2001:db8::/32"]\n' +
  '[[route.rule]]\noutbound = "other"\ndomain_keyword = ["key", "word"]\nnetwork = "tcp"\ninbound_tag = ["in"]\n';

const thread = new ConfigThread();
after(() => thread.stop(new Error('the tests are over')));

async function scratch(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-aside-'));
  context.after(() => rm(folder, { recursive: true }));
  return folder;
}

/** The tasks that a loader has passed to the thread. */
let inThread = 0;
const counted: TaskRunner = {
  run(task, options) {
    inThread++;
    return thread.run(task, options);
  },
};

const loader = ConfigLoader.beside(counted, { regexes: new RegexCache(), serveApi: true });

async function load(path: string, bytes?: Uint8Array) {
  const files = new FileDigests();
  inThread = 0;
  const loaded = await loader.load({ path, bytes }, { files });
  return { loaded, files };
}

const routerOf = ({ tables }: DesiredState): Router =>
  new Router(tables, { regexes: new RegexCache() });

test('a large configuration is loaded in a thread and decides as one that is loaded at once', async (context) => {
  const folder = await scratch(context);
  const geosite = join(folder, 'geosite.dat');
  const domains = [
    { type: 'root' as const, value: 'listed.example' },
    { type: 'plain' as const, value: 'inside' },
    { type: 'regex' as const, value: '^[a-z]\\.example$' },
  ];
  await writeFile(geosite, encodeGeosite([{ code: 'LIST', domains }]));
  const path = join(folder, 'weir.toml');
  await writeFile(path, config(geosite) + LONG);

  const inline = await loadConfigFile(path);
  const here = toLoadResult(inline);
  const { loaded, files } = await load(path);
  assert.equal(inThread, 1);
  assert.equal(loaded.api?.secret, 'hidden');
  assert.ok(loaded.api.equals(inline.api));
  assert.deepEqual({ ...loaded, api: here.api }, here);
  assert.deepEqual(
    [...files.paths].toSorted((a, b) => a.localeCompare(b)),
    [geosite, path],
  );
  assert.ok(await files.unchanged());

  const [one, two] = [routerOf(here), routerOf(loaded)];
  for (const host of ['a.listed.example', 'x.example', 'has-inside.test', 'r17', '192.0.2.7']) {
    for (const port of [80, 443]) {
      for (const sniffed of [undefined, 'r5', 'keyword']) {
        const query = {
          inbound: 'in',
          source: undefined,
          network: 'tcp' as const,
          host,
          port,
          sniffed,
        };
        assert.deepEqual(two.route(query), one.route(query));
        assert.equal(two.needsDomain(query), one.needsDomain(query));
      }
    }
  }

  // Where a configuration was loaded makes no difference to a plan; another rule does.
  const plan = (from: DesiredState, to: DesiredState) =>
    atOnce(
      reportOf(
        atOnce(
          planReload(
            {
              applied: from,
              versions: new Map([
                ['direct', 1],
                ['other', 1],
              ]),
            },
            to,
            inboundFacts(),
          ),
        ),
      ),
    );
  assert.deepEqual(plan(here, loaded).built, []);
  assert.deepEqual(plan(loaded, here).built, []);
  const changed = Buffer.from(config(geosite).replace('"443"', '"444"') + LONG);
  const { loaded: other } = await load(path, changed);
  assert.deepEqual(plan(loaded, other).built, ['route']);
  assert.deepEqual(plan(other, here).built, ['route']);
});

test('an error in a large configuration is reported in the same words, with its place', async (context) => {
  const folder = await scratch(context);
  const path = join(folder, 'weir.toml');
  for (const [name, text] of [
    ['syntax', `${LONG}[[`],
    ['reference', `${LONG}[[outbound]]\ntag = "a"\nprotocol = "freedom"\n[route]\ndefault = "b"\n`],
    ['file', `${LONG}[[outbound]]\ntag = "a"\nprotocol = "freedom"\n[dns]\nca_file = "/nowhere"\n`],
  ] as const) {
    await writeFile(path, text);
    const failure = async (attempt: () => Promise<unknown>): Promise<ConfigError> => {
      try {
        await attempt();
      } catch (error) {
        assert.ok(error instanceof ConfigError, String(error));
        return error;
      }
      return assert.fail(`${name} was loaded`);
    };
    const here = await failure(() => loadConfigFile(path));
    const there = await failure(() => load(path));
    assert.equal(renderConfigError(there), renderConfigError(here));
    assert.deepEqual([there.kind, there.code], [here.kind, here.code]);
  }
});

test('at the start a very large configuration is loaded in a thread, and others at once', async (context) => {
  const folder = await scratch(context);
  const path = join(folder, 'weir.toml');
  const rules =
    '[log]\nlevel = "warn"\n' +
    '[[outbound]]\ntag = "a"\nprotocol = "freedom"\n' +
    '[[route.rule]]\noutbound = "a"\nport = ["443"]\n';
  const options = { regexes: new RegexCache(), serveApi: true };
  const loads = async (text: string, bytes?: Uint8Array) => {
    await writeFile(path, text);
    const files = new FileDigests();
    // A thread does not call back.
    let inline = false;
    const onLogLevel = (): void => void (inline = true);
    const { tables } = await loadAtStart({ path, bytes }, { ...options, files, onLogLevel });
    return { inline, rules: tables.ruleTargets.length, paths: files.paths };
  };
  const veryLong = rules + LONG.repeat(4);
  assert.deepEqual(await loads(rules + LONG), { inline: true, rules: 1, paths: [path] });
  assert.deepEqual(await loads(veryLong), { inline: false, rules: 1, paths: [path] });
  assert.deepEqual(await loads('', Buffer.from(veryLong)), { inline: false, rules: 1, paths: [] });

  let level: string | undefined;
  await writeFile(path, `${veryLong.replace('"warn"', '"off"')}[[route.rule]]\noutbound = "b"\n`);
  await assert.rejects(
    loadAtStart({ path }, { ...options, onLogLevel: (found) => void (level = found) }),
    (error) => error instanceof ConfigError && error.cause !== undefined,
  );
  assert.equal(level, 'off', 'an error is judged by the level of its own file');
});

test('a small configuration is loaded at once, and what was read is remembered', async (context) => {
  const folder = await scratch(context);
  const path = join(folder, 'weir.toml');
  await writeFile(path, '[[outbound]]\ntag = "a"\nprotocol = "freedom"\n');
  const { files } = await load(path);
  assert.equal(inThread, 0);
  assert.deepEqual(files.paths, [path]);
  await writeFile(path, '[[outbound]]');
  assert.ok(!(await files.unchanged()));
});

test('a load in a thread is given up when the signal aborts', async (context) => {
  const folder = await scratch(context);
  const path = join(folder, 'weir.toml');
  await writeFile(path, LONG);
  const stop = new AbortController();
  const reason = new Error('enough');
  const loading = loader.load({ path }, { signal: stop.signal });
  stop.abort(reason);
  await assert.rejects(loading, reason);
});

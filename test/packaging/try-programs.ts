import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { RulesView } from '../../packages/watch/src/dashboard/rules/view.ts';
import { DashboardClient, DashboardStream } from '../support/dashboard/client.ts';
import { filesOf } from '../support/diagnose/untar.ts';
import { freedom, rule, socksIn } from '../support/process/config.ts';
import type { Child } from '../support/process/child.ts';
import { eventually, within } from '../support/wait.ts';
import { finish, start, type Installed } from './installed.ts';

/*
 * The programs that show and steer a running Weir, as they are in a package: what they load beside the program
 * (the page, threads of their own, parts that are imported late) is found.
 */

const SECRET = 'the-secret-of-the-api';
const CONFIG = [
  `[api]\nlisten = "127.0.0.1:0"\nsecret = "${SECRET}"\n`,
  socksIn(),
  freedom(),
  rule('blackhole', 'domain_full = ["ads.example"]'),
].join('\n');

/** Where a dashboard finds the Weir of this trial. */
interface Place {
  readonly config: string;
  readonly socket: string;
}

export async function tryPrograms(installed: Installed): Promise<void> {
  const { folder, seenFolder = folder } = installed;
  await mkdir(seenFolder, { recursive: true });
  const place = { config: join(folder, 'shown.toml'), socket: join(folder, 'control.sock') };
  await writeFile(join(seenFolder, 'shown.toml'), CONFIG);
  await using weir = start(installed, ['--config', place.config, '--reload-socket', place.socket]);
  await weir.until('the API', ({ stderr }) => /API listening on \S+$/m.exec(stderr)?.[0]);
  // It is opened after that, and nothing is logged then.
  await eventually('its control socket', () => existsSync(join(seenFolder, 'control.sock')));

  const printed = await Promise.all([
    tryDashboard(installed, place),
    tryClashApi(installed, place),
    tryMetrics(installed, place),
    tryTop(installed, place),
    tryDiagnose(installed, place, join(seenFolder, 'report.tar.gz')),
  ]);
  assert.doesNotMatch(printed.join('\n'), new RegExp(SECRET));
}

const optionsOf = ({ config, socket }: Place): string[] => ['--config', config, '--socket', socket];

/** Its page, and a topic that its thread answers. */
async function tryDashboard(installed: Installed, place: Place): Promise<string> {
  await using dashboard = start(installed, ['dashboard', ...optionsOf(place)]);
  const link = await dashboard.until('its link', ({ stdout }) => /^http\S+$/m.exec(stdout)?.[0]);
  const client = await DashboardClient.signIn(link);
  const page = await tryPage(client.url);
  await using stream = await DashboardStream.open(client, [
    { id: 1, topic: 'rules', parameters: { search: 'ads', first: 0, count: 10, dead: false } },
  ]);
  const view = (await within(
    stream.until(1, (value) => (value as RulesView).matching > 0),
    'the rules',
  )) as RulesView;
  assert.deepEqual(
    view.rows.map(({ place: at }) => at.replace(/:\d+$/, '')),
    ['shown.toml'],
  );
  await stop(dashboard);
  return [dashboard.stdout, dashboard.stderr, JSON.stringify(view), page].join('\n');
}

/** @returns the text of the page: one script and one style sheet, compressed. */
async function tryPage(url: string): Promise<string> {
  const load = async (path: string, type: RegExp): Promise<string> => {
    const response = await fetch(url + path, { headers: { 'accept-encoding': 'br' } });
    assert.equal(response.status, 200, path);
    assert.match(response.headers.get('content-type') ?? '', type);
    assert.equal(response.headers.get('content-encoding'), 'br');
    assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/);
    return response.text();
  };
  const html = await load('/', /^text\/html/);
  const [scripts, styles] = [/<script [^>]*src="([^"]+)"/g, /rel="stylesheet" href="([^"]+)"/g].map(
    (pattern) => Array.from(html.matchAll(pattern), ([, path = '']) => path),
  );
  assert.ok(scripts?.length === 1 && styles?.length === 1, html);
  return [
    html,
    await load(scripts[0] ?? '', /^text\/javascript/),
    await load(styles[0] ?? '', /^text\/css/),
    await load('/icon.svg', /^image\/svg/),
  ].join('\n');
}

async function tryClashApi(installed: Installed, place: Place): Promise<string> {
  const args = ['clash-api', ...optionsOf(place), '--listen', '127.0.0.1:0'];
  await using adapter = start(installed, args);
  const [, url = '', secret = ''] = await adapter.until(
    'its address and secret',
    ({ stdout }) => /^controller on (\S+)\nsecret: (\S+)$/m.exec(stdout) ?? undefined,
  );
  const headers = { authorization: `Bearer ${secret}` };
  const response = await fetch(`${url}/proxies`, { headers });
  assert.equal(response.status, 200);
  const body = await response.text();
  await stop(adapter);
  return adapter.stdout + adapter.stderr + body;
}

async function tryMetrics(installed: Installed, place: Place): Promise<string> {
  const { code, stdout, stderr } = await finish(installed, [
    'metrics',
    ...optionsOf(place),
    '--once',
  ]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^# TYPE weir_/m);
  return stdout + stderr;
}

async function tryTop(installed: Installed, place: Place): Promise<string> {
  const { code, stdout, stderr } = await finish(installed, ['top', ...optionsOf(place)]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /shown\.toml/);
  return stdout + stderr;
}

/** @param archive as this process sees it. */
async function tryDiagnose(installed: Installed, place: Place, archive: string): Promise<string> {
  const output = join(installed.folder, 'report.tar.gz');
  const args = ['diagnose', ...optionsOf(place), '--yes', '--seconds', '1', '--output', output];
  const { code, stdout, stderr } = await finish(installed, args);
  assert.equal(code, 0, stderr);
  const paths = [...filesOf(gunzipSync(await readFile(archive))).keys()];
  const names = new Set(paths.map((path) => basename(path)));
  for (const file of ['weir.cpuprofile', 'heap.json', 'status.json', 'log.txt']) {
    assert.ok(names.has(file), `${file} is missing: ${stdout}${stderr}`);
  }
  return stdout + stderr;
}

async function stop(child: Child): Promise<void> {
  child.signal('SIGTERM');
  assert.deepEqual(await within(child.exited, 'the end'), { code: 0, signal: null }, child.stderr);
}

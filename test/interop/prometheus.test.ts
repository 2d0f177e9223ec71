import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { FAMILIES } from '../../packages/watch/src/metrics/exposition.ts';
import { hostPort, type Address } from '../support/data/address.ts';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import type { Child } from '../support/process/child.ts';
import { freedom, proxyOut, socksIn } from '../support/process/config.ts';
import { scratch, Weir, weirCommand } from '../support/process/weir.ts';
import { findPeer, startPeer, without, type Peer } from '../support/programs/peers.ts';
import { roundTrip } from '../support/read.ts';
import { eventually, within } from '../support/wait.ts';

const DOCS = join(import.meta.dirname, '../../docs');
const RULES = join(DOCS, 'prometheus/alerts.yml');
const TOKEN = 'correct horse';

const ACCOUNT = { user: 'ann', pass: 'sesame' };

const CONFIG = [
  socksIn(
    'socks',
    'settings = { auth = "password", accounts = [{ user = "ann", pass = "sesame" }] }',
  ),
  freedom(),
  // Its probes fail at once, so that there are members.
  proxyOut('dead', 'socks', { host: '127.0.0.1', port: 9 }),
  proxyOut('gone', 'socks', { host: '127.0.0.1', port: 9 }),
  `[[balancer]]\ntag = "both"\noutbounds = ["dead", "gone"]\n`,
].join('');

const skip = without('prometheus', 'promtool');

/** What promtool finds wrong; empty if nothing. */
function promtool(args: readonly string[], input = ''): string {
  const { status, stdout, stderr } = spawnSync(findPeer('promtool') ?? '', args, {
    input,
    encoding: 'utf8',
  });
  return status === 0 ? stderr : `${stdout}${stderr}`;
}

/** `weir metrics` for the control socket at `path`, with a token. */
async function startMetrics(path: string, folder: string): Promise<Child & { url: URL }> {
  const token = join(folder, 'token');
  await writeFile(token, `${TOKEN}\n`);
  const options = ['--listen=127.0.0.1:0', '--token-file', token, '--socket', path, '--users'];
  const child = weirCommand(['metrics', ...options]);
  const url = await child.until('the address', ({ stdout }) => / (http:\S+)\n/.exec(stdout)?.[1]);
  return Object.assign(child, { url: new URL(url) });
}

/** Prometheus, which scrapes `target` and evaluates the alert rules every second. */
async function startPrometheus(target: string): Promise<Peer> {
  const peer = await startPeer('prometheus', 1, async ([port], folder) => {
    const file = join(folder, 'prometheus.yml');
    await writeFile(join(folder, 'token'), TOKEN);
    // Its YAML is read as JSON too.
    const config = {
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: [RULES],
      scrape_configs: [
        {
          job_name: 'weir',
          authorization: { credentials_file: join(folder, 'token') },
          static_configs: [{ targets: [target] }],
        },
      ],
    };
    await writeFile(file, JSON.stringify(config));
    return [
      `--config.file=${file}`,
      `--web.listen-address=127.0.0.1:${port}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      '--log.level=warn',
    ];
  });
  // It accepts connections before it has opened its storage, and answers status 503 until then.
  await eventually(
    () => `Prometheus to be ready:\n${peer.child.stderr}`,
    async () => (await fetch(`http://${hostPort(peer.address)}/-/ready`)).ok,
  );
  return peer;
}

/** `data` of a response of Prometheus. */
async function ask(server: Address, path: string): Promise<unknown> {
  const response = await fetch(`http://${hostPort(server)}/api/v1/${path}`);
  const { status, data, error } = (await response.json()) as Record<string, unknown>;
  assert.equal(status, 'success', `${path}: ${String(error)}`);
  return data;
}

/** The values of a query, now. */
async function query(server: Address, text: string): Promise<readonly number[]> {
  const data = await ask(server, `query?query=${encodeURIComponent(text)}`);
  const { result } = data as { readonly result: readonly { readonly value: [number, string] }[] };
  return result.map(({ value }) => Number(value[1]));
}

/** Every query of the dashboard for Grafana, with its variables replaced. */
function dashboardQueries(): readonly string[] {
  const dashboard = JSON.parse(readFileSync(join(DOCS, 'grafana/weir.json'), 'utf8')) as {
    readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
    readonly annotations: { readonly list: readonly { readonly expr: string }[] };
  };
  const queries = [
    ...dashboard.panels.flatMap(({ targets = [] }) => targets),
    ...dashboard.annotations.list,
  ];
  return queries.map(({ expr }) =>
    expr
      .replaceAll(/\$__\w*interval/g, '10s')
      .replaceAll('$job', 'weir')
      .replaceAll('$instance', '.*'),
  );
}

/** A flow whose destination refuses it: the count of an outbound begins with its first failure. */
const failDial = (weir: Weir): Promise<void> =>
  assert.rejects(socksConnect(weir.address('socks'), { host: '127.0.0.1', port: 9 }, ACCOUNT));

describe('Prometheus', { skip }, () => {
  test('promtool finds nothing wrong with the metrics under traffic, or with the rules', async () => {
    assert.equal(promtool(['check', 'rules', RULES]), '');
    assert.equal(promtool(['test', 'rules', join(DOCS, 'prometheus/alerts.test.yml')]), '');
    await using echo = await echoServer();
    await using folder = await scratch();
    await using weir = await Weir.start(CONFIG, { control: true });
    await using metrics = await startMetrics(weir.controlPath, folder.path);
    await failDial(weir);
    const headers = { Authorization: `Bearer ${TOKEN}` };
    let isOver = false;
    const traffic = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const client = await socksConnect(weir.address('socks'), echo, ACCOUNT);
        await roundTrip(client, Buffer.alloc(10_000));
        client.destroy();
      }
    });
    let bytes = 0;
    await eventually('probes, the event loop and bytes in the metrics', async () => {
      const response = await fetch(metrics.url, { headers });
      const text = await response.text();
      assert.equal(promtool(['check', 'metrics'], text), '');
      const [, up = '0'] = /^weir_traffic_bytes_total\{direction="up"\} (\d+)$/m.exec(text) ?? [];
      assert.ok(Number(up) >= bytes, 'a counter has decreased');
      bytes = Number(up);
      const isFull = Object.values(FAMILIES).every(({ name }) => text.includes(`# TYPE ${name}`));
      return isFull && bytes > 1e6;
    });
    isOver = true;
    await Promise.all(traffic);
  });

  test('scrapes, evaluates the rules, and answers every query of the dashboard', async () => {
    await using echo = await echoServer();
    await using folder = await scratch();
    const path = join(folder.path, 's');
    const options = { args: ['--reload-socket', path] };
    await using first = await Weir.start(CONFIG, options);
    await eventually('the control socket', () => existsSync(path));
    await using metrics = await startMetrics(path, folder.path);
    await using prometheus = await startPrometheus(metrics.url.host);
    const server = prometheus.address;
    const values = (text: string): Promise<readonly number[]> => query(server, text);
    const until = (text: string, ...wanted: readonly number[]): Promise<true> =>
      eventually(
        () => `${text} to be ${wanted.join()}:\n${prometheus.child.stderr}`,
        async () => JSON.stringify(await values(text)) === JSON.stringify(wanted) || undefined,
      );

    const client = await socksConnect(first.address('socks'), echo, ACCOUNT);
    await roundTrip(client, Buffer.alloc(5000));
    await failDial(first);
    await until('weir_traffic_bytes_total', 5000, 5000);
    await until('weir_outbound_flows{outbound="direct"}', 1);
    await until('weir_balancer_member_up{outbound="dead"}', 0);
    await until('weir_flows_opened_created - weir_start_time_seconds', 0);
    await until('up', 1);
    const { activeTargets: targets } = (await ask(server, 'targets')) as {
      readonly activeTargets: readonly { readonly lastError: string }[];
    };
    assert.deepEqual(
      targets.map(({ lastError }) => lastError),
      [''],
    );
    const known = (await ask(server, 'metadata')) as Readonly<
      Record<string, readonly { readonly type: string; readonly unit: string }[]>
    >;
    for (const { name, type, ...family } of Object.values(FAMILIES)) {
      const unit = 'unit' in family ? family.unit : '';
      assert.deepEqual([known[name]?.[0]?.type, known[name]?.[0]?.unit], [type, unit], name);
    }
    const queries = dashboardQueries();
    assert.ok(queries.length > 30);
    for (const each of queries) await values(each);
    // A rate needs two samples, and the event loop is not in the first response.
    const empty = await eventually('values for the dashboard', async () => {
      const found = await Promise.all(
        queries.map(async (each) => [each, (await values(each)).length] as const),
      );
      const missing = found.filter(([, count]) => count === 0).map(([each]) => each);
      return missing.length <= 1 && missing;
    });
    // Weir has not been started again.
    assert.match(empty.join(), /^changes\(weir_start_time_seconds.*> 0$/);
    const alerts = await eventually('the rules to be evaluated', async () => {
      const { groups } = (await ask(server, 'rules')) as {
        readonly groups: readonly { readonly rules: readonly Rule[] }[];
      };
      const rules = groups.flatMap((group) => group.rules);
      return rules.every(({ health }) => health !== 'unknown') && rules;
    });
    assert.ok(alerts.length >= 10 && alerts.every(({ health }) => health === 'ok'));

    client.destroy();
    await first.stop();
    await until('weir_up', 0);
    await until('up', 1);
    await until('weir_flows_opened_total');
    await using second = await Weir.start(CONFIG, options);
    await until('weir_up', 1);
    await until('weir_flows_opened_total', 0);
    await until('resets(weir_flows_opened_total[1h])', 1);
    await until('changes(weir_start_time_seconds[1h])', 1);
    await until('weir_flows_opened_created - weir_start_time_seconds', 0);
    await second.stop();
    metrics.signal('SIGTERM');
    assert.equal((await within(metrics.exited, 'the end of weir metrics')).code, 0);
    assert.equal(metrics.stderr, '');
  });
});

interface Rule {
  readonly name: string;
  readonly health: 'ok' | 'err' | 'unknown';
}

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { requestReload } from '@weir/server/control';
import { freedom, socksIn } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import { parseExposition } from '../support/metrics/parse-exposition.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { echoServer } from '../support/peers/servers.ts';
import { roundTrip } from '../support/read.ts';
import { eventually, within } from '../support/wait.ts';
import { scratch, Weir, weirCommand } from '../support/process/weir.ts';

const OPEN = 'application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5';

type Series = ReadonlyMap<string, number>;

/** One scrape: every series with its value. */
async function scrape(url: string, accept = 'text/plain'): Promise<Series> {
  const response = await fetch(url, { headers: { Accept: accept } });
  assert.equal(response.status, 200);
  const isOpen = response.headers.get('Content-Type')?.startsWith('application/openmetrics-text');
  const format = isOpen === true ? 'openmetrics' : 'prometheus';
  const families = parseExposition(await response.text(), format);
  return new Map(
    [...families.values()].flatMap(({ samples }) =>
      [...samples].map(([key, { value }]) => [key, value] as const),
    ),
  );
}

/** `weir metrics` with the address of its metrics. */
async function metricsOf(args: readonly string[]) {
  const child = weirCommand(['metrics', '--listen=127.0.0.1:0', ...args]);
  const url = await child.until('the address', ({ stdout }) => / (http:\S+)\n/.exec(stdout)?.[1]);
  return { child, url, [Symbol.asyncDispose]: () => child[Symbol.asyncDispose]() };
}

describe('weir metrics', () => {
  test('has totals of Weir, says that Weir is down, and begins again with the next Weir', async () => {
    await using echo = await echoServer();
    const config = `${socksIn()}${freedom()}`;
    await using folder = await scratch();
    const path = join(folder.path, 's');
    const options = { args: ['--reload-socket', path] };
    await using first = await Weir.start(config, options);
    await eventually('the control socket', () => existsSync(path));
    await using metrics = await metricsOf(['--socket', path]);
    const client = await socksConnect(first.address('socks'), echo);
    await roundTrip(client, Buffer.alloc(1000));
    await writeFile(join(first.folder, 'weir.toml'), `${config}[nonsense]\n`);
    await requestReload(path);

    const seen = await eventually('a sample with the bytes', async () => {
      const series = await scrape(metrics.url, OPEN);
      // A sample may have been taken between both directions.
      const both = ['up', 'down'].map((way) =>
        series.get(`weir_traffic_bytes_total{direction="${way}"}`),
      );
      return both.every((bytes) => bytes === 1000) && series;
    });
    assert.equal(seen.get('weir_outbound_bytes_total{outbound="direct",direction="down"}'), 1000);
    assert.equal(seen.get('weir_inbound_flows{inbound="socks"}'), 1);
    assert.equal(seen.get('weir_flows_opened_total'), 1);
    assert.equal(seen.get('weir_reloads_total{outcome="failed"}'), 1);
    assert.equal(seen.get('weir_config_last_reload_successful'), 0);
    const created = seen.get('weir_flows_opened_created') ?? 0;
    assert.ok(created > 1.7e9 && created === seen.get('weir_start_time_seconds'));

    const [one, two] = await Promise.all([scrape(metrics.url), scrape(metrics.url)]);
    const total = 'weir_traffic_bytes_total{direction="down"}';
    assert.deepEqual([one.get(total), two.get(total)], [1000, 1000]);

    client.destroy();
    await first.stop();
    const down = await eventually('a scrape without Weir', async () => {
      const series = await scrape(metrics.url);
      return series.get('weir_up') === 0 && series;
    });
    assert.deepEqual(
      [...down.keys()].filter((key) => /flows|bytes|limit/.test(key)),
      [],
    );

    await using second = await Weir.start(config, options);
    await eventually('the control socket', () => existsSync(path));
    const again = await eventually('a scrape with the next Weir', async () => {
      const series = await scrape(metrics.url, OPEN);
      return series.get('weir_up') === 1 && series;
    });
    assert.equal(again.get('weir_flows_opened_total'), 0);
    assert.ok((again.get('weir_flows_opened_created') ?? 0) > created);
    metrics.child.signal('SIGTERM');
    assert.equal((await within(metrics.child.exited, 'the end of weir metrics')).code, 0);
    assert.equal(metrics.child.stderr, '');
    await second.stop();
  });

  test('says in time that Weir hangs, and goes on with it', async () => {
    await using weir = await Weir.start(`${socksIn()}${freedom()}`, { control: true });
    await using metrics = await metricsOf(['--socket', weir.controlPath]);
    // A Weir that is slow with its first response is down for a scrape.
    await eventually('Weir', async () => (await scrape(metrics.url)).get('weir_up') === 1);
    weir.child.signal('SIGSTOP');
    const hanging = await eventually('a scrape without Weir', async () => {
      const series = await scrape(metrics.url);
      return series.get('weir_up') === 0 && series;
    });
    assert.equal(hanging.get('weir_source_up{source="socket"}'), 0);
    weir.child.signal('SIGCONT');
    await eventually('Weir', async () => (await scrape(metrics.url)).get('weir_up') === 1);
  });

  test('has counters that no reload decreases, of names that are hostile', async () => {
    await using echo = await echoServer();
    const hostile = String.raw`in \"q\" \\ \n # EOF {} \u202e`;
    const inbound = `[[inbound]]\ntag = "${hostile}"\nprotocol = "socks"\nport = 0\n`;
    const outbound = (name: string): string => freedom(`${hostile} ${name}`);
    await using weir = await Weir.start(`${API}${inbound}${outbound('old')}`, { control: true });
    const control = await Control.of(weir);
    await using metrics = await metricsOf(['--socket', weir.controlPath]);
    const [proxy] = weir.addresses.values();
    assert.ok(proxy);
    const moved = async (total: number): Promise<Series> => {
      const client = await socksConnect(proxy, echo);
      await roundTrip(client, Buffer.alloc(1000));
      client.destroy();
      return eventually(`${total} bytes`, async () => {
        const series = await scrape(metrics.url, OPEN);
        return series.get('weir_traffic_bytes_total{direction="up"}') === total && series;
      });
    };
    const before = await moved(1000);
    assert.equal((await control.apply(`${API}${inbound}${outbound('new')}`)).status, 'applied');
    const after = await moved(2000);
    const counters = [...before].filter(([key]) => /_total\b|_created\b|_sum$|_count$/.test(key));
    assert.ok(counters.length > 20);
    for (const [key, value] of counters) {
      const now = after.get(key);
      assert.ok(
        now !== undefined && (key.includes('_created') ? now === value : now >= value),
        key,
      );
    }
    assert.equal(after.get('weir_reloads_total{outcome="applied"}'), 1);
    const outbounds = [...after].filter(([key]) => /^weir_outbound_bytes_total.*"up"/.test(key));
    assert.deepEqual(
      outbounds.map(([, value]) => value),
      [1000, 1000],
    );
    for (const [key] of outbounds) assert.match(key, /\\u\{202e\}.*~[0-9a-f]{8}"/);
  });

  test('counts events that a client of the API was too slow for', async () => {
    await using echo = await echoServer();
    await using folder = await scratch();
    // The kernel holds less for a unix socket than for TCP.
    const listen = `[api]\nlisten = "${join(folder.path, 'api')}"\n`;
    await using weir = await Weir.start(`${listen}${socksIn()}${freedom()}`, { control: true });
    const { api } = await Control.of(weir);
    await using metrics = await metricsOf(['--socket', weir.controlPath]);
    await eventually(
      'the count',
      async () => (await scrape(metrics.url)).get('weir_events_missed_total') === 0,
    );
    using slow = await api.events('/v1/connections/events');
    const proxy = weir.address('socks');
    let missed = 0;
    for (let rounds = 200; missed === 0; rounds *= 2) {
      slow.message.pause();
      for (let round = 0; round < rounds; round++) {
        const flows = Array.from({ length: 16 }, () => socksConnect(proxy, echo));
        for (const flow of await Promise.all(flows)) flow.destroy();
      }
      slow.message.resume();
      // Each event, or the number of those that were missed.
      for (let known = 0; known < rounds * 16 * 2;) {
        const event = await within(slow.next(), 'an event');
        assert.ok(event);
        if (event.name === ':') continue;
        const lost = event.name === 'lagged' ? (event.data as { missed: number }).missed : 0;
        missed += lost;
        known += lost === 0 ? 1 : lost;
      }
    }
    assert.equal(
      await eventually('the count', async () => {
        const count = (await scrape(metrics.url)).get('weir_events_missed_total');
        return count === undefined || count === 0 ? undefined : count;
      }),
      missed,
    );
  });

  test('has traffic by the API alone, and refuses what has no token', async () => {
    await using weir = await Weir.start(`${API}${socksIn()}${freedom()}`);
    await Control.of(weir);
    const [, address = ''] = /API listening on (\S+)/.exec(weir.child.stderr) ?? [];
    await using folder = await scratch();
    const token = join(folder.path, 'token');
    await writeFile(token, 'correct horse\n');
    const options = [
      '--api',
      address,
      '--socket',
      join(folder.path, 'none'),
      '--token-file',
      token,
    ];
    await using metrics = await metricsOf(options);
    const get = (given?: string, method = 'GET') =>
      fetch(metrics.url, {
        method,
        ...(given !== undefined && { headers: { Authorization: given } }),
      });
    for (const given of [undefined, 'Bearer wrong', 'Basic correct horse']) {
      const refused = await get(given);
      assert.deepEqual([refused.status, refused.headers.get('WWW-Authenticate')], [401, 'Bearer']);
    }
    assert.equal((await get('Bearer correct horse', 'POST')).status, 405);
    const response = await get('bearer correct horse');
    const text = await response.text();
    const families = parseExposition(text, 'prometheus');
    assert.deepEqual(
      [...families.keys()].filter((name) => families.get(name)?.samples.size !== 0),
      [
        'weir_up',
        'weir_source_up',
        'weir_traffic_bytes_total',
        'weir_flows',
        'weir_metrics_series_left_out',
        'weir_metrics_scrape_duration_seconds',
      ],
    );
    assert.match(text, /^weir_source_up\{source="socket"\} 0\nweir_source_up\{source="api"\} 1$/m);
  });

  test('prints what promtool finds nothing wrong with', async (t) => {
    if (spawnSync('promtool', ['--version']).error) return t.skip('promtool is not installed');
    await using weir = await Weir.start(`${socksIn()}${freedom()}`, { control: true });
    // The delay of the event loop is in the second.
    let printed = '';
    for (const _ of ['first', 'second']) {
      await using metrics = weirCommand(['metrics', '--once', '--socket', weir.controlPath]);
      assert.equal((await within(metrics.exited, 'the metrics')).code, 0);
      printed = metrics.stdout;
    }
    assert.match(printed, /^weir_event_loop_delay_seconds_count /m);
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: printed,
      encoding: 'utf8',
    });
    assert.deepEqual([status, stdout, stderr], [0, '', '']);
  });
});

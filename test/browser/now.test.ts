import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunningStatus } from '@weir/server/control';
import type { RatePoint } from '@weir/client/monitor';
import { checkNoSidewaysScroll } from '../support/browser/accessible.ts';
import { FakeStage, type FakeScene } from '../support/browser/fake-stage.ts';
import { VIEWPORTS } from '../support/browser/stage.ts';
import { statusOf } from '../support/dashboard/context.ts';
import { FakeControl } from '../support/dashboard/fake-control.ts';
import { flowOf, trafficOf } from '../support/dashboard/fake-monitor.ts';
import { eventually } from '../support/wait.ts';

const stage = new FakeStage();
const { skip } = stage;

const dated = (part: Partial<RunningStatus>) => ({ value: statusOf(part), at: Date.now() });

/** Ends at this time, a second or half a minute apart. */
const points = (count: number, step: number): RatePoint[] =>
  Array.from({ length: count }, (_, index) => ({
    at: Date.now() - (count - 1 - index) * step,
    up: 1000,
    down: index * 1000,
    flows: index,
  }));

const region = ({ page }: FakeScene, name: string) =>
  page.getByRole('region', { name, exact: true });

test(
  'rates are drawn over two minutes or an hour, with a table of the same',
  { skip },
  async () => {
    await using scene = await stage.open({
      monitor: {
        traffic: trafficOf({ upRate: 1000, downRate: 119_000, flows: 7 }),
        history: { seconds: points(120, 1000), halfMinutes: points(118, 30_000) },
      },
      at: '#/now',
    });
    const { page } = scene;
    const rates = region(scene, 'Rates');
    await rates.getByText('down 119 kB/s').waitFor();
    await rates.getByText('7 flows').waitFor();
    await rates.locator('canvas').waitFor();
    await rates.getByText('The same as a table').click();
    const rows = rates.locator('tbody tr');
    await rows.nth(119).waitFor();
    assert.match(await rows.first().innerText(), /^\d\d:\d\d:\d\d\s+119 kB\/s\s+1\.0 kB\/s\s+119$/);
    const times = await rows.locator('th').allInnerTexts();
    assert.deepEqual(times.length, 120);

    await rates.getByRole('button', { name: '1 hour' }).click();
    await rows.nth(118).waitFor({ state: 'detached' });
    assert.match(await rows.first().innerText(), /117 kB\/s/);
    assert.match(page.url(), /span=hour/);
    await page.reload();
    await rates.locator('canvas').waitFor();
    assert.equal(
      await rates.getByRole('button', { name: '1 hour' }).getAttribute('aria-pressed'),
      'true',
      'the address has it',
    );
  },
);

/** Where the line of the rates down is: for each column of pixels of the chart from the left, how many it has there. */
const LINE = `(() => {
  const chart = document.querySelector('.rates-chart .u-over');
  const { canvas } = document.querySelector('.rates-chart canvas').getContext('2d');
  const scale = canvas.width / canvas.getBoundingClientRect().width;
  const left = chart.getBoundingClientRect().left - canvas.getBoundingClientRect().left;
  const accent = getComputedStyle(document.querySelector('.line-down')).borderTopColor.match(/\\d+/g).map(Number);
  const columns = [];
  for (let x = 0; x < Math.floor(chart.clientWidth); x++) {
    const { data } = canvas.getContext('2d').getImageData(Math.round((left + x) * scale), 0, 1, canvas.height);
    let found = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (data[at + 3] > 128 && accent.every((value, part) => Math.abs(data[at + part] - value) < 24)) found++;
    }
    columns.push(found);
  }
  return columns;
})()`;

test('a time in which nothing was measured is a gap of the chart', { skip }, async () => {
  // Later than the present, at which a chart ends whose last point is older.
  const at = Date.now() + 3_600_000;
  const point = (ago: number): RatePoint => ({ at: at - ago, up: 0, down: 9e6, flows: 1 });
  const ofSeconds = (from: number, to: number, step: number): RatePoint[] =>
    Array.from({ length: (from - to) / step + 1 }, (_, index) => point(from - index * step));
  await using scene = await stage.open({
    monitor: {
      traffic: trafficOf({}),
      history: {
        seconds: [...ofSeconds(118_000, 90_000, 1000), ...ofSeconds(30_000, 0, 1000)],
        // Half an hour in which a page was open for less than a minute.
        halfMinutes: [point(1_800_000), point(0)],
      },
    },
    at: '#/now',
  });
  const { page } = scene;
  const drawn = async () => {
    await page.locator('.rates-chart canvas').waitFor();
    const columns = await page.evaluate<number[]>(LINE);
    const part = (from: number, to: number) =>
      columns.slice(Math.round(from * columns.length), Math.round(to * columns.length));
    return {
      isWhole: (from: number, to: number) => part(from, to).every((found) => found > 0),
      isEmpty: (from: number, to: number) => part(from, to).every((found) => found === 0),
    };
  };
  const minutes = await eventually('the first 28 s of two minutes', async () => {
    const found = await drawn();
    return found.isWhole(0.03, 0.23) && found;
  });
  assert.ok(minutes.isEmpty(0.27, 0.73), 'the minute without points');
  assert.ok(minutes.isWhole(0.77, 0.99), 'the last half minute');
  await page.getByRole('button', { name: '1 hour' }).click();
  const hour = await eventually('the half hour before the first point', async () => {
    const found = await drawn();
    return found.isEmpty(0.02, 0.48) && found;
  });
  assert.ok(!hour.isEmpty(0.48, 0.51), 'half a minute alone');
  assert.ok(hour.isEmpty(0.52, 0.97), 'the time between');
});

test('the five largest of each kind, and how complete the sums are', { skip }, async () => {
  await using scene = await stage.open({ monitor: { listedAt: undefined }, at: '#/now?by=bytes' });
  const { page, monitor } = scene;
  await page.getByText('Waiting for the first list of connections.').waitFor();
  const start = Date.now();
  for (const tick of [1, 2]) {
    monitor.list(start, [], trafficOf({ tick, at: start }));
    monitor.changed();
  }
  await page.getByText('All of 0 B were seen with a connection.').waitFor();
  const flows = Array.from({ length: 7 }, (_, id) =>
    flowOf(id, {
      host: `h${id}.example`,
      user: id < 2 ? null : 'ann',
      source: `10.0.0.${id % 2}`,
      outbound: 'tokyo',
      down: (id + 1) * 1000,
    }),
  );
  monitor.missed = 3;
  const outbounds = { tokyo: { down: 40_000, flows: 7 } };
  monitor.list(
    start + 1000,
    flows,
    trafficOf({ tick: 3, at: start + 900, down: 40_000, outbounds }),
  );
  monitor.changed();
  const texts = (name: string) =>
    region(scene, name)
      .locator('tbody tr')
      .allInnerTexts()
      .then((rows) => rows.map((row) => row.replace(/\s+/g, ' ')));
  await page.getByText('12.0 kB of 40.0 kB (30 %) were seen with no connection.').waitFor();
  await page.getByText('3 events of connections were missed.').waitFor();
  assert.deepEqual(await texts('Hosts'), [
    'h6.example 7.0 kB 1',
    'h5.example 6.0 kB 1',
    'h4.example 5.0 kB 1',
    'h3.example 4.0 kB 1',
    'h2.example 3.0 kB 1',
  ]);
  await region(scene, 'Hosts').getByText('Others 3.0 kB. Unattributed 12.0 kB.').waitFor();
  assert.deepEqual(await texts('Outbounds'), ['tokyo 40.0 kB 7']);
  await region(scene, 'Outbounds').getByText('Complete: Weir counts these itself.').waitFor();
  assert.deepEqual(await texts('Sources'), ['10.0.0.0 16.0 kB 4', '10.0.0.1 12.0 kB 3']);
  assert.deepEqual(await texts('Users'), ['ann on in 25.0 kB 5', 'no label on in 3.0 kB 2']);

  await region(scene, 'Users').getByRole('link', { name: 'ann' }).click();
  await page.getByText('5 of 7 connections').waitFor();
});

const MEMBER = { health: 'available', probed_at: Date.now(), error: null } as const;

const BALANCERS: RunningStatus['balancers'] = [
  {
    tag: 'auto',
    strategy: 'failover',
    members: [
      { outbound: 'tokyo', health: 'unavailable', probed_at: Date.now(), error: 'TLS: timed out' },
      { ...MEMBER, outbound: 'osaka' },
    ],
  },
];

test(
  'outbounds that fail, with cause, count and rule, and members that are down',
  { skip },
  async () => {
    await using control = await FakeControl.start();
    const fields = { outbound: 'tokyo', host: 'a.example', port: 443 };
    control.log({
      message: 'x',
      fields: { ...fields, error: 'timed out', rule: 3 },
      at: Date.now() - 9_000,
    });
    control.log({
      message: 'x',
      fields: { ...fields, error: 'refused', rule: 4, repeated: 11 },
      at: Date.now(),
    });
    control.log({ message: 'x', fields: { repeated: 5 }, at: Date.now() });
    await using scene = await stage.open({
      monitor: { status: dated({ balancers: BALANCERS, log_filter: 'info' }) },
      socket: control.path,
      at: '#/now',
    });
    const { page, monitor } = scene;
    const failing = region(scene, 'Failing now');
    await failing.getByText(/12 failed in \d+s, the last \d+s ago/).waitFor();
    const [item = ''] = await failing.getByRole('listitem').allInnerTexts();
    assert.match(item, /tokyo/);
    assert.match(item, /refused/);
    assert.match(item, /to a\.example:443, by rule 4\./);
    await failing.getByText('5 more flows failed, of which the log has only the number.').waitFor();
    await failing.getByText(/tokyo of auto, probed at \d\d:/).waitFor();
    await failing.getByText('TLS: timed out').waitFor();
    await failing.getByText('Balancer members that are not down: 1 of 2.').waitFor();
    await scene.checkAccessible();

    monitor.list(Date.now(), [flowOf(1, { outbound: 'tokyo', started_at: Date.now() + 1 })]);
    monitor.changed();
    await failing.getByRole('link', { name: '1 flow' }).waitFor();
    control.lose(40);
    await failing.getByText('40 log lines were lost: counts may be low.').waitFor();
    await failing.getByRole('link', { name: 'rule 4' }).click();
    await page.waitForURL(/#\/rules\?rule=4/);
  },
);

test('without failures it says whether it would know of one', { skip }, async () => {
  await using control = await FakeControl.start();
  await using scene = await stage.open({
    monitor: { status: dated({ balancers: [], log_filter: 'info' }) },
    socket: control.path,
    at: '#/now',
  });
  const { monitor } = scene;
  const failing = region(scene, 'Failing now');
  await failing.getByText('No flow has failed in the last two minutes.').waitFor();
  monitor.status = dated({ balancers: [], log_filter: 'warn' });
  monitor.changed();
  await failing.getByText('The log has no failures, because its filter is warn').waitFor();
  await failing.getByText('which does not mean that there is none').waitFor();
  monitor.status = dated({ balancers: [], log_filter: 'info' });
  await control.end();
  await failing
    .getByText(/The log cannot be followed since \d+s: .* It is tried again\./)
    .waitFor();
  await failing.getByText('which does not mean that there is none').waitFor();
});

test('the last reload, with the place of a refusal', { skip }, async () => {
  const at = Date.now();
  await using scene = await stage.open({
    monitor: {
      status: dated({
        last_reload: {
          at,
          outcome: { kind: 'failed', line: 'reload: no outbound has this tag\n  3 | x' },
          place: { file: '/etc/weir/weir.toml', line: 3, column: 7 },
        },
      }),
    },
    at: '#/now',
  });
  const { page, monitor } = scene;
  const last = region(scene, 'Last reload');
  await last.getByText('/etc/weir/weir.toml:3:7', { exact: true }).waitFor();
  await last.getByText('no outbound has this tag').waitFor();
  await last.getByText(/Refused, \d+s ago, at \d\d:\d\d:\d\d/).waitFor();
  const outcome = { kind: 'applied', summary: 'swapped socks; reused 3' } as const;
  monitor.status = dated({ last_reload: { at, outcome, place: null } });
  monitor.changed();
  await last.getByText('swapped socks; reused 3').waitFor();
  monitor.status = undefined;
  monitor.changed();
  await last.getByText('Not known: the control socket does not answer.').waitFor();
  await page.getByText('The health of balancers is not known').waitFor();
});

const HOSTILE = '\u202eevil\u001b[31m<img src=x>';
const SHOWN = String.raw`\u{202e}evil\u{1b}[31m<img src=x>`;

test(
  'hostile names are shown escaped everywhere, and a phone has room for them',
  { skip },
  async () => {
    await using control = await FakeControl.start();
    const long = `${HOSTILE}${'very-long-name.'.repeat(20)}`;
    const fields = { outbound: long, host: long, port: 1, error: long };
    control.log({ message: long, fields, at: Date.now() });
    const status = dated({
      balancers: [
        {
          tag: long,
          strategy: 'failover',
          members: [{ outbound: long, health: 'unavailable', probed_at: null, error: long }],
        },
      ],
      last_reload: {
        at: Date.now(),
        outcome: { kind: 'failed', line: long },
        place: { file: long, line: 1, column: 1 },
      },
      log_filter: 'info',
    });
    await using scene = await stage.open({
      monitor: { status, history: { seconds: points(120, 1000), halfMinutes: [] } },
      socket: control.path,
      at: '#/now?by=bytes',
      viewport: VIEWPORTS.phone,
    });
    const { page, monitor } = scene;
    const now = Date.now();
    monitor.list(now - 2000, [], trafficOf({ tick: 1 }));
    monitor.changed();
    const view = { host: long, user: long, source: long, inbound: long, outbound: long, up: 5000 };
    monitor.list(
      now,
      [flowOf(1, view)],
      trafficOf({ tick: 2, outbounds: { [long]: { up: 5000 } } }),
    );
    monitor.changed();
    await region(scene, 'Users').locator('tbody tr').waitFor();
    await region(scene, 'Failing now').locator('.error').nth(1).waitFor();
    const text = await page.locator('main').innerText();
    assert.ok(!text.includes('\u202e') && !text.includes('\u001b'));
    // Hosts, outbounds, sources, user and inbound; the failure and the member with their parts; place and reason.
    assert.ok(text.split(SHOWN).length - 1 >= 13, text);
    assert.equal(await page.locator('img').count(), 0);
    await checkNoSidewaysScroll(page, 'Now');
    await scene.checkAccessible();
  },
);

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proxyOut, socksIn } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import {
  Beats,
  Download,
  Ledger,
  ownAddress,
  streamOrigin,
  type Moved,
} from '../support/process/load.ts';
import type { Origin } from '../support/peers/servers.ts';
import { socksConnect, socksReply } from '../support/peers/socks-client.ts';
import { SocksServer } from '../support/peers/socks-server.ts';
import { eventually } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';

const SIZE = 4096;

const configOf = (members: readonly SocksServer[], strategy: string): string =>
  [
    API,
    socksIn(),
    ...members.map(({ address }, i) => proxyOut(`up${i}`, 'socks', address)),
    `[[balancer]]\ntag = "group"\nprobe_interval = 1\nprobe_timeout = 1\nstrategy = "${strategy}"\n`,
    `outbounds = ${JSON.stringify(members.map((_, i) => `up${i}`))}\n`,
    '[route]\ndefault = "group"\n',
  ].join('');

async function startAll(count: number): Promise<SocksServer[]> {
  return Promise.all(Array.from({ length: count }, () => SocksServer.start()));
}

/** A download through the balancer, and the member that the API reports for it. */
async function through(control: Control, origin: Origin): Promise<Download> {
  const host = ownAddress();
  const proxy = control.weir.address('socks');
  return new Download(await socksConnect(proxy, { host, port: origin.port }), host);
}

const memberOf = async (control: Control, { moved }: Download): Promise<string | undefined> =>
  (await control.flowsTo(moved.host))[0]?.outbound;

test('a member that dies and comes back breaks only the flows that it carried', async () => {
  const members = await startAll(3);
  const [first, second, third] = members;
  assert.ok(first && second && third);
  await using _a = first;
  await using _b = second;
  await using _c = third;
  await using origin = await streamOrigin();
  await using weir = await Weir.start(configOf(members, 'failover'));
  const control = await Control.of(weir);
  using ledger = await Ledger.of(control.api);
  const moved: Moved[] = [];

  const died = 'WARN svc_app: balancer group: outbound up0 is unavailable: ';
  let dying = false;
  const short = async (): Promise<void> => {
    const early = control.count(died) === 0;
    try {
      const download = await through(control, origin);
      await download.round(SIZE);
      await download.end();
      moved.push(download.moved);
    } catch (error) {
      // Only what began between the death and the probe that found it may have met it.
      if (!dying || !early) throw error;
    }
  };
  using shorts = new Beats(
    50,
    Array.from({ length: 2 }, () => () => short()),
  );
  // One long flow on the member that will die; it is the only one that ends.
  const doomed = await through(control, origin);
  await doomed.round(SIZE);
  assert.equal(await memberOf(control, doomed), 'up0');

  dying = true;
  await first.kill();
  await assert.rejects(doomed.round(SIZE), /was aborted/);
  await control.logged(died);

  // From the probe on nothing fails, and only the log reports the change.
  const long = await Promise.all(Array.from({ length: 10 }, () => through(control, origin)));
  for (const download of long) {
    await download.round(SIZE);
    assert.equal(await memberOf(control, download), 'up1');
  }
  using beats = new Beats(
    50,
    long.map((download) => () => download.round(SIZE)),
  );
  const asked = second.targets.length;
  await eventually('some more flows', () => second.targets.length > asked + 20);
  assert.equal(third.targets.length, 0);

  await first.revive();
  await control.logged('INFO svc_app: balancer group: outbound up0 is available again');
  // New flows go to the first member again; those on the second stay there.
  const returned = first.targets.length;
  await eventually('flows on the first again', () => first.targets.length > returned + 10);
  await shorts.stop();
  await beats.stop();
  for (const download of long) {
    assert.equal(await memberOf(control, download), 'up1');
    await download.round(SIZE);
    await download.end();
    moved.push(download.moved);
  }
  await ledger.agrees(moved);
  // Logged once each, however many probes have found the same.
  assert.equal(control.count(died), 1);
  assert.equal(control.count('is available again'), 1);
  assert.equal(control.count('outbound up1'), 0);
});

test('round_robin distributes flows over the live members', async () => {
  const members = await startAll(3);
  const [first, second, third] = members;
  assert.ok(first && second && third);
  await using _a = first;
  await using _b = second;
  await using _c = third;
  await using origin = await streamOrigin();
  await using weir = await Weir.start(configOf(members, 'round_robin'));
  const control = await Control.of(weir);

  const takenBy = async (count: number): Promise<(string | undefined)[]> => {
    const tags: (string | undefined)[] = [];
    for (let i = 0; i < count; i++) {
      const download = await through(control, origin);
      await download.round(1);
      tags.push(await memberOf(control, download));
      await download.end();
    }
    return tags;
  };
  // Before the first probes have ended some may not be known to live.
  await eventually('all three to be known', async () => new Set(await takenBy(3)).size === 3);
  const all = await takenBy(6);
  assert.deepEqual(all.slice(0, 3), all.slice(3));
  assert.deepEqual(new Set(all), new Set(['up0', 'up1', 'up2']));

  await second.kill();
  await control.logged('outbound up1 is unavailable');
  const rest = await takenBy(4);
  assert.deepEqual(new Set(rest), new Set(['up0', 'up2']));
  assert.notEqual(rest[0], rest[1]);
});

test('with every member dead each is tried, and the client and the log get the reason', async () => {
  const members = await startAll(2);
  const [first, second] = members;
  assert.ok(first && second);
  await using _a = first;
  await using _b = second;
  await using weir = await Weir.start(configOf(members, 'failover'));
  const control = await Control.of(weir);
  await first.kill();
  await second.kill();
  await control.logged('outbound up0 is unavailable');
  await control.logged('outbound up1 is unavailable');
  const CONNECTION_REFUSED = 5;
  const target = { host: '192.0.2.1', port: 80 };
  const reply = await socksReply(weir.address('socks'), target);
  assert.equal(reply, CONNECTION_REFUSED);
  await control.logged('INFO svc_app: balancer group: outbound up0 was not reached: ');
  await control.logged('INFO svc_app: socks -> tcp 192.0.2.1:80 by up1: ');
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MAX_PATHS } from '../../../../src/quic/path/limits.ts';
import type { Path } from '../../../../src/quic/path/path.ts';
import type { Paths } from '../../../../src/quic/path/paths.ts';
import { makePaths } from '../../../support/quic/path-rig.ts';

const PROBE_TIMEOUT = 100;

function pathOf(paths: Paths<string>, remote: string, local?: string): Path<string> {
  const path = paths.of(remote, local, true);
  assert.ok(path);
  return path;
}

/** Has the peer at the other end of a path answer its challenge. */
function answer(paths: Paths<string>, path: Path<string>, now: number): void {
  const data = Uint8Array.from(path.challengeDue ?? []);
  path.onChallengeSent(true, now);
  assert.equal(paths.onResponse(data, 0, now + 10), path);
}

/** Lets time pass until a validation ends. */
function abandon(paths: Paths<string>): 'moved' | 'failed' | undefined {
  for (;;) {
    const now = paths.timeout;
    if (now === Infinity) return undefined;
    for (const path of paths.all) path.onChallengeSent(true, now);
    const result = paths.onTimeout(now);
    if (result !== undefined) return result;
  }
}

describe('migration of the peer (RFC 9000 §9)', () => {
  test('a known address keeps its path', () => {
    const paths = makePaths();
    assert.equal(pathOf(paths, 'home:1'), paths.active);
    const cafe = pathOf(paths, 'cafe:1');
    assert.equal(pathOf(paths, 'cafe:1'), cafe);
    assert.notEqual(cafe, paths.active);
  });

  test('packets that just probe leave the path in use as it is (§9.1)', () => {
    const paths = makePaths();
    const cafe = pathOf(paths, 'cafe:1');
    cafe.onReceived(1200);
    assert.equal(paths.active.remote, 'home:1');
    assert.equal(cafe.isValidated, false);
    assert.equal(cafe.amplificationBudget, 3600);
  });

  test('before the handshake is confirmed there is no other path (§9)', () => {
    const paths = makePaths();
    assert.equal(paths.of('cafe:1', undefined, false), undefined);
    assert.equal(paths.of('home:1', undefined, false), paths.active);
  });

  test('a server does not move: a client drops what comes from elsewhere (§9)', () => {
    const paths = makePaths('client');
    assert.equal(paths.of('cafe:1', undefined, true), undefined);
    assert.equal(paths.of('home:1', 'anything', true), paths.active);
  });

  test('a peer that moves is followed, and both paths are validated (§9.3, §9.3.3)', () => {
    const paths = makePaths();
    const home = paths.active;
    const cafe = pathOf(paths, 'cafe:1');
    assert.equal(paths.moveTo(cafe, PROBE_TIMEOUT, 0), true);
    assert.equal(paths.active, cafe);
    assert.equal(cafe.isValidating, true);
    assert.equal(home.isValidating, true);
    assert.equal(paths.moveTo(cafe, PROBE_TIMEOUT, 0), false);
    answer(paths, cafe, 0);
    assert.equal(cafe.isValidated, true);
  });

  test('another host gets controls of its own, another port those so far (§9.4)', () => {
    const paths = makePaths();
    const home = paths.active;
    assert.equal(pathOf(paths, 'home:2').control, home.control);
    assert.equal(pathOf(paths, 'home:2').mtu, home.mtu);
    assert.equal(pathOf(paths, 'home:2').isValidated, false);
    assert.notEqual(pathOf(paths, 'cafe:1').control, home.control);
  });

  test('another own address is another path', () => {
    const paths = makePaths();
    const first = pathOf(paths, 'cafe:1', 'server-a:1');
    assert.notEqual(pathOf(paths, 'cafe:1', 'server-b:1'), first);
    assert.equal(pathOf(paths, 'cafe:1'), pathOf(paths, 'cafe:1', 'server-b:1'));
  });

  test('when the new path proves not to be valid, the last valid one is used again (§9.3.2)', () => {
    const paths = makePaths();
    const home = paths.active;
    const forged = pathOf(paths, 'forged:1');
    paths.moveTo(forged, PROBE_TIMEOUT, 0);
    answer(paths, home, 0);
    assert.equal(abandon(paths), 'moved');
    assert.equal(paths.active, home);
    assert.deepEqual(paths.all, [home]);
  });

  test('through several unvalidated addresses the last valid one is kept', () => {
    const paths = makePaths();
    const home = paths.active;
    for (let i = 0; i < 10; i++) {
      paths.moveTo(pathOf(paths, `forged-${i}:1`), PROBE_TIMEOUT, 0);
    }
    assert.ok(paths.all.includes(home));
    assert.equal(abandon(paths), 'moved');
    assert.equal(paths.active, home);
  });

  test('without a valid path the connection cannot go on (§9.3.2)', () => {
    const paths = makePaths('server', false);
    paths.moveTo(pathOf(paths, 'forged:1'), PROBE_TIMEOUT, 0);
    assert.equal(abandon(paths), 'failed');
  });

  test('a client that moves back is known', () => {
    const paths = makePaths();
    const home = paths.active;
    const cafe = pathOf(paths, 'cafe:1');
    paths.moveTo(cafe, PROBE_TIMEOUT, 0);
    answer(paths, cafe, 0);
    assert.equal(paths.moveTo(pathOf(paths, 'home:1'), PROBE_TIMEOUT, 100), true);
    assert.equal(paths.active, home);
    assert.equal(home.amplificationBudget, Infinity);
  });

  test('an answer may come on another path than its challenge (§8.2.3)', () => {
    const paths = makePaths();
    const cafe = pathOf(paths, 'cafe:1');
    cafe.startValidation(PROBE_TIMEOUT, 0);
    answer(paths, cafe, 0);
    assert.equal(cafe.isValidated, true);
    assert.equal(paths.onResponse(new Uint8Array(8), 0, 0), undefined);
  });

  test('few paths are remembered, and those in use and to return to among them', () => {
    const paths = makePaths();
    const home = paths.active;
    paths.moveTo(pathOf(paths, 'cafe:1'), PROBE_TIMEOUT, 0);
    for (let i = 0; i < 50; i++) pathOf(paths, `probe-${i}:1`);
    assert.equal(paths.all.length, MAX_PATHS);
    assert.equal(paths.active.remote, 'cafe:1');
    assert.ok(paths.all.includes(home));
    assert.equal(pathOf(paths, 'probe-49:1'), paths.all[1]);
  });
});

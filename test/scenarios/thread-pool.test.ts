import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freedom, socksIn } from '../support/process/config.ts';
import { threadsNamed } from '../support/process/proc.ts';
import { Weir } from '../support/process/weir.ts';

/*
 * The threads that getaddrinfo(3) has half of.
 */

const CASES: readonly [what: string, size: string | undefined, threads: number][] = [
  ['sixteen threads', undefined, 16],
  ['as many threads as the environment says', '6', 6],
];

for (const [what, size, threads] of CASES) {
  test(`the pool has ${what}`, { skip: process.platform !== 'linux' }, async () => {
    await using weir = await Weir.start(socksIn() + freedom(), {
      env: { UV_THREADPOOL_SIZE: size },
    });
    assert.equal(threadsNamed(weir.child.pid, 'libuv-worker'), threads);
  });
}

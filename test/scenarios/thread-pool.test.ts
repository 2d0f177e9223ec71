import assert from 'node:assert/strict';
import { test } from 'node:test';
import { socksConnect } from '../support/peers/socks-client.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { threadsNamed } from '../support/process/proc.ts';
import { eventually } from '../support/wait.ts';
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
    // The first name to be resolved starts all of them, and each gives itself its name.
    await assert.rejects(socksConnect(weir.address('socks'), { host: 'target.invalid', port: 1 }));
    const named = (): number => threadsNamed(weir.child.pid, 'libuv-worker');
    await eventually(
      () => `${threads} threads, ${named()} have the name`,
      () => named() >= threads,
    );
    assert.equal(named(), threads);
  });
}

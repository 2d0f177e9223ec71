import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NativeError } from '../../../../src/platform/native.ts';
import { openSystemCalls } from '../../../../src/platform/sockets/bindings.ts';
import { probeSockets, type ProbeEnvironment } from '../../../../src/platform/sockets/probe.ts';
import { noKernelSockets } from '../../../../../../test/support/links/kernel-io.ts';

const LINUX: ProbeEnvironment = {
  platform: 'linux',
  arch: process.arch,
  wanted: undefined,
  check: false,
  mainThread: true,
  open: openSystemCalls,
};

for (const [title, change, reason] of [
  ['switched off', { wanted: 'node' }, /^WEIR_IO=node$/],
  ['asked for something unknown', { wanted: 'uring' }, /neither "node" nor "kernel"/],
  ['on another system', { platform: 'darwin' }, /need Linux, this is darwin/],
  ['on another machine', { arch: 'riscv64' }, /need x64 or arm64, this is riscv64/],
  ['in a worker', { mainThread: false }, /main thread/],
  [
    'without koffi',
    {
      open: () => {
        throw new NativeError('no calls', { cause: new Error('no binary') });
      },
    },
    /^no calls: no binary$/,
  ],
] as const) {
  test(`${title}, Node's sockets are used, and the reason is given`, () => {
    const probe = probeSockets({ ...LINUX, ...change });
    assert.equal(probe.kind, 'node');
    assert.match(probe.reason, reason);
  });
}

test('where epoll works, kernel sockets are used', { skip: noKernelSockets }, () => {
  assert.equal(probeSockets(LINUX).kind, 'kernel');
  const checked = probeSockets({ ...LINUX, wanted: 'kernel', check: true });
  assert.ok(checked.kind === 'kernel' && checked.calls.debug);
  assert.deepEqual(checked.calls.debug.open(), []);
});

for (const [title, broken] of [
  ['refuses', { epollCreate1: () => -1, errno: () => 1 }],
  ['reports nothing', { epollWait: () => 0 }],
] as const) {
  test(
    `an epoll that ${title} is found out, and leaves nothing open`,
    { skip: noKernelSockets },
    () => {
      let open = 0;
      const probe = probeSockets({
        ...LINUX,
        open: () => {
          const calls = openSystemCalls();
          return {
            ...calls,
            epollCreate1: (flags) => (open++, calls.epollCreate1(flags)),
            socketpair: (...all) => ((open += 2), calls.socketpair(...all)),
            close: (fd) => (open--, calls.close(fd)),
            ...broken,
          };
        },
      });
      assert.equal(probe.kind, 'node');
      assert.ok(probe.reason.length > 0);
      assert.equal(open, 0);
    },
  );
}

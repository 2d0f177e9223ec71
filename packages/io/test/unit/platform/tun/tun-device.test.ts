import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { openSystemCalls } from '../../../../src/platform/sockets/bindings.ts';
import { EACCES, EBUSY, EMFILE, ENOENT, EPERM } from '../../../../src/platform/sockets/linux.ts';
import { openTun, TunError } from '../../../../src/platform/tun/tun-device.ts';
import { noKernelSockets } from '../../../../../../test/support/links/kernel-io.ts';

const failed = (message: RegExp) => (error: unknown) =>
  error instanceof TunError && message.test(error.message);

suite('a TUN device that cannot be made says what is missing', { skip: noKernelSockets }, () => {
  const opening: readonly (readonly [what: string, errno: number, message: RegExp])[] = [
    [
      'rights on the file',
      EACCES,
      /^no permission to open \/dev\/net\/tun: .* root, or CAP_NET_ADMIN together with read and write access to that file$/,
    ],
    ['rights on the device', EPERM, /^no permission to open \/dev\/net\/tun: .*CAP_NET_ADMIN/],
    [
      'the file',
      ENOENT,
      /^there is no \/dev\/net\/tun: load the kernel module "tun"; a systemd unit also needs PrivateDevices=no/,
    ],
  ];
  for (const [what, errno, message] of opening) {
    test(what, () => {
      const calls = { ...openSystemCalls(), open: () => -1, errno: () => errno };
      assert.throws(() => openTun(calls, 'weir0'), failed(message));
    });
  }

  const making: readonly (readonly [what: string, errno: number, message: RegExp])[] = [
    [
      'the capability, where the file may be opened',
      EPERM,
      /^no permission to create a TUN device: it needs root or CAP_NET_ADMIN$/,
    ],
    ['a free name', EBUSY, /^a device named weir0 exists already$/],
  ];
  for (const [what, errno, message] of making) {
    test(`${what}, and the file is closed`, () => {
      const closed: number[] = [];
      const calls = {
        ...openSystemCalls(),
        open: () => 1_000_000,
        ioctl: () => -1,
        errno: () => errno,
        close: (fd: number) => closed.push(fd),
      };
      assert.throws(() => openTun(calls, 'weir0'), failed(message));
      assert.deepEqual(closed, [1_000_000]);
    });
  }

  test('a descriptor for the index of the interface, and the file is closed', () => {
    const closed: number[] = [];
    const calls = {
      ...openSystemCalls(),
      open: () => 1_000_000,
      ioctl: () => 0,
      ifNameToIndex: () => 0,
      errno: () => EMFILE,
      close: (fd: number) => closed.push(fd),
    };
    assert.throws(
      () => openTun(calls, 'weir0'),
      failed(/^cannot find weir0: .*too many open files/),
    );
    assert.deepEqual(closed, [1_000_000]);
  });
});

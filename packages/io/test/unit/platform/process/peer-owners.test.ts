import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, writeFile, chmod, stat, symlink } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  isAmbiguousUser,
  peerOwners,
  mayReadByGroup,
} from '../../../../src/platform/process/peer-owners.ts';
import { scratch } from '../../../../../../test/support/process/weir.ts';

/** Lines of /proc/net/tcp and tcp6 of Linux 6.1; 9090 is 2382 in hex, 40000 is 9C40. */
const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';
const line = (local: string, remote: string, state: string, uid: number, inode: number): string =>
  `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 ${inode} 1 0000000000000000 100 0 0 10 0\n`;

const V4 = { server: '0100007F:2382', client: '0100007F:9C40', any: '00000000:2382' };
const MAPPED = {
  server: '0000000000000000FFFF00000100007F:2382',
  client: '0000000000000000FFFF00000100007F:9C40',
  any: '00000000000000000000000000000000:2382',
};
const V6 = {
  server: '00000000000000000000000001000000:2382',
  client: '00000000000000000000000001000000:9C40',
};
const NONE = '00000000:0000';

interface Tables {
  readonly tcp?: readonly string[];
  readonly tcp6?: readonly string[];
}

async function ownersIn({ tcp = [], tcp6 = [] }: Tables, host = '127.0.0.1') {
  await using folder = await scratch();
  await writeFile(join(folder.path, 'tcp'), HEAD + tcp.join(''));
  await writeFile(join(folder.path, 'tcp6'), HEAD + tcp6.join(''));
  const ends = { localAddress: host, localPort: 40_000, remoteAddress: host, remotePort: 9090 };
  return await peerOwners(ends, folder.path);
}

describe('the owner of the other end of a connection', () => {
  test('is that of the connection itself once a process has accepted it', async () => {
    const own = line(V4.client, V4.server, '01', 7, 1);
    const end = line(V4.server, V4.client, '01', 1001, 2);
    // A listener that came after it does not count.
    const listener = line(V4.server, NONE, '0A', 0, 3);
    assert.deepEqual(await ownersIn({ tcp: [listener, own, end] }), [1001]);
    assert.deepEqual(await ownersIn({ tcp: [own, end] }), [1001]);
  });

  test('is that of the listener in whose queue it is', async () => {
    for (const state of ['01', '03']) {
      const end = line(V4.server, V4.client, state, 0, 0);
      const exact = line(V4.server, NONE, '0A', 1001, 3);
      const any = line(V4.any, NONE, '0A', 1002, 4);
      const dual = line(MAPPED.any, NONE, '0A', 1003, 5);
      assert.deepEqual(await ownersIn({ tcp: [exact, any, end] }), [1001]);
      assert.deepEqual(await ownersIn({ tcp: [any, end] }), [1002]);
      assert.deepEqual(await ownersIn({ tcp: [end], tcp6: [dual] }), [1003]);
      assert.deepEqual(await ownersIn({ tcp: [end] }), []);
    }
  });

  test('is none when it was closed, or is on another host', async () => {
    const own = line(V4.client, V4.server, '01', 7, 1);
    const listener = line(V4.server, NONE, '0A', 1001, 3);
    const closed = line(V4.server, V4.client, '08', 0, 0);
    assert.deepEqual(await ownersIn({ tcp: [listener, own, closed] }), []);
    assert.deepEqual(await ownersIn({ tcp: [listener, own] }), []);
  });

  test('is found over IPv6, and of IPv4 in a socket of both', async () => {
    const mapped = line(MAPPED.server, MAPPED.client, '01', 1001, 2);
    assert.deepEqual(await ownersIn({ tcp6: [mapped] }), [1001]);
    assert.deepEqual(await ownersIn({ tcp6: [mapped] }, '::ffff:127.0.0.1'), [1001]);
    const six = line(V6.server, V6.client, '01', 1002, 2);
    assert.deepEqual(await ownersIn({ tcp6: [six] }, '::1'), [1002]);
    const waiting = line(V6.server, V6.client, '01', 0, 0);
    const four = line(V4.any, NONE, '0A', 1003, 3);
    assert.deepEqual(await ownersIn({ tcp: [four], tcp6: [waiting] }, '::1'), []);
  });

  test('is read from tables of any length, in pieces', async () => {
    const others = Array.from({ length: 3000 }, (_, n) =>
      line(V4.server, `0200007F:${(n + 1).toString(16).padStart(4, '0')}`, '01', 5, n + 10),
    );
    const end = line(V4.server, V4.client, '01', 1001, 2);
    assert.deepEqual(await ownersIn({ tcp: [...others, end, ...others] }), [1001]);
  });

  test('is not known without tables', async () => {
    await using folder = await scratch();
    const ends = { localAddress: '127.0.0.1', remoteAddress: '127.0.0.1' };
    assert.equal(await peerOwners(ends, join(folder.path, 'none')), undefined);
  });

  const linux = process.platform === 'linux' ? false : 'tables of sockets are of Linux';
  for (const host of ['127.0.0.1', '::1']) {
    test(`is this user for a server of this process on ${host}`, { skip: linux }, async () => {
      const server = createServer().listen(0, host);
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const socket = connect(port, host);
      await once(socket, 'connect');
      // Whether or not it was accepted by then.
      assert.deepEqual(await peerOwners(socket), [process.geteuid?.()]);
      socket.destroy();
      server.close();
    });
  }
});

test('a number that stands for all users from outside of a user namespace is no user', async () => {
  await using folder = await scratch();
  const path = join(folder.path, 'proc');
  await mkdir(path);
  const map = join(path, 'uid_map');
  await writeFile(map, '         0          0 4294967295\n');
  assert.equal(isAmbiguousUser(65_534, map), false);
  await writeFile(map, '         0     100000      65536\n');
  assert.equal(isAmbiguousUser(65_534, map), true);
  assert.equal(isAmbiguousUser(1000, map), false);
});

/** Users that no system has: one of the group of new files by `passwd`, one by `group`, and one of neither. */
const [PRIMARY, MEMBER, OTHER] = [4_000_001, 4_000_002, 4_000_003];

async function files() {
  const folder = await scratch();
  const secret = join(folder.path, 'weir.toml');
  await writeFile(secret, '');
  await chmod(secret, 0o640);
  await chmod(folder.path, 0o755);
  const { gid } = await stat(secret);
  const accounts = join(folder.path, 'etc');
  await mkdir(accounts);
  const user = (name: string, uid: number, group: number): string =>
    `${name}:x:${uid}:${group}::/:/bin/false\n`;
  await writeFile(
    join(accounts, 'passwd'),
    user('svc', PRIMARY, gid) + user('op', MEMBER, 4_000_000) + user('else', OTHER, 4_000_000),
  );
  await writeFile(join(accounts, 'group'), `svc:x:${gid}:nn,op\nnn:x:4000000:\n`);
  const readers = (path = secret): readonly number[] =>
    [PRIMARY, MEMBER, OTHER].filter((uid) => mayReadByGroup(path, uid, accounts));
  return { folder, secret, accounts, readers };
}

test('the group of a file lets its members read it, by passwd and by group, also through a link', async () => {
  const { folder, secret, readers } = await files();
  await using _ = folder;
  assert.deepEqual(readers(), [PRIMARY, MEMBER]);
  const link = join(folder.path, 'link.toml');
  await symlink(secret, link);
  assert.deepEqual(readers(link), [PRIMARY, MEMBER]);
});

test('no user reads by its group a file for its owner alone, for all users, or in a closed folder', async () => {
  const { folder, secret, readers } = await files();
  await using _ = folder;
  for (const mode of [0o600, 0o644]) {
    await chmod(secret, mode);
    assert.deepEqual(readers(), []);
  }
  await chmod(secret, 0o640);
  await chmod(folder.path, 0o700);
  assert.deepEqual(readers(), []);
  await chmod(folder.path, 0o750);
  assert.deepEqual(readers(), [PRIMARY, MEMBER]);
});

test('without tables of accounts, or without the file, no user is known to read it', async () => {
  const { folder, secret, readers } = await files();
  await using _ = folder;
  assert.deepEqual(readers(join(folder.path, 'none')), []);
  assert.equal(mayReadByGroup(secret, PRIMARY, join(folder.path, 'none')), false);
});

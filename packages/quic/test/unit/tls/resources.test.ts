import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { NativeError } from '@weir/io/platform/native';
import { quicTlsUnavailable } from '@weir/io/quic-tls';
import { probeQuicTls } from '../../../../io/src/platform/quic-tls/quic-tls-probe.ts';
import { uncollected } from '../../../../../test/support/process/uncollected.ts';
import {
  carry,
  clientSide,
  clientTls,
  converse,
  serverSide,
  serverTls,
  shake,
} from '../../../../../test/support/quic/tls/tls-peers.ts';
import { libraryOfProcess } from '../../../../../test/support/quic/tls/tls-peers.ts';

test('this Node can do TLS for QUIC', () => {
  assert.equal(quicTlsUnavailable(), undefined);
});

test('a Node that lacks a function is reported with the version of its OpenSSL', () => {
  const probe = probeQuicTls(() => {
    throw new NativeError('this Node does not export SSL_set_quic_tls_cbs');
  });
  assert.deepEqual(probe, {
    kind: 'unavailable',
    reason: `this Node does not export SSL_set_quic_tls_cbs (OpenSSL ${process.versions.openssl})`,
  });
});

test('no key log is written, whatever the environment says', (t: TestContext) => {
  const directory = mkdtempSync(join(tmpdir(), 'weir-keylog-'));
  const file = join(directory, 'keys');
  const before = process.env['SSLKEYLOGFILE'];
  t.after(() => {
    if (before === undefined) delete process.env['SSLKEYLOGFILE'];
    else process.env['SSLKEYLOGFILE'] = before;
    rmSync(directory, { recursive: true });
  });
  process.env['SSLKEYLOGFILE'] = file;
  using pair = shake({});
  assert.ok(pair.client.tls.isComplete);
  assert.ok(!existsSync(file));
});

test('the failure of a handshake holds no secret', () => {
  using pair = shake({ serverName: 'other.example' });
  const { failure } = pair.client.tls;
  assert.ok(failure);
  for (const secret of pair.client.secrets.values()) assert.ok(!failure.includes(secret));
});

test('every connection, context and store is freed once', (t: TestContext) => {
  const { functions } = libraryOfProcess();
  const live = { connections: 0, contexts: 0, stores: 0 };
  const count = (
    kind: keyof typeof live,
    make: 'SSL_new' | 'SSL_CTX_new' | 'X509_STORE_new',
    free: 'SSL_free' | 'SSL_CTX_free' | 'X509_STORE_free',
  ): void => {
    const made = functions[make];
    t.mock.method(functions, make, (from: number) => {
      live[kind]++;
      return made(from);
    });
    const freed = functions[free];
    t.mock.method(functions, free, (address: number) => {
      live[kind]--;
      freed(address);
    });
  };
  count('connections', 'SSL_new', 'SSL_free');
  count('contexts', 'SSL_CTX_new', 'SSL_CTX_free');
  count('stores', 'X509_STORE_new', 'X509_STORE_free');
  {
    using ours = clientTls();
    using theirs = serverTls();
    for (let i = 0; i < 3; i++) {
      using client = clientSide(ours);
      using server = serverSide(theirs);
      converse(client, server);
      client[Symbol.dispose]();
    }
    assert.throws(() => serverTls({ cert: '', key: '' }));
    using impossible = clientTls({ serverName: 'x'.repeat(1000) });
    assert.throws(() => clientSide(impossible), { name: 'NativeError' });
  }
  assert.deepEqual(live, { connections: 0, contexts: 0, stores: 0 });
});

test('a connection and a context that nothing refers to any more are freed', async (t) => {
  const { functions } = libraryOfProcess();
  const forget = (): WeakRef<object>[] => {
    const client = clientSide(clientTls());
    const server = serverSide(serverTls());
    client.tls.start();
    carry(client, server);
    return [new WeakRef(client.tls), new WeakRef(server.tls)];
  };
  const refs = forget();
  const expected = new Set(['SSL_free', 'SSL_free again', 'SSL_CTX_free', 'SSL_CTX_free again']);
  const all = Promise.withResolvers<void>();
  for (const name of ['SSL_free', 'SSL_CTX_free'] as const) {
    const free = functions[name];
    t.mock.method(functions, name, (address: number) => {
      if (!expected.delete(name)) expected.delete(`${name} again`);
      if (expected.size === 0) all.resolve();
      free(address);
    });
  }
  assert.equal((await uncollected(refs)).length, 0);
  await all.promise;
});

test('a server frees the TLS of a connection when the handshake is complete', (t) => {
  const { functions } = libraryOfProcess();
  using ours = clientTls();
  using theirs = serverTls();
  using client = clientSide(ours);
  using server = serverSide(theirs);
  const freed = t.mock.method(functions, 'SSL_free', functions.SSL_free);
  converse(client, server);
  assert.equal(freed.mock.callCount(), 1);
  assert.ok(server.tls.isComplete);
  server[Symbol.dispose]();
  assert.equal(freed.mock.callCount(), 1);
  client[Symbol.dispose]();
  assert.equal(freed.mock.callCount(), 2);
});

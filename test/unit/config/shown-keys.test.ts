import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eachKey, shownKeys, tableShapes } from '../../../src/config/shown-keys.ts';
import { loadProtocols } from '../../../src/protocols/registry.ts';
import { DISCLOSURE } from '../../../src/schema/shape.ts';
import { errorOf } from '../../support/config/support.ts';

/** The line as an error shows it, without its number. */
const shownOf = (text: string): string | undefined =>
  /^\d+ \| (.*)$/m.exec(errorOf(text).message)?.[1];

await loadProtocols();
const { known, disclosed } = shownKeys();

/** Every key of the schema; those that hold secrets in any table. */
const all = new Set<string>();
const secret = new Set<string>();
for (const shape of tableShapes()) {
  eachKey(shape, (key, value) => {
    all.add(key);
    if (value[DISCLOSURE] === 'secret') secret.add(key);
  });
}

describe('errors mask the value of', () => {
  for (const key of secret) {
    test(`${key}, which holds a secret`, () => {
      assert.equal(shownOf(`${key} = "sesame"`), `${key} = "******"`);
    });
  }
});

test('the keys that hold secrets are found in the schema', () => {
  assert.deepEqual([...secret].sort(), [
    'id',
    'obfs_password',
    'pass',
    'password',
    'peer_public_key',
    'preshared_key',
    'private_key',
    'secret',
    'user', // of Hysteria 2, where it is a part of the credential
  ]);
});

test('these are the keys whose values errors quote', () => {
  assert.deepEqual([...disclosed].sort(), [
    'address_family',
    'allow_insecure',
    'allow_transparent',
    'auth',
    'backend',
    'default',
    'inherit',
    'keepalive',
    'level',
    'listen',
    'max_circuits',
    'max_concurrent_streams',
    'max_connections',
    'max_flows',
    'method',
    'mtu',
    'name',
    'network',
    'outbound',
    'port',
    'probe_interval',
    'probe_timeout',
    'protocol',
    'security',
    'server',
    'server_name',
    'sniffing',
    'status',
    'strategy',
    'tag',
    'udp',
    'udp_bind',
    'udp_idle_timeout',
  ]);
});

test('every key of the schema is shown or masked by what its schema says', () => {
  assert.deepEqual(known, all);
  for (const key of all) {
    const value = disclosed.has(key) ? 'sesame' : '******';
    assert.equal(shownOf(`${key} = "sesame"`), `${key} = "${value}"`, key);
  }
});

test('values of unknown keys are masked', () => {
  for (const key of ['passwd', 'x', 'toString', '__proto__']) {
    assert.equal(shownOf(`${key} = "sesame"`), `${key} = "******"`);
  }
});

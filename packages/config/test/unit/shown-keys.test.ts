import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadProtocols } from '@weir/proxy/protocols';
import { DISCLOSURE } from '@weir/proxy/schema';
import { eachKey, shownKeys, tableShapes, viewKey } from '../../src/shown-keys.ts';
import { errorOf } from '../../../../test/support/config/support.ts';

/** The line as an error shows it, without its number. */
const shownOf = (text: string): string | undefined =>
  /^\d+ \| (.*)$/m.exec(errorOf(text).message)?.[1];

await loadProtocols();
const { disclosed, confidential, tables } = shownKeys();

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

test('these are the other keys whose values errors do not quote', () => {
  assert.deepEqual([...confidential.difference(secret)].sort(), [
    'auth', // the password in Hysteria's own programs
    'body',
    'email',
    'obfs', // the password in Hysteria 1
    'path', // that of a WebSocket may be known to clients alone
    'reserved', // identifies an account of some providers
    'service_name', // the same of gRPC
    'url', // may have a token
  ]);
});

test('every key of the schema is shown or masked by what its schema says', () => {
  assert.deepEqual(disclosed.union(confidential).union(tables), all);
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

test('values of a key that is misspelt, or called otherwise elsewhere, are shown like those of the key', () => {
  for (const key of [
    'domain_sufix', 'domainSuffix', 'Domain-Suffix', 'listen_port', 'listen_port', 'server_port', 'prot', 'netwrok', 'sni',
    'servername', 'skip-cert-verify', 'cipher', 'ip_cidr', 'outboundTag', 'tga', 'sever', 'adress', 'proto',
  ]) assert.equal(viewKey(key).disclosure, 'shown', key); // prettier-ignore
  for (const key of ['setings', 'streamSettings', 'transport', 'clients', 'outbonds_', 'tlss']) {
    assert.notEqual(viewKey(key).disclosure, 'starred', key);
  }
});

test('values of a key that may be meant to be that of a secret, here or elsewhere, are masked', () => {
  for (const key of [
    'pasword', 'passwrod', 'passord', 'Password', 'PASS', 'pas', 'pass_word', 'pwd', 'passphrase', 'pin', 'psk', 'scret',
    'secert', 'api_key', 'apiKey', 'token', 'accessToken', 'uuid', 'UUID', 'ids', 'idd', 'usr', 'username', 'userName',
    'privatekey', 'private-key', 'privte_key', 'PrivateKey', 'PresharedKey', 'publicKey', 'public-key', 'short-id',
    'shortId', 'auth', 'auth_str', 'auth-str', 'authString', 'obfs', 'obfs-password', 'obfsPassword', 'obfs_pasword',
    'server_password', 'url', 'link', 'subscription_url', 'encryption', 'credentials', 'email', 'plugin_opts',
  ]) assert.equal(viewKey(key).disclosure, 'starred', key); // prettier-ignore
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as vmess from '../../../../src/protocols/vmess/settings.ts';
import { DecodeError, PlainDecodeError } from '../../../../src/schema/errors.ts';
import { tableNode } from '../../../../../../test/support/schema/nodes.ts';

const refusal = (message: string) => (error: unknown) => {
  assert.ok(error instanceof DecodeError);
  assert.equal(error.message, message);
  return true;
};

describe('the settings of a VMess inbound', () => {
  const ID = 'de305d54-75b4-431b-adb2-eb6b9e546014';
  const DIGITS = ID.replaceAll('-', '');

  test('have no users when none are written', () => {
    assert.deepEqual(vmess.inboundSettings(tableNode({})), { users: [] });
  });

  test('take an id in every form', () => {
    const forms = [ID, DIGITS, `{${ID}}`, `urn:uuid:${ID}`, ID.toUpperCase(), DIGITS.toUpperCase()];
    const users = forms.map((id) => ({ id }));
    assert.deepEqual(
      vmess.inboundSettings(tableNode({ users })).users,
      forms.map(() => ({ id: DIGITS })),
    );
  });

  test('refuse any other text, and quote it', () => {
    for (const id of ['', 'me', ` ${ID}`, `{${DIGITS}}`, `URN:UUID:${ID}`, `${ID}0`, 'a"b']) {
      assert.throws(
        () => vmess.inboundSettings(tableNode({ users: [{ id: ID }, { id }] })),
        (error: unknown) => {
          assert.ok(error instanceof PlainDecodeError);
          assert.equal(error.message, `invalid uuid ${JSON.stringify(id)}`);
          return true;
        },
      );
    }
  });

  test('know no other keys, and say so before they look at ids', () => {
    for (const key of ['alterId', 'email', 'level']) {
      assert.throws(
        () => vmess.inboundSettings(tableNode({ users: [{ id: 'me', [key]: 0 }] })),
        refusal(`unknown field \`${key}\`, expected \`id\``),
      );
    }
    assert.throws(
      () => vmess.inboundSettings(tableNode({ clients: [] })),
      refusal('unknown field `clients`, expected `users`'),
    );
    assert.throws(
      () => vmess.inboundSettings(tableNode({ users: [{}] })),
      refusal('missing field `id`'),
    );
    assert.throws(
      () => vmess.inboundSettings(tableNode({ users: [{ id: true }] })),
      refusal('invalid type: boolean, expected a string'),
    );
  });
});

describe('the settings of a VMess outbound', () => {
  const id = 'de305d5475b4431badb2eb6b9e546014';

  test('choose a cipher by its name, in any case', () => {
    for (const [written, security] of [
      [undefined, 'aes-128-gcm'],
      ['aes-128-gcm', 'aes-128-gcm'],
      ['AUTO', 'aes-128-gcm'],
      ['ChaCha20-Poly1305', 'chacha20-poly1305'],
    ] as const) {
      const table = written === undefined ? { id } : { id, security: written };
      assert.deepEqual(vmess.outboundSettings(tableNode(table)), { id, security });
    }
    for (const security of ['none', 'zero', 'aes-128-cfb', '', ' auto', 'chacha20-ietf-poly1305']) {
      assert.throws(
        () => vmess.outboundSettings(tableNode({ id, security })),
        refusal('unknown vmess security'),
      );
    }
  });

  test('need an id that is one', () => {
    assert.throws(() => vmess.outboundSettings(tableNode({})), refusal('missing field `id`'));
    assert.throws(
      () => vmess.outboundSettings(tableNode({ id: 'me' })),
      refusal('invalid uuid "me"'),
    );
    assert.throws(
      () => vmess.outboundSettings(tableNode({ id, alterId: 0 })),
      refusal('unknown field `alterId`, expected `id` or `security`'),
    );
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { InboundSpec } from '@weir/proxy/spec';
import { readAccountNames } from '../../src/account-names.ts';
import { SourceText } from '../../src/sources/source-text.ts';

const IDS = ['b831381d-6324-4d53-ad4f-8cda48b30811', 'B831381D63244D53AD4F8CDA48B30812'];
const KEYS = IDS.map((id) => id.replaceAll('-', '').toLowerCase());

async function namesIn(text: string, ...inbounds: readonly (readonly [string, string])[]) {
  const specs = inbounds.map(
    ([tag, protocol]) => ({ tag, protocol }) as Partial<InboundSpec> as InboundSpec,
  );
  const names = await readAccountNames(new SourceText(text, 'weir.toml'), specs);
  return Object.fromEntries(Array.from(names, ([tag, byId]) => [tag, Object.fromEntries(byId)]));
}

describe('names of accounts in comments', () => {
  test('are found beside and above entries, in both forms of a list', async () => {
    const text = `
[[inbound]]
tag = "a"
protocol = "vless"
[inbound.settings]
users = [
  { id = "${IDS[0]}" }, # name: ann
  { id = "${IDS[1]}" },
]
[[inbound]]
tag = "b"
protocol = "vmess"
# name: bob
[[inbound.settings.users]]
id = "${IDS[1]}"
`;
    assert.deepEqual(await namesIn(text, ['a', 'vless'], ['b', 'vmess']), {
      a: { [KEYS[0] ?? '']: 'ann' },
      b: { [KEYS[1] ?? '']: 'bob' },
    });
  });

  test('are read of protocols only whose users have no key for a name', async () => {
    const text = `
[[inbound]]
tag = "a"
protocol = "socks"
[inbound.settings]
users = 3 # name: ann
`;
    assert.deepEqual(await namesIn(text, ['a', 'socks']), {});
  });

  test('count for the inbound with their tag alone, and other comments for none', async () => {
    const text = `
[[inbound]]
tag = "a"
protocol = "vless"
settings.users = [{ id = "${IDS[0]}" }] # named: ann
[[inbound]]
tag = "b"
protocol = "vless"
settings.users = [
  { id = "${IDS[0]}" }, #name: bob
]
`;
    assert.deepEqual(await namesIn(text, ['a', 'vless'], ['b', 'vless']), {
      b: { [KEYS[0] ?? '']: 'bob' },
    });
  });
});

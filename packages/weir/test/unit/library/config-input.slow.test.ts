import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, ControlError, Weir } from '../../../src/index.ts';

const inbound = [{ tag: 'socks', protocol: 'socks', port: 0 }] as const;
const outbound = [
  { tag: 'direct', protocol: 'freedom' },
  { tag: 'other', protocol: 'freedom' },
] as const;
const cidr = Array.from({ length: 20_000 }, (_, at) => `10.${at >> 8}.${at & 255}.0/24`);

test('an object with 20,000 entries is read in another thread, which tells key paths too', async () => {
  await using weir = await Weir.start({ config: { inbound, outbound } });
  const to = (tag: string) => ({ inbound, outbound, route: { rule: [{ outbound: tag, cidr }] } });
  assert.equal((await weir.reload({ config: to('other') })).status, 'applied');
  await assert.rejects(weir.reload({ config: to('none') }), (error) => {
    assert.ok(error instanceof ControlError && error.cause instanceof ConfigError);
    assert.equal(error.cause.location?.path, 'route.rule[0].outbound');
    return true;
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientFeatureHint } from '../../../src/engine/flow-dialer.ts';

for (const [host, hint] of [
  ['sp.mux.sing-box.arpa', /switch "multiplex" .* off in the client$/],
  ['v1.mux.cool', /VMess and VLESS alone: switch "mux" off in the client$/],
  ['sp.v2.udp-over-tcp.arpa', /switch "udp_over_tcp" .* off in the client$/],
  ['sp.udp-over-tcp.arpa', /switch "udp_over_tcp" .* off in the client$/],
] as const) {
  test(`${host} says what to switch off in the client`, () => {
    assert.match(clientFeatureHint(host) ?? '', hint);
  });
}

test('a host is no feature of a client', () => {
  assert.equal(clientFeatureHint('mux.example'), undefined);
});

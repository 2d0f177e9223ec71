import test from 'node:test';
import { freedom, socksIn } from '../support/config.ts';
import { startV2ray, V2RAY_SOCKS_IN, without } from '../support/peers.ts';
import { exercise } from '../support/tunnel-exchange.ts';
import { tunnelIn, tunnelOut, v2rayTunnelIn, v2rayTunnelOut } from '../support/tunnels.ts';
import { Weir } from '../support/weir.ts';

const skip = without('v2ray');

test('VLESS: Weir as a client of v2ray', { skip }, async (t) => {
  await using v2ray = await startV2ray([v2rayTunnelIn('vless')]);
  await using weir = await Weir.start(socksIn() + tunnelOut('vless', v2ray.address));
  await exercise(t, 'plain', weir.address('socks'));
});

test('VLESS: v2ray as a client of Weir', { skip }, async (t) => {
  await using weir = await Weir.start(tunnelIn('vless') + freedom());
  for (const [name, flows] of [
    ['plain', 0],
    ['mux, 8 flows a connection', 8],
    ['mux, 1024 flows a connection', 1024],
  ] as const) {
    const out = v2rayTunnelOut('vless', weir.address('vless'), flows);
    await using v2ray = await startV2ray([V2RAY_SOCKS_IN], [out]);
    await exercise(t, name, v2ray.address);
  }
});

import test from 'node:test';
import { freedom, socksIn } from '../support/config.ts';
import { startTrojan, startV2ray, V2RAY_SOCKS_IN, without } from '../support/peers.ts';
import { TestAuthority } from '../support/test-certificates.ts';
import { intoTls, outOfTls } from '../support/tls-bridge.ts';
import { exercise } from '../support/tunnel-exchange.ts';
import {
  PASSWORD,
  tunnelIn,
  tunnelOut,
  v2rayTunnelIn,
  v2rayTunnelOut,
} from '../support/tunnels.ts';
import { Weir } from '../support/weir.ts';

test('Trojan: Weir as a client of v2ray', { skip: without('v2ray') }, async (t) => {
  await using v2ray = await startV2ray([v2rayTunnelIn('trojan')]);
  await using weir = await Weir.start(socksIn() + tunnelOut('trojan', v2ray.address));
  await exercise(t, 'plain', weir.address('socks'));
});

test('Trojan: v2ray as a client of Weir', { skip: without('v2ray') }, async (t) => {
  await using weir = await Weir.start(tunnelIn('trojan') + freedom());
  const out = v2rayTunnelOut('trojan', weir.address('trojan'));
  await using v2ray = await startV2ray([V2RAY_SOCKS_IN], [out]);
  await exercise(t, 'plain', v2ray.address);
});

test('Trojan: Weir as a client of trojan', { skip: without('trojan') }, async (t) => {
  const authority = new TestAuthority();
  const certificate = authority.issue({ dns: ['localhost'] });
  await using trojan = await startTrojan('server', certificate, PASSWORD);
  await using tls = await intoTls(trojan.address, authority.cert);
  await using weir = await Weir.start(socksIn() + tunnelOut('trojan', tls.address));
  await exercise(t, 'in TLS', weir.address('socks'));
});

test('Trojan: trojan as a client of Weir', { skip: without('trojan') }, async (t) => {
  const authority = new TestAuthority();
  const certificate = authority.issue({ dns: ['localhost'] });
  await using weir = await Weir.start(tunnelIn('trojan') + freedom());
  await using tls = await outOfTls(weir.address('trojan'), certificate);
  await using trojan = await startTrojan(
    'client',
    { cert: authority.cert, key: '' },
    PASSWORD,
    tls.address,
  );
  await exercise(t, 'in TLS', trojan.address);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { protocolNames } from '../../src/protocols/registry.ts';
import { METHODS, type MethodName } from '../../src/protocols/shadowsocks/methods.ts';
import { hysteria2 } from '../../../../test/support/protocols/inbounds/hysteria2.ts';
import { httpConnect } from '../../../../test/support/protocols/inbounds/http.ts';
import { shadowsocks } from '../../../../test/support/protocols/inbounds/shadowsocks.ts';
import { socks4, socks5 } from '../../../../test/support/protocols/inbounds/socks.ts';
import { trojan } from '../../../../test/support/protocols/inbounds/trojan.ts';
import { vless } from '../../../../test/support/protocols/inbounds/vless.ts';
import { vmess } from '../../../../test/support/protocols/inbounds/vmess.ts';
import { inboundConformance } from './inbound.ts';

inboundConformance('SOCKS4', socks4);
inboundConformance('SOCKS5', socks5());
inboundConformance('SOCKS5 with accounts', socks5({ hasAccounts: true }));
inboundConformance('HTTP', httpConnect());
inboundConformance('HTTP with accounts', httpConnect({ hasAccounts: true }));
inboundConformance('Hysteria 2', hysteria2);
inboundConformance('Trojan', trojan);
inboundConformance('VLESS', vless);
inboundConformance('VMess', vmess({ options: 0x1d, security: 3 }));
for (const options of [0x00, 0x01, 0x05, 0x0d, 0x11, 0x15, 0x1d]) {
  for (const security of [3, 4] as const) {
    const title = `VMess with options 0x${options.toString(16)} and security ${security}`;
    inboundConformance(title, vmess({ options, security }), 'payload');
  }
}
for (const method of Object.keys(METHODS) as MethodName[]) {
  inboundConformance(`Shadowsocks ${method}`, shadowsocks(method));
}
for (const method of [
  'aes-256-gcm',
  '2022-blake3-aes-128-gcm',
  '2022-blake3-aes-256-gcm',
] as const) {
  inboundConformance(`Shadowsocks ${method} with users`, shadowsocks(method, { hasUsers: true }));
}

/** Names of one that is among them, and a device, whose clients are hosts: `session-listener.ts` is its contract. */
const OTHERS = ['hysteria', 'hy2', 'tun'];

test('every protocol of an inbound is among them', () => {
  const tested = ['http', 'hysteria2', 'shadowsocks', 'socks', 'trojan', 'vless', 'vmess'];
  assert.deepEqual(protocolNames('inbound').toSorted(), [...tested, ...OTHERS].toSorted());
});

import { METHODS, type MethodName } from '../../src/protocols/shadowsocks/methods.ts';
import { httpConnect } from '../support/protocols/inbounds/http.ts';
import { shadowsocks } from '../support/protocols/inbounds/shadowsocks.ts';
import { socks4, socks5 } from '../support/protocols/inbounds/socks.ts';
import { trojan } from '../support/protocols/inbounds/trojan.ts';
import { vless } from '../support/protocols/inbounds/vless.ts';
import { vmess } from '../support/protocols/inbounds/vmess.ts';
import { inboundConformance } from './inbound.ts';

inboundConformance('SOCKS4', socks4);
inboundConformance('SOCKS5', socks5());
inboundConformance('SOCKS5 with accounts', socks5({ hasAccounts: true }));
inboundConformance('HTTP', httpConnect());
inboundConformance('HTTP with accounts', httpConnect({ hasAccounts: true }));
inboundConformance('Trojan', trojan);
inboundConformance('VLESS', vless);
inboundConformance('VMess with AES', vmess({ options: 0x1d, security: 3 }));
inboundConformance('VMess with ChaCha20', vmess({ options: 0x01, security: 4 }));
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

import { createHttpOutbound } from '../../src/protocols/http/outbound.ts';
import { METHODS, type MethodName } from '../../src/protocols/shadowsocks/methods.ts';
import { ShadowsocksOutbound } from '../../src/protocols/shadowsocks/outbound.ts';
import { SocksOutbound } from '../../src/protocols/socks/outbound.ts';
import { createTrojanOutbound } from '../../src/protocols/trojan/outbound.ts';
import { createVlessOutbound } from '../../src/protocols/vless/outbound.ts';
import { LONGEST_DATAGRAM } from '../../src/protocols/vmess/body/body-chunks.ts';
import { VmessOutbound } from '../../src/protocols/vmess/outbound.ts';
import { KnownRandom } from '../../../../test/support/known-random.ts';
import { httpConnect, httpPasswords } from '../../../../test/support/protocols/inbounds/http.ts';
import {
  shadowsocks,
  shadowsocksKeys,
} from '../../../../test/support/protocols/inbounds/shadowsocks.ts';
import { socks5, socksPasswords } from '../../../../test/support/protocols/inbounds/socks.ts';
import { trojan, trojanPasswords } from '../../../../test/support/protocols/inbounds/trojan.ts';
import { vless, vlessIds } from '../../../../test/support/protocols/inbounds/vless.ts';
import { vmess, vmessIds } from '../../../../test/support/protocols/inbounds/vmess.ts';
import { outboundPairConformance } from './outbound-pair.ts';

outboundPairConformance('SOCKS', {
  inbound: socks5({ hasAccounts: true }),
  outbound: (user, context) =>
    new SocksOutbound({ account: { user, pass: socksPasswords[user] } }, context),
  failure: (code) => {
    if (code === 'not_found' || code === 'unresolved') return 'unreachable_host';
    return code === 'aborted' || code === 'failed' ? 'upstream' : code;
  },
  packets: 'elsewhere',
});
outboundPairConformance('HTTP', {
  inbound: httpConnect({ hasAccounts: true }),
  outbound: (user, context) =>
    createHttpOutbound({ account: { user, pass: httpPasswords[user] } }, context),
  failure: (code) => (code === 'timed_out' ? code : 'upstream'),
  packets: 'unsupported',
});
outboundPairConformance('Trojan', {
  inbound: trojan,
  outbound: (user, context) => createTrojanOutbound({ password: trojanPasswords[user] }, context),
  packets: 'carried',
  longest: 8192,
});
outboundPairConformance('VLESS', {
  inbound: vless,
  outbound: (user, context) => createVlessOutbound({ id: vlessIds[user] }, context),
  packets: 'carried',
  longest: 65_535,
});
for (const [security, code] of [
  ['aes-128-gcm', 3],
  ['chacha20-poly1305', 4],
] as const) {
  outboundPairConformance(`VMess with ${security}`, {
    inbound: vmess({ options: 0x1d, security: code }),
    outbound: (user, context) =>
      new VmessOutbound({ id: vmessIds[user], security }, context, new KnownRandom(security)),
    packets: 'carried',
    longest: LONGEST_DATAGRAM,
    dropsEmpty: true,
  });
}
for (const method of Object.keys(METHODS) as MethodName[]) {
  const { identities: hasUsers } = METHODS[method];
  outboundPairConformance(`Shadowsocks ${method}`, {
    inbound: shadowsocks(method, { hasUsers }),
    outbound: (user, context) => {
      const keys = shadowsocksKeys(method, user, hasUsers).map((key) => key.toString('base64'));
      return new ShadowsocksOutbound({ method, keys }, context, new KnownRandom(method));
    },
    packets: 'elsewhere',
  });
}
